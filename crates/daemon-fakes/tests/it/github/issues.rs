//! Issues and comments.

use std::time::Duration;

use daemon_fakes::{FakeClock, GithubComment};
use serde_json::{Value, json};

use crate::kit::{Github, REPO};

const ISSUES: &str = "/repos/acme/site/issues";

#[test]
fn an_issue_is_created_read_and_edited() {
    let github = Github::start();
    let body = json!({"title": "Broken link", "body": "On the first page.", "labels": ["docs"], "assignees": ["alice", "carol"]});
    let created = github.post(ISSUES, &body);
    assert_eq!(created.status, 201);
    let created = created.json();
    let page = format!("{}/acme/site/issues/1", github.api.server().base_url());
    assert_eq!(
        json!([
            created["number"],
            created["html_url"],
            created["user"]["login"],
            created["labels"][0]["name"]
        ]),
        json!([1, page, "alice", "docs"])
    );
    // Carol is no collaborator: the service leaves her out without an error.
    let assignees = created["assignees"].as_array().unwrap();
    assert_eq!(
        assignees.iter().map(|it| &it["login"]).collect::<Vec<_>>(),
        ["alice"]
    );
    let edited = github
        .patch(
            &format!("{ISSUES}/1"),
            &json!({"body": "Repaired.", "state": "closed"}),
        )
        .json();
    assert_eq!(
        json!([
            edited["title"],
            edited["body"],
            edited["state"],
            edited["state_reason"]
        ]),
        json!(["Broken link", "Repaired.", "closed", "completed"])
    );
    assert_eq!(github.get(&format!("{ISSUES}/1")).json(), edited);
    assert_eq!(github.get(&format!("{ISSUES}/2")).status, 404);
}

#[test]
fn an_issue_without_a_title_or_with_a_long_body_is_refused() {
    let github = Github::start();
    let long = "é".repeat(65_537);
    let rows = [
        (
            json!({}),
            json!([{"resource": "Issue", "field": "title", "code": "missing_field"}]),
        ),
        (
            json!({"title": "  "}),
            json!([{"resource": "Issue", "field": "title", "code": "missing_field"}]),
        ),
        (
            json!({"title": "x", "body": long}),
            json!([{"resource": "Issue", "code": "custom", "field": "body", "message": "body is too long (maximum is 65536 characters)"}]),
        ),
        (
            json!({"title": "x".repeat(257)}),
            json!([{"resource": "Issue", "code": "custom", "field": "title", "message": "title is too long (maximum is 256 characters)"}]),
        ),
        (json!({"title": "x", "labels": "docs"}), Value::Null),
    ];
    for (body, errors) in rows {
        let answer = github.post(ISSUES, &body);
        assert_eq!(
            (answer.status, &answer.json()["errors"]),
            (422, &errors),
            "{}",
            answer.body
        );
    }
    assert_eq!(github.api.issues(REPO), []);
    let limit = json!({"title": "x", "body": "é".repeat(65_536)});
    assert_eq!(github.post(ISSUES, &limit).status, 201);
}

#[test]
fn lists_are_restricted_sorted_and_divided_into_pages() {
    let github = Github::start();
    for _ in 0..5 {
        github.issue();
    }
    github.patch(&format!("{ISSUES}/2"), &json!({"state": "closed"}));
    let numbers = |query: &str| -> Vec<u64> {
        let listed = github.get(&format!("{ISSUES}?{query}")).json();
        let numbers = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["number"].as_u64().unwrap());
        numbers.collect()
    };
    assert_eq!(numbers(""), [5, 4, 3, 1]);
    assert_eq!(numbers("state=all&direction=asc"), [1, 2, 3, 4, 5]);
    assert_eq!(numbers("state=closed"), [2]);
    assert_eq!(
        numbers("state=all&sort=updated&direction=desc"),
        [2, 5, 4, 3, 1]
    );
    assert_eq!(numbers("creator=Alice&per_page=2"), [5, 4]);
    assert_eq!(numbers("creator=bob"), [0; 0]);
    assert_eq!(numbers("per_page=2&page=2&state=all"), [3, 2]);
    assert_eq!(numbers("per_page=2&page=9"), [0; 0]);
}

#[test]
fn pages_are_linked() {
    let github = Github::start();
    for _ in 0..5 {
        github.issue();
    }
    let base = github.api.server().base_url();
    let url = |page| format!("{base}{ISSUES}?creator=alice&per_page=2&page={page}");
    let link = |page: u32| {
        let answer = github.get(&format!("{ISSUES}?creator=alice&per_page=2&page={page}"));
        answer.header("Link").unwrap().to_owned()
    };
    assert_eq!(
        link(1),
        format!("<{}>; rel=\"next\", <{}>; rel=\"last\"", url(2), url(3))
    );
    assert_eq!(
        link(3),
        format!("<{}>; rel=\"prev\", <{}>; rel=\"first\"", url(2), url(1))
    );
    assert_eq!(github.get(ISSUES).header("Link"), None);
}

