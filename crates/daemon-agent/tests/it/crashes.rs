//! What a log that was cut anywhere still says.

use std::fs;

use daemon_agent::AgentError;
use serde_json::json;

use crate::kit::{Bench, Step, error, pair, text};

fn three_tools() -> Vec<Step> {
    let echo = |id, said: &str| Step::Call(id, "echo", json!({"text": said}));
    vec![
        echo("c1", "one"),
        echo("c2", "two"),
        echo("c3", "three"),
        Step::Say("All three."),
    ]
}

/// Sends a message to a home whose log was cut after some bytes, and checks what is left of it.
async fn cut_at(bytes: &[u8], at: usize) {
    let bench = Bench::new([Step::Say("Here.")]);
    fs::write(bench.log(), &bytes[..at]).unwrap();
    assert_eq!(text(bench.say("next").await), "Here.", "cut at {at}");
    let after = bench.bytes();
    // Every line that was whole is still there, byte for byte.
    let whole = bytes[..at]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    assert_eq!(&after[..whole], &bytes[..whole], "cut at {at}");
    let text = String::from_utf8(after).unwrap();
    for (index, line) in text.lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["n"], json!(index + 1), "cut at {at}");
    }
    let n_users = text.matches("\"type\":\"user\"").count();
    let n_ends = text.matches("\"type\":\"end\"").count();
    assert_eq!(n_users, n_ends, "cut at {at}");
    // Each call of the model has one result in what the model received.
    let received = bench.model.received().pop().unwrap();
    let n_calls = received.iter().filter(|one| one.contains(" echo(")).count();
    let n_results = received
        .iter()
        .filter(|one| one.starts_with("tool "))
        .count();
    assert_eq!(n_calls, n_results, "cut at {at}");
}

#[tokio::test]
async fn a_log_cut_at_any_byte_of_a_three_tool_turn_keeps_its_whole_lines_and_the_next_message_works()
 {
    let bench = Bench::new(three_tools());
    assert_eq!(text(bench.say("Use three.").await), "All three.");
    let bytes = bench.bytes();
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let mut places: Vec<usize> = ends.flat_map(|(at, _)| [at - 1, at, at + 1]).collect();
    places.extend((0..bytes.len()).step_by(29));
    for at in places {
        cut_at(&bytes, at.min(bytes.len())).await;
    }
}

#[tokio::test]
async fn a_turn_that_a_crash_cut_off_is_interrupted_and_not_run_again() {
    let bench = Bench::new([Step::Hang]);
    drop(bench.send("x"));
    bench.model.called.notified().await;
    let bench = bench.restart([]);
    let history = bench.conversations.history(pair("a"), None).await.unwrap();
    assert_eq!(history.len(), 3);
    let end = bench.lines().pop().unwrap();
    assert_eq!(
        (&end["outcome"], &end["error"]),
        (
            &json!("interrupted"),
            &json!("the host ended while the turn was under way")
        )
    );
    assert_eq!(bench.model.received().len(), 0);
}

#[tokio::test]
async fn a_bad_line_makes_its_own_conversation_damaged_and_changes_nothing() {
    let bench = Bench::new([Step::Say("One."), Step::Say("Two.")]);
    assert_eq!(text(bench.say("x").await), "One.");
    let whole = bench.bytes();
    let text_of = String::from_utf8(whole.clone()).unwrap();
    let lines: Vec<&str> = text_of.lines().collect();
    let broken = [
        text_of.replacen("\"user\"", "\"usher\"", 1),
        text_of.replacen("\"n\":2", "\"n\":3", 1),
        text_of.replacen("scout", "other", 1),
        format!("{}\nnot a line\n", lines.join("\n")),
        format!("\n{text_of}"),
    ];
    for damaged in broken {
        fs::write(bench.log(), &damaged).unwrap();
        let refused = error(bench.say("y").await);
        assert!(
            matches!(refused, AgentError::Damaged(_)),
            "{damaged}: {refused:?}"
        );
        let refused = bench.conversations.history(pair("a"), None).await;
        assert!(
            matches!(refused, Err(AgentError::Damaged(_))),
            "{refused:?}"
        );
        assert_eq!(fs::read_to_string(bench.log()).unwrap(), damaged);
    }
    fs::write(bench.log(), whole).unwrap();
    assert_eq!(text(bench.say("y").await), "Two.");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_fails_the_turn_and_the_conversation_goes_on_later() {
    let bench = Bench::new([Step::Say("One."), Step::Say("Two.")]);
    assert_eq!(text(bench.say("x").await), "One.");
    let before = bench.bytes();
    let aside = bench.log().with_extension("aside");
    fs::rename(bench.log(), &aside).unwrap();
    fs::create_dir(bench.log()).unwrap();
    let failed = error(bench.say("y").await);
    assert!(matches!(failed, AgentError::Storage(_)), "{failed:?}");
    fs::remove_dir(bench.log()).unwrap();
    fs::rename(&aside, bench.log()).unwrap();
    assert_eq!(bench.bytes(), before);
    assert_eq!(text(bench.say("y").await), "Two.");
}

#[tokio::test]
async fn history_returns_stored_lines_in_pages() {
    let bench = Bench::new((0..70).map(|_| Step::Say("ok")));
    for n in 0..70 {
        assert_eq!(text(bench.say(&n.to_string()).await), "ok");
    }
    let stored = String::from_utf8(bench.bytes()).unwrap();
    let stored: Vec<&str> = stored.lines().collect();
    let newest = bench.conversations.history(pair("a"), None).await.unwrap();
    assert_eq!(newest, stored[stored.len() - 200..]);
    let before = bench
        .conversations
        .history(pair("a"), Some(12))
        .await
        .unwrap();
    assert_eq!(before, stored[..11]);
}
