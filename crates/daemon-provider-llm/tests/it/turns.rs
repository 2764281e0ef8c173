//! The events of a run, turn by turn.

use daemon_fakes::{ApiDialect, Message, ModelApi, Reply, Tokens};
use daemon_provider::{
    Asked, ErrorClass, FailureKind, MicroUsd, Outcome, RunEvent, Speaker, StopReason, ToolStatus,
    Usage,
};
use serde_json::json;

use crate::kit::{Bench, end, failure, story};

fn message(speaker: Speaker, text: &str) -> RunEvent {
    RunEvent::Message {
        speaker,
        text: text.to_owned(),
    }
}

/// The events of a run that reads `a.md`, replies and ends; the id of the tool call is chosen by the API.
fn reading_events(id: String, endpoint: String) -> Vec<RunEvent> {
    let call = RunEvent::ModelCall {
        usage: Usage {
            input: 100,
            output: 10,
            thinking: 0,
            cached: 20,
            // 120 tokens read at 5 USD a million, 10 written at 25.
            cost: Some(MicroUsd(850)),
        },
        model: "some-model".to_owned(),
        endpoint,
    };
    vec![
        message(Speaker::Task, "Repair the links."),
        RunEvent::Turn(1),
        call.clone(),
        message(Speaker::Assistant, "Looking.\nread({\"path\":\"a.md\"})"),
        RunEvent::output("Looking."),
        RunEvent::ToolStart {
            id: id.clone(),
            name: "read".to_owned(),
            args: r#"{"path":"a.md"}"#.to_owned(),
        },
        RunEvent::ToolEnd {
            id,
            name: "read".to_owned(),
            status: ToolStatus::Ok,
        },
        message(Speaker::ToolResults, "read: ok\none\n"),
        RunEvent::Turn(2),
        call,
        message(Speaker::Assistant, "Done: ünï."),
        RunEvent::output("Done: ünï."),
        RunEvent::terminal(Outcome::Done, "Done: ünï."),
    ]
}

#[tokio::test]
async fn a_run_reports_its_messages_its_turns_its_tools_and_its_calls() {
    let tokens = Tokens {
        input: 100,
        cached: 20,
        output: 10,
    };
    for (api, dialect) in [
        ("anthropic", ApiDialect::Messages),
        ("openai", ApiDialect::Completions),
        ("openai-responses", ApiDialect::Responses),
    ] {
        let bench = Bench::new([
            Reply::Message(
                Message::text("Looking.")
                    .and_call("read", json!({"path": "a.md"}))
                    .with_tokens(tokens),
            ),
            Reply::Message(Message::text("Done: ünï.").with_tokens(tokens)),
        ]);
        bench.write("a.md", "one\n");
        let endpoint = bench.api.base_url();
        let events = bench.story(bench.config(api), bench.request()).await;
        let id = events.iter().find_map(|event| match event {
            RunEvent::ToolStart { id, .. } => Some(id.clone()),
            _ => None,
        });
        let id = id.unwrap();
        assert_eq!(events, reading_events(id, endpoint), "{api}");
        let received = bench.api.received();
        assert_eq!(received[1].dialect, dialect);
        assert_eq!(received[1].tool_results(), ["one\n"]);
        assert_eq!(
            received[0].tools(),
            ["read", "list", "search", "write", "edit"]
        );
    }
}

#[tokio::test]
async fn a_run_that_still_uses_tools_in_its_last_turn_is_cut_short_and_not_done() {
    let looking = |n: u32| {
        let call = Message::text(format!("look {n}")).and_call("list", json!({}));
        Reply::Message(call)
    };
    let bench = Bench::new([looking(1), looking(2), looking(3), Reply::text("late")]);
    let mut request = bench.request();
    request.limits.max_turns = Some(3);
    let events = bench.story(bench.config("openai"), request).await;
    let (message, kind, class) = failure(&events);
    assert_eq!(
        (message.as_str(), kind, class),
        (
            "the run reached its 3 turns and was not done",
            FailureKind::Limit,
            ErrorClass::Final
        )
    );
    assert_eq!(end(&events).1, "look 3");
    let count = |is: fn(&RunEvent) -> bool| events.iter().filter(|event| is(event)).count();
    assert_eq!(
        count(|event| matches!(event, RunEvent::ModelCall { .. })),
        3
    );
    // The tools of the last turn are not run: no call would read their results.
    assert_eq!(
        count(|event| matches!(event, RunEvent::ToolStart { .. })),
        2
    );
    assert_eq!(bench.api.received().len(), 3);
}

