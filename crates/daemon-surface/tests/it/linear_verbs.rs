//! Comments and changes of issues at Linear: requests, look-ups, and errors of GraphQL.

use daemon_engine::{Found, PlaceCondition, RemoteId, Surface as _, SurfaceErrorKind};
use daemon_surface::LinearSurface;
use serde_json::{Value, json};

use super::fake_api::{FakeApi, Reply, api_of, ok};
use super::outbox::{Planned, planned};

const COMMENT: &str = r#"{"v":1,"verb":"comment","target":"linear:ENG-12","slot":"triage","body":"Seen again, @ann."}"#;
const ISSUE: &str = r#"{"v":1,"verb":"edit_issue","target":"linear:ENG-12","priority":2,"assignee":"Ann","state":"In Progress","append":"Seen in 2.1."}"#;

fn surface(fake: &FakeApi) -> LinearSurface {
    LinearSurface::new(api_of(&fake.base))
}

fn data(value: Value) -> Reply {
    ok(json!({"data": value}).to_string())
}

fn absent() -> Reply {
    errors(200, "Entity not found: Comment", "INPUT_ERROR")
}

fn errors(status: u16, message: &str, code: &str) -> Reply {
    let errors = json!([{"message": message, "extensions": {"code": code}}]);
    Reply::Says(
        status,
        "",
        json!({"data": null, "errors": errors}).to_string(),
    )
}

fn viewer() -> Reply {
    data(json!({"viewer": {"id": "me", "name": "Librarian"}}))
}

fn made(field: &str) -> Reply {
    data(json!({field: {"success": true, "comment": {"id": "c-1", "url": "https://l/c-1"}}}))
}

fn remote(id: &str, url: &str) -> RemoteId {
    RemoteId {
        id: id.to_owned(),
        url: Some(url.to_owned()),
        revision: None,
    }
}

/// Returns the variables of the requests; all of them are `POST`.
fn variables(fake: FakeApi) -> Vec<Value> {
    let writes = fake.writes();
    let variables = |line: &String| {
        let body = line.strip_prefix("POST /graphql ").unwrap();
        serde_json::from_str::<Value>(body).unwrap()["variables"].take()
    };
    writes.iter().map(variables).collect()
}

#[tokio::test]
async fn a_comment_has_an_id_of_its_key_and_names_its_output() {
    let output = planned(1, COMMENT, Planned::default());
    let fake = FakeApi::start(vec![
        data(json!({"issue": {"id": "i-1"}})),
        made("commentCreate"),
    ])
    .await;
    let delivered = surface(&fake).deliver(&output).await;
    assert_eq!(delivered, Ok(remote("comment:c-1", "https://l/c-1")));
    let mut sent = variables(fake);
    let id = sent[1]["input"]["id"].take();
    assert_eq!(id.as_str().unwrap().len(), 36);
    let body = format!(
        "Seen again, @\u{200b}ann.\n\n*Written by the daemon `librarian`, activation `{}`. Output `{}`.*",
        output.activation, output.key
    );
    let expected = json!({"input": {"id": null, "issueId": "i-1", "body": body}});
    assert_eq!(sent, [json!({"id": "ENG-12"}), expected]);
}

#[tokio::test]
async fn the_comment_in_the_slot_is_replaced_or_written_again() {
    let more = Planned {
        edits: Some("comment:c-0"),
        ..Planned::default()
    };
    let output = planned(1, COMMENT, more);
    let fake = FakeApi::start(vec![made("commentUpdate")]).await;
    assert!(surface(&fake).deliver(&output).await.is_ok());
    assert_eq!(variables(fake)[0]["id"], "c-0");
    let issue = data(json!({"issue": {"id": "i-1"}}));
    let fake = FakeApi::start(vec![absent(), issue, made("commentCreate")]).await;
    assert_eq!(
        surface(&fake).deliver(&output).await,
        Ok(remote("comment:c-1", "https://l/c-1"))
    );
}

#[tokio::test]
async fn a_comment_is_found_by_its_id_key_and_author() {
    let output = planned(1, COMMENT, Planned::default());
    let comment = |user: Value, body: &str| {
        data(json!({"comment": {"id": "c-1", "url": "https://l/c-1", "body": body, "user": user}}))
    };
    let body = format!("x Output `{}`.", output.key);
    let found = || Ok(Found::At(remote("comment:c-1", "https://l/c-1")));
    let cases = [
        (comment(json!({"id": "me"}), &body), found()),
        // An App has no user.
        (comment(Value::Null, &body), found()),
        (comment(json!({"id": "other"}), &body), Ok(Found::Absent)),
        (comment(json!({"id": "me"}), "x"), Ok(Found::Absent)),
        (absent(), Ok(Found::Absent)),
        (
            errors(400, "Entity not found: Comment", "INPUT_ERROR"),
            Ok(Found::Absent),
        ),
        (
            errors(200, "no", "AUTHENTICATION_ERROR"),
            Err(SurfaceErrorKind::Retryable),
        ),
        (
            errors(500, "no", "INTERNAL_SERVER_ERROR"),
            Err(SurfaceErrorKind::Retryable),
        ),
    ];
    for (reply, expected) in cases {
        let fake = FakeApi::start(vec![viewer(), reply]).await;
        let found = surface(&fake).find(&output).await;
        assert_eq!(found.map_err(|error| error.kind), expected);
    }
}

