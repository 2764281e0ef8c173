//! Reviews and review comments.

use daemon_fakes::{DiffPlace, GithubFile};
use serde_json::{Value, json};

use crate::kit::{Github, REPO, TOKEN, sha};

const REVIEWS: &str = "/repos/acme/site/pulls/1/reviews";
const COMMENTS: &str = "/repos/acme/site/pulls/1/comments";

/// Opens a pull request of bob that changes one line of one file.
fn with_pull() -> Github {
    let github = Github::start();
    github.api.read_files(REPO, |base, head| {
        assert_eq!((base, head), (sha('a').as_str(), sha('b').as_str()));
        vec![GithubFile {
            path: "docs/a.md".to_owned(),
            status: "modified".to_owned(),
            patch: "@@ -1,3 +1,4 @@\n one\n+two\n three\n four".to_owned(),
        }]
    });
    let body = json!({"title": "Add a line", "head": "fix", "base": "main"});
    let (status, _) = github
        .api
        .act("bob", "POST", "/repos/acme/site/pulls", &body);
    assert_eq!(status, 201);
    github
}

#[test]
fn a_review_is_created_with_its_comments() {
    let github = with_pull();
    let review = json!({"event": "REQUEST_CHANGES", "body": "See below.", "comments": [
        {"path": "docs/a.md", "line": 2, "body": "Why?"},
        {"path": "docs/a.md", "line": 3, "start_line": 2, "side": "RIGHT", "body": "Both."},
    ]});
    let created = github.post(REVIEWS, &review);
    assert_eq!(created.status, 200, "{}", created.body);
    let created = created.json();
    assert_eq!(
        json!([
            created["state"],
            created["body"],
            created["user"]["login"],
            created["commit_id"]
        ]),
        json!(["CHANGES_REQUESTED", "See below.", "alice", sha('b')])
    );
    assert_eq!(github.get(REVIEWS).json(), json!([created]));
    let places: Vec<_> = github
        .api
        .review_comments(REPO)
        .into_iter()
        .map(|it| (it.review, it.place))
        .collect();
    let place = |line, start: Option<u64>| DiffPlace {
        path: "docs/a.md".to_owned(),
        line,
        side: "RIGHT".to_owned(),
        start: start.map(|line| (line, "RIGHT".to_owned())),
    };
    let id = created["id"].as_u64();
    assert_eq!(places, [(id, place(2, None)), (id, place(3, Some(2)))]);
    let listed = github.get(COMMENTS).json();
    assert_eq!(
        listed,
        github
            .get(&format!("{REVIEWS}/{}/comments", created["id"]))
            .json()
    );
    assert_eq!(listed, github.get("/repos/acme/site/pulls/comments").json());
    assert_eq!(
        json!([
            listed[1]["line"],
            listed[1]["start_line"],
            listed[1]["side"]
        ]),
        json!([3, 2, "RIGHT"])
    );
}

#[test]
fn a_review_that_cannot_be_leaves_nothing() {
    let github = with_pull();
    let comment = |path: &str, line: Value| {
        json!({"event": "COMMENT", "body": "x", "comments": [
            {"path": "docs/a.md", "line": 2, "body": "fine"}, {"path": path, "line": line, "body": "x"},
        ]})
    };
    let rows = [
        (comment("docs/b.md", json!(2)), "Path could not be resolved"),
        (comment("docs/a.md", json!(9)), "Line could not be resolved"),
        (
            comment("docs/a.md", Value::Null),
            "Line could not be resolved",
        ),
        (json!({"event": "COMMENT"}), "Body can't be blank"),
        (json!({"event": "REQUEST_CHANGES"}), "Body can't be blank"),
        (
            json!({"event": "MERGE", "body": "x"}),
            "Event is not included in the list",
        ),
        (
            json!({"event": "COMMENT", "body": "x".repeat(65_537)}),
            "Body is too long (maximum is 65536 characters)",
        ),
    ];
    for (body, error) in rows {
        let answer = github.post(REVIEWS, &body);
        assert_eq!(
            (answer.status, &answer.json()["errors"]),
            (422, &json!([error]))
        );
    }
    let own = json!({"event": "REQUEST_CHANGES", "body": "x"});
    let (status, answer) = github.api.act("bob", "POST", REVIEWS, &own);
    assert_eq!(
        (status, &answer["errors"]),
        (
            422,
            &json!(["Can not request changes on your own pull request"])
        )
    );
    assert_eq!(
        (
            github.api.reviews(REPO).len(),
            github.api.review_comments(REPO).len()
        ),
        (0, 0)
    );
}

#[test]
fn a_review_comment_is_on_the_diff_or_a_reply() {
    let github = with_pull();
    let comment = |line: u64| json!({"body": "Why?", "commit_id": sha('b'), "path": "docs/a.md", "line": line});
    let outside = github.post(COMMENTS, &comment(7));
    let field = "pull_request_review_thread.line";
    assert_eq!(
        (outside.status, &outside.json()["errors"]),
        (
            422,
            &json!([{
                "resource": "PullRequestReviewComment", "code": "custom", "field": field, "message": format!("{field} must be part of the diff"),
            }])
        )
    );
    assert_eq!(
        github
            .post(
                COMMENTS,
                &json!({"body": "x", "path": "docs/a.md", "line": 2})
            )
            .status,
        422
    );
    let first = github.post(COMMENTS, &comment(2));
    assert_eq!(first.status, 201);
    let reply = github
        .post(
            COMMENTS,
            &json!({"body": "Because.", "in_reply_to": first.json()["id"]}),
        )
        .json();
    assert_eq!(
        json!([reply["in_reply_to_id"], reply["line"]]),
        json!([first.json()["id"], 2])
    );
    assert_eq!(github.get(COMMENTS).json(), json!([first.json(), reply]));
    // The service makes a review with an empty body for each.
    let reviews: Vec<(u64, String)> = github
        .api
        .reviews(REPO)
        .into_iter()
        .map(|review| (review.id, review.body))
        .collect();
    let of = |comment: &Value| comment["pull_request_review_id"].as_u64().unwrap();
    let expected = [&first.json(), &reply].map(|comment| (of(comment), String::new()));
    assert_eq!(reviews, expected);
}

#[test]
fn files_and_the_pull_requests_of_a_commit_are_listed() {
    let github = with_pull();
    let files = github.get("/repos/acme/site/pulls/1/files").json();
    assert_eq!(
        json!([
            files[0]["filename"],
            files[0]["additions"],
            files[0]["deletions"]
        ]),
        json!(["docs/a.md", 1, 0])
    );
    let of = |sha: &str| {
        let listed = github
            .call_as(
                TOKEN,
                "GET",
                &format!("/repos/acme/site/commits/{sha}/pulls"),
                &Value::Null,
            )
            .json();
        listed.as_array().unwrap().len()
    };
    assert_eq!((of(&sha('b')), of(&sha('c'))), (1, 0));
}
