//! Every verb of GitHub under every fault at every request: one effect, and a row that names it.

use std::time::Duration;

use daemon_engine::{
    ActivationState, Found, Output, OutputState, RetryAfter, Surface as _, SurfaceErrorKind,
    after_look_up, after_send,
};
use daemon_fakes::{FaultPlan, GithubAccountKind, GithubApi, ServiceFault};
use daemon_surface::{Credentials, GithubSurface, ServiceApi};
use jiff::SignedDuration;
use serde_json::json;

use super::faults::{fail_nth, faults};
use super::github_kit::{REPO, TOKEN, app_surface, as_ann, github, surface};
use super::outbox::{HostClock, KILLS, Kill, Planned, planned, settled, start};

/// One verb: its proposal, what it needs, and what it did.
struct Case {
    line: &'static str,
    head: Option<&'static str>,
    /// Prepares the service and returns the remote id that is edited.
    prepare: fn(&GithubApi) -> Option<String>,
    /// Returns the remote ids of everything that has the key.
    effects: fn(&GithubApi, &str) -> Vec<String>,
}

const CASES: &[Case] = &[
    Case {
        line: r#"{"v":1,"verb":"comment","target":"github:o/r#1","body":"Two links are broken."}"#,
        head: None,
        prepare: |_| None,
        effects: comments,
    },
    Case {
        line: r#"{"v":1,"verb":"comment","target":"github:o/r#1","slot":"s","body":"One link is broken."}"#,
        head: None,
        prepare: earlier_comment,
        effects: comments,
    },
    Case {
        line: r#"{"v":1,"verb":"comment","target":"github:o/r#1","slot":"s","body":"The first one is gone."}"#,
        head: None,
        prepare: |_| Some("comment:1".to_owned()),
        effects: comments,
    },
    Case {
        line: r#"{"v":1,"verb":"edit_comment","target":"github:o/r#1","output":"4ymwin7k4k363ohv3ycu7vcqhh","body":"None is."}"#,
        head: None,
        prepare: earlier_comment,
        effects: comments,
    },
    Case {
        line: r#"{"v":1,"verb":"open_issue","target":"github:o/r","title":"Stale","body":"A page."}"#,
        head: None,
        prepare: |_| None,
        effects: issues,
    },
    Case {
        line: r#"{"v":1,"verb":"open_pull_request","target":"github:o/r","title":"Repair","body":"Both."}"#,
        head: Some("refs/heads/daemon/librarian/one"),
        prepare: |_| None,
        effects: pulls,
    },
    Case {
        line: r#"{"v":1,"verb":"edit_pull_request","target":"github:o/r#2","title":"Better","body":"More.","draft":true}"#,
        head: None,
        prepare: |_| None,
        effects: |api, key| {
            let issues = api.issues(REPO);
            let pull = issues.iter().find_map(|issue| issue.pull.as_ref());
            let is_draft = pull.is_some_and(|pull| pull.is_draft);
            pulls(api, key).into_iter().filter(|_| is_draft).collect()
        },
    },
    Case {
        line: r#"{"v":1,"verb":"open_pull_request","target":"github:o/r","title":"Repair","body":"Both.","base":"main","draft":true,"labels":["docs"]}"#,
        head: Some("refs/heads/daemon/librarian/one"),
        prepare: |_| None,
        effects: |api, key| {
            let has_label = api
                .issues(REPO)
                .last()
                .is_some_and(|issue| issue.labels == ["docs"]);
            pulls(api, key).into_iter().filter(|_| has_label).collect()
        },
    },
    Case {
        line: r#"{"v":1,"verb":"review","target":"github:o/r#2","event":"comment","body":"One remark.","comments":[{"path":"a.rs","line":2,"body":"Never read."}]}"#,
        head: None,
        prepare: |_| None,
        effects: |api, key| {
            let n_marked = api
                .review_comments(REPO)
                .iter()
                .filter(|row| row.body.contains(key))
                .count();
            assert!(n_marked <= 1, "{n_marked}");
            let all = api.reviews(REPO);
            let own = all.iter().filter(|review| review.body.contains(key));
            own.map(|review| format!("review:{}", review.id)).collect()
        },
    },
    Case {
        line: r#"{"v":1,"verb":"review_comment","target":"github:o/r#2","path":"a.rs","line":2,"body":"Never read."}"#,
        head: None,
        prepare: |_| None,
        effects: |api, key| {
            let all = api.review_comments(REPO);
            let own = all.iter().filter(|row| row.body.contains(key));
            own.map(|row| format!("review_comment:{}", row.id))
                .collect()
        },
    },
    Case {
        line: r#"{"v":1,"verb":"label","target":"github:o/r#1","add":["docs","bug"],"remove":["old"]}"#,
        head: None,
        prepare: |api| {
            let (status, _) = api.act(
                "ann",
                "POST",
                "/repos/o/r/issues/1/labels",
                &json!({"labels": ["old", "kept"]}),
            );
            assert_eq!(status, 200);
            None
        },
        effects: |api, _| {
            let labels = &api.issues(REPO)[0].labels;
            vec!["labels:1".to_owned(); usize::from(*labels == ["kept", "docs", "bug"])]
        },
    },
    Case {
        line: r#"{"v":1,"verb":"assign","target":"github:o/r#2","add":["ann"],"reviewers":["cem"]}"#,
        head: None,
        prepare: |api| {
            api.add_account("ann", GithubAccountKind::User);
            api.add_account("cem", GithubAccountKind::User);
            api.add_collaborator(REPO, "cem");
            None
        },
        effects: |api, _| {
            let pull = &api.issues(REPO)[1];
            let reviewers = pull.pull.as_ref().unwrap().reviewers == ["cem"];
            vec!["assignees:2".to_owned(); usize::from(pull.assignees == ["ann"] && reviewers)]
        },
    },
    Case {
        line: r#"{"v":1,"verb":"check_run","target":"github:o/r@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","name":"links","conclusion":"failure","title":"Broken","summary":"See.","annotations":[{"path":"a.rs","line":2,"level":"failure","message":"404"}]}"#,
        head: None,
        prepare: |_| None,
        effects: |api, key| {
            let all = api.check_runs(REPO);
            let own = all
                .iter()
                .filter(|run| run.external_id.as_deref() == Some(key));
            own.inspect(|run| assert_eq!(run.annotations.len(), 1))
                .map(|run| format!("check_run:{}", run.id))
                .collect()
        },
    },
];

