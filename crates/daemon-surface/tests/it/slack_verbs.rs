//! Messages and replies of Slack: requests, look-ups, and errors that come with status 200.

use daemon_engine::{Found, PlaceCondition, RemoteId, Surface as _, SurfaceErrorKind};
use daemon_surface::SlackSurface;
use serde_json::{Value, json};

use super::fake_api::{FakeApi, Reply, api_of, ok};
use super::outbox::{Planned, planned};

const MESSAGE: &str = r#"{"v":1,"verb":"message","target":"slack:C024BE91L","slot":"digest","body":"The <!here> digest."}"#;
const REPLY: &str =
    r#"{"v":1,"verb":"reply","target":"slack:C024BE91L/1401383885.000061","body":"Known."}"#;

fn surface(fake: &FakeApi) -> SlackSurface {
    SlackSurface::new(api_of(&fake.base))
}

fn me() -> Reply {
    ok(
        r#"{"ok":true,"user":"librarian","user_id":"U1","bot_id":"B1","url":"https://t.slack.com/"}"#,
    )
}

fn posted(ts: &str) -> Reply {
    ok(json!({"ok": true, "channel": "C024BE91L", "ts": ts}).to_string())
}

fn failed(word: &str) -> Reply {
    ok(json!({"ok": false, "error": word}).to_string())
}

fn remote(ts: &str) -> RemoteId {
    RemoteId {
        id: format!("message:C024BE91L/{ts}"),
        url: Some(format!(
            "https://t.slack.com/archives/C024BE91L/p{}",
            ts.replace('.', "")
        )),
        revision: None,
    }
}

fn bodies(fake: FakeApi) -> Vec<(String, Value)> {
    let pair = |line: String| {
        let (target, body) = line.split_once(" {").unwrap();
        (
            target.to_owned(),
            serde_json::from_str(&format!("{{{body}")).unwrap(),
        )
    };
    fake.writes().into_iter().map(pair).collect()
}

#[tokio::test]
async fn a_message_carries_its_key_and_notifies_nobody() {
    let fake = FakeApi::start(vec![me(), posted("1500.000100")]).await;
    let output = planned(1, MESSAGE, Planned::default());
    assert_eq!(
        surface(&fake).deliver(&output).await,
        Ok(remote("1500.000100"))
    );
    let footer = format!(
        "Written by the daemon `librarian`, activation `{}`.",
        output.activation
    );
    let text = "The &lt;!here> digest.";
    let expected = json!({
        "channel": "C024BE91L",
        "text": text,
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": true}},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": footer, "verbatim": true}]},
        ],
        "parse": "none", "link_names": false, "unfurl_links": false, "unfurl_media": false,
        "metadata": {
            "event_type": "daemon_output",
            "event_payload": {
                "daemon": "librarian", "activation": output.activation.as_str(), "output": output.key.as_str(),
            },
        },
    });
    assert_eq!(
        bodies(fake),
        [("POST /chat.postMessage".to_owned(), expected)]
    );
}

#[tokio::test]
async fn a_reply_goes_to_its_thread() {
    let fake = FakeApi::start(vec![me(), posted("1500.000100")]).await;
    let output = planned(1, REPLY, Planned::default());
    assert_eq!(
        surface(&fake).deliver(&output).await,
        Ok(remote("1500.000100"))
    );
    assert_eq!(bodies(fake)[0].1["thread_ts"], "1401383885.000061");
}

#[tokio::test]
async fn the_message_in_the_slot_is_replaced_or_written_again() {
    let more = Planned {
        edits: Some("message:C024BE91L/1400.000100"),
        ..Planned::default()
    };
    let output = planned(1, MESSAGE, more);
    let fake = FakeApi::start(vec![me(), posted("1400.000100")]).await;
    assert_eq!(
        surface(&fake).deliver(&output).await,
        Ok(remote("1400.000100"))
    );
    let sent = bodies(fake);
    assert_eq!(
        (sent[0].0.as_str(), &sent[0].1["ts"]),
        ("POST /chat.update", &json!("1400.000100"))
    );
    let fake = FakeApi::start(vec![
        me(),
        failed("message_not_found"),
        posted("1500.000100"),
    ])
    .await;
    assert_eq!(
        surface(&fake).deliver(&output).await,
        Ok(remote("1500.000100"))
    );
    let sent = bodies(fake);
    assert_eq!(sent[1].0, "POST /chat.postMessage");
    assert_eq!(sent[1].1["ts"], Value::Null);
}

