//! The steps of `docs/github.md`, against a GitHub on loopback, and the errors that a new user meets.

use std::path::PathBuf;

use daemon_fakes::{FakeClock, GithubAccess, GithubApi, GithubWebhook};
use serde_json::{Value, json};

use crate::git_http::{GitAccess, GitHttp, bare};
use crate::git_server::{changed, now, tip};
use crate::leaks::{Search, walk};
use crate::world::{Host, World, check, git};

pub(crate) const DOCS: &str = include_str!("../../../../docs/github.md");
const KEY: &str = include_str!("../../../../crates/daemon-surface/tests/it/app_key.pem");
pub(crate) const REPO: &str = "acme/lantern";
pub(crate) const TOKEN: &str = "github_pat_OfTheMachineAccount";
const READER: &str = "github_pat_ReadsOnly";

/// Returns an example of the documentation.
fn example(name: &str) -> &'static str {
    let mark = format!("<!-- example: {name} -->\n```");
    let (_, rest) = DOCS.split_once(&mark).expect("the example is there");
    let (_, rest) = rest.split_once('\n').expect("the fence has a line");
    rest.split("\n```").next().expect("the fence ends")
}

/// A GitHub with a repository, and a home for a host on another machine.
pub(crate) struct Zero {
    pub(crate) world: World,
    pub(crate) api: GithubApi,
    server: GitHttp,
    hooks: std::sync::mpsc::Receiver<GithubWebhook>,
    /// The repository as the server has it.
    pub(crate) origin: PathBuf,
}

impl Zero {
    pub(crate) fn new() -> Self {
        let world = World::new(&[]);
        world.write("docs/setup.md", "# Setup\n");
        world.write("README.md", "[Setup](docs/setup.md)\n");
        world.commit("Write the setup");
        let root = world.beside("server");
        let origin = root.join("acme/lantern.git");
        bare(&world.repo, &origin);
        let api = GithubApi::start(0, FakeClock::new(now)).expect("a port");
        api.add_repo(REPO);
        api.add_token(TOKEN, "acme-bot", GithubAccess::Write);
        api.add_collaborator(REPO, "acme-bot");
        api.add_token(READER, "acme-reader", GithubAccess::Read);
        let (branches, files) = (origin.clone(), origin.clone());
        api.read_branches(REPO, move |branch| tip(&branches, branch));
        api.read_files(REPO, move |base, head| changed(&files, base, head));
        let (send, hooks) = std::sync::mpsc::channel();
        api.add_hook(REPO, "https://daemons.acme.example", move |hook| {
            send.send(hook.clone()).map_or(0, |()| 200)
        });
        let server = GitHttp::start(&root, &api, |token| match token {
            READER => Some(GitAccess::Read),
            TOKEN => Some(GitAccess::Write),
            token => token.starts_with("ghs_").then_some(GitAccess::Write),
        });
        let zero = Self {
            world,
            api,
            server,
            hooks,
            origin,
        };
        zero.clone_for_host();
        zero.secrets(TOKEN);
        zero
    }

    /// Step 1. The clone is made from the files, because the person has a login of their own.
    fn clone_for_host(&self) {
        let clone = self.world.beside("lantern.git").display().to_string();
        self.world.git(&[
            "clone",
            "--quiet",
            "--mirror",
            &self.origin.display().to_string(),
            &clone,
        ]);
        let url = format!("{}/{REPO}.git", self.server.url());
        git(
            &self.world.beside("lantern.git"),
            &["remote", "set-url", "origin", &url],
        );
    }

    /// Step 2.
    pub(crate) fn secrets(&self, token: &str) {
        let home = &self.world.home;
        std::fs::write(home.join("github-token"), format!("{token}\n")).expect("the token");
        std::fs::write(home.join("github-secret"), crate::world::SECRET).expect("the secret");
    }

    /// Step 3: the configuration of the documentation, with the paths and the addresses of the test.
    pub(crate) fn configure(&self, surface: Option<&str>) {
        let mut text = example("token").to_owned();
        if let Some(surface) = surface {
            let usual = "[surfaces.github]\ntoken_file = \"github-token\"\n";
            assert!(text.contains(usual), "{text}");
            text = text.replace(usual, surface);
        }
        let clone = self.world.beside("lantern.git").display().to_string();
        let api = format!("[surfaces.github]\napi_base = {:?}", self.server.url());
        let text = text
            .replace("/srv/lantern.git", &clone)
            .replace("[surfaces.github]", &api)
            .replace(
                "remote = \"origin\"                # read",
                "poll = \"200ms\"\nremote = \"origin\"  # read",
            );
        self.world.write_config(&text);
    }

