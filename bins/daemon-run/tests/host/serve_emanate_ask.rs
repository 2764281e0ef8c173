//! Messages to dispatched runs: queued, answered by the same session, announced.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, processes_with, until};

/// A stand-in for an agent. Files decide when it prints its session and when it ends; resumed, it repeats the message,
/// or hangs if the message requests that.
const AGENT: &str = include_str!("programs/emanate-ask-agent.sh");

impl World {
    fn allow(&self, name: &str) {
        fs::write(self.desk().join(name), "").expect("a file");
    }

    fn ask(&self, id: &str, text: &str) -> (i32, Value) {
        self.json(&["emanate", "ask", id, text])
    }
}

#[test]
fn a_message_waits_for_the_first_turn_and_is_answered_by_the_same_session() {
    let world = World::of_claude(AGENT, "");
    let _host = world.serve();
    let run = world.dispatch_within(&["begin"], 5).remove(0);
    shows!(world.ask(&run, "so?"), {"$?": 75, "error.message": "still initializing"});
    world.allow("say");
    until("the session is known", || {
        world.document(&run)["claude_session_id"].is_string()
    });
    let sent =
        json!({"schema_version": 1, "status": "sent", "id": "em-1", "async": true, "queued": true});
    assert_eq!(world.ask("em-1", "so?"), (0, sent));
    shows!(world.ask(&run, "and?"), {"$?": 75, "status": "busy", "id": run});
    assert!(
        !world.desk().join("resumed").exists(),
        "never two at once on a session"
    );
    world.allow("go");
    let event = world.replied(&run, 1);
    let text = world.file(&run, "followup-1.txt");
    assert_eq!(fs::read_to_string(&text).expect("the reply"), "re: so?");
    shows!(event, {"status": "follow-up completed", "result_path": text, "run_id": run});
    let shown = world.check(&run);
    shows!(shown, {
        "status": "done", "result_preview": "first", "followups.0.n": 1, "followups.0.state": "done",
        "events.#": shown["events_total"],
        "events.*.event": [
            "daemon_start", "ask_start", "cli_output", "provider_terminal", "cli_usage", "daemon_done", "cli_output",
            "ask_end",
        ],
    });
    shows!(world.events(), {
        "*.idempotency_key": [format!("daemon-terminal:{run}"), format!("daemon-followup:{run}:1")],
    });
}

#[test]
fn an_answer_that_takes_too_long_is_a_failed_one_and_a_reclaimed_one_is_silent() {
    let world = World::of_claude(AGENT, "");
    let host = world.serve();
    fs::create_dir(world.desk()).expect("a directory");
    world.allow("say");
    world.allow("go");
    let run = world.dispatch_within(&["begin"], 5).remove(0);
    world.announced(&run);
    let (_, reply) = world.ask(&run, "hang");
    shows!(reply, {"status": "sent", "queued": false});
    assert_eq!(world.ask(&run, "too many").0, 75);
    let event = world.replied(&run, 1);
    shows!(event, {"status": "follow-up failed", "result_path": null});
    let body = event["body"].as_str().expect("a body");
    assert!(body.contains("\nError: timeout: "), "{body}");
    let marker = format!("DAEMON_RUN_ID={run}");
    assert_eq!(processes_with(&marker), Vec::<u32>::new());

    until("it takes messages again", || {
        world.ask(&run, "hang").1["status"] == "sent"
    });
    until("it is resumed", || !processes_with(&marker).is_empty());
    let (_, reply) = world.json(&["emanate", "reclaim", &run]);
    shows!(reply, {"cancelled": 0, "pending": 0});
    assert_eq!(processes_with(&marker), Vec::<u32>::new());
    let document = world.document(&run);
    shows!(document, {"state": "done", "followups.0.state": "timeout", "followups.1.state": "cancelled"});

    drop(host.stop());
    answers_after_a_restart(&world, &run);
}

/// Asks a run whose host has ended under another host.
fn answers_after_a_restart(world: &World, run: &str) {
    let _host = world.serve();
    shows!(world.json(&["ask", run, "still there?"]), {"$?": 0, "queued": false});
    let event = world.replied(run, 3);
    shows!(event, {"seq": 3, "status": "follow-up completed"});
    let argv = fs::read_to_string(world.desk().join("resumed")).expect("it was resumed");
    assert!(
        argv.contains("--resume s-1") && !argv.contains("--session-id"),
        "{argv}"
    );
    assert_eq!(world.document(run)["state"], "done");
}

#[test]
fn a_program_without_a_conversation_takes_no_messages() {
    let (world, host) = World::serving();
    let run = world.dispatch(&["x"]).remove(0);
    world.announced(&run);
    shows!(world.ask(&run, "so?"), {"$?": 64, "error.message": "not supported"});
    shows!(world.ask(&run, " "), {"$?": 64, "error.message": "message is required"});
    let (_, fired) = world.json(&["fire", "pusher"]);
    let attempt = fired["runs"][0]["id"].as_str().expect("an id");
    let (code, reply) = world.ask(attempt, "so?");
    let words = format!(
        "{attempt} belongs to activation {}",
        fired["activation"]["id"].as_str().expect("an id")
    );
    assert_eq!((code, &reply["error"]["message"]), (64, &json!(words)));
    drop(host);
}
