//! The fake Linear through its GraphQL API.

use daemon_fakes::{Applied, FakeClock, FaultPlan, LinearApi, ServiceFault};
use serde_json::{Value, json};

use crate::kit::{Answer, send};

const ID: &str = "0b2cf1ab-3d4e-4f60-9a71-82b3c4d5e6f7";
const CREATE: &str = "mutation($input: CommentCreateInput!) { commentCreate(input: $input) { success comment { id body user { name } issue { identifier } } } }";

const LIST: &str = "query($filter: IssueFilter, $first: Int, $after: String) { issues(filter: $filter, first: $first, after: $after, orderBy: updatedAt) { nodes { number updatedAt } pageInfo { hasNextPage endCursor } } }";

struct Linear {
    api: LinearApi,
    alice: String,
}

impl Linear {
    fn start() -> Self {
        let api = LinearApi::start(0, "ENG", FakeClock::default()).unwrap();
        let alice = api.add_user("Alice", "alice@example.com");
        api.add_token("lin_api_alice", &alice);
        api.add_app("Helper", "lin_oauth_helper");
        api.add_issue(&alice, "Broken link", "On the first page.");
        Self { api, alice }
    }

    fn raw(&self, authorization: &str, body: &Value) -> Answer {
        let authorization = format!("Authorization: {authorization}");
        let head = [
            "POST /graphql HTTP/1.1",
            &authorization,
            "Content-Type: application/json",
        ];
        send(self.api.server().address(), &head, &body.to_string())
    }

    fn ask(&self, query: &str, variables: Value) -> Answer {
        self.raw(
            "Bearer lin_oauth_helper",
            &json!({"query": query, "variables": variables}),
        )
    }

    fn data(&self, query: &str, variables: Value) -> Value {
        let answer = self.ask(query, variables);
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.json()["errors"].is_null(), "{}", answer.body);
        answer.json()["data"].clone()
    }

    fn comment(&self, id: Option<&str>, body: &str) -> Answer {
        self.ask(
            CREATE,
            json!({"input": {"id": id.unwrap_or(ID), "issueId": "ENG-1", "body": body}}),
        )
    }
}

/// Returns status, `code` and message of the first error.
fn error(answer: &Answer) -> (u16, String, String) {
    let error = &answer.json()["errors"][0];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        answer.status,
        text(&error["extensions"]["code"]),
        text(&error["message"]),
    )
}

#[test]
fn a_token_is_sent_as_its_kind_requires() {
    let linear = Linear::start();
    let viewer = json!({"query": "{ viewer { name app } }"});
    let name =
        |authorization: &str| linear.raw(authorization, &viewer).json()["data"]["viewer"].clone();
    assert_eq!(
        name("lin_api_alice"),
        json!({"name": "Alice", "app": false})
    );
    assert_eq!(
        name("Bearer lin_oauth_helper"),
        json!({"name": "Helper", "app": true})
    );
    let (status, code, message) = error(&linear.raw("lin_api_unknown", &viewer));
    assert_eq!(
        (status, code.as_str(), message.as_str()),
        (
            401,
            "AUTHENTICATION_ERROR",
            "Authentication required, not authenticated"
        )
    );
    let (status, _, message) = error(&linear.raw("Bearer lin_api_alice", &viewer));
    assert!(
        status == 401 && message.contains("Remove the Bearer prefix"),
        "{message}"
    );
}

#[test]
fn an_issue_is_found_by_identifier_and_by_id() {
    let linear = Linear::start();
    let issue = linear.api.issues()[0].clone();
    let query = "query($id: String!) { issue(id: $id) { id identifier title description priority url state { name type } assignee { id } team { key } labels { nodes { name } } } }";
    let found = linear.data(query, json!({"id": "ENG-1"}));
    let url = format!("{}/linear/ENG-1", linear.api.server().base_url());
    assert_eq!(
        found["issue"],
        json!({
            "id": issue.id, "identifier": "ENG-1", "title": "Broken link", "description": "On the first page.",
            "priority": 0, "url": url, "state": {"name": "Todo", "type": "unstarted"}, "assignee": null,
            "team": {"key": "ENG"}, "labels": {"nodes": []},
        })
    );
    assert_eq!(linear.data(query, json!({"id": issue.id})), found);
    let missing = linear.ask(query, json!({"id": "ENG-9"}));
    assert_eq!(
        error(&missing),
        (
            200,
            "INPUT_ERROR".to_owned(),
            "Entity not found: Issue".to_owned()
        )
    );
    let said = missing.json();
    assert_eq!(
        json!([
            said["data"],
            said["errors"][0]["path"],
            said["errors"][0]["extensions"]["userPresentableMessage"]
        ]),
        json!([null, ["issue"], "Could not find referenced Issue."])
    );
}

