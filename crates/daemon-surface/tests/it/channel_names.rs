//! The names of Slack's channels.

use daemon_engine::Facts as _;
use daemon_event::{Event, Need, Source};
use daemon_surface::ServiceFacts;

use super::fact_kit::event;
use super::fake_api::{FakeApi, ok};

fn message(channel: &str) -> Event {
    let body = format!(
        r#"{{"type":"event_callback","event":{{"type":"message","channel":"{channel}","text":"x","ts":"1.0"}}}}"#
    );
    event(Source::Slack, "message", &body)
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