#[tokio::test]
async fn a_reply_without_text_or_cut_by_its_limit_is_no_end() {
    let bench = Bench::new([Reply::text("")]);
    let (message, kind, class) = failure(&bench.play().await);
    assert_eq!(
        (message.as_str(), kind, class),
        (
            "the model ended without any text",
            FailureKind::Protocol,
            ErrorClass::Retryable
        )
    );
    let cut = Message {
        is_cut_short: true,
        ..Message::text("and then")
    };
    let bench = Bench::new([Reply::Message(cut)]);
    let events = bench.play().await;
    assert_eq!(failure(&events).1, FailureKind::Limit);
    assert_eq!(end(&events).1, "and then");
}

#[tokio::test]
async fn a_message_joins_the_next_reply_that_uses_no_tool() {
    let bench = Bench::new([
        Reply::call("list", json!({})),
        Reply::text("first"),
        Reply::text("second"),
    ]);
    let mut run = bench
        .start(bench.config("anthropic"), bench.request())
        .await;
    // The task is emitted before the first call.
    run.next().await.unwrap();
    assert_eq!(run.ask("And the images?").await.unwrap(), Asked::Joined);
    let events = story(&mut *run).await;
    assert_eq!(end(&events), (Outcome::Done, "second"));
    assert!(events.contains(&message(Speaker::Followup, "And the images?")));
    let last = bench.api.received()[2].body["messages"].to_string();
    assert!(
        last.contains("first") && last.contains("And the images?"),
        "{last}"
    );
    assert_eq!(run.ask("Too late?").await.unwrap(), Asked::Unsupported);
}

#[tokio::test]
async fn a_bad_call_is_an_error_result_and_the_run_goes_on() {
    let bench = Bench::new([
        Reply::Message(
            Message::default()
                .and_call("read", json!({"file": "a.md"}))
                .and_call("teleport", json!({}))
                .and_call("read", json!({"path": "absent.md"})),
        ),
        Reply::text("I see."),
    ]);
    let events = bench.play().await;
    assert_eq!(end(&events), (Outcome::Done, "I see."));
    let results = bench.results();
    assert!(
        results[0].starts_with("error: the arguments do not fit `read`: "),
        "{results:?}"
    );
    assert_eq!(results[1], "error: tool not registered: `teleport`");
    assert_eq!(
        results[2],
        "error: `absent.md` cannot be opened: it does not exist"
    );
    let failed = events.iter().filter(
        |event| matches!(event, RunEvent::ToolEnd { status, .. } if *status == ToolStatus::Error),
    );
    assert_eq!(failed.count(), 3);
}

#[tokio::test]
async fn a_cancel_while_the_model_thinks_ends_the_run_with_its_reason_and_last_text() {
    let api = ModelApi::replaying([
        Reply::Message(Message::text("here").and_call("list", json!({}))),
        Reply::Silence(Message::text("never")),
    ]);
    let bench = Bench::with(api.unwrap());
    let mut run = bench
        .start(bench.config("anthropic"), bench.request())
        .await;
    while run.next().await.unwrap() != Some(RunEvent::Turn(2)) {}
    run.cancel(StopReason::Idle).await.unwrap();
    let events = story(&mut *run).await;
    assert_eq!(end(&events), (Outcome::Stopped(StopReason::Idle), "here"));
}

#[tokio::test]
async fn the_prompt_is_sent_byte_for_byte() {
    let prompt = "---\r\nid: x\r\n---\n\u{feff}body \u{1f980}\t \n";
    let bench = Bench::new([Reply::text("ok")]);
    let mut request = bench.request();
    request.prompt = prompt.into();
    bench.story(bench.config("openai"), request).await;
    let sent = bench.api.received()[0].body["messages"][0]["content"].clone();
    assert_eq!(sent, json!(prompt));
}

#[tokio::test]
async fn only_the_groups_of_tools_that_are_asked_for_are_offered() {
    for (groups, offered) in [
        (vec![], vec![]),
        (vec!["file"], vec!["read", "list", "search"]),
        (
            vec!["state", "output"],
            vec!["state_get", "state_set", "propose_output"],
        ),
    ] {
        let bench = Bench::new([Reply::text("ok")]);
        let mut request = bench.request();
        request.permissions = daemon_provider::Permissions::Read;
        request.context = Some(bench.path("context"));
        request.tools = Some(groups.into_iter().map(str::to_owned).collect());
        bench.story(bench.config("openai"), request).await;
        assert_eq!(bench.api.received()[0].tools(), offered);
    }
}
