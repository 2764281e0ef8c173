//! Facts from services, over a loopback API that answers by script.

use std::time::Duration;

use daemon_engine::{Fact, FactErrorKind, FactOrigin, Facts as _, Patience};
use daemon_event::{Enrichment, Event, EventId, Need, PullRequestFact, Source, read};
use daemon_surface::{Api, ApiBase, ServiceFacts, Token};
use jiff::{SignedDuration, Timestamp};

use super::fake_api::{FakeApi, Reply, TOKEN, ok, status};

const SHA: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn event(source: Source, kind: &str, body: &str) -> Event {
    let reading = read(source, kind, body.as_bytes(), &Enrichment::default()).unwrap();
    Event {
        id: EventId::new(0, [0; 10]),
        source,
        kind: kind.to_owned(),
        action: reading.action,
        subject: reading.subject,
        actor: reading.actor,
        repo: reading.repo,
        time: Timestamp::UNIX_EPOCH,
        received_at: Timestamp::UNIX_EPOCH,
        delivery: "d".parse().unwrap(),
        facts: reading.facts,
        payload: body.as_bytes().into(),
    }
}

fn pull_request() -> Event {
    let body =
        r#"{"action":"opened","pull_request":{"number":7},"repository":{"full_name":"o/r"}}"#;
    event(Source::Github, "pull_request", body)
}

fn status_event() -> Event {
    let body = format!(
        r#"{{"state":"failure","context":"ci","sha":"{SHA}","repository":{{"full_name":"o/r"}}}}"#
    );
    event(Source::Github, "status", &body)
}

fn message(channel: &str) -> Event {
    let body = format!(
        r#"{{"type":"event_callback","event":{{"type":"message","channel":"{channel}","text":"x","ts":"1.0"}}}}"#
    );
    event(Source::Slack, "message", &body)
}

