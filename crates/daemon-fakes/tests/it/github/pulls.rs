//! Pull requests.

use serde_json::{Value, json};

use crate::kit::{Github, REPO, sha};

const PULLS: &str = "/repos/acme/site/pulls";

#[test]
fn a_pull_request_is_created_read_and_listed() {
    let github = Github::start();
    let body = json!({"title": "Repair the link", "head": "acme:fix", "base": "main", "body": "See above.", "draft": true});
    let created = github.post(PULLS, &body);
    assert_eq!(created.status, 201);
    let created = created.json();
    let page = format!("{}/acme/site/pull/1", github.api.server().base_url());
    assert_eq!(
        json!([
            created["number"],
            created["html_url"],
            created["draft"],
            created["merged"],
            created["state"]
        ]),
        json!([1, page, true, false, "open"])
    );
    let end = |end: &str| {
        json!([
            created[end]["label"],
            created[end]["ref"],
            created[end]["sha"]
        ])
    };
    assert_eq!(end("head"), json!(["acme:fix", "fix", sha('b')]));
    assert_eq!(end("base"), json!(["acme:main", "main", sha('a')]));
    assert_eq!(github.get(&format!("{PULLS}/1")).json(), created);
    // A pull request is an issue too.
    let issue = github.get("/repos/acme/site/issues/1").json();
    assert_eq!(issue["pull_request"]["html_url"], page);
}

#[test]
fn a_list_is_restricted_by_state_head_and_base() {
    let github = Github::start();
    github.pull();
    github.issue();
    let found = |query: &str| {
        let listed = github.get(&format!("{PULLS}?{query}")).json();
        listed.as_array().unwrap().len()
    };
    let rows = [
        ("", 1),
        ("head=acme:fix", 1),
        ("head=acme%3Afix&state=all", 1),
        ("head=acme:other", 0),
        ("head=alice:fix", 0),
        // Without an owner the service does not restrict the list.
        ("head=other", 1),
        ("base=main", 1),
        ("base=next", 0),
        ("state=closed", 0),
    ];
    for (query, expected) in rows {
        assert_eq!(found(query), expected, "{query}");
    }
}

#[test]
fn a_pull_request_that_cannot_be_is_refused() {
    let github = Github::start();
    github.api.set_branch(REPO, "same", Some(&sha('a')));
    github.pull();
    let custom =
        |message: &str| json!([{"resource": "PullRequest", "code": "custom", "message": message}]);
    let field = |field: &str, code: &str| json!([{"resource": "PullRequest", "field": field, "code": code}]);
    let rows = [
        ("gone", "main", field("head", "invalid")),
        ("fix", "gone", field("base", "invalid")),
        ("alice:fix", "main", field("head", "invalid")),
        ("same", "main", custom("No commits between main and same")),
        (
            "fix",
            "main",
            custom("A pull request already exists for acme:fix."),
        ),
        (
            "acme:fix",
            "main",
            custom("A pull request already exists for acme:fix."),
        ),
    ];
    for (head, base, errors) in rows {
        let answer = github.post(PULLS, &json!({"title": "x", "head": head, "base": base}));
        assert_eq!(
            (answer.status, &answer.json()["errors"]),
            (422, &errors),
            "{head} {base}"
        );
    }
    let untitled = github.post(PULLS, &json!({"head": "fix", "base": "main"}));
    assert_eq!(untitled.json()["errors"], field("title", "missing_field"));
    let headless = github.post(PULLS, &json!({"title": "x", "base": "main"}));
    assert_eq!(
        (headless.status, &headless.json()["message"]),
        (422, &json!("Invalid request.\n\n\"head\" wasn't supplied."))
    );
    assert_eq!(github.api.issues(REPO).len(), 1);
}

#[test]
fn an_edit_changes_title_body_and_state_but_not_whether_it_is_a_draft() {
    let github = Github::start();
    github.pull();
    let path = format!("{PULLS}/1");
    let body = json!({"title": "Repair it", "body": "New.", "draft": true, "state": "closed"});
    let edited = github.patch(&path, &body).json();
    assert_eq!(
        json!([
            edited["title"],
            edited["body"],
            edited["draft"],
            edited["state"]
        ]),
        json!(["Repair it", "New.", false, "closed"])
    );
    assert_eq!(github.patch(&path, &json!({"state": "ajar"})).status, 422);
    assert_eq!(
        github.patch(&path, &json!({"state": "open"})).json()["state"],
        "open"
    );
    github.patch(&path, &json!({"state": "closed"}));
    github.api.set_branch(REPO, "fix", None);
    assert_eq!(github.patch(&path, &json!({"state": "open"})).status, 422);
    let issue = github.issue();
    assert_eq!(
        github
            .patch(&format!("{PULLS}/{issue}"), &json!({"title": "x"}))
            .status,
        404
    );
}

#[test]
fn a_push_moves_the_head_of_an_open_pull_request_only() {
    let github = Github::start();
    github.pull();
    let head = || github.get(&format!("{PULLS}/1")).json()["head"]["sha"].clone();
    github.api.set_branch(REPO, "fix", Some(&sha('c')));
    assert_eq!(head(), sha('c'));
    github.patch(&format!("{PULLS}/1"), &json!({"state": "closed"}));
    github.api.set_branch(REPO, "fix", Some(&sha('d')));
    assert_eq!(head(), sha('c'));
}

#[test]
fn a_merged_pull_request_is_closed_and_stays_so() {
    let github = Github::start();
    github.pull();
    let (status, merged) =
        github
            .api
            .act("alice", "PUT", &format!("{PULLS}/1/merge"), &Value::Null);
    assert_eq!((status, &merged["merged"]), (200, &json!(true)));
    let pull = github.get(&format!("{PULLS}/1")).json();
    assert_eq!(
        json!([pull["state"], pull["merged"], pull["merge_commit_sha"]]),
        json!(["closed", true, merged["sha"]])
    );
    assert!(pull["merged_at"].is_string());
    let main = github.get("/repos/acme/site/branches/main").json();
    assert_eq!(main["commit"]["sha"], merged["sha"]);
    assert_eq!(
        github
            .patch(&format!("{PULLS}/1"), &json!({"state": "open"}))
            .status,
        422
    );
    let (status, _) = github
        .api
        .act("alice", "PUT", &format!("{PULLS}/1/merge"), &Value::Null);
    assert_eq!(status, 405);
}