#[test]
fn a_comment_is_created_listed_and_edited() {
    let github = Github::start();
    let number = github.issue();
    let created = github.post(
        &format!("{ISSUES}/{number}/comments"),
        &json!({"body": "Seen."}),
    );
    assert_eq!(created.status, 201);
    let created = created.json();
    let id = created["id"].as_u64().unwrap();
    let page = format!(
        "{}/acme/site/issues/1#issuecomment-{id}",
        github.api.server().base_url()
    );
    assert_eq!(
        json!([
            created["body"],
            created["user"]["login"],
            created["html_url"],
            created["author_association"]
        ]),
        json!(["Seen.", "alice", page, "COLLABORATOR"])
    );
    assert_eq!(
        github.get(&format!("{ISSUES}/comments/{id}")).json(),
        created
    );
    assert_eq!(
        github.get(&format!("{ISSUES}/{number}/comments")).json(),
        json!([created])
    );
    let edited = github
        .patch(
            &format!("{ISSUES}/comments/{id}"),
            &json!({"body": "Done."}),
        )
        .json();
    assert_eq!(edited["body"], "Done.");
    let stored = github.api.comments(REPO);
    let expected = GithubComment {
        id,
        issue: number,
        author: "alice".to_owned(),
        body: "Done.".to_owned(),
        created_at: stored[0].created_at,
        updated_at: stored[0].updated_at,
    };
    assert_eq!(stored, [expected]);
    assert!(stored[0].updated_at > stored[0].created_at);
}

#[test]
fn a_comment_is_changed_and_deleted_by_its_author_or_a_collaborator() {
    let github = Github::start();
    github.issue();
    let comments = format!("{ISSUES}/1/comments");
    let (_, comment) = github
        .api
        .act("carol", "POST", &comments, &json!({"body": "Mine."}));
    let path = format!("{ISSUES}/comments/{}", comment["id"]);
    for (method, body) in [("PATCH", json!({"body": "x"})), ("DELETE", Value::Null)] {
        let (status, refused) = github.api.act("bob", method, &path, &body);
        assert_eq!(
            (status, &refused["message"]),
            (403, &json!("Must have admin rights to Repository."))
        );
    }
    assert_eq!(github.patch(&path, &json!({"body": "Edited."})).status, 200);
    assert_eq!(
        github.api.act("carol", "DELETE", &path, &Value::Null),
        (204, Value::Null)
    );
    assert_eq!(
        (github.get(&path).status, github.api.comments(REPO)),
        (404, vec![])
    );
}

#[test]
fn a_page_has_at_most_a_hundred_items() {
    let github = Github::start();
    for _ in 0..101 {
        github
            .api
            .act("alice", "POST", ISSUES, &json!({"title": "x"}));
    }
    let page = |query: &str| {
        github
            .get(&format!("{ISSUES}?{query}"))
            .json()
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(
        (page("per_page=200"), page("per_page=200&page=2"), page("")),
        (100, 1, 30)
    );
}

#[test]
fn comments_of_several_clients_at_a_time_are_all_stored() {
    let github = Github::start();
    github.issue();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let post = || {
            github
                .post(&format!("{ISSUES}/1/comments"), &json!({"body": "x"}))
                .status
        };
        let clients: Vec<_> = (0..16).map(|_| scope.spawn(post)).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    assert_eq!(statuses, [201; 16]);
    let ids: std::collections::BTreeSet<u64> =
        github.api.comments(REPO).iter().map(|it| it.id).collect();
    assert_eq!(ids.len(), 16);
}

#[test]
fn a_comment_that_is_blank_too_long_or_on_nothing_is_refused() {
    let github = Github::start();
    github.issue();
    let path = format!("{ISSUES}/1/comments");
    let of_data = |message: &str| json!([{"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message}]);
    let rows = [
        (
            json!({}),
            json!([{"resource": "IssueComment", "field": "body", "code": "missing_field"}]),
        ),
        (json!({"body": " \n"}), of_data("Body cannot be blank")),
        (
            json!({"body": "x".repeat(65_537)}),
            of_data("Body is too long (maximum is 65536 characters)"),
        ),
    ];
    for (body, errors) in rows {
        let answer = github.post(&path, &body);
        assert_eq!((answer.status, &answer.json()["errors"]), (422, &errors));
    }
    assert_eq!(
        github
            .post(&format!("{ISSUES}/7/comments"), &json!({"body": "x"}))
            .status,
        404
    );
    assert_eq!(
        github
            .patch(&format!("{ISSUES}/comments/1"), &json!({"body": "x"}))
            .status,
        404
    );
    assert_eq!(github.api.comments(REPO), []);
}

#[test]
fn since_leaves_out_what_is_older() {
    let seconds = std::sync::atomic::AtomicU64::new(1_767_225_600);
    let clock = FakeClock::new(move || {
        Duration::from_secs(seconds.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    });
    let github = Github::start_at(clock);
    let number = github.issue();
    let comment = |body: &str| {
        let answer = github.post(
            &format!("{ISSUES}/{number}/comments"),
            &json!({"body": body}),
        );
        answer.json()["created_at"].as_str().unwrap().to_owned()
    };
    comment("first");
    let second = comment("second");
    for path in [format!("{ISSUES}/comments"), format!("{ISSUES}/1/comments")] {
        let listed = github.get(&format!("{path}?since={second}")).json();
        assert_eq!(listed.as_array().unwrap().len(), 1);
        assert_eq!(listed[0]["body"], "second");
        assert_eq!(github.get(&format!("{path}?since=today")).status, 422);
    }
    let newest_first = github
        .get(&format!("{ISSUES}/comments?sort=created&direction=desc"))
        .json();
    assert_eq!(newest_first[0]["body"], "second");
}