    /// Pushes what is committed in the person's clone.
    pub(crate) fn push(&self) {
        let origin = self.origin.display().to_string();
        self.world.git(&["push", "--quiet", &origin, "HEAD:main"]);
    }

    /// Returns the check of `doctor`, which needs no host.
    fn examined(&self, name: &str) -> Value {
        let (_, report) = self.world.json(&["doctor"]);
        check(&report, name)
    }

    pub(crate) fn deliver(&self, host: &Host) {
        for hook in self.hooks.try_iter() {
            let body: Value = serde_json::from_str(&hook.body).expect("JSON");
            assert_eq!(host.hook(&hook.event, &hook.guid, &body).status, 200);
        }
    }
}

/// Step 5: the daemon, and a page that moves.
pub(crate) fn first_daemon(zero: &Zero, host: &Host) -> Value {
    let world = &zero.world;
    world.write_daemon("link-janitor", example("daemon"));
    let commit = world.commit("Add the first daemon");
    zero.push();
    host.registered(&commit);
    std::fs::create_dir(world.repo.join("docs/start")).expect("a directory");
    world.git(&["mv", "docs/setup.md", "docs/start/setup.md"]);
    world.commit("Move the setup");
    zero.push();
    let activations = host.settled(1);
    zero.deliver(host);
    assert_eq!(host.settled(1).len(), 1);
    activations[0].clone()
}

/// Asserts that the pull request of the first daemon is on GitHub once, written by an account.
fn pull_request(zero: &Zero, activation: &Value, author: &str) {
    let issues = zero.api.issues(REPO);
    let made: Vec<_> = issues
        .iter()
        .map(|made| (made.title.as_str(), made.author.as_str()))
        .collect();
    assert_eq!(made, [("Repair 1 link", author)]);
    let body = issues[0].body.as_deref().unwrap_or_default();
    let id = activation["id"].as_str().expect("an id");
    assert!(
        body.contains("1 link repaired") && body.contains(id),
        "{body}"
    );
    let branch = format!("daemon/link-janitor/{id}");
    let readme = git(&zero.origin, &["show", &format!("{branch}:README.md")]);
    assert_eq!(readme, "[Setup](docs/start/setup.md)\n");
}

/// Asserts that no file but those of step 2 and no arguments of git contain a string.
fn nowhere(zero: &Zero, secret: &str) {
    let search = Search::of(&[secret]);
    let clone = zero.world.beside("lantern.git");
    for found in walk(&zero.world.home, &[])
        .into_iter()
        .chain(walk(&clone, &[]))
    {
        let is_place = found.path.ends_with("github-token");
        assert!(
            is_place || search.leaks(&found.text).is_empty(),
            "{}",
            found.path
        );
    }
    assert!(!zero.world.log().contains(secret));
}

#[test]
fn a_new_user_gets_a_pull_request_with_a_token() {
    let zero = Zero::new();
    zero.configure(None);
    let (_, report) = zero.world.json(&["doctor"]);
    for line in example("doctor").lines() {
        let (status, name) = line.split_once("    ").expect("two columns");
        assert_eq!(check(&report, name)["status"], status, "{name}: {report:#}");
    }
    let host = zero.world.serve();
    let activation = first_daemon(&zero, &host);
    pull_request(&zero, &activation, "acme-bot");
    assert!(zero.server.seen().iter().all(|seen| seen == TOKEN));
    nowhere(&zero, TOKEN);
}

