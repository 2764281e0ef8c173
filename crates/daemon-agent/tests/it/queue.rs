//! Messages that wait, repeat and are ended.

use daemon_agent::{AgentError, ConversationBounds, OnDisconnect};
use serde_json::json;

use crate::kit::{Bench, Step, error, message, pair, text};

#[tokio::test]
async fn sixteen_messages_wait_and_the_next_is_refused() {
    let bench = Bench::new([Step::Hang]);
    let mut first = bench.send("0");
    bench.model.called.notified().await;
    let mut waiting: Vec<_> = (1..=16).map(|n| bench.send(&n.to_string())).collect();
    let busy = bench.conversations.send(pair("a"), message("17")).map(drop);
    assert!(
        matches!(busy, Err(AgentError::Busy { waiting: 16 })),
        "{busy:?}"
    );
    bench.model.then((1..=16).map(|_| Step::Say("ok")));
    assert_eq!(bench.conversations.kill(pair("a")).await.unwrap(), Some(1));
    assert!(matches!(error(first.end().await), AgentError::Killed));
    for (at, stream) in waiting.iter_mut().enumerate() {
        assert_eq!(stream.end().await.unwrap().turn, at as u64 + 2);
    }
    let said = bench
        .lines()
        .into_iter()
        .filter(|line| line["type"] == "user");
    let said: Vec<_> = said.map(|line| line["content"].clone()).collect();
    assert_eq!(
        said,
        (0..=16).map(|n| json!(n.to_string())).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn one_key_makes_one_turn_while_it_waits_runs_and_after_it() {
    let bench = Bench::new([Step::Say("Once.")]);
    let keyed = || {
        let mut message = message("x");
        message.key = Some("k".to_owned());
        bench.conversations.send(pair("a"), message).unwrap()
    };
    let (mut one, mut same) = (keyed(), keyed());
    let results = [text(one.end().await), text(same.end().await)];
    let after = text(keyed().end().await);
    assert_eq!([&results[0], &results[1], &after], ["Once."; 3]);
    assert_eq!(bench.types(), ["meta", "user", "assistant", "end"]);
    let bench = bench.restart([]);
    let mut message = message("x");
    message.key = Some("k".to_owned());
    let again = bench
        .conversations
        .send(pair("a"), message)
        .unwrap()
        .end()
        .await;
    assert_eq!(text(again), "Once.");
    assert_eq!(bench.types().len(), 4);
}

#[tokio::test]
async fn a_turn_goes_on_without_its_client() {
    let bench = Bench::new([Step::Say("Said alone.")]);
    drop(bench.send("x"));
    bench.conversations.close();
    bench.conversations.finished().await;
    assert_eq!(bench.types(), ["meta", "user", "assistant", "end"]);
}

/// Makes a bench whose turns end with their clients.
fn cancelling() -> Bench {
    let bench = Bench::new([Step::Hang]);
    *bench.bounds.lock().unwrap() = ConversationBounds {
        on_disconnect: OnDisconnect::Cancel,
        ..ConversationBounds::default()
    };
    bench
}

#[tokio::test]
async fn a_turn_ends_with_its_client_if_the_configuration_says_so() {
    let bench = cancelling();
    let stream = bench.send("x");
    bench.model.called.notified().await;
    bench.conversations.disconnected(stream);
    bench.conversations.close();
    bench.conversations.finished().await;
    assert_eq!(bench.types(), ["meta", "user", "end"]);
    assert_eq!(bench.lines()[2]["outcome"], "killed");
}

#[tokio::test]
async fn a_turn_goes_on_for_the_client_that_still_follows_it() {
    let bench = cancelling();
    let keyed = || {
        let mut message = message("x");
        message.key = Some("k".to_owned());
        bench.conversations.send(pair("a"), message).unwrap()
    };
    let (gone, mut stays) = (keyed(), keyed());
    bench.model.called.notified().await;
    bench.conversations.disconnected(gone);
    // The first reason to stop counts.
    bench.conversations.stop();
    let end = error(stays.end().await);
    assert!(matches!(end, AgentError::Stopping), "{end:?}");
}

#[tokio::test]
async fn a_conversation_is_deleted_when_nothing_runs_in_it() {
    let bench = Bench::new([Step::Hang]);
    let mut stream = bench.send("x");
    bench.model.called.notified().await;
    let refused = bench.conversations.delete(pair("a")).await;
    assert!(
        matches!(refused, Err(AgentError::Conflict(_))),
        "{refused:?}"
    );
    bench.conversations.kill(pair("a")).await.unwrap();
    assert!(stream.end().await.is_err());
    bench.conversations.close();
    bench.conversations.finished().await;
    bench.conversations.delete(pair("a")).await.unwrap();
    let gone = bench.conversations.history(pair("a"), None).await;
    assert_eq!(gone.unwrap_err().to_string(), "no conversation `scout a`");
}

#[tokio::test]
async fn another_directory_than_the_first_is_refused() {
    let bench = Bench::new([Step::Say("Here."), Step::Say("Still here.")]);
    assert_eq!(text(bench.say("x").await), "Here.");
    let mut elsewhere = message("y");
    elsewhere.cwd = Some("/srv".into());
    let refused = bench
        .conversations
        .send(pair("a"), elsewhere)
        .unwrap()
        .end()
        .await;
    assert_eq!(
        error(refused).to_string(),
        "`cwd`: this conversation works in its own place"
    );
    assert_eq!(bench.types().len(), 4);
}
