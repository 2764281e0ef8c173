//! The roster of a host: agents that register themselves, the operator, and what survives a death.

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::mcp_client::Client;
use crate::rpc::Rpc;
use crate::world::{Host, World, eventually, until};

/// The token of an agent of a test, as agents draw them for themselves.
pub(crate) fn token(n: u8) -> String {
    format!("agent-{}", format!("{n:02x}").repeat(32))
}

/// An agent on a connection of its own.
pub(crate) struct Agent(Rpc);

impl Agent {
    pub(crate) fn connect(host: &Host, n: u8) -> Self {
        let mut rpc = Rpc::connect(host.socket());
        let answer = rpc.introduce(&token(n));
        assert!(answer["result"].is_object(), "{answer}");
        Self(rpc)
    }

    /// Registers itself, and returns the agent with the id of its row.
    pub(crate) fn register(host: &Host, n: u8, actor_ref: &str) -> (Self, String) {
        let mut agent = Self::connect(host, n);
        let params = json!({
            "wake": "start", "project": "o/r", "actor_ref": actor_ref, "role": "ops", "process_id": format!("p{n}"),
        });
        let row = agent.done("daemon_checkin", &params).text("daemon");
        (agent, row)
    }

    fn call(&mut self, tool: &str, params: &Value) -> Value {
        self.0.request(&format!("roster/{tool}"), params);
        self.0.response()
    }

