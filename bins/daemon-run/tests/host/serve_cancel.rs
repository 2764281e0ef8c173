//! Cancelling a run by its id, and what a run that cannot be changed answers.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{World, until};

const WORKS_ON: &str = "cat > /dev/null\necho begun\nexec sleep 60\n";

#[test]
fn a_run_is_cancelled_by_its_id_once_and_progress_is_shown_before() {
    let world = World::pushed();
    world.script(WORKS_ON);
    let _host = world.serve();
    let id = world.dispatch(&["work"]).remove(0);
    until("it works", || world.check(&id)["last_output"] == "begun");
    let asked = world.run(&["cancel", &id]);
    let told = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert_eq!(asked.status.code(), Some(64), "{told}");
    let progress = format!("run {id} of sh is running (");
    assert!(told.contains(&progress) && told.contains("--yes"), "{told}");
    shows!(world.json(&["cancel", &id, "--yes"]), {"$?": 0, "id": id, "state": "cancelled", "error.type": "reclaim"});
    shows!(world.json(&["cancel", &id, "--yes"]), {
        "$?": 75, "error.code": "ended", "error.message": format!("run `{id}` has ended: cancelled"),
    });
    shows!(world.json(&["cancel", "em-1-20260102-030405-0a1b2c", "--yes"]), {"$?": 66, "error.code": "unknown-run"});
}

#[test]
fn a_route_returns_409_if_a_run_cannot_be_changed() {
    let (world, host) = World::serving();
    let id = world.dispatch(&["note"]).remove(0);
    world.announced(&id);
    for (verb, body, code) in [
        ("cancel", json!({}), "ended"),
        ("ask", json!({"message": "and?"}), "not-supported"),
    ] {
        let answer = host.ask("POST", &format!("/api/v1/runs/{id}/{verb}"), &body);
        let object = answer.json();
        assert_eq!(
            json!([answer.status, object["ok"], object["error"]["code"]]),
            json!([409, false, code])
        );
    }
    shows!(world.json(&["ask", &id, "and?"]), {"$?": 64, "error.message": "not supported"});
}

#[test]
fn a_list_of_runs_in_an_unknown_state_is_refused() {
    let (world, _host) = World::serving();
    shows!(world.json(&["emanate", "list", "--status", "finished"]), {
        "$?": 64, "error.message": "status must be one of running, done, failed, cancelled, timeout, unknown",
    });
}

#[test]
fn a_hyphen_reads_the_message_from_standard_input() {
    let world = World::pushed();
    world.script(
        "cat > last\necho '{\"daemon\":\"session\",\"id\":\"s1\"}'\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"heard\"}'\n",
    );
    let program = world.beside("agent.sh").display().to_string();
    world.configure(&format!(
        "[provider.talks]\ncommand = {program:?}\nresume = [\"{{session}}\"]\n"
    ));
    world.unconfined();
    let _host = world.serve();
    let call = json!({"action": "emanate", "backend": "talks", "tasks": [{"task": "listen"}]});
    let (_, reply) = world.tool(&call);
    let id = reply.text("run_ids.0");
    world.announced(&id);
    let mut asking = world
        .command(&["ask", &id, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut input = asking.stdin.take().expect("a pipe");
    input.write_all(b"-- from the input\n").expect("it reads");
    drop(input);
    assert!(asking.wait().expect("it ends").success());
    until("it was answered", || {
        world.check(&id)["followups"][0]["state"] == "done"
    });
    let heard = std::fs::read_to_string(world.desk().join("last")).expect("it is there");
    assert_eq!(heard, "-- from the input\n");
}

#[test]
fn a_refusal_has_help() {
    let (world, _host) = World::serving();
    let help = |call: Value| {
        let (_, answer) = world.tool(&call);
        answer["error"]["help"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        help(json!({"action": "emanate", "backend": "gemini", "tasks": [{"task": "x"}]})),
        "one of builtin, claude, codex, opencode, sh, or a [provider.NAME] of config.toml"
    );
    let (_, answer) = world.json(&["emanate", "check", "em-7"]);
    shows!(answer, {"error.help": "`daemon-run emanate list` prints the ids"});
}
