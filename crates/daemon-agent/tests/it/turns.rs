//! One turn: its lines, its events, what the model receives.

use daemon_agent::{AgentError, AgentEvent, TurnOutcome};
use serde_json::json;

use crate::kit::{Bench, Step, error, message, pair, story, text};

fn echo(id: &'static str, said: &str) -> Step {
    Step::Call(id, "echo", json!({"text": said}))
}

#[tokio::test]
async fn a_turn_stores_each_step_and_shows_it() {
    let bench = Bench::new([echo("c1", "one"), Step::Say("It says one.")]);
    let (events, end) = story(&mut bench.send("What does it say?")).await;
    let usage = json!({"input": 10, "output": 2, "thinking": 0, "cached": 0, "cost_micros": 10});
    assert_eq!(
        bench.lines(),
        [
            json!({"type": "meta", "v": 1, "agent": "scout", "sender": "a"}),
            json!({"type": "user", "turn": 1, "content": "What does it say?", "via": "test"}),
            json!({"type": "assistant", "turn": 1, "content": "", "model": "scripted", "usage": usage,
                "calls": [{"id": "c1", "name": "echo", "arguments": {"text": "one"}}]}),
            json!({"type": "tool", "turn": 1, "call_id": "c1", "output": "one", "is_error": false, "duration_ms": 0}),
            json!({"type": "assistant", "turn": 1, "content": "It says one.", "model": "scripted", "usage": usage, "calls": []}),
            json!({"type": "end", "turn": 1, "outcome": "done", "usage":
                {"input": 20, "output": 4, "thinking": 0, "cached": 0, "cost_micros": 20}}),
        ]
    );
    let called = |output: &str| AgentEvent::ToolResult {
        id: "c1".to_owned(),
        name: "echo".to_owned(),
        output: output.to_owned(),
        is_error: false,
    };
    let said = |text: &str| AgentEvent::Text {
        text: text.to_owned(),
        attempt: 2,
    };
    assert_eq!(
        events,
        [
            AgentEvent::Start { turn: 1 },
            AgentEvent::ToolStart {
                id: "c1".to_owned(),
                name: "echo".to_owned(),
                arguments: json!({"text": "one"}),
            },
            called("one"),
            said("It says "),
            said("one."),
            AgentEvent::End {
                turn: 1,
                outcome: TurnOutcome::Done,
                error: None,
            },
        ]
    );
    let result = end.unwrap();
    assert_eq!(
        (result.turn, result.text.as_str(), result.usage.output),
        (1, "It says one.", 4)
    );
}

#[tokio::test]
async fn a_conversation_is_resumed_by_the_exact_pair() {
    let bench = Bench::new([Step::Say("One."), Step::Say("Other."), Step::Say("Two.")]);
    assert_eq!(text(bench.say("first").await), "One.");
    let mut other = bench
        .conversations
        .send(pair("A"), message("other"))
        .unwrap();
    assert_eq!(text(other.end().await), "Other.");
    assert_eq!(text(bench.say("second").await), "Two.");
    assert_eq!(
        bench.model.received(),
        [
            vec!["system: Be brief.\n", "user: first"],
            vec!["system: Be brief.\n", "user: other"],
            vec![
                "system: Be brief.\n",
                "user: first",
                "assistant: One.",
                "user: second"
            ],
        ]
    );
    let listed = bench.conversations.list(None).await.unwrap();
    let mut titles: Vec<_> = listed
        .iter()
        .map(|one| (one.title.as_str(), one.turns))
        .collect();
    titles.sort_unstable();
    assert_eq!(titles, [("first", 2), ("other", 1)]);
}

#[tokio::test]
async fn a_turn_that_fails_or_reaches_its_limit_is_stored_as_that() {
    let bench = Bench::new([Step::Fail]);
    let failed = error(bench.say("x").await);
    assert!(
        matches!(&failed, AgentError::Failed { message, .. } if message == "no more steps"),
        "{failed:?}"
    );
    bench.model.then((0..4).map(|_| echo("c1", "again")));
    let limited = bench.say("y").await.unwrap();
    assert_eq!(limited.outcome, TurnOutcome::Limit);
    let ends = bench
        .lines()
        .into_iter()
        .filter(|line| line["type"] == "end");
    let ends: Vec<_> = ends
        .map(|line| (line["outcome"].clone(), line["error"].clone()))
        .collect();
    assert_eq!(
        ends,
        [
            (json!("failed"), json!("no more steps")),
            (
                json!("limit"),
                json!("the run reached its 4 turns and was not done")
            ),
        ]
    );
    // The call that was not carried out has a result, so that an API takes the messages back.
    bench.model.then([Step::Say("Here.")]);
    assert_eq!(text(bench.say("z").await), "Here.");
    let last = bench.model.received().pop().unwrap();
    let n_calls = last
        .iter()
        .filter(|one| one.starts_with("assistant:  echo"))
        .count();
    let n_results = last.iter().filter(|one| one.starts_with("tool c1")).count();
    assert_eq!((n_calls, n_results), (4, 4));
}

