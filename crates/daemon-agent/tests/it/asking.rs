//! Questions to the user, answered by this host or the next.

use daemon_agent::{AgentError, AgentEvent, Followed, TurnStream};
use serde_json::json;

use crate::kit::{Bench, Step, error, pair, text};

fn ask() -> Step {
    Step::Call("q1", "ask_user", json!({"questions": ["Which one?"]}))
}

/// Waits for a question and returns its id.
async fn asked(stream: &mut TurnStream) -> String {
    loop {
        match stream.next().await {
            Followed::Event(event) => {
                if let AgentEvent::AskUser { ask_id, questions } = &event.event {
                    assert_eq!(*questions, json!(["Which one?"]));
                    return ask_id.clone();
                }
            }
            Followed::End(end) => panic!("it ended without a question: {end:?}"),
        }
    }
}

#[tokio::test]
async fn a_turn_waits_for_an_answer_and_goes_on_with_it() {
    let bench = Bench::new([ask(), Step::Say("The red one.")]);
    let mut stream = bench.send("Take one.");
    let ask_id = asked(&mut stream).await;
    let wrong = bench
        .conversations
        .reply_to_ask(pair("a"), "ask-9", "x".to_owned())
        .await;
    assert!(matches!(wrong, Err(AgentError::Conflict(_))), "{wrong:?}");
    let reply = bench
        .conversations
        .reply_to_ask(pair("a"), &ask_id, "red".to_owned());
    assert_eq!(reply.await.unwrap(), 1);
    assert_eq!(text(stream.end().await), "The red one.");
    assert_eq!(
        bench.types(),
        [
            "meta",
            "user",
            "assistant",
            "ask",
            "answer",
            "tool",
            "assistant",
            "end"
        ]
    );
    assert_eq!(bench.model.received()[1].last().unwrap(), "tool q1: red");
    let again = bench
        .conversations
        .reply_to_ask(pair("a"), &ask_id, "blue".to_owned())
        .await;
    assert!(matches!(again, Err(AgentError::Conflict(_))), "{again:?}");
}

#[tokio::test]
async fn an_answer_after_a_crash_resumes_the_turn() {
    let bench = Bench::new([ask()]);
    let ask_id = asked(&mut bench.send("Take one.")).await;
    let bench = bench.restart([Step::Say("The red one.")]);
    let listed = bench.conversations.list(None).await.unwrap();
    assert_eq!(listed[0].ask_id.as_deref(), Some(ask_id.as_str()));
    let reply = bench
        .conversations
        .reply_to_ask(pair("a"), &ask_id, "red".to_owned());
    assert_eq!(reply.await.unwrap(), 1);
    bench.conversations.close();
    bench.conversations.finished().await;
    assert_eq!(
        bench.types(),
        [
            "meta",
            "user",
            "assistant",
            "ask",
            "answer",
            "tool",
            "assistant",
            "end"
        ]
    );
    assert_eq!(
        bench.model.received(),
        [[
            "system: Be brief.\n",
            "user: Take one.",
            "assistant:  ask_user({\"questions\":[\"Which one?\"]})",
            "tool q1: red",
        ]]
    );
}

#[tokio::test]
async fn a_host_that_stops_leaves_a_question_to_the_next() {
    let bench = Bench::new([ask()]);
    let mut stream = bench.send("Take one.");
    let ask_id = asked(&mut stream).await;
    // The question is shown before it is waited for.
    tokio::task::yield_now().await;
    bench.conversations.close();
    bench.conversations.stop();
    bench.conversations.finished().await;
    assert!(matches!(error(stream.end().await), AgentError::Stopping));
    assert_eq!(bench.types().last().unwrap(), "ask");
    let bench = bench.restart([Step::Say("The red one.")]);
    let reply = bench
        .conversations
        .reply_to_ask(pair("a"), &ask_id, "red".to_owned());
    assert_eq!(reply.await.unwrap(), 1);
    bench.conversations.close();
    bench.conversations.finished().await;
    assert_eq!(bench.types().last().unwrap(), "end");
}

#[tokio::test]
async fn a_message_after_a_crash_waits_behind_the_question() {
    let bench = Bench::new([ask()]);
    let ask_id = asked(&mut bench.send("Take one.")).await;
    let bench = bench.restart([Step::Say("The red one."), Step::Say("You are welcome.")]);
    let mut thanks = bench.send("Thanks.");
    let reply = bench
        .conversations
        .reply_to_ask(pair("a"), &ask_id, "red".to_owned());
    assert_eq!(reply.await.unwrap(), 1);
    let result = thanks.end().await.unwrap();
    assert_eq!((result.turn, result.text.as_str()), (2, "You are welcome."));
}

#[tokio::test]
async fn a_question_of_an_earlier_host_can_be_ended() {
    let bench = Bench::new([ask()]);
    let ask_id = asked(&mut bench.send("Take one.")).await;
    let bench = bench.restart([]);
    assert_eq!(bench.conversations.kill(pair("a")).await.unwrap(), Some(1));
    let late = bench
        .conversations
        .reply_to_ask(pair("a"), &ask_id, "red".to_owned())
        .await;
    assert!(matches!(late, Err(AgentError::Conflict(_))), "{late:?}");
    assert_eq!(bench.types().last().unwrap(), "end");
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_after_its_time() {
    let bench = Bench::new([ask(), Step::Say("Then none.")]);
    assert_eq!(text(bench.say("Take one.").await), "Then none.");
    let last = bench.model.received().pop().unwrap().pop().unwrap();
    assert_eq!(last, "tool q1: error: nothing was answered in time");
}

#[tokio::test]
async fn a_killed_question_is_an_end() {
    let bench = Bench::new([ask()]);
    let mut stream = bench.send("Take one.");
    asked(&mut stream).await;
    assert_eq!(bench.conversations.kill(pair("a")).await.unwrap(), Some(1));
    assert!(matches!(error(stream.end().await), AgentError::Killed));
}

#[tokio::test]
async fn a_killed_question_is_no_longer_waited_for() {
    let bench = Bench::new([ask(), Step::Hang]);
    let mut stream = bench.send("Take one.");
    bench.model.called.notified().await;
    asked(&mut stream).await;
    // The question is shown before it is waited for.
    tokio::task::yield_now().await;
    assert_eq!(bench.conversations.kill(pair("a")).await.unwrap(), Some(1));
    let mut next = bench.send("Go on.");
    bench.model.called.notified().await;
    // This ends the waiting of turns for their user only, and the first reason to stop counts.
    bench.conversations.close();
    assert_eq!(bench.conversations.kill(pair("a")).await.unwrap(), Some(2));
    let end = error(next.end().await);
    assert!(matches!(end, AgentError::Killed), "{end:?}");
}