/// Writes a comment as our account, as an earlier activation did.
fn earlier_comment(api: &GithubApi) -> Option<String> {
    let path = format!("/repos/{REPO}/issues/1/comments");
    let (_, made) = api.act(
        super::github_kit::BOT,
        "POST",
        &path,
        &json!({"body": "Earlier."}),
    );
    Some(format!("comment:{}", made["id"]))
}

fn comments(api: &GithubApi, key: &str) -> Vec<String> {
    let all = api.comments(REPO);
    let own = all.iter().filter(|comment| comment.body.contains(key));
    own.map(|comment| format!("comment:{}", comment.id))
        .collect()
}

fn issues(api: &GithubApi, key: &str) -> Vec<String> {
    numbers(api, key, "issue")
}

fn pulls(api: &GithubApi, key: &str) -> Vec<String> {
    numbers(api, key, "pull_request")
}

fn numbers(api: &GithubApi, key: &str, kind: &str) -> Vec<String> {
    let all = api.issues(REPO);
    let has_key = |body: &Option<String>| body.as_deref().is_some_and(|body| body.contains(key));
    let own = all.iter().filter(|issue| has_key(&issue.body));
    own.map(|issue| format!("{kind}:{}", issue.number))
        .collect()
}

/// Returns the surface of a fresh host; check runs need an App.
fn surface_of(case: &Case, api: &GithubApi, clock: &HostClock) -> GithubSurface {
    match case.line.contains("check_run") {
        true => app_surface(api, clock),
        false => surface(api, clock),
    }
}

