//! Every verb of GitHub and every webhook that the service sends for it: it never wakes its own daemon, another daemon one level deeper, and
//! a copy by another account begins a new chain.

mod rows;

use std::mem::take;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_fakes::{GithubApi, GithubFile, GithubPush, GithubWebhook, GithubWorkflowRun};
use serde_json::{Value, json};

use crate::git_server::tip;
use crate::http::{self, pull_request_opened};
use crate::serve_github::{REPO, TOKEN, github};
use crate::world::{Host, SECRET, World, watch};
use rows::{OF_APPS, QUIET, ROWS, Row};

/// A key for tests only.
const KEY: &str = include_str!("../../../../crates/daemon-surface/tests/it/app_key.pem");
const RUN: u64 = 77;
/// What both daemons wake on.
const WATCHED: &[&str] = &[
    "when a comment is created on a pull request",
    "when a comment on a pull request is edited",
    "when a pull request review is submitted",
    "when a review comment is created on a pull request",
    "when a commit is pushed",
    "when a branch is created",
    "when a pull request is opened",
    "when a pull request is updated",
    "when a pull request is converted to draft",
    "when a pull request is assigned",
    "when a review is requested",
    "when a label is added to a pull request",
    "when a label is removed from a pull request",
    "when a label is created",
    "when an issue is opened",
    "when an issue is labeled",
    "when a check run is created",
    "when a check run is completed",
    "when a check suite is completed",
    "when a workflow run is requested",
    "when a workflow run is completed",
    "when a workflow job is queued",
    "when a workflow job is completed",
];
/// What only the daemon that writes wakes on.
pub(crate) const ASKED: &str = "when a pull request is reopened";

/// Whether webhooks come before the output that causes them is confirmed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum As {
    Token,
    App,
}

impl As {
    fn login(self) -> &'static str {
        match self {
            Self::Token => "helper-bot",
            Self::App => "librarian[bot]",
        }
    }
}

/// A world with two daemons, the host that serves it, and a GitHub that both know.
struct Scene {
    world: World,
    host: Host,
    api: GithubApi,
    acts: As,
    /// The head of the pull request.
    head: String,
    /// The webhooks that were sent and not looked at yet.
    sent: Arc<Mutex<Vec<GithubWebhook>>>,
    order: Order,
    n_asked: usize,
}

impl Scene {
    fn new(acts: As, order: Order) -> Self {
        let asked: Vec<&str> = [ASKED].iter().chain(WATCHED).copied().collect();
        let world = World::new(&[("maker", &watch(&asked)), ("other", &watch(WATCHED))]);
        let api = github(&world);
        api.add_collaborator(REPO, "ann");
        api.add_token("ghp_of_bob", "bob", daemon_fakes::GithubAccess::Write);
        api.add_collaborator(REPO, "bob");
        api.read_files(REPO, |_, _| {
            let (path, status) = ("docs/a.md".to_owned(), "modified".to_owned());
            let patch = "@@ -1 +1,2 @@\n one\n+two".to_owned();
            vec![GithubFile {
                path,
                status,
                patch,
            }]
        });
        api.set_app(7, "librarian", |_, _| true);
        api.add_installation(&[REPO]);
        let head = tip(&world.repo, "topic").expect("the branch");
        api.add_workflow_run(
            REPO,
            GithubWorkflowRun {
                id: RUN,
                name: "ci".to_owned(),
                head_branch: "topic".to_owned(),
                head_sha: head.clone(),
                conclusion: Some("failure".to_owned()),
                attempt: 1,
                jobs: vec![5],
                begun_at: None,
            },
        );
        let credentials = match acts {
            As::Token => "token_file = \"surface-token\"",
            As::App => "app_id = 7\nkey_file = \"app.pem\"",
        };
        std::fs::write(world.home.join("surface-token"), format!("{TOKEN}\n")).expect("the token");
        std::fs::write(world.home.join("app.pem"), KEY).expect("the key");
        let base = api.server().base_url();
        world.script("cat > /dev/null\n");
        world.configure(&format!(
            "[limits]\nrate_subject = 1000\nrate_daemon = 1000\n\n[surfaces.github]\n{credentials}\napi_base = {base:?}\n\n\
             [policy.daemon.maker]\ncapability = \"write\"\ntargets = [\"github:o/r\"]\n"
        ));
        let host = world.serve();
        let scene = Self {
            world,
            host,
            api,
            acts,
            head,
            sent: Arc::default(),
            order,
            n_asked: 0,
        };
        scene.listen();
        scene
    }

