//! Delegation: to which agents, in which conversation, how deep.

use daemon_agent::Pair;
use serde_json::json;

use crate::kit::{Bench, Step, pair, text};

fn delegate(id: &'static str, agent: &str) -> Step {
    let arguments = json!({"agent": agent, "message": format!("Ask {agent}.")});
    Step::Call(id, "delegate", arguments)
}

/// Returns the results of the tools of a conversation.
async fn results(bench: &Bench, pair: Pair) -> Vec<String> {
    let lines = bench.conversations.history(pair, None).await.unwrap();
    let lines = lines
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let results = lines.filter(|line| line["type"] == "tool");
    results
        .map(|line| line["output"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn an_agent_delegates_to_its_members_only_and_gets_the_reply() {
    let bench = Bench::new([
        delegate("c1", "reader"),
        Step::Say("It says no."),
        delegate("c2", "scout"),
        Step::Say("No."),
    ]);
    bench.write_agent("scout", "---\nmembers: [reader]\n---\nBe brief.\n");
    bench.write_agent("reader", "---\ndescription: Reads.\n---\nRead.\n");
    assert_eq!(text(bench.say("What does it say?").await), "No.");
    let sender = format!("delegate:{}.1", pair("a").hash());
    assert_eq!(
        bench.model.received()[1],
        ["system: Read.\n", "user: Ask reader."]
    );
    assert_eq!(
        results(&bench, pair("a")).await,
        ["It says no.", "error: `scout` is not among your members"]
    );
    let delegated = Pair {
        agent: "reader".parse().unwrap(),
        sender: sender.parse().unwrap(),
    };
    let lines = bench.conversations.history(delegated, None).await.unwrap();
    let user: serde_json::Value = serde_json::from_str(&lines[1]).unwrap();
    assert_eq!(
        (&user["content"], &user["via"], &user["depth"]),
        (&json!("Ask reader."), &json!("delegate"), &json!(1))
    );
}

#[tokio::test]
async fn an_agent_without_members_has_no_tool_to_delegate() {
    let bench = Bench::new([delegate("c1", "scout"), Step::Say("No.")]);
    assert_eq!(text(bench.say("x").await), "No.");
    assert_eq!(
        results(&bench, pair("a")).await,
        ["error: tool not registered: `delegate`"]
    );
}

#[tokio::test]
async fn the_fourth_delegation_in_a_row_is_refused() {
    let bench = Bench::new([
        delegate("c1", "scout"),
        delegate("c2", "scout"),
        delegate("c3", "scout"),
        delegate("c4", "scout"),
        Step::Say("I cannot."),
        Step::Say("Third."),
        Step::Say("Second."),
        Step::Say("First."),
    ]);
    bench.write_agent("scout", "---\nmembers: ['*']\n---\nBe brief.\n");
    assert_eq!(text(bench.say("x").await), "First.");
    let refused = "tool c4: error: 3 delegations led to this turn, which cannot delegate";
    let received = bench.model.received();
    assert_eq!(received[4].last().unwrap(), refused);
    assert_eq!(received.len(), 8);
}

#[tokio::test]
async fn a_kill_ends_the_delegated_turn_too() {
    let bench = Bench::new([delegate("c1", "reader"), Step::Hang]);
    bench.write_agent("scout", "---\nmembers: [reader]\n---\n");
    bench.write_agent("reader", "---\ndescription: Reads.\n---\n");
    let mut stream = bench.send("x");
    while bench.model.received().len() < 2 {
        bench.model.called.notified().await;
    }
    let killed = bench.conversations.kill(pair("a")).await.unwrap();
    assert_eq!(killed, Some(1));
    assert!(stream.end().await.is_err());
    bench.conversations.close();
    bench.conversations.finished().await;
    let listed = bench.conversations.list(None).await.unwrap();
    let active: Vec<_> = listed.iter().map(|one| one.is_active).collect();
    assert_eq!(active, [false, false]);
}
