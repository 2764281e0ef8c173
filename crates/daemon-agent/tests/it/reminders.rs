//! Reminders of agents and of clients.

use std::fs;

use daemon_agent::{AgentError, Dismissed, NewReminder, Recipient};
use serde_json::json;

use crate::kit::{Bench, Step, pair, text};

/// The time of the clock of a bench.
const NOW: &str = "2026-01-02T03:04:05Z";

fn reminder(at: &str, recipient: Recipient) -> NewReminder {
    NewReminder {
        at: at.parse().unwrap(),
        text: "Look again.".to_owned(),
        recipient,
    }
}

fn client() -> Recipient {
    Recipient::Parent("cli:1000".to_owned())
}

async fn ids(bench: &Bench) -> Vec<u64> {
    let reminders = bench.conversations.reminders().await.unwrap();
    reminders.iter().map(|one| one.id).collect()
}

/// Waits until only these reminders are left.
async fn until_left(bench: &Bench, left: &[u64]) {
    while ids(bench).await != left {
        bench.conversations.reminders_changed().await;
    }
}

#[tokio::test]
async fn an_agent_that_reminds_itself_has_one_turn_when_the_reminder_is_due() {
    let remind = json!({"text": "Look again.", "at": NOW});
    let bench = Bench::new([
        Step::Call("c1", "remind", remind),
        Step::Say("Later."),
        Step::Say("Looked."),
    ]);
    assert_eq!(text(bench.say("Remind yourself.").await), "Later.");
    assert_eq!(ids(&bench).await, [1]);
    // It is due now, and is sent once.
    assert_eq!(
        bench.conversations.next_reminder().await,
        Some(NOW.parse().unwrap())
    );
    assert_eq!(bench.conversations.fire_reminders().await.unwrap(), []);
    assert_eq!(bench.conversations.fire_reminders().await.unwrap(), []);
    assert_eq!(bench.conversations.next_reminder().await, None);
    until_left(&bench, &[]).await;
    let lines = bench.lines();
    let users = lines.iter().filter(|line| line["type"] == "user");
    let users: Vec<_> = users.map(|line| (&line["content"], &line["via"])).collect();
    assert_eq!(
        users[1..],
        [(
            &json!("Reminder 1 of 2026-01-02T03:04:05Z: Look again."),
            &json!("reminder")
        )]
    );
}

#[tokio::test]
async fn a_reminder_survives_a_crash_and_its_turn_is_not_run_twice() {
    let bench = Bench::new([]);
    let own = Recipient::conversation(&pair("a"));
    let later = reminder("2026-01-02T03:04:06Z", own.clone());
    assert_eq!(bench.conversations.remind(later).await.unwrap(), 1);
    assert_eq!(
        bench
            .conversations
            .remind(reminder(NOW, own))
            .await
            .unwrap(),
        2
    );
    let before = fs::read(bench.reminders()).unwrap();
    let bench = bench.restart([Step::Say("Looked.")]);
    assert_eq!(bench.conversations.fire_reminders().await.unwrap(), []);
    until_left(&bench, &[1]).await;
    let n_lines = bench.lines().len();
    // The crash came between the end of the turn and the removal of its reminder.
    fs::write(bench.reminders(), before).unwrap();
    let bench = bench.restart([]);
    assert_eq!(ids(&bench).await, [1, 2]);
    assert_eq!(bench.conversations.fire_reminders().await.unwrap(), []);
    until_left(&bench, &[1]).await;
    assert_eq!(bench.lines().len(), n_lines);
}

#[tokio::test]
async fn a_reminder_of_a_client_is_announced_once_and_stays_until_it_is_dismissed() {
    let bench = Bench::new([]);
    bench
        .conversations
        .remind(reminder(NOW, client()))
        .await
        .unwrap();
    let fired = bench.conversations.fire_reminders().await.unwrap();
    assert_eq!(
        fired
            .iter()
            .map(|one| (one.id, one.is_due))
            .collect::<Vec<_>>(),
        [(1, false)]
    );
    let bench = bench.restart([]);
    assert_eq!(bench.conversations.fire_reminders().await.unwrap(), []);
    let kept = bench.conversations.reminders().await.unwrap();
    assert!(kept[0].is_due);
    let notice = bench.conversations.reminder_notice().await.unwrap();
    assert_eq!(notice["header"], "1 reminder, 1 due");
    let dismissed = bench.conversations.dismiss_reminders(Dismissed::All).await;
    assert_eq!(dismissed.unwrap(), 1);
    // Ids are not given again, also by a later host.
    let bench = bench.restart([]);
    assert_eq!(
        bench
            .conversations
            .remind(reminder(NOW, client()))
            .await
            .unwrap(),
        2
    );
}

#[tokio::test]
async fn a_conversation_dismisses_only_its_own_reminders() {
    let bench = Bench::new([
        Step::Call("c1", "dismiss_reminder", json!({"id": 1})),
        Step::Call("c2", "dismiss_reminder", json!({"id": 2})),
        Step::Say("Done."),
    ]);
    for sender in ["b", "a"] {
        let other = Recipient::conversation(&pair(sender));
        bench
            .conversations
            .remind(reminder(NOW, other))
            .await
            .unwrap();
    }
    assert_eq!(text(bench.say("Dismiss them.").await), "Done.");
    let lines = bench.lines();
    let results = lines.iter().filter(|line| line["type"] == "tool");
    let results: Vec<_> = results
        .map(|line| (&line["output"], &line["is_error"]))
        .collect();
    assert_eq!(
        results,
        [
            (&json!("error: no reminder `1`"), &json!(true)),
            (&json!("reminder 2 is dismissed"), &json!(false))
        ]
    );
    assert_eq!(ids(&bench).await, [1]);
}

#[tokio::test]
async fn reminders_are_limited_and_an_unreadable_file_is_never_written() {
    let bench = Bench::new([]);
    let keep = |at| bench.conversations.remind(reminder(at, client()));
    for _ in 0..63 {
        keep("2027-01-01T00:00:00Z").await.unwrap();
    }
    keep(NOW).await.unwrap();
    let full = keep("2027-01-01T00:00:00Z").await.unwrap_err();
    assert!(matches!(full, AgentError::Busy { waiting: 64 }), "{full}");
    assert_eq!(bench.conversations.fire_reminders().await.unwrap().len(), 1);
    // What was due gives its place up.
    assert_eq!(keep("2027-01-01T00:00:00Z").await.unwrap(), 65);
    for bad in ["", "  ", &"x".repeat(4_001)] {
        let new = NewReminder {
            text: bad.to_owned(),
            ..reminder(NOW, client())
        };
        let refused = bench.conversations.remind(new).await.unwrap_err();
        assert!(matches!(refused, AgentError::Argument(_)), "{refused}");
    }
    fs::write(bench.reminders(), "{torn").unwrap();
    let bench = bench.restart([]);
    let refused = bench.conversations.remind(reminder(NOW, client())).await;
    assert!(matches!(refused, Err(AgentError::Storage(_))));
    assert_eq!(fs::read(bench.reminders()).unwrap(), b"{torn");
    fs::remove_file(bench.reminders()).unwrap();
    bench.conversations.reopen_files().await;
    assert_eq!(
        bench
            .conversations
            .remind(reminder(NOW, client()))
            .await
            .unwrap(),
        1
    );
}
