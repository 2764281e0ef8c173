//! Runs: how they end, what is left of them, and what a host does with them when it stops.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{World, document, eventually, kept, no_process_of, processes_with, until};

/// Fires the daemon, and returns its activation's state and reason and its run's state and error type.
fn fired(world: &World, script: &str) -> [Value; 4] {
    world.script(script);
    let (_, mut answer) = world.json(&["fire", "pusher"]);
    let mut run = answer["runs"][0].take();
    [
        answer["activation"]["state"].take(),
        answer["activation"]["reason"].take(),
        run["state"].take(),
        run["error"]["type"].take(),
    ]
}

#[test]
fn a_command_ends_as_it_exits() {
    let (world, host) = World::serving();
    let rows = [
        ("cat > /dev/null", json!(["succeeded", null, "done", null])),
        (
            "exit 3",
            json!(["failed", "exit: exit code 3", "failed", "exit"]),
        ),
        (
            "echo '{\"daemon\":\"result\",\"ok\":false,\"text\":\"no\"}'",
            json!(["failed", "provider: no", "failed", "provider"]),
        ),
        (
            "echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"yes\"}'; exit 9",
            json!(["failed", "exit: exit code 9", "failed", "exit"]),
        ),
    ];
    for (script, expected) in rows {
        assert_eq!(json!(fired(&world, script)), expected, "{script}");
    }
    world.script("exit 75\n");
    let fire = world.begin(&["fire", "pusher", "--json"]);
    let waiting = eventually("it waits for another attempt", || {
        let activation = host.list("activations").into_iter().next()?;
        (activation["state"] == "pending" && activation["attempts"] == 1).then_some(activation)
    });
    assert_eq!(waiting["reason"], "backoff: exit: exit code 75");
    let id = waiting["id"].as_str().expect("an id");
    assert_eq!(world.json(&["cancel", id, "--yes"]).1["state"], "cancelled");
    shows!(fire.json(), {"$?": 1, "activation.state": "cancelled"});
    assert_eq!(world.json(&["cancel", id, "--yes"]).0, 75, "it has ended");
}

#[test]
fn a_run_that_takes_too_long_is_ended_with_all_its_processes() {
    for (limit, script, reason) in [
        (
            "wall = \"1s\"\nidle = \"60s\"",
            "while :; do echo busy; read -t 0.1 x; done",
            "timeout",
        ),
        (
            "wall = \"60s\"\nidle = \"1s\"",
            "(setsid sleep 1000 &) ; sleep 1001 & trap '' TERM; wait; wait; sleep 1002",
            "idle",
        ),
    ] {
        let world = World::pushed();
        world.configure(&format!("[limits]\n{limit}\n"));
        world.script(&format!("exec 0</dev/null\n{script}\n"));
        let host = world.serve();
        world.commit("wake it");
        let activation = eventually("the limit was reached", || {
            let activation = host.list("activations").into_iter().next()?;
            (activation["state"] == "pending" && activation["attempts"] == 1).then_some(activation)
        });
        shows!(activation, {"reason": format!("backoff: {reason} limit reached")});
        let run = &host.list("runs")[0];
        shows!(run, {"state": "timeout", "error.type": reason});
        let marker = format!("DAEMON_RUN_ID={}", run["id"].as_str().expect("an id"));
        assert_eq!(processes_with(&marker), Vec::<u32>::new());
    }
}

