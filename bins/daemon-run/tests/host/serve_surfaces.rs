//! Surfaces of services: what the doctor says about them, facts with their credentials, and tokens that no file shows.

use std::time::{SystemTime, UNIX_EPOCH};

use daemon_fakes::{
    FakeClock, GithubApi, GithubFile, LinearApi, SlackApi, SlackChannel, SlackUser,
};
use serde_json::json;

use crate::http::pull_request_opened;
use crate::leaks::{Search, walk};
use crate::world::{World, check, watch};

const DOCS: &str = "when a pull request that touches docs/** is opened";
/// A key for tests only.
const KEY: &str = include_str!("../../../../crates/daemon-surface/tests/it/app_key.pem");

/// A clock with the time of this machine, which signed assertions need.
fn clock() -> FakeClock {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH);
    FakeClock::new(move || now().expect("it is after 1970"))
}

/// Starts a GitHub whose App may write to `o/r`, with pull request 1.
fn github() -> GithubApi {
    let api = GithubApi::start(0, clock()).expect("a port");
    api.add_repo("o/r");
    for (branch, digit) in [("main", "a"), ("topic", "b")] {
        api.set_branch("o/r", branch, Some(&digit.repeat(40)));
    }
    api.read_files("o/r", |_, _| {
        let (path, status) = ("docs/a.md".to_owned(), "added".to_owned());
        let patch = "@@ -0,0 +1 @@\n+one".to_owned();
        vec![GithubFile {
            path,
            status,
            patch,
        }]
    });
    api.set_app(7, "librarian", |_, _| true);
    api.add_installation(&["o/r"]);
    let pull = json!({"title": "A change", "head": "topic", "base": "main"});
    let (status, made) = api.act("o", "POST", "/repos/o/r/pulls", &pull);
    assert_eq!(status, 201, "{made}");
    api
}

fn linear() -> LinearApi {
    let api = LinearApi::start(0, "ENG", clock()).expect("a port");
    let bot = api.add_user("Librarian", "bot@example.com");
    api.add_token("lin_api_x", &bot);
    api
}

fn slack() -> SlackApi {
    let api = SlackApi::start(0, clock()).expect("a port");
    api.add_user(SlackUser {
        id: "U1".to_owned(),
        name: "librarian".to_owned(),
        bot: Some("B1".to_owned()),
    });
    api.add_token("xoxb-1", "U1");
    api.set_channel(SlackChannel {
        id: "C024BE91L".to_owned(),
        name: "digests".to_owned(),
        is_member: true,
        is_archived: false,
    });
    api
}

/// Makes a world that writes to these services.
fn world(github: &GithubApi, linear: &LinearApi, slack: &SlackApi) -> World {
    let world = World::new(&[("docs", &watch(&[DOCS]))]);
    for (file, text) in [
        ("app.pem", KEY),
        ("linear-token", "lin_api_x\n"),
        ("slack-token", "xoxb-1\n"),
    ] {
        std::fs::write(world.home.join(file), text).expect("the secret");
    }
    let [github, linear, slack] = [github.server(), linear.server(), slack.server()];
    world.configure(&format!(
        "[surfaces.github]\napp_id = 7\nkey_file = \"app.pem\"\napi_base = {:?}\n\n\
         [surfaces.linear]\ntoken_file = \"linear-token\"\napi_base = {:?}\n\n\
         [surfaces.slack]\ntoken_file = \"slack-token\"\napi_base = {:?}\n",
        github.base_url(),
        linear.base_url(),
        format!("{}/api", slack.base_url()),
    ));
    world
}

/// Returns the tokens of installations that GitHub received.
fn tokens(api: &GithubApi) -> Vec<String> {
    let received = api.server().received();
    let headers = received
        .iter()
        .filter_map(|request| request.header("authorization"));
    let tokens = headers.filter_map(|header| header.strip_prefix("Bearer ghs_"));
    tokens.map(|token| format!("ghs_{token}")).collect()
}

#[test]
fn the_doctor_says_who_writes_and_where() {
    let (github, linear, slack) = (github(), linear(), slack());
    let world = world(&github, &linear, &slack);
    let host = world.serve();
    let report = host.get("doctor");
    for (name, detail) in [
        (
            "surface github account",
            "outputs are written as `librarian[bot]`",
        ),
        (
            "surface github o/r",
            "comments, issues, pull requests, labels and check runs are written",
        ),
        (
            "surface linear account",
            "outputs are written as `Librarian`",
        ),
        (
            "surface slack account",
            "messages are written as `librarian`",
        ),
    ] {
        let found = check(&report, name);
        assert_eq!(
            (&found["status"], &found["detail"]),
            (&json!("ok"), &json!(detail))
        );
    }
}

#[test]
fn facts_are_fetched_as_the_app_and_its_tokens_stay_secret() {
    let (github, linear, slack) = (github(), linear(), slack());
    let world = world(&github, &linear, &slack);
    let host = world.serve();
    host.hook("pull_request", "d-1", &pull_request_opened(1));
    assert_eq!(host.settled(1).len(), 1);
    let tokens = tokens(&github);
    let token = tokens.first().expect("the files were fetched as the App");
    // A program that came to know the token prints it.
    world.script(&format!("echo token {token}"));
    let (code, fired) = world.json(&["fire", "docs"]);
    assert_eq!(code, 0, "{fired}");
    let key = KEY.lines().nth(1).expect("a line of the key");
    let search = Search::of(&[token.as_str(), key]);
    let mut n_runs = 0;
    for found in walk(&world.home, &[]) {
        let is_key = found.path.ends_with("app.pem");
        let leaks = search.leaks(&found.text);
        assert!(is_key || leaks.is_empty(), "{}: {leaks:?}", found.path);
        n_runs += usize::from(found.text.contains("token <redacted>"));
    }
    assert!(n_runs > 0, "the output of the run is kept");
}

#[test]
fn a_key_that_is_none_stops_the_start() {
    let (github, linear, slack) = (github(), linear(), slack());
    let world = world(&github, &linear, &slack);
    std::fs::write(world.home.join("app.pem"), "xoxb-secret\n").expect("the key");
    let (code, refused) = world.json(&["serve"]);
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    let why = "surfaces.github.key_file: the key of a GitHub App is an RSA key in PEM form";
    assert_eq!((code, message), (78, why), "{refused}");
}
