//! Secrets of a host that its runs know: what runs propose, push and keep, and what services repeat, contains none of them.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use daemon_fakes::{
    Applied, FakeClock, FakeServer, FaultPlan, GithubAccess, GithubApi, LinearApi, ServiceFault,
    SlackApi, SlackChannel, SlackUser,
};
use serde_json::{Value, json};

use crate::canaries::{Told, asked_of_api};
use crate::git_http::bare;
use crate::git_server::tip;
use crate::http::pull_request_opened;
use crate::leaks::{Search, encodings, walk};
use crate::serve_sources::now;
use crate::world::{Host, SECRET, World, watch};

const REPO: &str = "o/r";
/// The number of the first pull request; each one has a secret of its own.
const FIRST: usize = 100;
/// Does what the files of its pull request say, with the authority of a run.
const LEAKS: &str = r#"cat > /dev/null
n=$(sed 's/.*"number":\([0-9]*\).*/\1/' "$DAEMON_CONTEXT/event.json")
cat "DIR/say-$n" >> "$DAEMON_OUTPUTS"
cat "DIR/raw-$n"; cat "DIR/raw-$n" >&2
. "DIR/git-$n" > /dev/null 2>&1
cat "DIR/end-$n"
"#;

/// The places of the configuration that hold one secret each; the webhook secrets hold all others, one a line.
const PLACES: [&str; 8] = [
    "token",
    "surface-token",
    "linear-token",
    "slack-token",
    "senders",
    "llm-key",
    "hooks-of-linear",
    "server-key",
];

/// Returns fifty secrets: first one for each place, then one for each shape, several times.
fn planted() -> Vec<String> {
    let noise = |n: usize| format!("{:08x}", (n as u32 + 7).wrapping_mul(2_654_435_761));
    let placed = PLACES.iter().enumerate().map(|(n, place)| match *place {
        "token" | "senders" => format!("bearer-{place}-{0}{0}{0}", noise(n)),
        "surface-token" => format!("ghp_{}a1B2c3D4e5F6g7H8i9J0", noise(n)),
        "slack-token" => format!("xoxb-{}-a1B2c3D4e5", noise(n)),
        place => format!("{place}-{}", noise(n)),
    });
    let shaped = (PLACES.len()..50).map(|n| {
        let noise = noise(n);
        match n % 14 {
            0 => format!("plain{noise}"),
            1 => format!("with-dashes-{noise}"),
            2 => format!("\"quoted\\{noise}\""),
            3 => format!("100%{noise}%2b"),
            4 => format!("sl/ash+plus={noise}=="),
            5 => format!("words of {noise} a pass phrase"),
            6 => format!("schlüssel-{noise}-ключ"),
            7 => noise.repeat(8),
            8 => format!("https://bot:{noise}@git.example/r?key=k{noise}"),
            9 => format!("<b>{noise}</b>&amp;"),
            10 => format!("`{noise}`*_[x](y)"),
            11 => format!("$({noise});'\"|"),
            12 => format!("long-{}", noise.repeat(60)),
            _ => format!("AKIA{}", noise.to_uppercase().repeat(2)),
        }
    });
    placed.chain(shaped).collect()
}

/// A world whose daemon leaks, and services that repeat what they know.
struct Scene {
    world: World,
    secrets: Vec<String>,
    github: GithubApi,
    linear: LinearApi,
    slack: SlackApi,
}

impl Scene {
    fn new() -> Self {
        let world = World::new(&[("leaker", &watch(&["when a pull request is opened"]))]);
        let secrets = planted();
        let clock = || {
            FakeClock::new(|| {
                std::time::Duration::from_secs(u64::try_from(now()).expect("it is after 1970"))
            })
        };
        let remote = world.beside("remote.git");
        bare(&world.repo, &remote);
        let scene = Self {
            github: GithubApi::start(0, clock()).expect("a port"),
            linear: LinearApi::start(0, "ENG", clock()).expect("a port"),
            slack: SlackApi::start(0, clock()).expect("a port"),
            world,
            secrets,
        };
        scene.fill_services();
        scene.configure();
        scene.write_orders();
        scene
    }