#[test]
fn a_comment_has_the_id_that_the_client_chose_and_exists_once() {
    let linear = Linear::start();
    let created = linear.comment(None, "Seen.").json()["data"]["commentCreate"].clone();
    assert_eq!(
        created,
        json!({"success": true, "comment": {
            "id": ID, "body": "Seen.", "user": {"name": "Helper"}, "issue": {"identifier": "ENG-1"},
        }})
    );
    let again = linear.comment(None, "Again.");
    assert_eq!(
        error(&again),
        (
            200,
            "INPUT_ERROR".to_owned(),
            "conflict on insert of Comment".to_owned()
        )
    );
    let found = linear.data(
        "query($id: String) { comment(id: $id) { body } }",
        json!({"id": ID}),
    );
    assert_eq!(found["comment"]["body"], "Seen.");
    let edit = "mutation { commentUpdate(id: \"0b2cf1ab-3d4e-4f60-9a71-82b3c4d5e6f7\", input: {body: \"Done.\"}) { comment { body } } }";
    assert_eq!(
        linear.data(edit, Value::Null)["commentUpdate"]["comment"]["body"],
        "Done."
    );
    let bodies: Vec<String> = linear
        .api
        .comments()
        .into_iter()
        .map(|it| it.body)
        .collect();
    assert_eq!(bodies, ["Done."]);
    let listed = linear.data(
        "{ issue(id: \"ENG-1\") { comments { nodes { id } } } }",
        Value::Null,
    );
    assert_eq!(listed["issue"]["comments"]["nodes"], json!([{"id": ID}]));
}

#[test]
fn a_comment_that_cannot_be_is_refused() {
    let linear = Linear::start();
    let rows = [
        (
            json!({"issueId": "ENG-1", "body": ""}),
            "Argument Validation Error",
        ),
        (
            json!({"issueId": "ENG-9", "body": "x"}),
            "Entity not found: Issue",
        ),
        (
            json!({"issueId": "ENG-1", "body": "x", "id": "mine"}),
            "Argument Validation Error",
        ),
        (
            json!({"issueId": "ENG-1", "body": "x", "colour": "red"}),
            "Field \"colour\" is not defined by type \"CommentCreateInput\".",
        ),
    ];
    for (input, message) in rows {
        assert_eq!(
            error(&linear.ask(CREATE, json!({"input": input}))).2,
            message
        );
    }
    let unknown = linear.ask(
        "query($id: String!) { comment(id: $id) { id } }",
        json!({"id": ID}),
    );
    assert_eq!(error(&unknown).2, "Entity not found: Comment");
    assert_eq!(linear.api.comments(), []);
}

#[test]
fn an_issue_is_edited_and_nothing_else_changes() {
    let linear = Linear::start();
    let label = linear.api.add_label("docs");
    let done = linear.api.states()[2].id.clone();
    let query = "mutation($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success issue { priority assignee { name } state { name } labels { nodes { name } } description title } } }";
    let input = json!({"priority": 2, "assigneeId": linear.alice, "stateId": done, "addedLabelIds": [label], "description": "Repaired."});
    let edited = linear.data(query, json!({"id": "ENG-1", "input": input}));
    assert_eq!(
        edited["issueUpdate"]["issue"],
        json!({
            "priority": 2, "assignee": {"name": "Alice"}, "state": {"name": "Done"}, "title": "Broken link",
            "labels": {"nodes": [{"name": "docs"}]}, "description": "Repaired.",
        })
    );
    let rows = [
        (json!({"priority": 5}), "Argument Validation Error"),
        (
            json!({"stateId": "none"}),
            "Entity not found: WorkflowState",
        ),
        (json!({"assigneeId": "none"}), "Entity not found: User"),
        (
            json!({"labelIds": ["none"], "title": "x"}),
            "Entity not found: IssueLabel",
        ),
    ];
    for (input, message) in rows {
        assert_eq!(
            error(&linear.ask(query, json!({"id": "ENG-1", "input": input}))).2,
            message
        );
    }
    let last = linear.data(
        query,
        json!({"id": "ENG-1", "input": {"assigneeId": null, "labelIds": []}}),
    );
    let issue = &last["issueUpdate"]["issue"];
    assert_eq!(
        json!([issue["assignee"], issue["labels"]["nodes"], issue["title"]]),
        json!([null, [], "Broken link"])
    );
}