#[tokio::test]
async fn secrets_of_the_host_are_neither_stored_nor_shown() {
    let secret = "sk-secret-0123456789";
    let bench = Bench::new([
        echo("c1", secret),
        Step::Say("The key is sk-secret-0123456789 here."),
    ]);
    let (events, end) = story(&mut bench.send("x")).await;
    let stored = String::from_utf8(bench.bytes()).unwrap();
    let all = format!("{stored}{events:?}{end:?}");
    assert!(!all.contains(secret), "{all}");
    assert!(stored.contains("The key is <redacted> here."), "{stored}");
}

#[tokio::test]
async fn an_agent_uses_only_the_tools_that_it_is_allowed() {
    let bench = Bench::new([echo("c1", "x"), Step::Say("No.")]);
    bench.write_agent("scout", "---\ntools: []\n---\nBe brief.\n");
    assert_eq!(text(bench.say("x").await), "No.");
    let tool = bench
        .lines()
        .into_iter()
        .find(|line| line["type"] == "tool")
        .unwrap();
    assert_eq!(
        (&tool["output"], &tool["is_error"]),
        (&json!("error: tool not available: `echo`"), &json!(true))
    );
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_stores_nothing() {
    let bench = Bench::new([]);
    let refused = |sender: &str, change: fn(&mut daemon_agent::NewMessage)| {
        let mut message = message("x");
        change(&mut message);
        let sent = bench.conversations.send(pair(sender), message);
        sent.map(drop).unwrap_err().to_string()
    };
    assert_eq!(
        refused("a", |message| message.content = " ".to_owned()),
        "`content` must be text of at most 1048576 bytes"
    );
    assert_eq!(
        refused("a", |message| message.key = Some(String::new())),
        "`key` must be 1 to 256 bytes without control characters"
    );
    assert_eq!(
        refused("a", |message| message.cwd = Some("x".into())),
        "`cwd` must be an absolute path"
    );
    let mut unknown = pair("a");
    unknown.agent = "absent".parse().unwrap();
    let sent = bench.conversations.send(unknown, message("x"));
    assert_eq!(sent.map(drop).unwrap_err().to_string(), "no agent `absent`");
    assert!(bench.conversations.list(None).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_takes_too_long_is_stopped_at_its_limit() {
    let bench = Bench::new([Step::Hang]);
    let limited = bench.say("x").await.unwrap();
    assert_eq!(
        (limited.outcome, limited.error.as_deref()),
        (TurnOutcome::Limit, Some("the turn reached its time limit"))
    );
}

#[tokio::test]
async fn a_summary_replaces_earlier_messages_for_the_model_and_not_in_history() {
    let bench = Bench::new([
        Step::Say("One."),
        Step::Say("# Colours\n\nThe user likes blue."),
        Step::Say("Two."),
    ]);
    assert_eq!(text(bench.say("I like blue.").await), "One.");
    let compacted = bench.conversations.compact(pair("a")).await.unwrap();
    assert_eq!(
        (compacted.summary.as_str(), compacted.upto),
        ("# Colours\n\nThe user likes blue.", 4)
    );
    assert_eq!(text(bench.say("Which?").await), "Two.");
    assert_eq!(
        bench.model.received()[2],
        [
            "system: Be brief.\n",
            "user: Summary of the conversation so far:\n\n# Colours\n\nThe user likes blue.",
            "user: Which?",
        ]
    );
    assert_eq!(
        bench.types(),
        [
            "meta",
            "user",
            "assistant",
            "end",
            "compact",
            "user",
            "assistant",
            "end"
        ]
    );
    assert_eq!(
        bench.conversations.list(None).await.unwrap()[0].title,
        "Colours"
    );
    let again = bench.conversations.compact(pair("b")).await.unwrap_err();
    assert_eq!(again.to_string(), "no conversation `scout b`");
}

#[tokio::test]
async fn a_conversation_beyond_its_threshold_is_summarised_before_the_next_reply() {
    let bench = Bench::new([
        Step::Say("One."),
        Step::Say("Colours\nBlue."),
        Step::Say("Two."),
    ]);
    let file = bench
        .log()
        .parent()
        .unwrap()
        .with_file_name("agents")
        .join("scout.md");
    std::fs::write(file, "---\ncompact_threshold: 11\n---\n").unwrap();
    assert_eq!(text(bench.say("I like blue.").await), "One.");
    let (events, end) = story(&mut bench.send("Which?")).await;
    assert_eq!(text(end), "Two.");
    let compacted = AgentEvent::Compacted {
        title: "Colours".to_owned(),
        upto: 4,
    };
    assert_eq!(events[1], compacted);
    assert_eq!(
        bench.model.received()[2],
        [
            "user: Summary of the conversation so far:\n\nColours\nBlue.",
            "user: Which?"
        ]
    );
    assert_eq!(
        bench.types(),
        [
            "meta",
            "user",
            "assistant",
            "end",
            "user",
            "compact",
            "assistant",
            "end"
        ]
    );
}