    fn secret(&self, place: &str) -> &str {
        let at = PLACES.iter().position(|known| *known == place);
        &self.secrets[at.expect("it is a place")]
    }

    fn fill_services(&self) {
        let github = &self.github;
        github.add_repo(REPO);
        github.set_hourly_limit(1_000_000);
        github.add_token(
            self.secret("surface-token"),
            "helper-bot",
            GithubAccess::Write,
        );
        github.add_collaborator(REPO, "helper-bot");
        let repo = self.world.beside("remote.git");
        github.read_branches(REPO, move |branch| tip(&repo, branch));
        for _ in 0..FIRST + self.secrets.len() {
            let issue = json!({"title": "A question", "body": "How?"});
            let (status, made) = github.act("ann", "POST", "/repos/o/r/issues", &issue);
            assert_eq!(status, 201, "{made}");
        }
        let bot = self.linear.add_user("Helper", "bot@example.com");
        self.linear.add_token(self.secret("linear-token"), &bot);
        self.linear.add_issue(&bot, "A question", "One.");
        self.slack.add_user(SlackUser {
            id: "U9".to_owned(),
            name: "helper".to_owned(),
            bot: Some("B9".to_owned()),
        });
        self.slack.add_token(self.secret("slack-token"), "U9");
        self.slack.set_channel(SlackChannel {
            id: "C1".to_owned(),
            name: "c1".to_owned(),
            is_member: true,
            is_archived: false,
        });
        // Every other request that writes is refused with all secrets of the host.
        let said = self.secrets.join(" ");
        for server in self.servers() {
            let said = said.clone();
            server.set_faults(FaultPlan::of_requests(move |number, request| {
                let reads = request.method == "GET"
                    || request.body.starts_with(b"{\"query\":\"query")
                    || !request.path.starts_with("/repos") && request.path.starts_with("/api/auth");
                match !reads && number % 2 == 0 {
                    true => ServiceFault::Says(422, said.clone(), Applied::No),
                    false => ServiceFault::None,
                }
            }));
        }
    }

    fn servers(&self) -> [&FakeServer; 3] {
        [
            self.github.server(),
            self.linear.server(),
            self.slack.server(),
        ]
    }

    fn configure(&self) {
        let world = &self.world;
        for place in PLACES {
            let secret = self.secret(place);
            let text = match place {
                "senders" => format!("ci:{secret}\n"),
                _ => format!("{secret}\n"),
            };
            let path = world.home.join(place);
            fs::write(&path, text).expect("a file");
            fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("its mode");
        }
        let more = self.secrets[PLACES.len()..].join("\n");
        fs::write(
            world.home.join("hook-secret"),
            format!("{SECRET}\n{more}\n"),
        )
        .expect("a file");
        let base = |server: &FakeServer, below: &str| format!("{}{below}", server.base_url());
        world.configure(&format!(
            "[sources.linear]\nsecret_file = \"hooks-of-linear\"\n\n[sources.cloudevents]\ntoken_file = \"senders\"\n\n\
             [limits]\ndaemon = 4\nrate_subject = 10000\nrate_daemon = 10000\nrate_host = 10000\n\n\
             [policy.daemon.leaker]\ncapability = \"write\"\ntargets = [\"linear:ENG-1\", \"slack:C1\"]\n\n\
             [provider.llm]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1\"\nkey_file = \"llm-key\"\n\n\
             [mcp.tickets]\ncommand = {:?}\nenv_file = {{KEY = \"server-key\"}}\n\n\
             [surfaces.git]\nremote = {:?}\n\n\
             [surfaces.github]\ntoken_file = \"surface-token\"\napi_base = {:?}\n\n\
             [surfaces.linear]\ntoken_file = \"linear-token\"\napi_base = {:?}\n\n\
             [surfaces.slack]\ntoken_file = \"slack-token\"\napi_base = {:?}\n",
            world.beside("agent.sh").display().to_string(),
            world.beside("remote.git").display().to_string(),
            base(self.github.server(), ""),
            base(self.linear.server(), ""),
            base(self.slack.server(), "/api"),
        ));
        // The orders are files of the test, which a sandbox would keep from a run.
        world.unconfined();
        world.script(&LEAKS.replace("DIR", &world.beside("").display().to_string()));
    }

