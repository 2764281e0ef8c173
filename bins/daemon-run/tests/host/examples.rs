//! The three examples of the format, end to end: from what wakes them to what a person sees on the services, once.

use std::sync::mpsc::{Receiver, channel};

use daemon_fakes::{
    FakeClock, FakeServer, GithubAccess, GithubApi, GithubPush, GithubWebhook, GithubWorkflowRun,
    LinearApi, SlackApi, SlackChannel, SlackUser,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::browser;
use crate::git_server::{changed, now, tip};
use crate::http::{ask, repository, sender};
use crate::serve_sources::{linear, slack_at};
use crate::world::{Host, World};

const REPO: &str = "o/r";
const BOT: &str = "team-bot";

macro_rules! example {
    ($id:literal) => {
        (
            include_str!(concat!(
                "../../../../fixtures/daemons/.agents/daemons/",
                $id,
                "/DAEMON.md"
            )),
            include_str!(concat!("examples/", $id, ".sh")),
        )
    };
}

/// Makes a world with one daemon file, the script that is its model, and more configuration.
fn world(id: &str, (file, script): (&str, &str), more: &str) -> World {
    let world = World::new(&[]);
    world.write_daemon(id, file);
    world.write("CODEOWNERS", "/src/lamp.rs @Ida Brook\n");
    world.write("src/lamp.rs", "fn light() {\n    wick().unwrap();\n}\n");
    world.commit("Build a lamp");
    world.script(script);
    world.configure(more);
    world
}

/// Returns a page as a person sees it.
fn page(server: &FakeServer, path: &str) -> String {
    let answer = ask(&server.address().to_string(), "GET", path, &[], b"");
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

/// Writes a picture of a page for the documents, when they are updated.
fn update_image(name: &str, server: &FakeServer, path: &str) {
    browser::update_image(name, &format!("{}{path}", server.base_url()));
}

/// Asserts that a page shows each text exactly once.
#[track_caller]
fn shows_once(page: &str, texts: &[&str]) {
    for text in texts {
        assert_eq!(page.matches(text).count(), 1, "`{text}` in {page}");
    }
}

/// A GitHub around a world's repository, with what it sends.
struct Github {
    api: GithubApi,
    sent: Receiver<GithubWebhook>,
}

impl Github {
    fn of(world: &World) -> Self {
        let api = GithubApi::start(0, FakeClock::new(now)).expect("a port");
        api.add_repo(REPO);
        api.add_token("ghp_x", BOT, GithubAccess::Write);
        api.add_collaborator(REPO, BOT);
        let (branches, files) = (world.repo.clone(), world.repo.clone());
        api.read_branches(REPO, move |branch| tip(&branches, branch));
        api.read_files(REPO, move |base, head| changed(&files, base, head));
        let (send, sent) = channel();
        api.add_hook(REPO, "http://host.example", move |hook| {
            send.send(hook.clone()).map_or(0, |()| 200)
        });
        std::fs::write(world.home.join("github-token"), "ghp_x\n").expect("the token");
        let config = std::fs::read_to_string(world.home.join("config.toml")).expect("it exists");
        let base = api.server().base_url();
        world.write_config(&format!(
            "{config}\n[surfaces.github]\ntoken_file = \"github-token\"\napi_base = {base:?}\n"
        ));
        Self { api, sent }
    }

    fn act(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/repos/{REPO}/{path}");
        let (status, made) = self.api.act("ann", method, &path, body);
        assert!((200..300).contains(&status), "{path}: {status} {made}");
        made
    }

    /// Delivers everything that was sent so far, each delivery twice.
    fn deliver(&self, host: &Host) {
        for hook in self.sent.try_iter() {
            let body: Value = serde_json::from_str(&hook.body).expect("JSON");
            for _ in 0..2 {
                let answer = host.hook(&hook.event, &hook.guid, &body);
                assert_eq!(answer.status, 200, "{}: {answer:?}", hook.event);
            }
        }
    }
}

/// Asserts that all outputs are on their surfaces.
#[track_caller]
fn all_confirmed(host: &Host, n: usize) {
    let outputs = host.list("outputs");
    let open = outputs.iter().filter(|one| one["state"] != "confirmed");
    assert_eq!(open.collect::<Vec<_>>(), [&Value::Null; 0]);
    assert_eq!(outputs.len(), n);
}

/// Commits a content of a file to `topic`, and returns the commit.
fn change(world: &World, text: &str, message: &str) -> String {
    world.git(&["switch", "--quiet", "--force-create", "topic"]);
    world.write("docs/a.md", text);
    let commit = world.commit(message);
    world.git(&["switch", "--quiet", "main"]);
    commit
}

#[test]
fn the_pull_request_helper_describes_a_pull_request_and_retries_its_check() {
    let more = "[policy.daemon.pr-helper]\ncapability = \"write\"\n";
    let world = world("pr-helper", example!("pr-helper"), more);
    let github = Github::of(&world);
    let first = change(&world, "two\n", "Light the wick at dusk");
    let host = world.serve();
    github.act(
        "POST",
        "pulls",
        &json!({"title": "wip", "head": "topic", "base": "main"}),
    );
    github.deliver(&host);
    assert_eq!(host.settled(1).len(), 1);
    // The webhooks of its own comment and edit, which must not wake it.
    github.deliver(&host);
    assert_eq!(host.settled(1).len(), 1);
    let seen = page(github.api.server(), "/o/r/pull/1");
    shows_once(
        &seen,
        &[
            "<h1>Light the wick at dusk <small>#1</small></h1>",
            "Lights the wick at dusk. Changes ",
            "Wrote a title and a description for ",
        ],
    );
    assert!(
        seen.contains("Written by the daemon </span><code>pr-helper"),
        "{seen}"
    );

    let second = change(&world, "three\n", "Light it earlier");
    let push = GithubPush {
        branch: "topic".to_owned(),
        before: Some(first),
        after: Some(second.clone()),
        commits: Vec::new(),
    };
    github.api.pushed(REPO, "ann", push);
    github.deliver(&host);
    assert_eq!(host.settled(2).len(), 2);
    let seen = page(github.api.server(), "/o/r/pull/1");
    shows_once(
        &seen,
        &["commented, edited", "title and description are accurate"],
    );
    assert!(!seen.contains("Wrote a title"), "{seen}");
    update_image("example-pr-helper", github.api.server(), "/o/r/pull/1");

    github.api.add_workflow_run(REPO, failed_run(&second));
    let check = check_failed(&second);
    assert_eq!(host.hook("check_run", "c-1", &check).status, 200);
    assert_eq!(host.settled(3).len(), 3);
    github.deliver(&host);
    assert_eq!(host.settled(3).len(), 3);
    assert_eq!(github.api.workflow_runs(REPO)[0].attempt, 2);
    assert_eq!(github.api.comments(REPO).len(), 1);
    all_confirmed(&host, 4);
}

fn failed_run(commit: &str) -> GithubWorkflowRun {
    GithubWorkflowRun {
        id: 77,
        name: "build".to_owned(),
        head_branch: "topic".to_owned(),
        head_sha: commit.to_owned(),
        conclusion: Some("failure".to_owned()),
        attempt: 1,
        jobs: vec![5],
        begun_at: None,
    }
}

fn check_failed(commit: &str) -> Value {
    json!({
        "action": "completed",
        "check_run": {
            "id": 5, "name": "build", "status": "completed", "conclusion": "failure", "head_sha": commit,
            "details_url": "https://github.com/o/r/actions/runs/77/job/5",
            "check_suite": {"head_branch": "topic"},
            "pull_requests": [{"number": 1, "head": {"ref": "topic", "sha": commit}, "base": {"ref": "main", "sha": commit}}],
        },
        "repository": repository(REPO), "sender": sender(),
    })
}

#[test]
fn the_librarian_opens_one_pull_request_and_keeps_its_list() {
    let world = world("librarian", example!("librarian"), "");
    let github = Github::of(&world);
    let host = world.serve();
    assert_eq!(host.stop().0, Some(0));
    // A day later, by the clock of the schedule.
    world.rewind(Timestamp::now() - jiff::SignedDuration::from_hours(24));
    let host = world.serve();
    let activations = host.settled(1);
    shows!(activations[0], {"trigger.kind": "tick", "state": "succeeded"});
    github.deliver(&host);
    let seen = page(github.api.server(), "/o/r/pull/1");
    shows_once(
        &seen,
        &[
            "<h1>Keep the docs current <small>#1</small></h1>",
            ": documents src/lamp.rs, which no page described",
            "<code>docs/lamp.md</code>",
            "<ins>+The lamp has one wick.</ins>",
        ],
    );

    world.git(&["switch", "--quiet", "--create", "topic"]);
    world.write("src/lamp.rs", "fn light() {}\n");
    world.commit("Never panic");
    world.git(&["switch", "--quiet", "main"]);
    let pull = json!({"title": "Never panic", "body": "", "head": "topic", "base": "main"});
    github.act("POST", "pulls", &pull);
    github.deliver(&host);
    world.git(&["merge", "--quiet", "--no-ff", "-m", "Merge it", "topic"]);
    github.act("PUT", "pulls/2/merge", &json!({}));
    github.deliver(&host);
    assert_eq!(host.settled(2).len(), 2);
    github.deliver(&host);
    assert_eq!(host.settled(2).len(), 2);
    let seen = page(github.api.server(), "/o/r/pull/1");
    shows_once(
        &seen,
        &[
            ": documents src/lamp.rs, which no page described",
            ": the merged change needs no new docs",
            "Written by the daemon",
        ],
    );
    update_image("example-librarian", github.api.server(), "/o/r/pull/1");
    assert_eq!(github.api.issues(REPO).len(), 2, "one of them is its own");
    all_confirmed(&host, 3);
}

/// A Linear with an issue of Ida, and the world's access to it.
fn linear_of(world: &World) -> LinearApi {
    let api = LinearApi::start(0, "ENG", FakeClock::new(now)).expect("a port");
    let ida = api.add_user("Ida Brook", "ida@example.com");
    let bot = api.add_user("Team bot", "bot@example.com");
    api.add_token("lin_api_x", &bot);
    api.add_issue(&ida, "The lamp panics", "It went dark.");
    std::fs::write(world.home.join("linear-token"), "lin_api_x\n").expect("the token");
    let config = std::fs::read_to_string(world.home.join("config.toml")).expect("it exists");
    let base = api.server().base_url();
    world.write_config(&format!(
        "{config}\n[sources.linear]\nsecret_file = \"hook-secret\"\n\n\
         [surfaces.linear]\ntoken_file = \"linear-token\"\napi_base = {base:?}\n"
    ));
    api
}

/// The webhook of an issue with the label `Bug`.
fn bug(action: &str, more: &Value) -> Value {
    let mut body = json!({
        "action": action, "type": "Issue", "createdAt": "2026-11-20T12:00:00.000Z", "organizationId": "o1",
        "actor": {"id": "lu-ida", "name": "Ida Brook", "type": "user"},
        "webhookTimestamp": Timestamp::now().as_millisecond(), "webhookId": "w1",
        "data": {
            "id": "li-1", "identifier": "ENG-1", "number": 1, "title": "The lamp panics", "priority": 0,
            "description": "panicked at src/lamp.rs:2", "team": {"key": "ENG"},
            "labelIds": ["ll-bug"], "labels": [{"id": "ll-bug", "name": "Bug"}],
        },
    });
    if let Some(more) = more.as_object() {
        body.as_object_mut()
            .expect("an object")
            .extend(more.clone());
    }
    body
}

#[test]
fn the_bug_triage_completes_an_issue_and_analyses_it_once() {
    let more = "[policy.daemon.bug-triage]\ncapability = \"write\"\n";
    let world = world("bug-triage", example!("bug-triage"), more);
    let api = linear_of(&world);
    let host = world.serve();
    let created = bug("create", &json!({}));
    for _ in 0..2 {
        assert_eq!(linear(&host, "l-1", &created).status, 200);
    }
    let activations = host.settled(1);
    shows!(activations[0], {"state": "succeeded", "trigger.conditions": [0]});
    let seen = page(api.server(), "/linear/ENG-1");
    shows_once(
        &seen,
        &[
            "High",
            "Ida Brook",
            "Sentry: 312 events, 40 users.",
            "Root cause: ",
            "src/lamp.rs:2:    wick().unwrap();",
            "Confidence: high.",
        ],
    );
    update_image("example-bug-triage", api.server(), "/linear/ENG-1");

    let updated = bug(
        "update",
        &json!({"updatedFrom": {"labelIds": [], "updatedAt": "2026-11-20T12:00:00.000Z"}}),
    );
    assert_eq!(linear(&host, "l-2", &updated).status, 200);
    let activations = host.settled(2);
    shows!(activations[0], {"state": "succeeded", "trigger.conditions": [1]});
    assert_eq!(page(api.server(), "/linear/ENG-1"), seen);
    all_confirmed(&host, 2);
}

#[test]
fn a_report_in_slack_is_answered_in_its_thread_and_added_to_the_issue() {
    let script = include_str!("examples/front-desk.sh");
    let file = crate::world::daemon_file(
        "front-desk",
        &crate::world::watch(&["when a Slack message is posted"]),
    );
    let world = world(
        "front-desk",
        (&file, script),
        "[policy.daemon.front-desk]\ntargets = [\"linear:ENG-*\"]\n",
    );
    let issues = linear_of(&world);
    let api = SlackApi::start(0, FakeClock::new(now)).expect("a port");
    for (id, name, bot) in [("U1", "ann", None), ("U2", "team-bot", Some("B2"))] {
        api.add_user(SlackUser {
            id: id.to_owned(),
            name: name.to_owned(),
            bot: bot.map(str::to_owned),
        });
    }
    api.add_token("xoxb-1", "U2");
    api.set_channel(SlackChannel {
        id: "C024BE91L".to_owned(),
        name: "lamps".to_owned(),
        is_member: true,
        is_archived: false,
    });
    std::fs::write(world.home.join("slack-token"), "xoxb-1\n").expect("the token");
    let config = std::fs::read_to_string(world.home.join("config.toml")).expect("it exists");
    let base = format!("{}/api", api.server().base_url());
    world.write_config(&format!(
        "{config}\n[sources.slack]\nsecret_file = \"hook-secret\"\n\n\
         [surfaces.slack]\ntoken_file = \"slack-token\"\napi_base = {base:?}\n"
    ));
    let host = world.serve();
    let ts = api.post("C024BE91L", "U1", "The lamp went dark again, as in ENG-1.");
    let sent = Timestamp::now().as_second();
    let message = json!({
        "token": "t", "team_id": "T1", "api_app_id": "A1", "type": "event_callback", "event_id": "Ev1", "event_time": sent,
        "event": {"type": "message", "channel": "C024BE91L", "channel_type": "channel", "user": "U1",
            "text": "The lamp went dark again, as in ENG-1.", "ts": ts},
    });
    for _ in 0..2 {
        assert_eq!(slack_at(&host, sent, &message).status, 200);
    }
    assert_eq!(host.settled(1).len(), 1);
    all_confirmed(&host, 2);
    let seen = page(api.server(), "/slack/C024BE91L");
    shows_once(
        &seen,
        &["went dark again", "Thank you. I added this to ENG-1."],
    );
    let seen = page(issues.server(), "/linear/ENG-1");
    shows_once(&seen, &["Reported again in Slack."]);
}
