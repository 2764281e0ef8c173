//! Many model calls at once never pass the budget of the day.

use std::fs;

use daemon_fakes::{Message, ModelApi, Reply, Tokens};
use serde_json::{Value, json};

use crate::world::World;

#[test]
fn a_hundred_runs_at_once_never_pass_the_budget_of_the_day() {
    // Each call costs exactly what is set aside for it: ten tokens at a cent.
    let api = ModelApi::scripted(|_| {
        let tokens = Tokens {
            input: 0,
            cached: 0,
            output: 10,
        };
        Reply::Message(Message::text("ok").with_tokens(tokens))
    })
    .expect("a port");
    let world = World::pushed();
    fs::write(world.home.join("key"), "sk-test\n").expect("the key");
    world.configure(&format!(
        "[budget]\nday_usd = 1.05\n[provider.llm]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = {:?}\nkey_file = \"key\"\n\
         max_tokens = 10\nprice = {{input = 0, output = 10000}}\n",
        api.base_url()
    ));
    let _host = world.serve();
    let tasks: Vec<Value> = (0..100)
        .map(|n| json!({"task": format!("task {n}")}))
        .collect();
    let reply = shown!(world.tool(&json!({"action": "emanate", "backend": "llm", "tasks": tasks})), {
        "$?": 0, "count": 100,
    });
    let ends: Vec<Value> = reply["run_ids"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|id| {
            let run = world.announced(id.as_str().expect("an id"));
            json!([run["status"], run["error"]["type"], run["error"]["class"]])
        })
        .collect();
    let n_done = ends
        .iter()
        .filter(|end| **end == json!(["done", null, null]))
        .count();
    let over = json!(["failed", "budget", "final"]);
    let n_over = ends.iter().filter(|end| **end == over).count();
    // Ten of them cost a dollar, and five cents are left over.
    assert_eq!((n_done, n_over), (10, 90), "{ends:?}");
    assert_eq!(api.received().len(), 10);
    let ledger =
        fs::read_to_string(world.home.join("logs/token_ledger.jsonl")).expect("the ledger");
    assert_eq!(ledger.lines().count(), 10);
}
