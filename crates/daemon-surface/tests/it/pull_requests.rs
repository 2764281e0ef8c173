//! The pull requests that an event of GitHub is about.

use daemon_engine::{Fact, FactErrorKind, FactOrigin};
use daemon_event::{Enrichment, Event, Need, PullRequestFact, Source};

use super::fact_kit::{SHA, event, files, found, github, page};
use super::fake_api::ok;

fn status_event() -> Event {
    let body = format!(
        r#"{{"state":"failure","context":"ci","sha":"{SHA}","repository":{{"full_name":"o/r"}}}}"#
    );
    event(Source::Github, "status", &body)
}

fn pull(number: u64, state: &str, head: &str) -> String {
    format!(
        r#"{{"number":{number},"state":"{state}","draft":false,"merged_at":null,
           "head":{{"ref":"topic","sha":"{head}","repo":{{"full_name":"kit/r"}}}},
           "base":{{"ref":"main","sha":"{SHA}","repo":{{"full_name":"o/r"}}}}}}"#
    )
}

fn fact(number: u64, state: &str, is_current_head: Option<bool>) -> PullRequestFact {
    PullRequestFact {
        number,
        draft: Some(false),
        state: Some(state.to_owned()),
        is_current_head,
        base: Some("main".to_owned()),
        head: Some("topic".to_owned()),
        head_commit: Some(match is_current_head {
            Some(false) => "b".repeat(40),
            Some(true) | None => SHA.to_owned(),
        }),
        is_fork: Some(true),
        is_merged: Some(false),
    }
}

fn found_pulls(pulls: Vec<PullRequestFact>) -> Result<Fact, (FactErrorKind, String)> {
    Ok(Fact {
        found: Enrichment {
            pull_requests: Some(pulls),
            ..Enrichment::default()
        },
        origin: FactOrigin::Api,
        note: None,
    })
}

#[tokio::test]
async fn the_pull_requests_of_a_commit_are_open_or_have_it_as_head() {
    let other = "b".repeat(40);
    let all = [
        pull(1, "closed", &other),
        pull(2, "open", &other),
        pull(3, "closed", SHA),
    ];
    let replies = vec![ok(format!("[{}]", all.join(",")))];
    let (told, asked) = github(replies, Need::PullRequests, &status_event()).await;
    let pulls = vec![fact(2, "open", Some(false)), fact(3, "closed", Some(true))];
    assert_eq!(told, found_pulls(pulls));
    assert_eq!(asked, [page(&format!("commits/{SHA}/pulls"), 1)]);

    let replies = vec![
        ok(format!("[{}]", all.join(","))),
        ok(files(&["docs/a.md"])),
    ];
    let (told, asked) = github(replies, Need::ChangedFiles, &status_event()).await;
    assert_eq!(told, found(&["docs/a.md"]));
    assert_eq!(asked[1], page("pulls/2/files", 1));

    let (told, _) = github(vec![ok("[]")], Need::ChangedFiles, &status_event()).await;
    let why = "GitHub's API: the commit belongs to no pull request".to_owned();
    assert_eq!(told, Err((FactErrorKind::Final, why)));
}

#[tokio::test]
async fn a_comment_is_asked_for_its_pull_request() {
    let body = r#"{"action":"created","issue":{"number":7,"pull_request":{"url":"u"}},"comment":{"body":"x"},
        "repository":{"full_name":"o/r"}}"#;
    let comment = event(Source::Github, "issue_comment", body);
    let (told, asked) = github(vec![ok(pull(7, "open", SHA))], Need::PullRequests, &comment).await;
    assert_eq!(told, found_pulls(vec![fact(7, "open", None)]));
    assert_eq!(asked, ["/v3/repos/o/r/pulls/7"]);
    let (told, asked) = github(vec![ok(files(&["a"]))], Need::ChangedFiles, &comment).await;
    assert_eq!(
        (told, asked),
        (found(&["a"]), vec![page("pulls/7/files", 1)])
    );

    let on_issue = body.replace(r#","pull_request":{"url":"u"}"#, "");
    let on_issue = event(Source::Github, "issue_comment", &on_issue);
    let (told, asked) = github(Vec::new(), Need::ChangedFiles, &on_issue).await;
    let why = "GitHub's API: nobody tells the changed_files of `issue_comment` events of github";
    assert_eq!(told, Err((FactErrorKind::Final, why.to_owned())));
    assert_eq!(asked, Vec::<String>::new());
}

#[tokio::test]
async fn names_out_of_shape_are_never_asked_for() {
    let repos = [
        "r", "../r", "o/..", "o/r/x", "o/r?x", "o/r#x", "o/%2e", "é/r", "o/", "/r",
    ];
    for repo in repos {
        let body = format!(
            r#"{{"action":"opened","pull_request":{{"number":7}},"repository":{{"full_name":"{repo}"}}}}"#
        );
        let event = event(Source::Github, "pull_request", &body);
        let (told, asked) = github(Vec::new(), Need::ChangedFiles, &event).await;
        let why = "GitHub's API: the event names no repository of the form `owner/name`";
        assert_eq!(told, Err((FactErrorKind::Final, why.to_owned())), "{repo}");
        assert_eq!(asked, Vec::<String>::new(), "{repo}");
    }
    let shas = ["main", "../../user", &"a".repeat(39), &"g".repeat(40)];
    for sha in shas {
        let body = format!(
            r#"{{"state":"failure","context":"ci","sha":"{sha}","repository":{{"full_name":"o/r"}}}}"#
        );
        let event = event(Source::Github, "status", &body);
        let (told, asked) = github(Vec::new(), Need::PullRequests, &event).await;
        assert_eq!(told.unwrap_err().0, FactErrorKind::Final, "{sha}");
        assert_eq!(asked, Vec::<String>::new(), "{sha}");
    }
}