#[test]
fn a_cancelled_run_is_ended_with_all_its_processes() {
    let world = World::pushed();
    world.script("cat > /dev/null\n(setsid sleep 1000 &)\nsleep 1001 &\necho begun\nwait\n");
    let host = world.serve();
    let fire = world.begin(&["fire", "pusher", "--json"]);
    let activation = host.activation_in("running");
    let run = eventually("it has begun", || {
        let run = host.list("runs").into_iter().next()?;
        run["last_output_at"].is_string().then_some(run)
    });
    let marker = format!("DAEMON_RUN_ID={}", run["id"].as_str().expect("an id"));
    assert!(processes_with(&marker).len() >= 3);
    let id = activation["id"].as_str().expect("an id");
    shows!(world.json(&["cancel", id, "--yes"]), {"$?": 0, "state": "cancelled"});
    shows!(fire.json(), {"$?": 1});
    let run = eventually("the run has ended", || {
        let run = host.list("runs").into_iter().next()?;
        (run["state"] != "running").then_some(run)
    });
    shows!(run, {"state": "cancelled", "error.type": "reclaim"});
    assert!(run["finished_at"].is_string(), "{run}");
    assert_eq!(processes_with(&marker), Vec::<u32>::new());
    assert_eq!(world.branches(), Vec::<String>::new());
    until("its worktree is gone", || {
        let left = fs::read_dir(world.home.join("worktrees")).expect("it is there");
        left.count() == 0
    });
}

/// The variables that a run may have: those that it is given, and those that its shell sets.
const KNOWN: [&str; 12] = [
    "DAEMON_CONTEXT",
    "DAEMON_OUTPUTS",
    "DAEMON_RUN_ID",
    "DAEMON_WORKTREE",
    "HOME",
    "LANG",
    "PATH",
    "PWD",
    "_",
    "OLDPWD",
    "SHLVL",
    "TMPDIR",
];

#[test]
fn a_run_folder_holds_the_input_and_the_output_of_the_run() {
    let world = World::pushed();
    world.script(
        "cat > \"$HOME/prompt\"\nenv | sed 's/=.*//' | sort > ENV.txt\npwd > PWD.txt\necho noise >&2\n\
         echo '{\"daemon\":\"output\",\"output\":{\"v\":1,\"verb\":\"state\",\"set\":{\"last\":1}}}'\n\
         echo '{\"v\":1,\"verb\":\"no_op\",\"reason\":\"clean\"}' >> \"$DAEMON_OUTPUTS\"\n\
         echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"all good\"}'\n",
    );
    let host = world.serve();
    let fired =
        shown!(world.json(&["fire", "pusher"]), {"$?": 0, "runs.0.result_preview": "all good"});
    let run = &fired["runs"][0];
    files_are_private(run);
    let file = world.repo.join(".agents/daemons/pusher/DAEMON.md");
    let file = fs::read_to_string(file).expect("the file");
    assert_eq!(kept(run, "context/DAEMON.md"), file);
    assert_eq!(kept(run, "result.txt"), "all good");
    let prompt = kept(run, "session/prompt");
    assert_eq!(
        prompt,
        kept(run, ".prompt"),
        "what it read is what was kept"
    );
    assert_eq!(prompt.matches("\nid: pusher\n").count(), 1);
    let level = crate::serve_sandbox::levels().last().copied().unwrap_or(1);
    shows!(document(run), {"state": "done", "backend": "sh", "sandbox.level": level, "exit.code": 0});
    let variables = world.git(&["show", &format!("{}:ENV.txt", world.branches()[0])]);
    let mut foreign: Vec<&str> = variables.lines().collect();
    foreign.retain(|name| !KNOWN.contains(name));
    assert_eq!(foreign, Vec::<&str>::new());
    let run = host.get(&format!("runs/{}", run.text("id")));
    let kinds = run.field("timeline.*.kind");
    let kinds = kinds.as_array().expect("a list");
    let ends = (kinds.first(), kinds.last());
    assert_eq!(
        ends,
        (Some(&json!("daemon_start")), Some(&json!("daemon_done"))),
        "{kinds:?}"
    );
}

/// Asserts that the folder of a run has all its files, and that no other user can read them.
fn files_are_private(run: &Value) {
    let folder = run.text("folder");
    let folder = Path::new(&folder);
    let mode = |path: &Path| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    assert_eq!(mode(folder), 0o700);
    for name in [
        "daemon.json",
        ".prompt",
        ".heartbeat",
        ".lock",
        "result.txt",
        "outputs.jsonl",
        "logs/events.jsonl",
        "context/DAEMON.md",
        "context/trigger.json",
        "context/state.json",
    ] {
        assert!(folder.join(name).is_file(), "{name}");
        assert_eq!(mode(&folder.join(name)) & 0o077, 0, "{name}");
    }
}