#[test]
fn lists_are_filtered_and_divided_into_pages() {
    let linear = Linear::start();
    for title in ["Second", "Third"] {
        linear.api.add_issue(&linear.alice, title, "");
    }
    let first = linear.data(LIST, json!({"first": 2}))["issues"].clone();
    let numbers = |page: &Value| -> Vec<u64> {
        page["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["number"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(
        (numbers(&first), &first["pageInfo"]["hasNextPage"]),
        (vec![3, 2], &json!(true))
    );
    let second = linear.data(
        LIST,
        json!({"first": 2, "after": first["pageInfo"]["endCursor"]}),
    )["issues"]
        .clone();
    assert_eq!(
        (numbers(&second), &second["pageInfo"]["hasNextPage"]),
        (vec![1], &json!(false))
    );
    let since = &first["nodes"][1]["updatedAt"];
    let rows = [
        (json!({"updatedAt": {"gt": since}}), vec![3]),
        (json!({"updatedAt": {"gte": since}}), vec![3, 2]),
        (
            json!({"number": {"in": [1, 3]}, "team": {"key": {"eq": "ENG"}}}),
            vec![3, 1],
        ),
        (
            json!({"or": [{"number": {"eq": 1}}, {"number": {"eq": 2}}]}),
            vec![2, 1],
        ),
        (
            json!({"and": [{"number": {"gt": 1}}, {"number": {"lt": 3}}]}),
            vec![2],
        ),
        (json!({"assignee": {"null": false}}), vec![]),
        (
            json!({"creator": {"email": {"eq": "alice@example.com"}}, "state": {"type": {"neq": "unstarted"}}}),
            vec![],
        ),
    ];
    for (filter, expected) in rows {
        assert_eq!(
            numbers(&linear.data(LIST, json!({"filter": filter}))["issues"]),
            expected
        );
    }
}

#[test]
fn a_filter_of_an_unknown_field_or_comparison_is_refused() {
    let linear = Linear::start();
    for filter in [
        json!({"identifier": {"eq": "ENG-1"}}),
        json!({"number": {"like": 1}}),
    ] {
        assert_eq!(error(&linear.ask(LIST, json!({"filter": filter}))).0, 400);
    }
}

#[test]
fn users_and_states_are_found_by_filter() {
    let linear = Linear::start();
    let users = linear.data(
        "{ users(filter: {email: {eq: \"alice@example.com\"}}) { nodes { id } } }",
        Value::Null,
    );
    assert_eq!(users["users"]["nodes"], json!([{"id": linear.alice}]));
    let states = linear.data(
        "{ workflowStates(filter: {name: {eqIgnoreCase: \"done\"}}) { nodes { name } } }",
        Value::Null,
    );
    assert_eq!(states["workflowStates"]["nodes"], json!([{"name": "Done"}]));
}

#[test]
fn a_document_that_the_schema_does_not_allow_changes_nothing() {
    let linear = Linear::start();
    let create = "commentCreate(input: {issueId: \"ENG-1\", body: \"x\"})";
    let rows = [
        (
            "{ issue(id: \"ENG-1\") { colour } }".to_owned(),
            "Cannot query field \"colour\" on type \"Issue\".",
        ),
        (
            "{ weather }".to_owned(),
            "Cannot query field \"weather\" on type \"Query\".",
        ),
        (
            "{ issue(id: \"ENG-1\", big: true) { id } }".to_owned(),
            "Unknown argument \"big\" on field \"Query.issue\".",
        ),
        (
            "{ viewer }".to_owned(),
            "Field \"viewer\" of type \"User\" must have a selection of subfields.",
        ),
        (
            "{ viewer { id { x } } }".to_owned(),
            "Field \"id\" must not have a selection since its type has no subfields.",
        ),
        (
            format!("mutation {{ {create} {{ nothing }} }}"),
            "Cannot query field \"nothing\" on type \"CommentPayload\".",
        ),
        (
            format!("{{ {create} {{ success }} }}"),
            "Cannot query field \"commentCreate\" on type \"Query\".",
        ),
        (
            "{ viewer { id }".to_owned(),
            "Syntax Error: Expected Name, found <EOF>.",
        ),
    ];
    for (query, message) in rows {
        let expected = (
            400,
            "GRAPHQL_VALIDATION_FAILED".to_owned(),
            message.to_owned(),
        );
        assert_eq!(error(&linear.ask(&query, Value::Null)), expected);
    }
    assert_eq!(linear.api.comments(), []);
}

#[test]
fn faults_have_the_form_of_linear() {
    let linear = Linear::start();
    let faults = [
        (
            "POST",
            "/graphql",
            ServiceFault::RateLimited(5, Applied::No),
        ),
        ("POST", "/graphql", ServiceFault::LostReply),
        ("POST", "/graphql", ServiceFault::Status(502, Applied::No)),
    ];
    linear.api.server().set_faults(FaultPlan::each_once(faults));
    let limited = linear.comment(None, "x");
    assert_eq!(error(&limited).1, "RATELIMITED");
    assert_eq!(
        (limited.status, limited.header("Retry-After")),
        (400, Some("5"))
    );
    assert_eq!(linear.api.comments(), []);
    assert_eq!(linear.comment(None, "x"), Answer::default());
    assert_eq!(linear.api.comments().len(), 1);
    assert_eq!(linear.comment(None, "x").status, 502);
    assert_eq!(linear.api.server().received().len(), 3);
}

#[test]
fn a_fault_is_for_one_operation() {
    let linear = Linear::start();
    let faults = [("POST", "commentCreate", ServiceFault::LostReply)];
    linear.api.server().set_faults(FaultPlan::each_once(faults));
    let viewer = || linear.data("{ viewer { name } }", Value::Null)["viewer"]["name"].clone();
    assert_eq!(viewer(), "Helper");
    assert_eq!(linear.comment(None, "x"), Answer::default());
    assert_eq!(
        (viewer(), linear.api.comments().len()),
        (json!("Helper"), 1)
    );
}
