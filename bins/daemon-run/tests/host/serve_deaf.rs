//! A client that sends a message and reads nothing.

use std::time::{Duration, Instant};

use daemon_fakes::Reply;
use serde_json::json;

use crate::conversing::{api, call, history, of, world};
use crate::rpc::Rpc;
use crate::world::until;

/// Far above the target of 50 ms, which is measured on a machine that does nothing else.
const SLOW: Duration = Duration::from_secs(1);

#[test]
fn the_turn_of_a_client_that_never_reads_completes_and_others_are_answered() {
    // More than its queue and the buffers of its socket take.
    let long = "word ".repeat(400_000);
    let api = api([Reply::text(long.clone())]);
    let world = world(&api, "");
    let host = world.serve();
    let mut deaf = Rpc::initialized(host.socket());
    let params = of(&json!({"content": "Say much."}));
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/stream", "params": params});
    deaf.line(&request.to_string());
    let mut other = Rpc::initialized(host.socket());
    until("the turn has begun", || {
        let answer = call(&host, "conversation/history", &json!({}));
        answer["result"].is_object()
    });
    let mut slowest = Duration::ZERO;
    until("the turn has ended", || {
        for method in ["conversation/list", "host/stats"] {
            let begun = Instant::now();
            assert!(other.call(method, &json!({}))["result"].is_object());
            slowest = slowest.max(begun.elapsed());
        }
        history(&host).iter().any(|line| line["type"] == "end")
    });
    assert!(slowest < SLOW, "{slowest:?}");
    let lines = history(&host);
    shows!(lines[lines.len() - 1].clone(), {"type": "end", "outcome": "done"});
    assert_eq!(
        lines[lines.len() - 2]["content"].as_str().map(str::len),
        Some(long.len())
    );
    drop(deaf);
}
