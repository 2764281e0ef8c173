//! Outputs on GitHub: from a webhook to a pull request and a comment, once, with the daemon's name on them.

use daemon_fakes::{FakeClock, GithubAccess, GithubApi, GithubWorkflowRun};
use serde_json::{Value, json};

use crate::git_server::{now, tip};
use crate::http::{self, pull_request_opened};
use crate::world::{Host, NOTE, SECRET, World, watch};

pub(crate) const TOKEN: &str = "ghp_NobodyMaySeeThisAtAll";
pub(crate) const REPO: &str = "o/r";
const BOT: &str = "helper-bot";

/// Proposes what its capability allows, and what it does not.
const PROPOSES: &str = r#"cat > /dev/null
echo fixed > NOTE.md
cat >> "$DAEMON_OUTPUTS" <<'EOF'
{"v":1,"verb":"open_pull_request","title":"Fix the note","body":"As @ann asked."}
{"v":1,"verb":"comment","slot":"summary","body":"I opened a pull request."}
{"v":1,"verb":"label","add":["docs"]}
{"v":1,"verb":"comment","target":"github:o/r#1","body":"Not mine."}
EOF
echo '{"daemon":"result","ok":true,"text":"done"}'
"#;

/// Starts a GitHub with the branches of a world's repository, an issue and a pull request of `ann`.
pub(crate) fn github(world: &World) -> GithubApi {
    let api = GithubApi::start(0, FakeClock::new(now)).expect("a port");
    api.add_repo(REPO);
    api.add_token(TOKEN, BOT, GithubAccess::Write);
    api.add_collaborator(REPO, BOT);
    let repo = world.repo.clone();
    api.read_branches(REPO, move |branch| tip(&repo, branch));
    world.git(&["branch", "topic"]);
    let person = |below: &str, body: Value| {
        let (status, made) = api.act("ann", "POST", &format!("/repos/{REPO}/{below}"), &body);
        assert_eq!(status, 201, "{made}");
    };
    person("issues", json!({"title": "A question", "body": "How?"}));
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "a change"]);
    world.git(&["branch", "--force", "topic"]);
    world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    person(
        "pulls",
        json!({"title": "A change", "body": "Mine.", "head": "topic", "base": "main"}),
    );
    api
}

/// Makes a world whose daemon wakes on a condition and does what the script says.
fn world(condition: &str, script: &str) -> (World, GithubApi) {
    world_with(condition, script, "")
}

/// Makes the same world, with more of its configuration.
pub(crate) fn world_with(condition: &str, script: &str, more: &str) -> (World, GithubApi) {
    let world = World::new(&[("helper", &watch(&[condition]))]);
    let api = github(&world);
    world.script(script);
    std::fs::write(world.home.join("surface-token"), format!("{TOKEN}\n")).expect("the token");
    let base = api.server().base_url();
    world.configure(&format!(
        "[surfaces.github]\ntoken_file = \"surface-token\"\napi_base = {base:?}\n\n{more}"
    ));
    (world, api)
}

/// The opened webhook of the pull request, at the tip of its branch.
pub(crate) fn opened(world: &World) -> Value {
    let mut body = pull_request_opened(2);
    body["pull_request"]["head"]["sha"] = json!(tip(&world.repo, "topic"));
    body
}

pub(crate) fn outputs(host: &Host) -> Vec<Value> {
    let mut outputs = host.list("outputs");
    outputs.sort_by_key(|output| output["ordinal"].as_u64());
    outputs
        .iter()
        .map(|output| {
            json!([
                output["surface"],
                output["target"],
                output["state"],
                output["error"]
            ])
        })
        .collect()
}

/// The outputs of [`PROPOSES`].
fn expected(id: &str) -> [Value; 5] {
    [
        json!([
            "git",
            format!("refs/heads/daemon/helper/{id}"),
            "confirmed",
            null
        ]),
        json!(["github", "github:o/r", "confirmed", null]),
        json!(["github", "github:o/r#2", "confirmed", null]),
        json!([
            "none",
            "",
            "refused",
            "`label` needs the capability `write`, this run has `propose`"
        ]),
        json!([
            "github",
            "github:o/r#1",
            "refused",
            "`github:o/r#1` is not what woke the daemon, nor its own, nor in `policy.daemon.<id>.targets`"
        ]),
    ]
}