#[tokio::test]
async fn an_error_word_decides_whether_a_message_may_be_there() {
    use SurfaceErrorKind::{Ambiguous, Refused, Retryable};
    for (word, kind) in [
        ("not_in_channel", Refused),
        ("channel_not_found", Refused),
        ("msg_too_long", Refused),
        ("invalid_auth", Refused),
        ("ratelimited", Retryable),
        ("internal_error", Ambiguous),
    ] {
        let fake = FakeApi::start(vec![me(), failed(word)]).await;
        let error = surface(&fake)
            .deliver(&planned(1, MESSAGE, Planned::default()))
            .await;
        let error = error.unwrap_err();
        assert_eq!(
            (error.kind, error.message),
            (kind, format!("Slack: it answers `{word}`"))
        );
    }
}

/// Returns a page of messages: text of the time stamp, author and key of each.
fn history(rows: &[(&str, &str, &str)], cursor: &str) -> Reply {
    let row = |(ts, bot, key): &(&str, &str, &str)| json!({"ts": ts, "bot_id": bot, "metadata": {"event_type": "daemon_output", "event_payload": {"output": key}}});
    let rows: Vec<Value> = rows.iter().map(row).collect();
    let cursor = json!({"next_cursor": cursor});
    ok(json!({"ok": true, "messages": rows, "response_metadata": cursor}).to_string())
}

#[tokio::test]
async fn a_message_is_found_by_its_key_and_author_only() {
    let output = planned(1, MESSAGE, Planned::default());
    let key = output.key.as_str();
    let find = async |replies: Vec<Reply>| {
        let fake = FakeApi::start(replies).await;
        let found = surface(&fake).find(&output).await;
        found.map_err(|error| error.kind)
    };
    let (new, old) = ("1767225700.000100", "1500.000100");
    let cases = [
        (
            vec![history(&[(new, "B1", key)], "")],
            Ok(Found::At(remote(new))),
        ),
        (vec![history(&[(new, "B2", key)], "")], Ok(Found::Absent)),
        (
            vec![history(&[(new, "B1", "other")], "")],
            Ok(Found::Absent),
        ),
        (
            vec![
                history(&[(new, "B2", "")], "more"),
                history(&[(new, "B1", key)], ""),
            ],
            Ok(Found::At(remote(new))),
        ),
        // What was written a day before the output was proposed cannot be it.
        (vec![history(&[(old, "B2", "")], "more")], Ok(Found::Absent)),
        (
            (0..10)
                .map(|_| history(&[(new, "B2", "")], "more"))
                .collect(),
            Ok(Found::Unreadable),
        ),
        (vec![failed("missing_scope")], Ok(Found::Unreadable)),
        (vec![failed("channel_not_found")], Ok(Found::Unreadable)),
        (
            vec![failed("invalid_auth")],
            Err(SurfaceErrorKind::Retryable),
        ),
        (
            vec![failed("internal_error")],
            Err(SurfaceErrorKind::Retryable),
        ),
    ];
    for (replies, expected) in cases {
        let replies = std::iter::once(me()).chain(replies).collect();
        assert_eq!(find(replies).await, expected);
    }
}

#[tokio::test]
async fn a_replaced_message_is_found_by_its_time_stamp() {
    let more = Planned {
        edits: Some("message:C024BE91L/1400.000100"),
        ..Planned::default()
    };
    let output = planned(1, MESSAGE, more);
    let key = output.key.as_str();
    let find = async |replies: Vec<Reply>| {
        let replies = std::iter::once(me()).chain(replies).collect();
        surface(&FakeApi::start(replies).await).find(&output).await
    };
    let edited = "1400.000100";
    assert_eq!(
        find(vec![history(&[(edited, "B1", key)], "")]).await,
        Ok(Found::At(remote(edited)))
    );
    assert_eq!(
        find(vec![history(&[(edited, "B1", "older")], "")]).await,
        Ok(Found::Absent)
    );
    let again = history(&[("1500.000100", "B1", key)], "");
    assert_eq!(
        find(vec![history(&[], ""), again]).await,
        Ok(Found::At(remote("1500.000100")))
    );
}

#[tokio::test]
async fn the_scopes_of_the_token_are_examined() {
    let body = r#"{"ok":true,"user":"librarian","user_id":"U1"}"#;
    let condition = async |header: &'static str| {
        let fake = FakeApi::start(vec![Reply::Says(200, header, body.to_owned())]).await;
        surface(&fake).examine().await.remove(0).condition
    };
    let detail = "messages are written as `librarian`".to_owned();
    assert_eq!(
        condition("X-OAuth-Scopes: chat:write,channels:history\r\n").await,
        PlaceCondition::Takes { detail },
    );
    let doubtful = condition("X-OAuth-Scopes: chat:write\r\n").await;
    assert!(
        matches!(doubtful, PlaceCondition::Doubtful { .. }),
        "{doubtful:?}"
    );
    let refuses = condition("X-OAuth-Scopes: channels:history\r\n").await;
    assert!(
        matches!(refuses, PlaceCondition::Refuses { .. }),
        "{refuses:?}"
    );
}
