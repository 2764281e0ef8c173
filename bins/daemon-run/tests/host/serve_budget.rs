//! Many model calls at once never pass the budget of the day.

use std::fs;

use daemon_fakes::{Message, ModelApi, Reply, Tokens};
use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{Host, World, until};

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
    // Ten of them cost a dollar, and five cents are left over.
    assert_eq!(ends_of_a_hundred(&world, "llm"), (10, 90));
    assert_eq!(api.received().len(), 10);
    let ledger =
        fs::read_to_string(world.home.join("logs/token_ledger.jsonl")).expect("the ledger");
    assert_eq!(ledger.lines().count(), 10);
}

/// Starts a hundred runs at once, and returns how many are done, and how many were refused by the budget.
fn ends_of_a_hundred(world: &World, backend: &str) -> (usize, usize) {
    let tasks: Vec<Value> = (0..100)
        .map(|n| json!({"task": format!("task {n}")}))
        .collect();
    let call = json!({"action": "emanate", "backend": backend, "tasks": tasks});
    let reply = shown!(world.tool(&call), {"$?": 0, "count": 100});
    let ids = reply["run_ids"].as_array().expect("a list").iter();
    let ends = ids.map(|id| {
        let run = world.announced(id.as_str().expect("an id"));
        json!([run["status"], run["error"]["type"], run["error"]["class"]])
    });
    let ends: Vec<Value> = ends.collect();
    let count = |wanted: Value| ends.iter().filter(|end| **end == wanted).count();
    (
        count(json!(["done", null, null])),
        count(json!(["failed", "budget", "final"])),
    )
}

/// Ends at once, with a price.
const COSTS: &str = r#"cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":0.45,"usage":{"input_tokens":9,"output_tokens":2}}'
"#;

/// Returns the check of the budget.
fn budget(host: &Host) -> (String, String) {
    let doctor = host.get("doctor");
    let checks = doctor["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["name"] == "budget");
    let check = check.expect("there is a budget");
    (check.text("status"), check.text("detail"))
}

/// Has an agent spend on a task of its own, and returns the end.
fn spend(world: &World, backend: &str) -> Value {
    let call = json!({"action": "emanate", "backend": backend, "tasks": [{"task": "Spend."}]});
    let reply = shown!(world.tool(&call), {"$?": 0});
    world.announced(&reply.text("run_ids.0"))
}

fn shown_as(status: &str, detail: &str) -> (String, String) {
    (status.to_owned(), detail.to_owned())
}

#[test]
fn one_off_runs_of_agents_count_in_the_day_and_a_person_is_warned_before_activations_wait() {
    let world = World::of_claude(COSTS, "\n[budget]\nday_usd = 1.0\nactivation_usd = 0.45\n");
    let host = world.serve();
    assert_eq!(spend(&world, "claude")["status"], "done");
    assert_eq!(
        budget(&host),
        shown_as("ok", "0.45 of 1.00 USD were spent within 24 hours")
    );
    assert_eq!(spend(&world, "claude")["status"], "done");
    let over = shown_as(
        "warn",
        "0.90 of 1.00 USD were spent within 24 hours: activations wait",
    );
    assert_eq!(budget(&host), over);
    // What is left is less than a run may cost.
    let refused = spend(&world, "claude");
    assert_eq!(
        json!([refused["status"], refused["error"]["type"]]),
        json!(["failed", "budget"])
    );
    assert_eq!(
        refused.text("error.message"),
        "the budget of the day leaves 0.10 USD, and a run needs 0.45 USD"
    );
    // An earlier host's runs count as well.
    host.kill();
    let host = world.serve();
    assert_eq!(budget(&host), over);
    world.write("docs/a.md", "two\n");
    world.commit("two");
    until("the activation waits for the budget", || {
        host.list("activations")
            .iter()
            .any(|one| one["state"] == "pending" && one["reason"] == "budget")
    });
    until("the log warns", || {
        world
            .log()
            .contains("the budget of the day is nearly used up")
    });
    let activations = host.list("activations");
    assert_eq!(activations[0]["state"], "pending", "{activations:?}");
    let attempts = host.list("runs");
    assert!(
        attempts.iter().all(|run| run["activation_id"].is_null()),
        "{attempts:?}"
    );
}

/// Ends at once and reports no cost, as a program does that its host killed.
const SILENT: &str = r#"cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}'
exit 3
"#;

#[test]
fn a_run_that_reports_no_cost_counts_what_was_reserved_for_it() {
    let world = World::of_claude(SILENT, "\n[budget]\nday_usd = 1.0\nactivation_usd = 0.4\n");
    let host = world.serve();
    for _ in 0..2 {
        let run = spend(&world, "claude");
        assert_eq!(run["status"], "failed", "{run}");
    }
    let over = shown_as(
        "warn",
        "0.80 of 1.00 USD were spent within 24 hours, of which 0.80 are assumed for runs that report no cost: activations wait",
    );
    assert_eq!(budget(&host), over);
    let runs = host.list("runs");
    let costs: Vec<Value> = runs
        .iter()
        .map(|run| json!([run["cost_usd"], run["reserved_usd"]]))
        .collect();
    assert_eq!(costs, [json!([null, 0.4]), json!([null, 0.4])]);
    host.kill();
    let host = world.serve();
    assert_eq!(budget(&host), over);
    assert_eq!(spend(&world, "claude")["error"]["type"], "budget");
}

/// Costs what was reserved for it, and takes a while, so that all others have asked.
const TENTH: &str = r#"cat > /dev/null
sleep 0.5
echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":0.1,"usage":{"input_tokens":9,"output_tokens":2}}'
"#;

#[test]
fn a_hundred_programs_that_start_at_once_never_pass_the_budget_of_the_day() {
    let world = World::of_claude(TENTH, "\n[budget]\nday_usd = 1.05\nactivation_usd = 0.1\n");
    let host = world.serve();
    // The eleventh would need ten cents of the five that are left.
    assert_eq!(ends_of_a_hundred(&world, "claude"), (10, 90));
    let spent = "1.00 of 1.05 USD were spent within 24 hours: activations wait";
    assert_eq!(budget(&host), shown_as("warn", spent));
}