/// Delivers one output under one fault and returns the number of requests.
async fn check(case: &Case, nth: usize, fault: &ServiceFault, kill: Kill) -> usize {
    let api = github();
    // A look-up must not take these for ours: a copied marker, and a comment of our account without one.
    let edits = (case.prepare)(&api);
    let more = Planned {
        head: case.head,
        edits: edits.as_deref(),
    };
    let output = planned(1, case.line, more);
    let key = output.key.as_str().to_owned();
    let forged = format!(
        "<!-- daemon:librarian act:{} out:{key} -->",
        output.activation
    );
    let forged = as_ann(&api, "issues/1/comments", json!({"body": forged}));
    let before = api.server().received().len();
    fail_nth(api.server(), nth, fault.clone());
    let clock = HostClock::new();
    let output = settled(&surface_of(case, &api, &clock), output, kill, &clock).await;
    let context = format!("{} {nth} {fault:?} {kill:?}: {output:?}", case.line);
    assert_eq!(output.state, OutputState::Confirmed, "{context}");
    let mut effects = (case.effects)(&api, &key);
    effects.retain(|id| *id != format!("comment:{forged}"));
    let remote: Vec<String> = output.remote_id.into_iter().collect();
    assert_eq!(effects, remote, "{context}");
    assert!(output.url.is_some(), "{context}");
    api.server().received().len() - before
}

