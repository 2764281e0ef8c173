//! Every verb of Linear under every fault at every request: one effect, and a row that names it.

use daemon_engine::OutputState;
use daemon_fakes::{FakeClock, LinearApi, ServiceFault};
use daemon_surface::{Credentials, LinearSurface, ServiceApi};

use super::faults::{fail_nth, faults};
use super::outbox::{HostClock, KILLS, Kill, Planned, planned, settled};

const COMMENT: &str =
    r#"{"v":1,"verb":"comment","target":"linear:ENG-1","slot":"s","body":"Seen again."}"#;
const EDIT: &str = r#"{"v":1,"verb":"edit_comment","target":"linear:ENG-1","output":"4ymwin7k4k363ohv3ycu7vcqhh","body":"Seen no more."}"#;
const ISSUE: &str = r#"{"v":1,"verb":"edit_issue","target":"linear:ENG-1","priority":2,"assignee":"ann","state":"in progress","append":"Seen in 2.1."}"#;

fn linear() -> LinearApi {
    let api = LinearApi::start(0, "ENG", FakeClock::default()).unwrap();
    let ann = api.add_user("Ann", "ann@example.com");
    let bot = api.add_user("Librarian", "bot@example.com");
    api.add_token("lin_api_x", &bot);
    api.add_issue(&ann, "A question", "How?");
    api
}

/// Delivers one output under one fault and returns the number of requests.
async fn check(
    (api, line): (&LinearApi, &str),
    edits: Option<&str>,
    fault: (usize, &ServiceFault),
    kill: Kill,
) -> usize {
    let clock = HostClock::new();
    let base = api.server().base_url().parse().unwrap();
    let credentials = Credentials::Token("lin_api_x".parse().unwrap());
    let surface = LinearSurface::new(ServiceApi::new(base, credentials, clock.wall()).unwrap());
    let more = Planned {
        edits,
        ..Planned::default()
    };
    let output = planned(1, line, more);
    let before = api.server().received().len();
    fail_nth(api.server(), fault.0, fault.1.clone());
    let output = settled(&surface, output, kill, &clock).await;
    let context = format!("{line} {edits:?} {fault:?} {kill:?}: {output:?}");
    assert_eq!(output.state, OutputState::Confirmed, "{context}");
    let key = output.key.as_str();
    let comments = api.comments();
    let own = comments.iter().filter(|comment| comment.body.contains(key));
    let mut effects: Vec<String> = own
        .map(|comment| format!("comment:{}", comment.id))
        .collect();
    let issue = &api.issues()[0];
    effects.extend((issue.description.matches(key).count() == 1).then(|| {
        assert_eq!(
            (issue.priority, issue.assignee.is_some()),
            (2, true),
            "{context}"
        );
        "issue:ENG-1".to_owned()
    }));
    assert_eq!(
        effects,
        output.remote_id.into_iter().collect::<Vec<_>>(),
        "{context}"
    );
    api.server().received().len() - before
}

/// Checks a proposal with every fault at every request; `edits` returns the remote id of the comment in the slot.
async fn check_all(line: &str, edits: impl AsyncFn(&LinearApi) -> Option<String>) {
    for kill in KILLS {
        for fault in faults() {
            let mut nth = 1;
            loop {
                let api = linear();
                let edits = edits(&api).await;
                let n = check((&api, line), edits.as_deref(), (nth, &fault), kill).await;
                if n < nth || fault == ServiceFault::None {
                    break;
                }
                nth += 1;
            }
        }
    }
}

#[tokio::test]
async fn comments_have_one_effect_under_every_fault() {
    check_all(COMMENT, async |_| None).await;
}

#[tokio::test]
async fn a_deleted_comment_in_a_slot_is_written_again_once() {
    let deleted = "comment:00000000-0000-4000-8000-000000000000".to_owned();
    check_all(COMMENT, async |_| Some(deleted.clone())).await;
}

/// Writes a comment, and returns its remote id.
async fn commented(api: &LinearApi) -> Option<String> {
    let clock = HostClock::new();
    let base = api.server().base_url().parse().unwrap();
    let credentials = Credentials::Token("lin_api_x".parse().unwrap());
    let surface = LinearSurface::new(ServiceApi::new(base, credentials, clock.wall()).unwrap());
    let earlier = planned(9, COMMENT, Planned::default());
    let written = settled(&surface, earlier, Kill::Never, &clock).await;
    written.remote_id
}

#[tokio::test]
async fn comments_in_a_slot_have_one_effect_under_every_fault() {
    check_all(COMMENT, commented).await;
}

#[tokio::test]
async fn edits_of_comments_have_one_effect_under_every_fault() {
    check_all(EDIT, commented).await;
}

#[tokio::test]
async fn changes_of_issues_have_one_effect_under_every_fault() {
    check_all(ISSUE, async |_| None).await;
}