#[test]
fn a_webhook_becomes_a_pull_request_and_a_comment() {
    let (world, api) = world("when a pull request is opened", PROPOSES);
    let host = world.serve();
    host.hook("pull_request", "d-1", &opened(&world));
    let activations = host.settled(1);
    assert_eq!(activations[0]["state"], "succeeded", "{activations:?}");
    let id = activations[0]["id"].as_str().expect("an id");
    assert_eq!(outputs(&host), expected(id));
    let made = api
        .issues(REPO)
        .pop()
        .expect("the pull request is an issue, too");
    assert_eq!(
        (made.title.as_str(), made.author.as_str()),
        ("Fix the note", BOT)
    );

    let body = made.body.expect("a body");
    for text in [
        "As @\u{200b}ann asked.",
        &format!("<!-- daemon:helper act:{id} out:"),
        "helper",
    ] {
        assert!(body.contains(text), "{text}: {body}");
    }
    let bodies = api.comments(REPO).into_iter().map(|comment| comment.body);
    let bodies: Vec<String> = bodies.collect();
    assert!(
        matches!(&bodies[..], [one] if one.starts_with("I opened a pull request.")),
        "{bodies:?}"
    );
    let urls = host.list("outputs");
    let urls: Vec<&str> = urls
        .iter()
        .filter_map(|output| output["url"].as_str())
        .collect();
    assert!(
        urls.iter().any(|url| url.ends_with("/o/r/pull/3")),
        "{urls:?}"
    );
    assert!(!world.log().contains(TOKEN));
}

#[test]
fn an_own_comment_does_not_wake_its_daemon_and_a_copy_of_its_marker_does() {
    let (world, api) = world(
        "when a comment is created on a pull request",
        r#"cat > /dev/null
echo '{"daemon":"output","output":{"v":1,"verb":"comment","body":"Noted."}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
"#,
    );
    let (send, sent) = std::sync::mpsc::channel();
    api.add_hook(REPO, "http://host.example", move |hook| {
        send.send(hook.clone()).expect("the test receives it");
        200
    });
    let host = world.serve();
    let person = |body: &str| {
        let path = format!("/repos/{REPO}/issues/2/comments");
        let (status, made) = api.act("ann", "POST", &path, &json!({"body": body}));
        assert_eq!(status, 201, "{made}");
    };
    let deliver = || {
        let hook = sent.recv().expect("it was sent");
        let body: Value = serde_json::from_str(&hook.body).expect("JSON");
        host.hook(&hook.event, &hook.guid, &body);
        body["comment"]["body"].as_str().expect("a body").to_owned()
    };
    person("Is this right?");
    deliver();
    assert_eq!(host.settled(1).len(), 1);
    let own = deliver();
    assert!(
        own.starts_with("Noted.") && own.contains("<!-- daemon:helper "),
        "{own}"
    );
    assert_eq!(host.settled(1).len(), 1);
    // A person copies the comment with its marker.
    person(&own);
    deliver();
    let activations = host.settled(2);
    assert_eq!(activations.len(), 2, "{activations:?}");
    deliver();
    assert_eq!(api.comments(REPO).len(), 4);
}

/// Passes the webhooks of a GitHub on to a host, before the request that caused them is answered.
fn forward(api: &GithubApi, host: &Host) {
    let address = host.address().to_owned();
    api.add_hook(REPO, "https://host.example/webhooks/github", move |hook| {
        let body = hook.body.as_bytes();
        let signature = http::signature(SECRET, body);
        let headers = http::github(&hook.event, &hook.guid, &signature);
        http::ask(&address, "POST", "/webhooks/github", &headers, body).status
    });
}

fn act(api: &GithubApi, method: &str, below: &str, body: &Value) {
    let path = format!("/repos/{REPO}/{below}");
    let (status, made) = api.act("ann", method, &path, body);
    assert!((200..300).contains(&status), "{status} {made}");
}