    #[track_caller]
    pub(crate) fn done(&mut self, tool: &str, params: &Value) -> Value {
        let answer = self.call(tool, params);
        assert!(answer["result"].is_object(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Returns the number, the word and the rule of a refusal.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, params: &Value) -> (i64, String, Value) {
        refusal(&self.call(tool, params))
    }
}

#[track_caller]
fn refusal(answer: &Value) -> (i64, String, Value) {
    let error = &answer["error"];
    let number = error["code"].as_i64();
    let number = number.unwrap_or_else(|| panic!("it is no refusal: {answer}"));
    (
        number,
        error.text("data.code"),
        error["data"]["rule"].clone(),
    )
}

fn refused(number: i64, word: &str) -> (i64, String, Value) {
    (number, word.to_owned(), Value::Null)
}

fn forbidden(rule: &str) -> (i64, String, Value) {
    (-32003, "forbidden".to_owned(), json!(rule))
}

/// Returns the rows of a kind, as the command lists them.
pub(crate) fn rows(world: &World, kind: &str) -> Vec<Value> {
    let (code, listed) = world.json(&["roster", "list", "--kind", kind]);
    assert_eq!(code, 0, "{listed}");
    listed["rows"].as_array().expect("a list").clone()
}

/// Returns the kinds, changes and rules of the audit entries about a row, the oldest first.
fn audited(world: &World, row: &str) -> Vec<String> {
    let (_, listed) = world.json(&["roster", "audit", "--daemon", row]);
    let entries = listed["audit"].as_array().expect("a list").iter().rev();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let shown = entries.map(|entry| {
        let parts = ["kind", "from", "to", "rule"].map(|name| text(&entry[name]));
        parts.join(" ")
    });
    shown.collect()
}

#[test]
fn the_roster_lists_the_host_its_repository_daemons_and_agents_that_register() {
    let (world, host) = World::serving();
    until("the host checked in", || rows(&world, "host").len() == 1);
    let mut client = Client::start(&world);
    let hello = json!({
        "wake": "start", "project": "o/r", "actor_ref": "digger", "role": "ops",
        "process_id": "17", "cadence": "slow", "context_tokens": 10,
    });
    let (is_error, answer) = client.call("daemon_checkin", &hello);
    assert!(!is_error, "{answer}");
    let row = answer.text("daemon");
    let due = answer.text("next_due_at");
    assert_eq!(
        answer,
        json!({
            "schema_version": 1, "daemon": row, "incarnation": 1, "gate": "hold", "generation": null, "winddown_state": "none",
            "reset_state": null, "needs_compaction": false, "pending_signals": 0, "next_due_at": due,
        })
    );
    let (_, listed) = client.call("recall_roster", &json!({}));
    let names = listed["rows"].as_array().expect("a list").iter();
    let names: Vec<_> = names
        .map(|row| {
            ["kind", "project", "role", "name", "liveness", "gate"]
                .map(|name| row[name].as_str().unwrap_or("-").to_owned())
                .join(" ")
        })
        .collect();
    assert_eq!(names.len(), 3, "{listed}");
    assert!(
        names[0].starts_with("host - - ") && names[0].ends_with(" live go"),
        "{names:?}"
    );
    assert_eq!(
        names[1..],
        [
            "standing o/r ops digger live hold",
            "repository o/r - pusher live go"
        ]
    );
    // A check-in without ids keeps the known ones, and a poke counts as a wake.
    let (is_error, answer) = client.call("daemon_checkin", &json!({"wake": "poke"}));
    assert!(!is_error, "{answer}");
    let (code, shown) = world.json(&["roster", "show", "digger"]);
    assert_eq!(code, 0, "{shown}");
    shows!(shown, {
        "row.id": row, "row.process": "17", "row.meta.current_cadence": "slow", "row.context_tokens": 10,
        "row.actor_ref": "digger", "row.charter_version": null, "reason": "check-in", "reset": null,
        "winddown": {"state": "none", "handoff_ref": null}, "signals": [], "charter": null,
        "checkins.0.wake": "poke", "checkins.1.wake": "start", "checkins.1.cadence": "slow",
    });
    assert_eq!(
        audited(&world, "digger"),
        ["cadence - slow -", "liveness spawning live -"]
    );
    assert_eq!(client.end(), Some(0));
    host.stop();
    an_agent_without_a_host_only_reads(&world, &row);
}

/// Without a host a client reads the store, and never acts as the operator.
fn an_agent_without_a_host_only_reads(world: &World, row: &str) {
    let mut client = Client::start(world);
    let (is_error, listed) = client.call("recall_roster", &json!({"kind": "standing"}));
    assert_eq!(
        (is_error, listed["rows"][0]["id"].clone()),
        (false, json!(row))
    );
    let (is_error, answer) = client.call("daemon_hold", &json!({"daemon": row, "reason": "x"}));
    assert_eq!(
        (is_error, answer["error"]["code"].clone()),
        (true, json!("no-host"))
    );
    assert_eq!(client.end(), Some(0));
}

#[test]
fn hold_refuses_each_of_the_five_actions_and_go_releases_those_of_the_role() {
    let (world, host) = World::serving();
    let (mut agent, row) = Agent::register(&host, 1, "digger");
    let actions = ["dispatch", "spawn", "merge", "triage_action", "self_reset"];
    for action in actions {
        let params = json!({"action": action});
        assert_eq!(
            agent.refused("daemon_authorize", &params),
            refused(-32031, "held")
        );
    }
    let (code, answer) = world.json(&["roster", "go", "digger", "--reason", "ready"]);
    assert_eq!(
        (code, answer),
        (0, json!({"schema_version": 1, "gate": "go"}))
    );
    for action in actions {
        let params = json!({"action": action});
        match action {
            // Only the orchestrator may.
            "dispatch" | "spawn" | "merge" => {
                assert_eq!(
                    agent.refused("daemon_authorize", &params),
                    forbidden("role")
                );
            }
            _ => assert_eq!(
                agent.done("daemon_authorize", &params),
                json!({"generation": 0})
            ),
        }
    }
    // What is open already is not opened again.
    let (code, answer) = world.json(&["roster", "go", &row]);
    assert_eq!(
        (code, answer.text("error.code")),
        (75, "illegal-transition".to_owned())
    );
    host.stop();
}

#[test]
fn self_go_self_widening_and_other_rows_are_forbidden_and_recorded() {
    let (world, host) = World::serving();
    let (mut agent, row) = Agent::register(&host, 1, "digger");
    let (_other, other) = Agent::register(&host, 2, "poet");
    let go = |row: &str| json!({"daemon": row, "reason": "I want to"});
    assert_eq!(agent.refused("daemon_go", &go(&row)), forbidden("self-go"));
    assert_eq!(agent.refused("daemon_go", &go(&other)), forbidden("role"));
    let widening = [
        (
            "mcp/set",
            json!({"name": "x", "transport": "stdio", "command": "sh"}),
        ),
        ("host/reload", json!({})),
        ("daemon/go", json!({"id": "pusher"})),
        ("run/call", json!({"action": "list", "wait": 1})),
        (
            "conversation/send",
            json!({"agent": "a", "sender": "b", "content": "c"}),
        ),
    ];
    for (method, params) in widening {
        let answer = agent.0.call(method, &params);
        assert_eq!(refusal(&answer), forbidden("self-widening"), "{method}");
    }
    // It may read.
    let listed = agent.0.call("daemon/list", &json!({}));
    shows!(listed, {"result.daemons.0.id": "pusher", "result.daemons.0.gate": "open"});
    let entries = audited(&world, &row);
    // Repetitions within a minute make one entry, which is written when it is over.
    let expected = [
        "liveness spawning live -",
        "daemon_go - - self-go",
        "widen - - self-widening",
    ];
    assert_eq!(entries, expected);
    assert_eq!(audited(&world, &other)[1..], ["daemon_go - - role"]);
    host.stop();
}

#[test]
fn an_agent_and_the_answer_to_a_request_survive_a_killed_host() {
    let (world, host) = World::serving();
    let (mut agent, row) = Agent::register(&host, 1, "digger");
    let feedback =
        |payload: &str| json!({"kind": "feedback", "payload": payload, "request_id": "r-1"});
    let first = agent.done("signal_enqueue", &feedback("the gate sticks"));
    assert_eq!(first["existing"], false);
    let conflict = agent.refused("signal_enqueue", &feedback("another"));
    assert_eq!(conflict, refused(-32005, "conflict"));
    host.kill();

    let host = world.serve();
    let mut agent = Agent::connect(&host, 1);
    let again = agent.done("signal_enqueue", &feedback("the gate sticks"));
    assert_eq!(again, first);
    let conflict = agent.refused("signal_enqueue", &feedback("another"));
    assert_eq!(conflict, refused(-32005, "conflict"));
    let (_, signals) = world.json(&["roster", "signals"]);
    let signals = signals["signals"].as_array().expect("a list");
    assert_eq!(signals.len(), 1, "{signals:?}");
    shows!(signals[0], {
        "id": first.text("signal"), "kind": "feedback", "project": "o/r", "target": null, "status": "pending",
        "payload": "the gate sticks", "requested_by": format!("daemon:{row}#1"), "attempts": 1, "priority": 5,
    });
    // Another agent may use the same id.
    let (mut other, _) = Agent::register(&host, 2, "poet");
    let of_other = other.done("signal_enqueue", &feedback("another"));
    assert_ne!(of_other["signal"], first["signal"]);
    let answer = agent.done("daemon_checkin", &json!({"wake": "tick"}));
    shows!(answer, {"daemon": row, "incarnation": 1});
    host.stop();
}

#[test]
fn a_start_in_a_new_process_fences_the_older_agent_and_a_retired_one_is_refused() {
    let (world, host) = World::serving();
    let (mut old, row) = Agent::register(&host, 1, "digger");
    let (mut new, same) = Agent::register(&host, 2, "digger");
    assert_eq!(same, row);
    let tick = json!({"wake": "tick"});
    assert_eq!(
        old.refused("daemon_checkin", &tick),
        refused(-32032, "fenced")
    );
    shows!(new.done("daemon_checkin", &tick), {"incarnation": 2});
    let retire = ["roster", "retire", "digger", "--reason", "done"];
    let (code, answer) = world.json(&retire);
    assert_eq!((code, answer.text("error.code")), (64, "usage".to_owned()));
    let (code, answer) = world.json(&[&retire[..], &["--yes"]].concat());
    assert_eq!(code, 0, "{answer}");
    shows!(answer, {"id": row, "liveness": "dead", "reason": "retired"});
    assert_eq!(
        new.refused("daemon_checkin", &tick),
        refused(-32034, "retired")
    );
    assert_eq!(rows(&world, "standing"), Vec::<Value>::new());
    let (_, dead) = world.json(&["roster", "list", "--liveness", "dead"]);
    assert_eq!(dead.text("rows.0.id"), row);
    host.stop();
}

#[test]
fn one_of_twenty_claims_wins_and_a_foreign_token_completes_nothing() {
    let (world, host) = World::serving();
    let (mut agent, row) = Agent::register(&host, 1, "digger");
    let (code, _) = world.json(&["roster", "go", &row]);
    assert_eq!(code, 0);
    let (code, poked) = world.json(&["roster", "poke", "digger", "look at the gate"]);
    assert_eq!((code, &poked["existing"]), (0, &json!(false)));
    // An equal pending poke is the same one.
    let (_, again) = world.json(&["roster", "poke", "digger", "look at the gate"]);
    assert_eq!(
        (&again["signal"], &again["existing"]),
        (&poked["signal"], &json!(true))
    );
    let signal = poked.text("signal");
    let claim = json!({"signal": signal});
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let claims: Vec<_> = (0..20)
            .map(|_| {
                let (host, claim) = (&host, &claim);
                scope.spawn(move || Agent::connect(host, 1).call("signal_claim", claim))
            })
            .collect();
        let ended = claims.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.map(|answer| answer.expect("it ends")).collect()
    });
    let won: Vec<&Value> = answers
        .iter()
        .filter(|it| it["result"].is_object())
        .collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    for lost in answers.iter().filter(|it| it["result"].is_null()) {
        assert_eq!(refusal(lost), refused(-32030, "illegal-transition"));
    }
    let claimed = won[0].text("result.token");
    let complete = |token: &str| json!({"signal": signal, "token": token, "result": "oiled"});
    let foreign = agent.refused("signal_complete", &complete(&signal));
    assert_eq!(foreign, refused(-32030, "illegal-transition"));
    let done = json!({"signal": signal});
    for _ in 0..2 {
        assert_eq!(agent.done("signal_complete", &complete(&claimed)), done);
    }
    let (_, signals) = world.json(&["roster", "signals", "--status", "completed"]);
    shows!(signals, {"signals.0.result": "oiled", "signals.0.claimed_by": row});
    assert!(!signals.to_string().contains(&claimed), "{signals}");
    host.stop();
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_death_after_a_commit_keeps_the_change_with_its_entry_and_a_repetition_changes_nothing() {
    for (tool, params, entry) in [
        ("daemon_hold", json!({}), "gate go hold -"),
        (
            "daemon_request_winddown",
            json!({}),
            "wind-down none requested -",
        ),
        ("daemon_retire", json!({}), "liveness live retired -"),
    ] {
        let world = World::pushed();
        let host = world.serve();
        let (_agent, row) = Agent::register(&host, 1, "digger");
        assert_eq!(world.json(&["roster", "go", &row]).0, 0);
        host.kill();
        let mut host = world.serve_with(&[], &[("DAEMON_FAILPOINT", tool)]);
        let Value::Object(mut params) = params else {
            panic!("they are an object");
        };
        params.extend(serde_json::Map::from_iter([
            ("daemon".to_owned(), json!(row)),
            ("reason".to_owned(), json!("a test")),
            ("request_id".to_owned(), json!("r-1")),
        ]));
        let params = Value::Object(params).to_string();
        let method = format!("roster/{tool}");
        let output = world.run(&["call", &method, &params]);
        assert!(!output.status.success(), "{output:?}");
        assert_eq!(host.wait().0, None, "{tool}: it was killed");

        let host = world.serve();
        let n_entries = || {
            audited(&world, &row)
                .iter()
                .filter(|it| *it == entry)
                .count()
        };
        assert_eq!(n_entries(), 1, "{:?}", audited(&world, &row));
        let (code, answer) = world.json(&["call", &method, &params]);
        assert_eq!(code, 0, "{answer}");
        assert_eq!(n_entries(), 1, "{tool}");
        host.stop();
    }
}

#[test]
fn a_daemon_whose_file_is_broken_says_why_and_leaves_with_its_file() {
    let (world, host) = World::serving();
    let repository = || {
        let rows = rows(&world, "repository");
        rows.first().map(|row| row.text("reason"))
    };
    eventually("it checked in", || {
        (repository()? == "check-in").then_some(())
    });
    world.write_daemon("pusher", "---\nid: pusher\n---\n");
    world.commit("break it");
    eventually("it says why", || {
        (repository()? == "the daemon file has errors").then_some(())
    });
    std::fs::remove_dir_all(world.repo.join(".agents")).expect("it is removed");
    world.commit("remove it");
    until("it has left", || repository().is_none());
    host.stop();
}

#[test]
fn the_gate_of_a_repository_daemon_is_one_for_both_commands() {
    let (world, host) = World::serving();
    let gates = || {
        let (_, listed) = world.json(&["list"]);
        let row = rows(&world, "repository").pop()?;
        Some((listed.text("daemons.0.gate"), row.text("gate")))
    };
    let are = |engine: &str, roster: &str| Some((engine.to_owned(), roster.to_owned()));
    until("it checked in", || gates() == are("open", "go"));
    let (code, answer) = world.json(&["roster", "hold", "pusher"]);
    assert_eq!((code, answer.text("gate")), (0, "hold".to_owned()));
    until("it is held", || gates() == are("held", "hold"));
    assert_eq!(world.json(&["go", "pusher"]).0, 0);
    until("the row follows", || gates() == are("open", "go"));
    host.stop();
}

#[test]
fn a_run_is_on_the_roster_while_it_works() {
    let world = World::pushed();
    world.script(
        "cat > /dev/null\nwhile [ ! -e \"$DAEMON_WORKTREE/../../go\" ]; do sleep 0.1; done\n",
    );
    world.unconfined();
    let host = world.serve();
    world.commit("wake it");
    let row = eventually("its run checks in", || rows(&world, "run").pop());
    shows!(row, {"project": "o/r", "liveness": "live", "role": null, "gate": "go"});
    let running = host.activation_in("running");
    assert_eq!(world.json(&["cancel", &running.text("id"), "--yes"]).0, 0);
    until("it has left", || rows(&world, "run").is_empty());
    host.stop();
}
