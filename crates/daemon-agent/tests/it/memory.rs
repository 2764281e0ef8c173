//! The memory of an agent in its turns.

use std::sync::Arc;

use daemon_agent::{Hook, Memories, MemoryHook};
use daemon_store::memory::MemoryTwin;
use serde_json::{Value, json};

use crate::kit::{Bench, Step, message, pair, text};

fn hook() -> Arc<dyn Hook> {
    let of_file = |_| Arc::new(MemoryTwin::new()) as _;
    let memories = Memories::new("/nowhere".into(), of_file);
    Arc::new(MemoryHook::new(Arc::new(memories)))
}

fn bench(steps: impl IntoIterator<Item = Step>) -> Bench {
    Bench::with_hooks([hook()], steps)
}

/// Returns the results of the tools, each with whether it is an error.
fn results(bench: &Bench) -> Vec<(String, bool)> {
    let lines = bench.lines().into_iter();
    let results = lines.filter(|line| line["type"] == "tool");
    results
        .map(|line| {
            let output = line["output"].as_str().unwrap().to_owned();
            (output, line["is_error"] == true)
        })
        .collect()
}

fn remember(name: &str, content: &str) -> Value {
    json!({"kind": "person", "name": name, "content": content, "aliases": ["the countess"]})
}

#[tokio::test]
async fn what_one_conversation_keeps_all_of_the_agent_recall() {
    let bench = bench([
        Step::Call("c1", "remember", remember("Ada", "Wrote about engines.")),
        Step::Call(
            "c2",
            "remember",
            json!({"name": "port", "content": "It is 80."}),
        ),
        Step::Say("Kept."),
        Step::Call("c1", "recall", json!({"query": "Which countess?"})),
        Step::Call("c2", "recall", json!({"query": ""})),
        Step::Say("Ada."),
    ]);
    let other = bench.conversations.send(pair("b"), message("Keep it."));
    assert_eq!(text(other.unwrap().end().await), "Kept.");
    assert_eq!(text(bench.say("Who is it?").await), "Ada.");
    let found: Vec<Value> = results(&bench)
        .iter()
        .map(|(output, _)| serde_json::from_str(output).unwrap())
        .collect();
    let ada = json!({"kind": "person", "name": "Ada", "content": "Wrote about engines.",
        "aliases": ["the countess"], "at": "2026-01-02T03:04:05Z"});
    let port = json!({"kind": "note", "name": "port", "content": "It is 80.", "aliases": [],
        "at": "2026-01-02T03:04:05Z"});
    assert_eq!(found, [json!([ada]), json!([port, ada])]);
}

#[tokio::test]
async fn agents_have_memories_of_their_own() {
    let bench = bench([
        Step::Call("c1", "remember", remember("Ada", "x")),
        Step::Say("Kept."),
        Step::Call("c1", "recall", json!({"query": "Ada"})),
        Step::Say("Nothing."),
    ]);
    bench.write_agent("other", "---\ndescription: Other.\n---\nBe brief.\n");
    let mut other = pair("a");
    other.agent = "other".parse().unwrap();
    let kept = bench.conversations.send(other, message("Keep it."));
    assert_eq!(text(kept.unwrap().end().await), "Kept.");
    assert_eq!(text(bench.say("Who?").await), "Nothing.");
    assert_eq!(results(&bench), [("[]".to_owned(), false)]);
}

#[tokio::test]
async fn entries_are_replaced_and_forgotten_by_kind_and_name() {
    let bench = bench([
        Step::Call("c1", "remember", remember("Ada", "one")),
        Step::Call("c2", "remember", remember(" Ada ", "two")),
        Step::Call("c3", "forget", json!({"name": "Ada"})),
        Step::Say("Not yet."),
        Step::Call("c4", "forget", json!({"kind": "person", "name": "Ada"})),
        Step::Call("c5", "remember", json!({"name": "  ", "content": "x"})),
        Step::Call("c6", "remember", json!({"name": "x"})),
        Step::Say("Done."),
    ]);
    assert_eq!(text(bench.say("Forget her.").await), "Not yet.");
    assert_eq!(text(bench.say("Really.").await), "Done.");
    let expected = [
        ("kept `person/Ada`", false),
        ("replaced `person/Ada`", false),
        ("error: no such entry: `note/Ada`", true),
        ("forgot `person/Ada`", false),
        ("error: a name has 1 to 256 bytes", true),
        (
            "error: the arguments do not fit `remember`: \"content\" is a required property",
            true,
        ),
    ];
    assert_eq!(
        results(&bench),
        expected.map(|(output, is_error)| (output.to_owned(), is_error))
    );
}

#[tokio::test]
async fn a_call_without_a_number_recalls_as_many_as_the_host_says() {
    let keep = (0..7).map(|n| {
        Step::Call(
            "k",
            "remember",
            json!({"name": format!("n{n}"), "content": "shared"}),
        )
    });
    let bench = bench(keep.take(3).chain([Step::Say("Kept.")]));
    text(bench.say("Keep.").await);
    let more = (3..7).map(|n| {
        Step::Call(
            "k",
            "remember",
            json!({"name": format!("n{n}"), "content": "shared"}),
        )
    });
    bench.model.then(more.take(3).chain([Step::Say("Kept.")]));
    text(bench.say("Keep.").await);
    bench.model.then([
        Step::Call("r1", "recall", json!({"query": "shared"})),
        Step::Call("r2", "recall", json!({"query": "shared", "limit": 6})),
        Step::Call("r3", "recall", json!({"query": "shared", "limit": 51})),
        Step::Say("Found."),
    ]);
    text(bench.say("Find.").await);
    let recalled: Vec<_> = results(&bench).into_iter().skip(6).collect();
    let counts = recalled.iter().map(|(output, _)| {
        let found: Option<Vec<Value>> = serde_json::from_str(output).ok();
        found.map(|found| found.len())
    });
    assert_eq!(counts.collect::<Vec<_>>(), [Some(5), Some(6), None]);
}

#[tokio::test]
async fn the_secrets_of_the_host_are_not_kept() {
    let secret = "sk-secret-0123456789";
    let bench = bench([
        Step::Call(
            "c1",
            "remember",
            remember("key", &format!("It is {secret}.")),
        ),
        Step::Call("c2", "recall", json!({"query": "key"})),
        Step::Say("Kept."),
    ]);
    text(bench.say("Keep it.").await);
    let messages = bench.model.received().pop().unwrap();
    let recalled = messages.last().unwrap();
    assert!(
        recalled.contains("It is ") && !recalled.contains(secret),
        "{recalled}"
    );
}