#[test]
fn an_own_label_does_not_wake_its_daemon_and_one_of_a_person_does() {
    let (world, api) = world(
        "when a label is added to a pull request",
        r#"cat > /dev/null
echo '{"daemon":"output","output":{"v":1,"verb":"label","add":["seen"]}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
"#,
    );
    let config = std::fs::read_to_string(world.home.join("config.toml")).expect("it is there");
    world.write_config(&(config + "\n[policy.daemon.helper]\ncapability = \"write\"\n"));
    let host = world.serve();
    forward(&api, &host);
    act(
        &api,
        "POST",
        "issues/2/labels",
        &json!({"labels": ["docs"]}),
    );
    let activations = host.settled(1);
    assert_eq!(activations[0]["state"], "succeeded", "{activations:?}");
    assert_eq!(api.issues(REPO)[1].labels, ["docs", "seen"]);
    let events = host.list("events");
    let is_ours = |event: &&Value| event["actor"] == BOT && event["kind"] == "pull_request";
    let by_us = events.iter().filter(is_ours);
    assert_eq!(
        by_us.count(),
        1,
        "the webhook of the label came: {events:?}"
    );
    assert_eq!(host.settled(1).len(), 1);
    // A person removes what the daemon added, and adds it again.
    act(&api, "DELETE", "issues/2/labels/seen", &Value::Null);
    act(
        &api,
        "POST",
        "issues/2/labels",
        &json!({"labels": ["seen"]}),
    );
    assert_eq!(host.settled(2).len(), 2);
}

/// Makes two daemons that do this whenever a condition is met, and returns how their activations ended after one comment of a person.
fn answering(conditions: &[&str], script: &str) -> Vec<(String, String)> {
    let file = watch(conditions);
    let world = World::new(&[("ask", &file), ("answer", &file)]);
    let api = github(&world);
    world.script(script);
    std::fs::write(world.home.join("surface-token"), format!("{TOKEN}\n")).expect("the token");
    let base = api.server().base_url();
    world.configure(&format!(
        "[surfaces.github]\ntoken_file = \"surface-token\"\napi_base = {base:?}\n"
    ));
    let host = world.serve();
    forward(&api, &host);
    act(&api, "POST", "issues/2/comments", &json!({"body": "Well?"}));
    // Every webhook is stored before its output is confirmed, so that nothing follows what has ended.
    let activations = host.settled(4);
    let ended = activations.iter().map(|one| {
        let words = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        (words("state"), words("reason"))
    });
    ended.collect()
}

/// Counts the activations that ran, and checks that the others are ends of chains.
fn n_ran(ended: &[(String, String)]) -> usize {
    let others = ended.iter().filter(|(state, _)| state != "succeeded");
    for (state, reason) in others {
        let is_end = state == "cancelled" && reason.starts_with("chain: ");
        assert!(is_end, "{state} {reason}");
    }
    ended
        .iter()
        .filter(|(state, _)| state == "succeeded")
        .count()
}

/// Asserts that two daemons which one person's comment woke ended their chains, each at most three deep.
#[track_caller]
fn assert_fell_quiet(ended: &[(String, String)]) {
    let n_ran = n_ran(ended);
    assert!((4..=8).contains(&n_ran), "{n_ran}: {ended:?}");
    assert!(ended.len() > n_ran, "no chain was ended: {ended:?}");
}

#[test]
fn two_daemons_that_answer_each_other_by_webhook_fall_quiet() {
    let ended = answering(
        &["when a comment is created on a pull request"],
        r#"cat > /dev/null
echo '{"daemon":"output","output":{"v":1,"verb":"comment","body":"Well!"}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
"#,
    );
    // The person's comment is the root of a chain of each daemon, which is at most three deep.
    assert_fell_quiet(&ended);
}

#[test]
fn two_daemons_that_each_edit_one_comment_for_the_other_fall_quiet() {
    // The webhook of an edit comes while the comment has only the id of its first text.
    let ended = answering(
        &[
            "when a comment is created on a pull request",
            "when a comment on a pull request is edited",
        ],
        r#"cat > /dev/null
n=$(date +%s%N)
echo '{"daemon":"output","output":{"v":1,"verb":"comment","slot":"s","body":"Well, '$n'!"}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
"#,
    );
    assert_fell_quiet(&ended);
}