#[test]
fn a_new_user_gets_a_pull_request_with_an_app() {
    let zero = Zero::new();
    zero.api.set_app(12345, "acme-daemons", |_, _| true);
    zero.configure(Some(example("app")));
    std::fs::write(zero.world.home.join("app.pem"), KEY).expect("the key");
    let missing = zero.examined("surface github acme/lantern");
    shows!(missing, {"status": "fail", "remedy": "install the App in the repository, from its settings on GitHub"});
    zero.api.add_installation(&[REPO]);
    shows!(zero.examined("surface git acme/lantern"), {"status": "ok"});
    let host = zero.world.serve();
    let activation = first_daemon(&zero, &host);
    pull_request(&zero, &activation, "acme-daemons[bot]");
    let seen = zero.server.seen();
    let token = seen.last().expect("git presented a token").clone();
    assert!(token.starts_with("ghs_"), "the token of the installation");
    nowhere(&zero, &token);
    drop(host);
    // As a workflow of GitHub Actions has it: a token of an installation that may not read `/user`.
    zero.configure(None);
    zero.secrets(&token);
    let account = zero.examined("surface github account");
    shows!(account, {"status": "ok", "detail": "outputs are written as `acme-daemons[bot]`"});
}

#[test]
fn doctor_says_the_remedy_of_each_first_error() {
    let zero = Zero::new();
    zero.configure(None);
    zero.secrets("github_pat_Ended");
    let account = zero.examined("surface github account");
    shows!(account, {"status": "fail", "remedy": "put a valid token into the file or the variable that surfaces.github names, and reload"});
    let place = zero.examined("surface git acme/lantern");
    shows!(place, {"status": "fail", "remedy": "see that the token may read and write contents of the repository, and that the URL is right"});

    zero.secrets(READER);
    shows!(zero.examined("surface github acme/lantern"), {"status": "warn", "remedy": "give the account the role `write`"});
    let place = zero.examined("surface git acme/lantern");
    assert!(
        place["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("403")),
        "{place}"
    );

    zero.secrets(TOKEN);
    let path = zero.world.home.join("config.toml");
    let config = std::fs::read_to_string(&path).expect("it exists");
    zero.world
        .write_config(&config.replace("acme/lantern\"", "acme/lamp\""));
    let unknown = zero.examined("surface github acme/lamp");
    shows!(unknown, {"status": "fail", "remedy": "compare `[[repo]] name` with the URL on GitHub, and give the token access to the repository"});

    let is_of_surface = |line: &&str| {
        line.contains("surfaces.github")
            || line.contains("api_base")
            || line.contains("github-token")
    };
    let without: Vec<&str> = config.lines().filter(|line| !is_of_surface(line)).collect();
    zero.world.write_config(&without.join("\n"));
    let place = zero.examined("surface git acme/lantern");
    shows!(place, {"status": "fail", "remedy": "set surfaces.github.token_file, or an App: git uses the same credentials"});
}

#[test]
fn a_wrong_secret_is_logged_with_its_remedy() {
    let zero = Zero::new();
    zero.configure(None);
    std::fs::write(zero.world.home.join("github-secret"), "another one\n").expect("the secret");
    let host = zero.world.serve();
    let body = json!({"zen": "Keep it simple.", "hook_id": 1});
    assert_eq!(host.hook("ping", "p-1", &body).status, 401);
    assert_eq!(host.hook("ping", "p-2", &body).status, 401);
    // Refusals of a source that is not configured are not counted.
    let unknown = host.post(
        "/webhooks/sentry",
        &[("Content-Type", "application/json")],
        "{}",
    );
    assert_eq!(unknown.status, 401);
    let log = zero.world.log();
    assert!(log.contains("key=\"sources.github.secret_file\""), "{log}");
    let found = check(&host.get("doctor"), "github signatures");
    let remedy = "if they are from your webhook, compare its secret with that in `sources.github.secret_file`";
    shows!(found, {"status": "warn", "remedy": remedy});
    let detail = found["detail"].as_str().expect("a text");
    let expected =
        "2 deliveries since the start were not signed with the configured secret, the last at ";
    assert!(detail.starts_with(expected), "{detail}");
    let report = host.get("doctor").to_string();
    assert!(!report.contains("sentry signatures"), "{report}");
    assert!(!(report + &zero.world.log()).contains(crate::world::SECRET));
}

#[test]
fn a_repository_that_is_named_without_its_owner_has_the_token() {
    let zero = Zero::new();
    zero.configure(None);
    let path = zero.world.home.join("config.toml");
    let config = std::fs::read_to_string(&path).expect("it exists");
    let renamed = config.replace("acme/lantern\"", "lamps\"");
    assert_ne!(renamed, config);
    zero.world.write_config(&renamed);
    shows!(zero.examined("surface git lamps"), {"status": "ok"});
}