    fn listen(&self) {
        let (sent, order) = (Arc::clone(&self.sent), self.order);
        let address = self.host.address().to_owned();
        self.api
            .add_hook(REPO, "https://host.example", move |hook| {
                sent.lock().expect("no holder panics").push(hook.clone());
                match order {
                    Order::Before => deliver(&address, hook),
                    Order::After => 200,
                }
            });
    }

    /// Lets the daemon act and its webhooks come, and returns these.
    fn run(&mut self, row: &Row) -> Vec<GithubWebhook> {
        for lines in row.runs {
            self.ask(lines);
        }
        (row.outside)(self);
        let sent = take(&mut *self.sent.lock().expect("no holder panics"));
        if self.order == Order::After {
            for hook in &sent {
                assert_eq!(deliver(self.host.address(), hook), 200);
            }
        }
        self.host.settled(self.n_asked);
        sent
    }

    fn ask(&mut self, lines: &str) {
        let key = self.host.list("outputs").pop();
        let key = key.and_then(|output| output["key"].as_str().map(str::to_owned));
        let lines = lines.replace("OUTPUT", &key.unwrap_or_default());
        let lines = lines.replace("COMMIT", &self.head);
        self.n_asked += 1;
        ask(&self.world, &self.host, (&lines, self.n_asked), &self.head);
    }

    /// Returns the branch that the newest activation delivered.
    fn branch(&self) -> String {
        let branches = self.world.branches();
        let branch = branches.last().expect("a branch was delivered");
        branch.trim_start_matches("refs/heads/").to_owned()
    }

    /// Sends the events of a push of the host's account.
    fn pushed(&self, branch: &str, before: Option<&str>) {
        let push = GithubPush {
            branch: branch.to_owned(),
            before: before.map(str::to_owned),
            after: tip(&self.world.repo, branch),
            commits: Vec::new(),
        };
        self.api.pushed(REPO, self.acts.login(), push);
    }

    /// Returns how often the daemon that writes was woken.
    fn n_woken(&self) -> usize {
        let activations = self.host.list("activations");
        let is_maker = |one: &&Value| one["daemon_id"] == "maker";
        activations.iter().filter(is_maker).count()
    }

    /// Sends what the webhook would be if another account had done the same, and returns it.
    fn copied(&self, hook: &GithubWebhook, (login, kind): (&str, &str)) -> GithubWebhook {
        let slug = login.trim_end_matches("[bot]");
        let text = hook.body.replace(
            &format!("\"login\":\"{}\"", self.acts.login()),
            &format!("\"login\":\"{login}\""),
        );
        let text = text.replace("\"slug\":\"librarian\"", &format!("\"slug\":\"{slug}\""));
        let mut body: Value = serde_json::from_str(&text).expect("JSON");
        let main = tip(&self.world.repo, "main").expect("the branch");
        renumber(&mut body, &main);
        body["sender"] = json!({"login": login, "id": 999, "type": kind});
        let copy = GithubWebhook {
            guid: format!("{}-{kind}", hook.guid),
            body: body.to_string(),
            event: hook.event.clone(),
        };
        assert_eq!(deliver(self.host.address(), &copy), 200);
        copy
    }
}

/// Returns daemon and depth of each activation that the event of a delivery woke; `None` if another event reported the same.
pub(crate) fn woken(host: &Host, delivery: &str) -> Option<Vec<Woken>> {
    let events = host.list("events");
    let event = events
        .iter()
        .find(|event| event["delivery_id"] == delivery)?;
    let is_by = |one: &&Value| {
        let mut ids = one["trigger"]["event_ids"].as_array().into_iter().flatten();
        ids.any(|id| *id == event["id"])
    };
    let activations = host.list("activations");
    let mut rows: Vec<Woken> = activations
        .iter()
        .filter(is_by)
        .map(|one| {
            let daemon = one["daemon_id"].as_str().expect("an id");
            (daemon.to_owned(), one["chain"]["depth"].as_u64())
        })
        .collect();
    rows.sort();
    Some(rows)
}