#[test]
fn a_daemon_that_retries_whenever_ci_fails_stops_at_the_third_retry_of_its_own() {
    const RUN: u64 = 77;
    let (world, api) = world_with(
        "when CI fails",
        r#"cat > /dev/null
echo '{"daemon":"output","output":{"v":1,"verb":"retry_check","target":"github:o/r","run":77}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
"#,
        "[policy.daemon.helper]\ncapability = \"write\"\n",
    );
    api.add_workflow_run(
        REPO,
        GithubWorkflowRun {
            id: RUN,
            name: "ci".to_owned(),
            head_branch: "topic".to_owned(),
            head_sha: tip(&world.repo, "topic").expect("the branch"),
            conclusion: None,
            attempt: 1,
            jobs: Vec::new(),
            begun_at: None,
        },
    );
    let host = world.serve();
    forward(&api, &host);
    // The first attempt is of a person's push.
    api.end_workflow_run(REPO, "ann", RUN, "failure");
    for n in 1..=4 {
        host.settled(n);
        api.end_workflow_run(REPO, BOT, RUN, "failure");
    }
    let mut activations = host.settled(5);
    activations.sort_by_key(|one| one["id"].as_str().map(str::to_owned));
    let rows: Vec<Value> = activations
        .iter()
        .map(|one| json!([one["state"], one["chain"]["depth"]]))
        .collect();
    let expected = [
        json!(["succeeded", null]),
        json!(["succeeded", 1]),
        json!(["succeeded", 2]),
        json!(["succeeded", 3]),
        json!(["cancelled", 4]),
    ];
    assert_eq!(rows, expected);
    // A person who starts the run again begins a new chain.
    let again = format!("actions/runs/{RUN}/rerun-failed-jobs");
    act(&api, "POST", &again, &Value::Null);
    api.end_workflow_run(REPO, "ann", RUN, "failure");
    let woken = host.settled(6);
    let newest = woken.iter().max_by_key(|one| one["id"].as_str());
    assert_eq!(newest.expect("it was woken")["chain"], Value::Null);
}

#[test]
fn two_daemons_that_answer_each_other_by_webhook_and_by_git_fall_quiet() {
    let ended = answering(
        &[
            "when a comment is created on a pull request",
            "when a branch is created",
        ],
        r#"cat > /dev/null
echo again >> NOTE.md
echo '{"daemon":"output","output":{"v":1,"verb":"push_branch"}}'
echo '{"daemon":"output","output":{"v":1,"verb":"comment","body":"Well!"}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
"#,
    );
    let n_ran = n_ran(&ended);
    // At most ten of each of the two roots.
    assert!((4..=20).contains(&n_ran), "{n_ran}: {ended:?}");
    assert!(ended.len() > n_ran, "no chain was ended: {ended:?}");
}

#[test]
fn a_renamed_repository_still_wakes_its_daemons() {
    let (world, _api) = world("when a pull request is opened", NOTE);
    let host = world.serve();
    let opened = |name: &str, id: u64, number: u32| {
        let mut body = opened(&world);
        body["repository"]["full_name"] = json!(name);
        body["repository"]["id"] = json!(id);
        for end in ["head", "base"] {
            body["pull_request"][end]["repo"]["full_name"] = json!(name);
        }
        body["number"] = json!(number);
        body["pull_request"]["number"] = json!(number);
        body
    };
    host.hook("pull_request", "d-1", &opened("o/renamed", 41, 7));
    host.hook("pull_request", "d-2", &opened("O/R", 40, 8));
    assert_eq!(host.settled(1).len(), 1);
    host.kill();
    let host = world.serve();
    host.hook("pull_request", "d-3", &opened("o/renamed", 40, 9));
    let activations = host.settled(2);
    assert_eq!(activations.len(), 2, "{activations:?}");
    let events = host.list("events");
    let by_webhook = events.iter().filter(|event| event["source"] == "github");
    let named: Vec<&Value> = by_webhook.map(|event| &event["repo"]).collect();
    assert_eq!(named, ["O/R", "O/R", "o/renamed"]);
}
