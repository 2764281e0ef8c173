//! Labels, assignees and requested reviewers.

use serde_json::{Value, json};

use crate::kit::{Answer, Github, REPO, TOKEN};

const ISSUE: &str = "/repos/acme/site/issues/1";
const PULL: &str = "/repos/acme/site/pulls/1";

fn delete(github: &Github, path: &str, body: &Value) -> Answer {
    github.call_as(TOKEN, "DELETE", path, body)
}

fn names(list: &Value, field: &str) -> Vec<String> {
    let items = list.as_array().unwrap().iter();
    items
        .map(|item| item[field].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn labels_are_added_once_and_created_if_they_are_new() {
    let github = Github::start();
    github.issue();
    let labels = format!("{ISSUE}/labels");
    let added = github.post(&labels, &json!({"labels": ["docs", "stale"]}));
    assert_eq!(
        (added.status, names(&added.json(), "name")),
        (200, vec!["docs".to_owned(), "stale".to_owned()])
    );
    let again = github.post(&labels, &json!({"labels": ["Docs"]})).json();
    assert_eq!(names(&again, "name"), ["docs", "stale"]);
    assert_eq!(
        names(&github.get("/repos/acme/site/labels").json(), "name"),
        ["docs", "stale"]
    );
    let left = delete(&github, &format!("{labels}/docs"), &Value::Null);
    assert_eq!(
        (left.status, names(&left.json(), "name")),
        (200, vec!["stale".to_owned()])
    );
    assert_eq!(github.get(&labels).json(), left.json());
    let missing = delete(&github, &format!("{labels}/docs"), &Value::Null);
    assert_eq!(
        (missing.status, &missing.json()["message"]),
        (404, &json!("Label does not exist"))
    );
    assert_eq!(github.post(&labels, &json!({"labels": [""]})).status, 422);
    assert_eq!(github.post(&labels, &json!({})).status, 422);
}

#[test]
fn accounts_that_cannot_be_assigned_are_left_out() {
    let github = Github::start();
    github.issue();
    let path = format!("{ISSUE}/assignees");
    let both = json!({"assignees": ["Alice", "carol", "unknown"]});
    let assigned = github.post(&path, &both);
    assert_eq!(
        (
            assigned.status,
            names(&assigned.json()["assignees"], "login")
        ),
        (201, vec!["alice".to_owned()])
    );
    let unassigned = delete(&github, &path, &both);
    assert_eq!(
        (unassigned.status, &unassigned.json()["assignees"]),
        (200, &json!([]))
    );
}

#[test]
fn reviews_are_requested_from_collaborators_other_than_the_author() {
    let github = Github::start();
    github.api.add_collaborator(REPO, "bob");
    github.pull();
    let path = format!("{PULL}/requested_reviewers");
    let message = |reviewer: &str| {
        let answer = github.post(&path, &json!({"reviewers": [reviewer]}));
        (
            answer.status,
            answer.json()["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let refused = "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the acme/site repository.";
    assert_eq!(message("carol"), (422, refused.to_owned()));
    assert_eq!(
        message("alice"),
        (
            422,
            "Review cannot be requested from pull request author.".to_owned()
        )
    );
    assert_eq!(message("bob"), (201, String::new()));
    let pull = github.get(PULL).json();
    assert_eq!(names(&pull["requested_reviewers"], "login"), ["bob"]);
    let cancelled = delete(&github, &path, &json!({"reviewers": ["bob"]}));
    assert_eq!(
        (cancelled.status, &cancelled.json()["requested_reviewers"]),
        (200, &json!([]))
    );
}