fn issue(priority: u64, assignee: &str, state: &str, description: &str) -> Reply {
    data(json!({"issue": {
        "id": "i-1", "url": "https://l/ENG-12", "priority": priority, "description": description,
        "assignee": {"id": assignee}, "state": {"id": state}, "team": {"id": "t-1"},
    }}))
}

fn states() -> Reply {
    let nodes = json!([{"id": "s-1", "name": "Todo"}, {"id": "s-2", "name": "in progress"}]);
    data(json!({"workflowStates": {"nodes": nodes}}))
}

fn users(ids: &[&str]) -> Reply {
    let nodes: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
    data(json!({"users": {"nodes": nodes}}))
}

#[tokio::test]
async fn an_issue_gets_what_it_does_not_have() {
    let output = planned(1, ISSUE, Planned::default());
    let updated = || data(json!({"issueUpdate": {"success": true}}));
    let fake = FakeApi::start(vec![
        issue(0, "u-0", "s-1", "Broken."),
        states(),
        users(&["u-1"]),
        updated(),
    ])
    .await;
    let delivered = surface(&fake).deliver(&output).await;
    assert_eq!(delivered, Ok(remote("issue:ENG-12", "https://l/ENG-12")));
    let description = format!(
        "Broken.\n\nSeen in 2.1.\n\n*Written by the daemon `librarian`, activation `{}`. Output `{}`.*",
        output.activation, output.key
    );
    let input =
        json!({"priority": 2, "stateId": "s-2", "assigneeId": "u-1", "description": description});
    assert_eq!(variables(fake)[3], json!({"id": "i-1", "input": input}));
    // All of it is there: nothing is sent, and a look-up finds it.
    let done = || {
        vec![
            issue(2, "u-1", "s-2", &description),
            states(),
            users(&["u-1"]),
        ]
    };
    let fake = FakeApi::start(done()).await;
    assert!(surface(&fake).deliver(&output).await.is_ok());
    let fake = FakeApi::start(done()).await;
    let found = surface(&fake).find(&output).await;
    assert_eq!(
        found,
        Ok(Found::At(remote("issue:ENG-12", "https://l/ENG-12")))
    );
}

#[tokio::test]
async fn what_cannot_be_resolved_is_refused() {
    let deliver = async |line: &str, replies| {
        let fake = FakeApi::start(replies).await;
        let error = surface(&fake)
            .deliver(&planned(1, line, Planned::default()))
            .await
            .unwrap_err();
        (error.kind, error.message)
    };
    let refused = |why: &str| (SurfaceErrorKind::Refused, format!("Linear: {why}"));
    let before = || issue(0, "u-0", "s-1", "");
    assert_eq!(
        deliver(ISSUE, vec![before(), states(), users(&[])]).await,
        refused("there is no member `Ann`")
    );
    assert_eq!(
        deliver(ISSUE, vec![before(), states(), users(&["u-1", "u-2"])]).await,
        refused("there are several members `Ann`"),
    );
    let state = ISSUE.replace("In Progress", "Nowhere");
    assert_eq!(
        deliver(&state, vec![before(), states()]).await,
        refused("the team has no state `Nowhere`")
    );
}

#[tokio::test]
async fn an_error_code_decides_whether_a_comment_may_be_there() {
    use SurfaceErrorKind::{Ambiguous, Refused, Retryable};
    for (status, code, kind) in [
        (200, "INPUT_ERROR", Refused),
        (400, "INPUT_ERROR", Refused),
        (200, "FORBIDDEN", Refused),
        (200, "RATELIMITED", Retryable),
        (400, "RATELIMITED", Retryable),
        (200, "INTERNAL_SERVER_ERROR", Ambiguous),
        (502, "", Ambiguous),
    ] {
        let read = data(json!({"issue": {"id": "i-1"}}));
        let fake = FakeApi::start(vec![read, errors(status, "no", code)]).await;
        let error = surface(&fake)
            .deliver(&planned(1, COMMENT, Planned::default()))
            .await;
        assert_eq!(error.unwrap_err().kind, kind, "{status} {code}");
    }
}

#[tokio::test]
async fn the_account_is_examined() {
    let fake = FakeApi::start(vec![viewer()]).await;
    let condition = surface(&fake).examine().await.remove(0).condition;
    let detail = "outputs are written as `Librarian`".to_owned();
    assert_eq!(condition, PlaceCondition::Takes { detail });
}