    /// Writes what the run of each pull request does.
    fn write_orders(&self) {
        for (n, secret) in self.secrets.iter().enumerate() {
            let forms = encodings(secret);
            let form = |k: usize| forms[(n + k) % forms.len()].clone();
            let write = |name: &str, text: &str| {
                let path = self.world.beside(&format!("{name}-{}", FIRST + n));
                fs::write(path, text).expect("a file");
            };
            write("say", &proposals(n, secret, &form));
            write("raw", &format!("{}\n", forms.join("\n")));
            write("git", &changes(n, &form));
            let end = json!({"daemon": "result", "ok": n % 5 != 4, "text": format!("{} {secret}", form(1))});
            write("end", &format!("{end}\n"));
        }
    }
}

/// Returns proposals with a secret in each place that takes text, and in some that take none. Every other comment is without
/// one: the service refuses it.
fn proposals(n: usize, secret: &str, form: &dyn Fn(usize) -> String) -> String {
    let body = |k: usize| match n % 2 {
        0 => format!("See {}.", form(k)),
        _ => "Noted.".to_owned(),
    };
    let all = [
        json!({"verb": "comment", "body": body(0)}),
        json!({"verb": "open_issue", "title": form(1), "body": "Stale."}),
        json!({"verb": "label", "add": [form(2)]}),
        json!({"verb": "assign", "add": [form(3)]}),
        json!({"verb": "comment", "target": "linear:ENG-1", "body": body(4)}),
        json!({"verb": "edit_issue", "target": "linear:ENG-1", "append": form(5)}),
        json!({"verb": "message", "target": "slack:C1", "body": body(6)}),
        json!({"verb": "state", "set": {"kept": form(7), "deep": {form(8): [form(9)]}}}),
        json!({"verb": "state", "set": {form(0): 1}}),
        json!({"verb": "state", "remove": [secret]}),
        json!({"verb": "no_op", "reason": form(10)}),
        json!({"verb": form(11)}),
        json!({"verb": "comment", "target": form(0), "body": "Hello."}),
        json!({"verb": "comment", "slot": secret, "body": "Hello."}),
        json!({"verb": "edit_comment", "output": secret, "body": "Hello."}),
        json!({"verb": "review", "body": form(12), "event": "comment"}),
        json!({secret: "x", "verb": "comment"}),
    ];
    let mut acc = String::new();
    for mut proposal in all {
        proposal["v"] = json!(1);
        writeln!(acc, "{proposal}").expect("writing to a string cannot fail");
    }
    writeln!(acc, "{secret}").expect("writing to a string cannot fail");
    if n % 7 == 5 {
        let push = json!({"v": 1, "verb": "push_branch", "message": form(6)});
        writeln!(acc, "{push}").expect("writing to a string cannot fail");
    }
    acc
}

