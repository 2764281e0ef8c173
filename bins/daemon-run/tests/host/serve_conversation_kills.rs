//! A host that is killed at each append of a turn with three tools.

use daemon_fakes::{ModelApi, Reply};
use serde_json::{Value, json};

use crate::conversing::{call, history, log, of, world};
use crate::rpc::Rpc;

/// A model that calls three tools, one after the other, and then replies.
fn three_tools() -> ModelApi {
    ModelApi::scripted(|received| match received.tool_results().len() {
        n if n < 3 => Reply::call("list", json!({})),
        _ => Reply::text("All three."),
    })
    .expect("a port")
}

#[test]
fn a_kill_at_each_append_of_a_turn_loses_nothing_and_the_next_message_works() {
    // The first line, the message, three replies with calls, their results, the last reply and the end are ten appends. Each is
    // killed before and after it.
    for n in 1..=10 {
        for place in ["A1", "A3"] {
            let api = three_tools();
            let world = world(&api, "");
            let mut host = world.serve_with(&[], &[("DAEMON_FAILPOINT", &format!("{place}#{n}"))]);
            let mut rpc = Rpc::initialized(host.socket());
            let params = of(&json!({"content": "Use three."}));
            let request =
                json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/send", "params": params});
            rpc.line(&request.to_string());
            let answer = rpc.answer();
            assert_eq!(
                answer,
                Value::Null,
                "{place}#{n}: a turn is acknowledged after its end is on disk"
            );
            host.wait();
            let before = match n {
                1 => Vec::new(),
                _ => log(&world),
            };
            let host = world.serve();
            let next = call(&host, "conversation/send", &json!({"content": "Again."}));
            shows!(next, {"result.text": "All three."}, "{place}#{n}");
            let after = log(&world);
            let whole = before
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            assert_eq!(after[..whole], before[..whole], "{place}#{n}");
            let lines = history(&host);
            let ns: Vec<_> = lines.iter().filter_map(|line| line["n"].as_u64()).collect();
            assert_eq!(
                ns,
                (1..=lines.len() as u64).collect::<Vec<_>>(),
                "{place}#{n}"
            );
            let count = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
            assert_eq!(count("user"), count("end"), "{place}#{n}");
        }
    }
}