/// Delivers the outputs of one verb under every fault at every request, with and without a kill.
async fn check_verb(verb: &str) {
    let word = format!(r#""verb":"{verb}""#);
    let cases: Vec<&Case> = CASES
        .iter()
        .filter(|case| case.line.contains(&word))
        .collect();
    assert!(!cases.is_empty(), "{verb}");
    for case in cases {
        for kill in KILLS {
            for fault in faults() {
                let mut nth = 1;
                // Until the fault comes after the last request.
                while check(case, nth, &fault, kill).await >= nth && fault != ServiceFault::None {
                    nth += 1;
                }
            }
        }
    }
}

#[tokio::test]
async fn comments_have_one_effect_under_every_fault() {
    check_verb("comment").await;
}

#[tokio::test]
async fn edits_of_comments_have_one_effect_under_every_fault() {
    check_verb("edit_comment").await;
}

#[tokio::test]
async fn issues_have_one_effect_under_every_fault() {
    check_verb("open_issue").await;
}

#[tokio::test]
async fn pull_requests_have_one_effect_under_every_fault() {
    check_verb("open_pull_request").await;
}

#[tokio::test]
async fn edits_of_pull_requests_have_one_effect_under_every_fault() {
    check_verb("edit_pull_request").await;
}

#[tokio::test]
async fn reviews_have_one_effect_under_every_fault() {
    check_verb("review").await;
}

#[tokio::test]
async fn comments_on_lines_have_one_effect_under_every_fault() {
    check_verb("review_comment").await;
}

#[tokio::test]
async fn labels_have_one_effect_under_every_fault() {
    check_verb("label").await;
}

#[tokio::test]
async fn assignees_have_one_effect_under_every_fault() {
    check_verb("assign").await;
}

#[tokio::test]
async fn check_runs_have_one_effect_under_every_fault() {
    check_verb("check_run").await;
}

/// A service that needs longer for a write than a read may take is waited for.
#[tokio::test]
async fn a_slow_write_is_not_sent_again() {
    let (api, clock) = (github(), HostClock::new());
    let slow = ServiceFault::LateEffect(Duration::from_millis(300));
    let fault = ("POST", "/issues/1/comments", slow);
    api.server().set_faults(FaultPlan::each_once([fault]));
    let output = planned(1, CASES[0].line, Planned::default());
    let base = api.server().base_url().parse().unwrap();
    let credentials = Credentials::Token(TOKEN.parse().unwrap());
    let client = ServiceApi::new(base, credentials, clock.wall()).unwrap();
    // Only reads have this timeout.
    let client = client.with_timeout(Duration::from_millis(150));
    let surface = GithubSurface::new(client, Vec::new());
    let output = settled(&surface, output, Kill::Never, &clock).await;
    assert_eq!((output.state, output.attempts), (OutputState::Confirmed, 1));
    assert_eq!(comments(&api, output.key.as_str()).len(), 1);
}

/// A service may carry a request out after the host that sent it was killed, and after the next one looked for it.
#[tokio::test]
async fn a_request_that_lands_late_is_waited_for_after_a_kill() {
    let (api, clock) = (github(), HostClock::new());
    let surface = surface(&api, &clock);
    let mut output = planned(1, CASES[0].line, Planned::default());
    output.begin_send();
    output.interrupt(start());
    clock.set(start());
    let waits = surface.find(&output).await.unwrap_err();
    let landed = start() + SignedDuration::from_secs(80);
    let until = Some(RetryAfter::Until(landed));
    assert_eq!(
        (waits.kind, waits.retry_after),
        (SurfaceErrorKind::Retryable, until)
    );
    let sent = output.clone();
    let again = after_look_up(&output, Err(waits), start(), 0);
    output.settle(again, ActivationState::Delivering);
    assert_eq!(
        (output.state, output.not_before),
        (OutputState::Ambiguous, landed)
    );
    let late = surface.deliver(&sent).await.unwrap();
    let found = surface.find(&output).await;
    assert_eq!(found, Ok(Found::At(late)));
    clock.set(landed);
    let mut never_sent = planned(2, CASES[0].line, Planned::default());
    never_sent.interrupt(start());
    assert_eq!(surface.find(&never_sent).await, Ok(Found::Absent));
}

/// A service may carry a request out after its connection broke, and after the first look-up.
#[tokio::test]
async fn a_request_that_lands_late_is_waited_for_after_a_lost_response() {
    let (api, clock) = (github(), HostClock::new());
    let surface = surface(&api, &clock);
    let mut output = planned(1, CASES[0].line, Planned::default());
    let request = output.clone();
    let lost = ("POST", "/issues/1/comments", ServiceFault::Closed);
    api.server().set_faults(FaultPlan::each_once([lost]));
    clock.set(start());
    output.begin_send();
    let sent = surface.deliver(&output).await;
    output.settle(
        after_send(&output, sent, start(), 0),
        ActivationState::Delivering,
    );
    let looked_up = output.not_before;
    assert!(
        looked_up < start() + SignedDuration::from_secs(11),
        "{looked_up}"
    );
    clock.set(looked_up);
    let found = surface.find(&output).await;
    let waits = after_look_up(&output, found, looked_up, 0);
    output.settle(waits, ActivationState::Delivering);
    let landed = start() + SignedDuration::from_secs(80);
    let why = "GitHub: the response to the last request is not known, so it is looked up again before it is sent again";
    assert_eq!(
        (output.state, output.not_before, output.error.as_deref()),
        (OutputState::Ambiguous, landed, Some(why))
    );
    let late = surface.deliver(&request).await.unwrap();
    clock.set(landed);
    assert_eq!(surface.find(&output).await, Ok(Found::At(late)));
    assert_eq!(comments(&api, output.key.as_str()).len(), 1);
    // What did not land by then never will.
    let missing = Output {
        in_doubt_since: output.in_doubt_since,
        state: OutputState::Ambiguous,
        ..planned(2, CASES[0].line, Planned::default())
    };
    assert_eq!(surface.find(&missing).await, Ok(Found::Absent));
}

/// A retry whose response is lost cannot be read back where the service does not name who started it.
#[tokio::test]
async fn a_retry_starts_the_jobs_at_most_once() {
    let line = r#"{"v":1,"verb":"retry_check","target":"github:o/r","run":77}"#;
    for fault in faults() {
        for nth in 1..=3 {
            let (api, clock) = (github(), HostClock::new());
            fail_nth(api.server(), nth, fault.clone());
            let output = planned(1, line, Planned::default());
            let output = settled(&surface(&api, &clock), output, Kill::Never, &clock).await;
            let n_retries = api.workflow_runs(REPO)[0].attempt - 1;
            let expected = match output.state {
                OutputState::Confirmed => n_retries == 1,
                OutputState::Unknown => n_retries <= 1,
                _ => false,
            };
            assert!(expected, "{nth} {fault:?}: {n_retries} {output:?}");
        }
    }
}