/// Wakes the daemon that writes, and waits until its proposals are delivered. `n` counts how often it was asked.
pub(crate) fn ask(world: &World, host: &Host, (lines, n): (&str, usize), head: &str) {
    world.script(&format!(
        "cat > /dev/null\n\
         if grep -q '\"action\":\"reopened\"' \"$DAEMON_CONTEXT/event.json\"; then\n\
         case '{lines}' in *push_*|*open_pull*) echo more >> NOTE.md ;; esac\n\
         printf '%s\\n' '{lines}' >> \"$DAEMON_OUTPUTS\"\nfi\n\
         echo '{{\"daemon\":\"result\",\"ok\":true,\"text\":\"done\"}}'\n"
    ));
    let mut body = pull_request_opened(2);
    body["action"] = json!("reopened");
    body["pull_request"]["head"]["sha"] = json!(head);
    body["n"] = json!(n);
    host.hook("pull_request", &format!("asked-{n}"), &body);
    host.settled(n);
    for output in host.list("outputs") {
        assert_eq!(output["state"], "confirmed", "{lines}: {output:#}");
    }
}

/// Gives the objects of a webhook other numbers, and puts them at a commit of a person.
fn renumber(body: &mut Value, commit: &str) {
    for object in [
        "comment",
        "review",
        "check_run",
        "check_suite",
        "issue",
        "pull_request",
    ] {
        for number in ["id", "number"] {
            if let Some(known) = body[object][number].as_u64() {
                body[object][number] = json!(known + 500);
            }
        }
    }
    for place in [
        "/pull_request/head",
        "/check_run",
        "/check_suite",
        "/workflow_run",
        "/workflow_job",
    ] {
        if let Some(end) = body.pointer_mut(place).filter(|end| end.is_object()) {
            end["ref"] = json!("elsewhere");
            for sha in ["sha", "head_sha"] {
                end[sha] = json!(commit);
            }
        }
    }
    if body["check_run"]["check_suite"].is_object() {
        body["check_run"]["check_suite"]["id"] = json!(1);
        body["check_run"]["details_url"] = json!("https://ci.example/1");
    }
    if body["after"].is_string() || body["ref"].is_string() {
        body["after"] = json!(commit);
        body["ref"] = json!(match body["ref_type"].is_string() {
            true => "elsewhere",
            false => "refs/heads/elsewhere",
        });
    }
    if body["number"].is_u64() {
        body["number"] = body["pull_request"]["number"].clone();
    }
    for run in ["workflow_run", "workflow_job"] {
        if body[run].is_object() {
            body[run]["run_attempt"] = json!(3);
        }
    }
}

fn deliver(address: &str, hook: &GithubWebhook) -> u16 {
    let body = hook.body.as_bytes();
    let signature = http::signature(SECRET, body);
    let headers = http::github(&hook.event, &hook.guid, &signature);
    http::ask(address, "POST", "/webhooks/github", &headers, body).status
}

/// Names the event of a webhook: `issues.opened`.
fn name(hook: &GithubWebhook) -> String {
    let body: Value = serde_json::from_str(&hook.body).expect("JSON");
    let action = body["action"].as_str();
    action.map_or(hook.event.clone(), |action| {
        format!("{}.{action}", hook.event)
    })
}

/// A daemon, and how deep its chain is; `None` for a root.
pub(crate) type Woken = (String, Option<u64>);

pub(crate) fn roots() -> Vec<Woken> {
    ["maker", "other"].map(|one| (one.to_owned(), None)).into()
}

pub(crate) fn deeper(daemon: &str) -> Woken {
    (daemon.to_owned(), Some(1))
}