/// Returns a script that puts a secret into the work tree in one of seven ways.
fn changes(n: usize, form: &dyn Fn(usize) -> String) -> String {
    let word = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    // A file has a name without slashes, and of at most 255 bytes.
    let name = form(4).replace('/', "%2f");
    let name = word(&name.chars().take(240).collect::<String>());
    let text = word(&form(5));
    let git = "git -c user.name=x -c user.email=x@example.com";
    match n % 7 {
        0 => format!("printf '%s\\n' {text} > NOTE.md"),
        1 => format!("echo one > {name}"),
        2 => format!("mkdir d && : > d/{name}"),
        3 => format!("echo one > NOTE.md; {git} add -A; {git} commit -qm {text}"),
        4 => format!(
            "printf '%s\\n' {text} > NOTE.md; {git} add -A; {git} commit -qm one; echo one > NOTE.md; {git} commit -qam two"
        ),
        5 => "echo one > NOTE.md".to_owned(),
        _ => format!("printf '\\000\\377%s\\000' {text} > b.bin; ln -s {text} link"),
    }
}

/// Runs all pull requests to their ends, and returns everything that was stored or sent.
fn live(scene: &Scene) -> Told {
    let world = &scene.world;
    let host = world.serve();
    for n in 0..scene.secrets.len() {
        let number = u32::try_from(FIRST + n).expect("few");
        let answer = host.hook(
            "pull_request",
            &format!("d-{n}"),
            &pull_request_opened(number),
        );
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let activations = host.settled(scene.secrets.len());
    let mut told = asked_of_api(&host);
    told.extend(asked_of_pages(&host));
    told.extend(asked_of_commands(world, &host, &activations));
    let (_, rest) = host.stop();
    told.push(("stdout".to_owned(), rest));
    told.push(("log".to_owned(), world.log()));
    told.extend(sent(scene));
    told.extend(kept(world));
    told
}

fn asked_of_pages(host: &Host) -> Told {
    let mut paths: Vec<String> = ["/", "/activations", "/events", "/outputs", "/runs"]
        .map(str::to_owned)
        .to_vec();
    for plural in ["activations", "events", "outputs", "runs"] {
        let rows = host.list(plural);
        let ids = rows
            .iter()
            .filter_map(|row| row["id"].as_str().or(row["key"].as_str()));
        paths.extend(ids.map(|id| format!("/{plural}/{id}")));
    }
    let bearer = format!("Bearer {}", host.token());
    let page = |path: String| {
        let headers = [("Authorization", bearer.as_str()), ("Accept", "text/html")];
        let answer = host.open("GET", &path, &headers);
        // Not every object has a page; the other pages are searched as well.
        assert!(matches!(answer.status, 200 | 404), "{path}: {answer:?}");
        (format!("page {path}"), format!("{answer:?}"))
    };
    paths.into_iter().map(page).collect()
}

fn asked_of_commands(world: &World, host: &Host, activations: &[Value]) -> Told {
    let mut told = Vec::new();
    let events = host.list("events");
    let event = events[0]["id"].as_str().expect("an id");
    let mut commands: Vec<Vec<&str>> = [
        &["doctor"][..],
        &["outputs", "--limit", "500"],
        &["show", "leaker"],
        &["explain", "leaker", "--event", event],
        &["events", "show", event],
        &["fire", "leaker", "--dry-run"],
        &["context", "leaker"],
    ]
    .map(<[&str]>::to_vec)
    .to_vec();
    let runs = host.list("runs");
    for run in runs.iter().take(8) {
        let id = run["id"].as_str().expect("an id");
        commands.push(vec!["run", id]);
        commands.push(vec!["logs", id]);
    }
    for activation in activations.iter().take(4) {
        commands.push(vec!["retry", activation["id"].as_str().expect("an id")]);
    }
    for args in commands {
        for more in [&["--json"][..], &[]] {
            let output = world.run(&[&args[..], more].concat());
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text).into_owned();
            told.push((format!("{args:?} {more:?}"), text));
        }
    }
    told
}

