//! The order of a reset and of a wind-down, as agents meet it.

use std::fs;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::serve_roster::Agent;
use crate::serve_standing::world;
use crate::world::{World, eventually, until};

impl World {
    /// Makes an agent call a tool at its next wake, and returns the object that it was answered with.
    fn calls(&self, name: &str, tool: &str, params: &Value) -> Value {
        let (asked, done) = (self.log_of(&format!("do-{name}")), format!("done-{name}"));
        // The agent reads the file as soon as it is there.
        let new = self.log_of("do.new");
        fs::write(&new, format!("{tool} {params}\n")).expect("a file");
        fs::rename(new, asked).expect("its place");
        let line = eventually(&format!("{name} has called {tool}"), || {
            let line = self.noted(&done);
            (!line.is_empty()).then_some(line)
        });
        self.unmark(&done);
        let answer: Value = serde_json::from_str(&line).expect("an object");
        answer["result"]["structuredContent"].clone()
    }
}

#[test]
fn steps_of_a_reset_out_of_order_are_refused_and_move_no_baton() {
    let world = world("");
    let host = world.serve();
    let row = world.spawn("o/r", "orchestrator");
    assert_eq!(world.json(&["roster", "go", &row]).0, 0);
    world.mark("silent-r-orchestrator-2");
    let id = world.request_reset(&row);
    let (code, started) = world.start_reset(&id);
    assert_eq!(code, 0, "{started}");
    until("its process is started", || {
        world.reset_state(&id) == "spawned"
    });
    let reset = json!({"reset": id});
    // Step 3 before the first check-in.
    let early = world.calls("r-orchestrator-2", "daemon_successor_ready", &reset);
    shows!(early, {"ok": false, "error.code": "not-ready"});
    // Step 4 before 3.
    let early = world.calls("r-orchestrator", "daemon_reset_handoff", &reset);
    shows!(early, {"ok": false, "error.code": "illegal-transition"});
    // Step 5 before 4, by the successor and by the operator.
    let early = world.calls("r-orchestrator-2", "daemon_retire_predecessor", &reset);
    shows!(early, {"ok": false, "error.code": "illegal-transition"});
    let (_, early) = world.method("daemon_retire_predecessor", &reset);
    assert_eq!(early.text("error.code"), "illegal-transition");
    assert_eq!(world.reset_state(&id), "spawned");
    assert_eq!(world.baton("o/r"), (json!(row), json!(1)));
    shows!(world.row(&row), {"liveness": "live", "gate": "go", "retired_at": null});
    // In order it comes to its end.
    world.unmark("silent-r-orchestrator-2");
    until("it is retired", || world.reset_state(&id) == "retired");
    host.stop();
}

#[test]
fn the_wind_down_of_an_orchestrator_waits_for_a_dead_daemon_until_that_is_retired() {
    let world = world("stale = \"3s\"\ndead = \"4s\"");
    let host = world.serve();
    let row = world.spawn("o/r", "orchestrator");
    // It checks in once and never again.
    let (_agent, ops) = Agent::register(&host, 1, "digger");
    until("it is dead", || world.row(&ops)["liveness"] == "dead");
    let (code, answer) = world.json(&["roster", "winddown", &row]);
    assert_eq!(code, 0, "{answer}");
    let handoff = json!({"handoff_ref": "notes/handoff.md"});
    let ready = || world.calls("r-orchestrator", "daemon_winddown_ready", &handoff);
    let blocked = ready();
    let why = format!("not ready: `{ops}` (dead) is not wound down");
    let blockers = json!([{"kind": "not-wound-down", "daemon": ops, "liveness": "dead"}]);
    shows!(blocked, {"ok": false, "error.code": "not-ready", "error.message": why, "error.blockers": blockers.clone()});
    let (_, asked) = world.method("daemon_subordinates_ready", &json!({"project": "o/r"}));
    shows!(asked, {"ready": false, "blockers": blockers});
    let (code, answer) = world.json(&["roster", "retire", &ops, "--yes"]);
    assert_eq!(code, 0, "{answer}");
    let without = world.calls("r-orchestrator", "daemon_winddown_ready", &json!({}));
    shows!(without, {"ok": false, "error.code": "invalid-argument"});
    shows!(ready(), {"winddown_state": "ready"});
    shows!(world.row(&row), {"winddown_state": "ready", "liveness": "live"});
    host.stop();
}