/// Checks the events of a row, and returns what is wrong.
fn faults(row: &Row, acts: As, order: Order) -> Vec<String> {
    let mut scene = Scene::new(acts, order);
    let sent = scene.run(row);
    let mut faults = Vec::new();
    let mut fault = |name: &str, what: &str, woken: &[Woken]| {
        faults.push(format!("{acts:?} {order:?} {name}{what}: {woken:?}"));
    };
    let names: Vec<String> = sent.iter().map(name).collect();
    for wanted in row.own.iter().chain(row.follow) {
        if !names.iter().any(|name| name == wanted) {
            fault(wanted, " was not sent", &[]);
        }
    }
    for hook in &sent {
        let (name, woken) = (name(hook), woken(&scene.host, &hook.guid));
        let expected = match row.follow.contains(&name.as_str()) {
            true => vec![deeper("maker"), deeper("other")],
            false => vec![deeper("other")],
        };
        let woken = woken.unwrap_or_else(|| expected.clone());
        if woken != expected {
            fault(&name, "", &woken);
        }
    }
    if row.follow.is_empty() && scene.n_woken() != row.runs.len() {
        fault(row.own[0], " woke its daemon", &[]);
    }
    if order == Order::Before {
        return faults;
    }
    let others = [("ann", "User"), ("helper-bot-2[bot]", "Bot")];
    let copies = sent
        .iter()
        .flat_map(|hook| others.map(|other| scene.copied(hook, other)));
    let copies: Vec<GithubWebhook> = copies.collect();
    scene.host.settled(scene.n_asked);
    for copy in &copies {
        // A second report of the same move of a branch is no event.
        let woken = woken(&scene.host, &copy.guid).unwrap_or_else(roots);
        if woken != roots() {
            fault(&name(copy), " of another account", &woken);
        }
    }
    faults
}

fn check(rows: &[Row], acts: As, order: Order) {
    let all = rows.iter().flat_map(|row| faults(row, acts, order));
    let all: Vec<String> = all.collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn a_workflow_that_the_own_account_starts_follows_from_its_newest_output() {
    // As by a comment that a workflow waits for. The account of a token may be a person's, whose later acts are roots.
    let long_ago = Some(Duration::from_hours(400_000));
    for (acts, begun_at, depth) in [
        (As::App, None, Some(1)),
        (As::App, long_ago, Some(1)),
        (As::Token, None, Some(1)),
        (As::Token, long_ago, None),
    ] {
        let mut scene = Scene::new(acts, Order::After);
        let row = Row {
            runs: &[r#"{"v":1,"verb":"comment","body":"Noted."}"#],
            ..QUIET
        };
        scene.run(&row);
        scene.api.add_workflow_run(
            REPO,
            GithubWorkflowRun {
                id: RUN + 1,
                head_branch: "main".to_owned(),
                head_sha: tip(&scene.world.repo, "main").expect("the branch"),
                attempt: 1,
                begun_at,
                ..GithubWorkflowRun::default()
            },
        );
        let row = Row {
            outside: |scene| {
                let login = scene.acts.login();
                scene.api.end_workflow_run(REPO, login, RUN + 1, "failure");
            },
            ..QUIET
        };
        let sent = scene.run(&row);
        let both = ["maker", "other"].map(|one| (one.to_owned(), depth));
        for hook in &sent {
            let woken = woken(&scene.host, &hook.guid);
            let name = name(hook);
            assert_eq!(woken, Some(both.to_vec()), "{acts:?} {begun_at:?} {name}");
        }
        assert_eq!(sent.len(), 2, "{sent:?}");
    }
}

#[test]
fn no_output_by_token_wakes_its_own_daemon() {
    check(ROWS, As::Token, Order::After);
}

#[test]
fn no_output_by_token_wakes_its_own_daemon_before_it_is_confirmed() {
    check(ROWS, As::Token, Order::Before);
}

#[test]
fn no_output_of_an_app_wakes_its_own_daemon() {
    check(ROWS, As::App, Order::After);
    check(OF_APPS, As::App, Order::After);
}

#[test]
fn no_output_of_an_app_wakes_its_own_daemon_before_it_is_confirmed() {
    check(ROWS, As::App, Order::Before);
    check(OF_APPS, As::App, Order::Before);
}