/// Returns what the services and the remote received, but for the header that authenticates.
fn sent(scene: &Scene) -> Told {
    let mut told = Vec::new();
    let all = scene.servers().into_iter().flat_map(FakeServer::received);
    for mut request in all {
        request.headers.retain(|(name, _)| name != "authorization");
        let text = format!(
            "{:?} {}",
            request.headers,
            String::from_utf8_lossy(&request.body)
        );
        told.push((
            format!("{} {} {:?}", request.method, request.path, request.query),
            text,
        ));
    }
    assert!(told.len() > 20, "{told:?}");
    told.push((
        "paths".to_owned(),
        format!(
            "{:?}",
            told.iter().map(|(what, _)| what).collect::<Vec<_>>()
        ),
    ));
    let git = |args: &[&str]| crate::world::git(&scene.world.beside("remote.git"), args);
    let objects = git(&[
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname) %(objecttype)",
    ]);
    assert!(
        objects.lines().count() > 12,
        "branches were pushed: {objects}"
    );
    for object in objects.lines() {
        let (id, kind) = object.split_once(' ').expect("a name and a type");
        told.push((format!("pushed {kind}"), git(&["cat-file", "-p", id])));
    }
    told
}

/// Reads all files of the home but the operator's own.
fn kept(world: &World) -> Told {
    let inputs = PLACES.into_iter().chain(["hook-secret", "config.toml"]);
    let inputs: Vec<_> = inputs.map(|name| world.home.join(name)).collect();
    let files = walk(&world.home, &[]).into_iter();
    let files = files.filter(|found| !inputs.iter().any(|input| input == Path::new(&found.path)));
    files.map(|found| (found.path, found.text)).collect()
}

/// Writes everything that it receives where the test reads it.
const KEEPS: &str = r#"cat > DIR/received
cat "$DAEMON_CONTEXT/event.json" >> DIR/received
env >> DIR/received
echo '{"daemon":"result","ok":true,"text":"done"}'
"#;

#[test]
fn a_payload_with_secrets_of_the_host_reaches_a_run_without_them() {
    let scene = Scene::new();
    let world = &scene.world;
    let directory = world.beside("").display().to_string();
    world.script(&KEEPS.replace("DIR", directory.trim_end_matches('/')));
    let host = world.serve();
    let foreign = "ghp_a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8";
    let mut body = pull_request_opened(2);
    body["pull_request"]["title"] = json!(scene.secrets.join(" "));
    let forms = scene.secrets.iter().flat_map(|secret| encodings(secret));
    body["pull_request"]["body"] = json!(forms.collect::<Vec<_>>().join("\n"));
    body["pull_request"]["head"]["label"] = json!(foreign);
    host.hook("pull_request", "d-1", &body);
    host.settled(1);
    let received = fs::read_to_string(world.beside("received")).expect("the run wrote it");
    let told = [("the run".to_owned(), received.clone())].to_vec();
    let found = leaks(&Search::of(&scene.secrets), &told);
    assert!(found.is_empty(), "{found:?}");
    // The secret of another user may be what the daemon is there for.
    assert!(
        received.contains(foreign) && received.contains("<redacted>"),
        "{received}"
    );
}

/// Returns where secrets are, each place once.
fn leaks(search: &Search, told: &Told) -> Vec<String> {
    let found = told.iter().filter_map(|(what, text)| {
        let found = search.leaks(&format!("{what}\n{text}"));
        (!found.is_empty()).then(|| format!("{found:?} in {what}"))
    });
    found.collect()
}

#[test]
fn what_runs_propose_and_services_repeat_contains_no_secret() {
    let scene = Scene::new();
    let told = live(&scene);
    let found = leaks(&Search::of(&scene.secrets), &told);
    assert!(
        found.is_empty(),
        "{} leaks:\n{}",
        found.len(),
        found.join("\n")
    );
    // What is clean arrived, and what a service repeated is stored without secrets.
    let outputs = told.iter().find(|(what, _)| what == "GET outputs");
    let outputs = &outputs.expect("they were listed").1;
    for state in ["confirmed", "refused", "<redacted>"] {
        assert!(outputs.contains(state), "{state}: {outputs}");
    }
}