fn files(paths: &[&str]) -> String {
    let rows = paths
        .iter()
        .map(|path| format!(r#"{{"filename":"{path}","status":"modified","patch":"@@"}}"#));
    format!("[{}]", rows.collect::<Vec<_>>().join(","))
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
        is_fork: Some(true),
        is_merged: Some(false),
    }
}

/// Fetches from GitHub and returns what came of it, and what was asked.
async fn github(
    replies: Vec<Reply>,
    need: Need,
    event: &Event,
) -> (Result<Fact, (FactErrorKind, String)>, Vec<String>) {
    let fake = FakeApi::start(replies).await;
    let facts = ServiceFacts {
        github: Some(fake.api()),
        slack: None,
    };
    let fetched = facts.fetch(&need, event).await;
    let told = fetched.map_err(|error| (error.kind, error.message));
    (told, fake.asked())
}

fn found(paths: &[&str]) -> Result<Fact, (FactErrorKind, String)> {
    Ok(Fact {
        found: Enrichment {
            changed_files: Some(paths.iter().map(|path| (*path).to_owned()).collect()),
            ..Enrichment::default()
        },
        origin: FactOrigin::Api,
        note: None,
    })
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

fn page(of: &str, page: u32) -> String {
    format!("/v3/repos/o/r/{of}?per_page=100&page={page}")
}

#[tokio::test]
async fn every_page_of_changed_files_is_read_and_a_rename_counts_twice() {
    const NEXT: &str = "Link: <http://elsewhere.example/2>; rel=\"next\", <x>; rel=\"last\"\r\n";
    const LAST: &str = "Link: <http://elsewhere.example/1>; rel=\"prev\"\r\n";
    let renamed = r#"[{"filename":"b.md","previous_filename":"a.md","status":"renamed"},
                      {"filename":"gone.md","status":"removed"}]"#;
    let replies = vec![
        Reply::Says(200, NEXT, files(&["docs/a.md"])),
        Reply::Says(200, LAST, renamed.to_owned()),
    ];
    let (told, asked) = github(replies, Need::ChangedFiles, &pull_request()).await;
    assert_eq!(told, found(&["docs/a.md", "b.md", "a.md", "gone.md"]));
    assert_eq!(asked, [page("pulls/7/files", 1), page("pulls/7/files", 2)]);
}

#[tokio::test]
async fn without_links_a_full_page_has_another() {
    let full: Vec<String> = (0..100).map(|n| format!("f{n}")).collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    let replies = vec![ok(files(&full)), ok("[]")];
    let (told, asked) = github(replies, Need::ChangedFiles, &pull_request()).await;
    assert_eq!(told, found(&full));
    assert_eq!(asked.len(), 2);
}

#[tokio::test]
async fn changed_files_are_cut_at_three_thousand_paths() {
    const NEXT: &str = "Link: <x>; rel=\"next\"\r\n";
    let replies = (0..31).map(|page| {
        let paths: Vec<String> = (0..100).map(|n| format!("p{page}/f{n}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        // The first page also has the former name of one file.
        let body = files(&paths).replace(
            "\"filename\":\"p0/f0\"",
            "\"filename\":\"p0/f0\",\"previous_filename\":\"old\"",
        );
        Reply::Says(200, NEXT, body)
    });
    let (told, asked) = github(replies.collect(), Need::ChangedFiles, &pull_request()).await;
    let fact = told.unwrap();
    let paths = fact.found.changed_files.unwrap();
    let ends = [paths.first(), paths.get(1), paths.last()];
    assert_eq!(ends.map(Option::unwrap), ["p0/f0", "old", "p29/f98"]);
    assert_eq!(
        (paths.len(), fact.note.as_deref(), asked.len()),
        (3_000, Some("cut at 3000 paths"), 30)
    );
}

#[tokio::test]
async fn what_a_status_says_decides_whether_it_is_asked_again() {
    use FactErrorKind::{Final, Limited, Retryable};
    let limited = |seconds| Limited(Patience::For(SignedDuration::from_secs(seconds)));
    let until = |seconds| Limited(Patience::Until(Timestamp::from_second(seconds).unwrap()));
    let http_date = "Retry-After: Fri, 20 Nov 2026 15:40:00 GMT\r\n";
    let cases = [
        (500, "", Retryable, "500 (it failed)"),
        (502, "", Retryable, "502 (it failed)"),
        (408, "", Retryable, "408 (it failed)"),
        (400, "", Final, "400 (it was refused)"),
        (401, "", Final, "401 (the token is not accepted)"),
        (403, "", Final, "403 (the token may not read it)"),
        (
            404,
            "",
            Final,
            "404 (it is not there, or the token may not see it)",
        ),
        (422, "", Final, "422 (it was refused)"),
        (429, "", limited(60), "429 (it wants fewer requests)"),
        (
            403,
            "Retry-After: 99999999\r\n",
            limited(99_999_999),
            "403 (it wants fewer requests)",
        ),
        (
            403,
            "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1800000000\r\n",
            until(1_800_000_000),
            "403 (it wants fewer requests)",
        ),
        (
            503,
            http_date,
            until(1_795_189_200),
            "503 (it wants fewer requests)",
        ),
    ];
    for (code, headers, kind, why) in cases {
        let replies = vec![status(code, headers)];
        let (told, _) = github(replies, Need::ChangedFiles, &pull_request()).await;
        assert_eq!(
            told,
            Err((kind, format!("GitHub's API: {why}"))),
            "{headers}"
        );
    }
    let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
    let replies = vec![Reply::Says(403, "", secondary.to_owned())];
    let (told, _) = github(replies, Need::ChangedFiles, &pull_request()).await;
    assert_eq!(told.unwrap_err().0, limited(60));
}

#[tokio::test]
async fn a_broken_or_endless_answer_is_asked_for_again() {
    let cases = [
        (Reply::Hangs, "the connection broke"),
        (Reply::Drips, "it does not answer in time"),
        (ok("<html>"), "its answer cannot be read: line 1, column 1"),
    ];
    for (reply, why) in cases {
        let fake = FakeApi::start(vec![reply]).await;
        let facts = ServiceFacts {
            github: Some(fake.api().with_timeout(Duration::from_millis(200))),
            slack: None,
        };
        let error = facts.fetch(&Need::ChangedFiles, &pull_request()).await;
        let error = error.unwrap_err();
        assert_eq!(
            (error.kind, error.message),
            (FactErrorKind::Retryable, format!("GitHub's API: {why}"))
        );
        fake.asked();
    }
    let nobody: ApiBase = "http://127.0.0.1:1".parse().unwrap();
    let facts = ServiceFacts {
        github: Some(Api::new(nobody, TOKEN.parse().unwrap()).unwrap()),
        slack: None,
    };
    let error = facts.fetch(&Need::ChangedFiles, &pull_request()).await;
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            FactErrorKind::Retryable,
            "GitHub's API: it cannot be reached"
        )
    );
}

#[tokio::test]
async fn an_answer_over_the_cap_is_refused() {
    let fake = FakeApi::start(vec![ok(files(&["a", "b", "c"]))]).await;
    let facts = ServiceFacts {
        github: Some(fake.api().with_max_body(64)),
        slack: None,
    };
    let error = facts.fetch(&Need::ChangedFiles, &pull_request()).await;
    let error = error.unwrap_err();
    let why = "GitHub's API: its answer has more than 64 bytes";
    assert_eq!(
        (error.kind, error.message.as_str()),
        (FactErrorKind::Final, why)
    );
}

#[tokio::test]
async fn a_redirect_is_followed_below_the_base_only() {
    let replies = vec![
        status(301, "Location: /v3/repositories/1/pulls/7/files\r\n"),
        ok(files(&["a"])),
    ];
    let (told, asked) = github(replies, Need::ChangedFiles, &pull_request()).await;
    assert_eq!(told, found(&["a"]));
    assert_eq!(
        asked,
        [
            page("pulls/7/files", 1).as_str(),
            "/v3/repositories/1/pulls/7/files"
        ]
    );

    let elsewhere = FakeApi::start(vec![ok(files(&["stolen"]))]).await;
    let target = format!("Location: {}/repos\r\n", elsewhere.base);
    let cases = [
        (
            Box::leak(target.into_boxed_str()) as &'static str,
            "it redirects to another place, which is not asked",
        ),
        (
            "Location: /v2/repos\r\n",
            "it redirects to another place, which is not asked",
        ),
        (
            "Location: /v3x/repos\r\n",
            "it redirects to another place, which is not asked",
        ),
        ("Location: https://[\r\n", "it redirects to nowhere"),
        ("", "it redirects to nowhere"),
    ];
    for (location, why) in cases {
        let replies = vec![status(302, location)];
        let (told, _) = github(replies, Need::ChangedFiles, &pull_request()).await;
        let why = format!("GitHub's API: {why}");
        assert_eq!(told, Err((FactErrorKind::Final, why)), "{location}");
    }
    assert_eq!(elsewhere.asked(), Vec::<String>::new());

    let endless = || status(307, "Location: /v3/again\r\n");
    let replies = vec![endless(), endless(), endless(), endless()];
    let (told, asked) = github(replies, Need::ChangedFiles, &pull_request()).await;
    let why = "GitHub's API: it redirects without end".to_owned();
    assert_eq!((told, asked.len()), (Err((FactErrorKind::Final, why)), 4));
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

#[tokio::test]
async fn slack_names_a_channel() {
    let ask = async |replies, channel: &str| {
        let fake = FakeApi::start(replies).await;
        let facts = ServiceFacts {
            github: None,
            slack: Some(fake.api()),
        };
        let fetched = facts.fetch(&Need::ChannelName, &message(channel)).await;
        let told = match fetched {
            Ok(fact) => fact.found.channel_name.unwrap(),
            Err(error) => format!("{:?} {error}", error.kind),
        };
        (told, fake.asked())
    };
    let reply = || ok(r#"{"ok":true,"channel":{"id":"C1ABC","name":"incidents"}}"#);
    let (told, asked) = ask(vec![reply()], "C1ABC").await;
    assert_eq!(told, "incidents");
    assert_eq!(asked, ["/v3/conversations.info?channel=C1ABC"]);
    let cases = [
        (
            r#"{"ok":false,"error":"channel_not_found"}"#,
            "Final Slack's API: it answers `channel_not_found`",
        ),
        (
            r#"{"ok":false,"error":"internal_error"}"#,
            "Retryable Slack's API: it answers `internal_error`",
        ),
        (
            r#"{"ok":false,"error":"A\u0007<b>"}"#,
            "Final Slack's API: it answers `b`",
        ),
        (
            r#"{"ok":true,"channel":{"id":"D1","is_im":true}}"#,
            "Final Slack's API: the conversation has no name",
        ),
    ];
    for (body, expected) in cases {
        let (told, _) = ask(vec![ok(body)], "C1ABC").await;
        assert_eq!(told, expected);
    }
    for channel in ["general", "C1/../x", "C1&token=x", "C"] {
        let (told, asked) = ask(vec![reply()], channel).await;
        assert_eq!(
            told,
            "Final Slack's API: the event names no channel by an id of Slack's"
        );
        assert_eq!(asked, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_service_that_is_not_configured_is_not_asked_and_may_be_later() {
    let facts = ServiceFacts::default();
    let error = facts.fetch(&Need::ChangedFiles, &pull_request()).await;
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            FactErrorKind::Retryable,
            "GitHub's API is not asked: sources.github.token_file is not set"
        )
    );
}

#[test]
fn a_token_is_one_line_and_shown_nowhere() {
    let token: Token = format!(" {TOKEN}\n").parse().unwrap();
    assert_eq!(token, TOKEN.parse().unwrap());
    let base: ApiBase = "https://api.github.com".parse().unwrap();
    let api = Api::new(base, token).unwrap();
    let shown = format!("{api:?} {:?}", "a b".parse::<Token>());
    assert!(!shown.contains(TOKEN), "{shown}");
    for text in ["", " \n", "a b", "a\nb", "é"] {
        assert!(text.parse::<Token>().is_err(), "{text:?}");
    }
}

#[test]
fn a_base_is_https_or_on_this_machine() {
    let why = |text: &str| match text.parse::<ApiBase>() {
        Ok(base) => base.to_string(),
        Err(error) => error.to_string(),
    };
    let cases = [
        ("https://api.github.com", "https://api.github.com"),
        ("https://ghe.example/api/v3/", "https://ghe.example/api/v3"),
        ("http://127.0.0.1:80/x", "http://127.0.0.1/x"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]:9", "http://[::1]:9"),
        (
            "http://api.github.com",
            "`http://api.github.com` is not a base of an API: it is neither https nor on this machine",
        ),
        (
            "http://127.0.0.1.example",
            "`http://127.0.0.1.example` is not a base of an API: it is neither https nor on this machine",
        ),
        (
            "file:///etc",
            "`file:///etc` is not a base of an API: it is neither https nor on this machine",
        ),
        (
            "https://u:p@api.github.com",
            "`…` is not a base of an API: it has more than a host and a path",
        ),
        (
            "https://api.github.com?x",
            "`https://api.github.com?x` is not a base of an API: it has more than a host and a path",
        ),
        (
            "api.github.com",
            "`api.github.com` is not a base of an API: it is not a URL",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(why(text), expected);
    }
}
