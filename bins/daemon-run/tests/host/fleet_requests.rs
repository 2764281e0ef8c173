//! Requests about runs and activations that another host has.

use std::time::Duration;

use serde_json::json;

use crate::fields::Shown as _;
use crate::fleet::{WAIT, database, forget_check_in, report};
use crate::fleet_takeover::{examined, two};
use crate::postgres::server;
use crate::world::{Host, World, eventually_within, processes_with, until};

/// Checks that requests about a run of the host `there` are refused with a code, and name that host.
fn refused((world, host): (&World, &Host), id: &str, (code, there): (&str, &World)) {
    let name = there.home.display().to_string();
    for args in [
        &["ask", id, "and?"][..],
        &["cancel", id, "--yes"],
        &["logs", id],
        &["emanate", "check", id],
        &["emanate", "ask", id, "and?"],
        &["emanate", "reclaim", id],
    ] {
        let (exit, answer) = world.json(args);
        let found = (exit, answer.text("error.code"));
        assert_eq!(found, (75, code.to_owned()), "{args:?}: {answer}");
        let message = answer.text("error.message");
        assert!(message.contains(&name), "{args:?}: {message}");
    }
    for (verb, body) in [("cancel", json!({})), ("ask", json!({"message": "and?"}))] {
        let answer = host.ask("POST", &format!("/api/v1/runs/{id}/{verb}"), &body);
        let found = (answer.status, answer.json()["error"]["code"].take());
        assert_eq!(found, (409, json!(code)), "{verb}: {answer:?}");
    }
    let page = host.ask("GET", &format!("/api/v1/runs/{id}/log"), &json!(null));
    assert_eq!(page.status, 409, "{page:?}");
}

#[test]
fn a_request_about_a_run_of_another_host_is_refused_with_its_name() {
    let Some(server) = server() else {
        return;
    };
    let store = database(&server);
    let (one, two) = two(&store, "");
    one.script("cat > /dev/null\necho begun\nexec sleep 60\n");
    let (first, second) = (one.serve(), two.serve());
    examined(&two);
    let id = one.dispatch(&["work"]).remove(0);
    one.begun(&id);
    refused((&two, &second), &id, ("other-host", &one));
    // What the store has of it is shown by every host.
    let shown = shown!(two.json(&["run", &id]), {"$?": 0, "run.id": id, "run.state": "running"});
    let problem = shown.text("problem");
    assert!(
        problem.starts_with("the run's folder is on the host `"),
        "{problem}"
    );
    first.kill();
    forget_check_in(&one, &store);
    refused((&two, &second), &id, ("host-gone", &one));
    let problem = two.json(&["run", &id]).1.text("problem");
    assert!(problem.ends_with("`, which is gone"), "{problem}");
    // The host that comes back answers for it.
    let _back = one.serve();
    shows!(one.json(&["emanate", "check", &id]), {"$?": 0, "run_id": id});
}

/// Makes two homes, of which the first works on an activation.
fn working(store: &str) -> (World, World, Host) {
    let (one, two) = two(store, "");
    let (busy, go) = (one.beside("busy"), one.beside("go"));
    let script = WAIT
        .replace("$BUSY", &busy.display().to_string())
        .replace("$GO", &go.display().to_string());
    one.script(&script);
    one.unconfined();
    let first = one.serve();
    report(&first, 1);
    until("the run has begun", || busy.exists());
    (one, two, first)
}

#[test]
fn an_activation_is_cancelled_on_a_host_that_does_not_hold_it() {
    let Some(server) = server() else {
        return;
    };
    let store = database(&server);
    let (one, two, first) = working(&store);
    let second = two.serve();
    let id = second.activation_in("running").text("id");
    shows!(two.json(&["cancel", &id, "--yes"]), {"$?": 0, "id": id, "state": "cancelled"});
    let marker = format!("DAEMON_CONTEXT={}", one.home.display());
    // A host renews its leases every 10 s.
    eventually_within(
        Duration::from_secs(30),
        "its processes have ended",
        || match processes_with(&marker) {
            left if left.is_empty() => Ok(()),
            left => Err(format!("{left:?}")),
        },
    );
    shows!(first.list("runs")[0], {"activation_id": id, "state": "cancelled"});
    assert_eq!(first.stop().0, Some(0));
    assert_eq!(one.branches().len(), 0);
}

#[test]
fn an_activation_of_a_host_that_is_gone_is_cancelled_and_stays_so() {
    let Some(server) = server() else {
        return;
    };
    let store = database(&server);
    let (one, two, first) = working(&store);
    let second = two.serve();
    let id = second.activation_in("running").text("id");
    first.kill();
    shows!(two.json(&["cancel", &id, "--yes"]), {"$?": 0, "id": id, "state": "cancelled"});
    let back = one.serve();
    shows!(back.settled(1)[0], {"id": id, "state": "cancelled", "attempts": 1});
    assert_eq!(back.list("runs").len(), 1);
}