#[test]
fn a_run_cannot_use_the_control_socket_of_its_host() {
    let world = World::pushed();
    let program = env!("CARGO_BIN_EXE_daemon-run");
    let (home, out) = (world.home.display(), world.beside("told"));
    let ask = format!("{program} --home {home} hold --json");
    world.script(&format!(
        "cat > /dev/null\n{{ {ask}; env -i {ask}; env -i setsid {ask}; }} > {} 2>&1\nexit 0\n",
        out.display()
    ));
    world.unconfined();
    let host = world.serve();
    assert_eq!(world.json(&["fire", "pusher"]).0, 0);
    let told = fs::read_to_string(out).expect("it was told something");
    let refusals: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    assert_eq!(refusals.len(), 3, "{told}");
    for refusal in refusals {
        assert_eq!(refusal["ok"], false, "{told}");
    }
    drop(host);
}

#[test]
fn a_stopping_host_lets_runs_end_and_loses_nothing() {
    let world = World::pushed();
    let flag = world.beside("go-on");
    world.script(&format!(
        "cat > /dev/null\nwhile [ ! -e {} ]; do sleep 0.05; done\necho slow > SLOW.md\n\
         echo '{{\"daemon\":\"result\",\"ok\":true,\"text\":\"slow\"}}'\n",
        flag.display()
    ));
    world.unconfined();
    let mut host = world.serve();
    world.commit("wake it");
    let activation = host.activation_in("running");
    let mut client = crate::rpc::Rpc::initialized(host.socket());
    host.signal(rustix::process::Signal::TERM);
    until("it stops", || world.log().contains("stopping"));
    let refusal = client.call("daemon/list", &json!({}));
    shows!(refusal, {"error.data.code": "shutting-down"});
    assert!(client.call("ping", &json!({}))["result"].is_object());
    fs::write(flag, "").expect("a flag");
    assert_eq!(host.wait().0, Some(0));
    let (_, listed) = world.json(&["activations"]);
    let kept = &listed["activations"][0];
    shows!(kept, {"id": &activation["id"], "attempts": 1});

    let host = world.serve();
    let activations = host.settled(1);
    assert_eq!(
        (
            activations.len(),
            &activations[0]["state"],
            &activations[0]["attempts"]
        ),
        (1, &json!("succeeded"), &json!(1))
    );
    assert_eq!(world.branches().len(), 1);
}

#[test]
fn a_run_that_outlives_the_drain_is_ended_and_runs_again() {
    let world = World::pushed();
    world.configure("[host]\ndrain = \"1s\"\n");
    world.script("trap '' TERM\ncat > /dev/null\necho begun\nwhile :; do sleep 1; done\n");
    let host = world.serve();
    world.commit("wake it");
    host.activation_in("running");
    let id = host.list("runs")[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(host.stop().0, Some(0));
    no_process_of(&id);
    world.script(crate::world::NOTE);
    let host = world.serve();
    let activations = host.settled(1);
    assert_eq!(
        (activations.len(), &activations[0]["state"]),
        (1, &json!("succeeded")),
        "{activations:?}"
    );
    assert_eq!(world.branches().len(), 1);
}

#[test]
fn a_second_signal_ends_runs_at_once() {
    let world = World::pushed();
    world.script("cat > /dev/null\nsleep 1000\n");
    let mut host = world.serve();
    world.commit("wake it");
    host.activation_in("running");
    host.signal(rustix::process::Signal::TERM);
    until("it stops", || world.log().contains("stopping"));
    host.signal(rustix::process::Signal::INT);
    assert_eq!(host.wait().0, Some(0));
    let (_, listed) = world.json(&["activations"]);
    assert_eq!(listed["activations"][0]["state"], "pending", "{listed}");
}
