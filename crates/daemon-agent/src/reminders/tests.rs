use jiff::Timestamp;
use serde_json::json;

use super::notice::{content, parse, text};
use super::{Kept, Recipient, Reminder};

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

#[test]
fn the_file_is_a_notice_and_is_read_back() {
    let kept = Kept {
        next_id: 3,
        reminders: vec![
            Reminder {
                id: 1,
                at: now(),
                text: "Look at em-1.".to_owned(),
                recipient: Recipient::Parent("mcp:editor#0a1b2c3d".to_owned()),
                is_due: true,
            },
            Reminder {
                id: 2,
                at: "2026-01-02T04:00:00Z".parse().unwrap(),
                text: "Ask again.".to_owned(),
                recipient: Recipient::Conversation {
                    agent: "scout".parse().unwrap(),
                    sender: "cli:1000".to_owned(),
                },
                is_due: false,
            },
        ],
    };
    assert_eq!(
        content(&kept, now()),
        json!({
            "header": "2 reminders, 1 due", "icon": "alert", "priority": "high", "published_at": "2026-01-02T03:04:05Z",
            "data": {"next_id": 3, "reminders": [
                {"id": 1, "at": "2026-01-02T03:04:05Z", "text": "Look at em-1.", "parent": "mcp:editor#0a1b2c3d", "is_due": true},
                {"id": 2, "at": "2026-01-02T04:00:00Z", "text": "Ask again.",
                 "conversation": {"agent": "scout", "sender": "cli:1000"}, "is_due": false},
            ]},
        })
    );
    assert_eq!(parse(text(&kept, now()).as_bytes()).unwrap(), kept);
    assert_eq!(
        content(&Kept::default(), now())["header"],
        "0 reminders, 0 due"
    );
}

#[test]
fn an_id_is_not_given_again_and_a_torn_file_is_refused() {
    let row = json!({"id": 7, "at": "2026-01-02T03:04:05Z", "text": "x", "parent": "cli:0"});
    let file = json!({"data": {"next_id": 2, "reminders": [row]}});
    assert_eq!(parse(file.to_string().as_bytes()).unwrap().next_id, 8);
    for text in ["", "{", "{}", "{\"data\": {\"next_id\": 1}}"] {
        assert!(parse(text.as_bytes()).is_err(), "{text}");
    }
}
