//! Standing daemons that the host starts: their spawn, their wakes, and how one replaces another.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::serve_roster::rows;
use crate::world::{World, eventually, no_process_of, until};

const ORCHESTRATOR: &str = "o/r-orchestrator";
const SUCCESSOR: &str = "o/r-orchestrator-2";

/// Makes a world whose `claude` is a standing daemon, woken each second.
pub(crate) fn world(roster: &str) -> World {
    standing(World::pushed(), roster)
}

fn standing(world: World, roster: &str) -> World {
    let log = world.beside("log");
    fs::create_dir(&log).expect("a directory");
    let plays = include_str!("programs/standing-agent.sh");
    world.script(&format!("log={:?}\n{plays}", log.display().to_string()));
    let program = world.beside("agent.sh").display().to_string();
    world.watch_with(&format!(
        "[provider]\ndefault = \"claude\"\n\n[provider.claude]\ncommand = {program:?}\n\n\
         [budget]\nday_usd = 100000.0\n\n[roster]\nheartbeat = \"1s\"\n{roster}\n"
    ));
    world.unconfined();
    world
}

impl World {
    pub(crate) fn log_of(&self, name: &str) -> PathBuf {
        self.beside("log").join(name)
    }

    pub(crate) fn noted(&self, name: &str) -> String {
        fs::read_to_string(self.log_of(name)).unwrap_or_default()
    }

    /// Makes the agents see a file, whose name says what they do.
    pub(crate) fn mark(&self, name: &str) {
        fs::write(self.log_of(name), "").expect("a file");
    }

    pub(crate) fn unmark(&self, name: &str) {
        fs::remove_file(self.log_of(name)).expect("it was there");
    }

    pub(crate) fn method(&self, method: &str, params: &Value) -> (i32, Value) {
        self.json(&["call", &format!("roster/{method}"), &params.to_string()])
    }

    pub(crate) fn plan(&self, project: &str, role: &str) -> Value {
        let flags = ["--project", project, "--role", role, "--harness", "claude"];
        let (code, plan) = self.json(&[&["roster", "plan"][..], &flags].concat());
        assert_eq!(code, 0, "{plan}");
        plan
    }

    pub(crate) fn confirm(&self, plan: &Value) -> (i32, Value) {
        let (plan, packet) = (plan.text("plan"), plan.text("packet_sha256"));
        self.json(&["roster", "confirm", &plan, "--packet", &packet, "--yes"])
    }

    /// Starts a daemon and waits for its first check-in.
    pub(crate) fn spawn(&self, project: &str, role: &str) -> String {
        let (code, answer) = self.confirm(&self.plan(project, role));
        assert_eq!(code, 0, "{answer}");
        let row = answer.text("daemon");
        until("it checked in", || self.row(&row)["liveness"] == "live");
        row
    }

    pub(crate) fn row(&self, row: &str) -> Value {
        let (_, shown) = self.json(&["roster", "show", row]);
        shown["row"].clone()
    }

    pub(crate) fn request_reset(&self, row: &str) -> String {
        let params =
            json!({"daemon": row, "reason": "a test", "request_id": format!("reset-{row}")});
        let (code, answer) = self.method("daemon_request_reset", &params);
        assert_eq!(code, 0, "{answer}");
        answer.text("reset")
    }

    pub(crate) fn start_reset(&self, reset: &str) -> (i32, Value) {
        let params = json!({"reset": reset, "request_id": format!("start-{reset}")});
        self.method("daemon_start_reset", &params)
    }

    pub(crate) fn reset_state(&self, reset: &str) -> String {
        let (_, listed) = self.method("recall_reset", &json!({}));
        let resets = listed["resets"].as_array().expect("a list").iter();
        let mut states = resets.filter(|it| it["id"] == reset);
        states.next().expect("the reset").text("state")
    }

    /// Resets an orchestrator that is silent, and waits until its successor has pulled the baton; nothing retires it yet.
    /// Returns the reset and the successor.
    fn pulled(&self, marks: &[&str]) -> (String, String) {
        let row = self.spawn("o/r", "orchestrator");
        assert_eq!(self.json(&["roster", "go", &row]).0, 0);
        self.mark("silent-r-orchestrator");
        self.mark("no-daemon_retire_predecessor");
        for mark in marks {
            self.mark(mark);
        }
        let reset = self.request_reset(&row);
        let (_, started) = self.start_reset(&reset);
        until("the baton moved", || {
            self.reset_state(&reset) == "handed_off"
        });
        (reset, started.text("successor"))
    }

    /// Returns who holds the orchestrator's baton of a project, and its generation.
    pub(crate) fn baton(&self, project: &str) -> (Value, Value) {
        let (_, listed) = self.json(&["roster", "list"]);
        let batons = listed["batons"].as_array().expect("a list").iter();
        let is_own = |it: &&Value| it["project"] == project && it["role"] == "orchestrator";
        let own: Vec<_> = batons.filter(is_own).collect();
        assert_eq!(own.len(), 1, "{listed}");
        (own[0]["holder"].clone(), own[0]["generation"].clone())
    }

    /// Checks the end of a reset: the successor holds the baton alone, and no process of an agent was started twice.
    fn is_replaced(&self, successor: &str, context: &str) {
        assert_eq!(self.baton("o/r"), (json!(successor), json!(2)), "{context}");
        let standing = rows(self, "standing");
        let names: Vec<_> = standing.iter().map(|row| row.text("name")).collect();
        assert_eq!(names, [SUCCESSOR], "{context}");
        assert_eq!(self.noted("two"), "", "{context}");
        let (_, signals) = self.json(&["roster", "signals"]);
        assert_eq!(signals["signals"], json!([]), "{context}");
    }
}

#[test]
fn a_plan_starts_nothing_and_its_confirmation_one_agent_that_is_known_by_its_own_server() {
    let world = world("");
    let host = world.serve();
    let plan = world.plan("o/r", "orchestrator");
    shows!(plan, {"status": "clear", "checks.*.outcome": [
        "pass", "pass", "pass", "pass", "pass", "pass", "pass", "pass", "pass", "warn", "pass",
    ]});
    assert_eq!(rows(&world, "standing"), Vec::<Value>::new());
    let (plan_id, packet) = (plan.text("plan"), plan.text("packet_sha256"));
    let refused = [
        (
            json!({"plan": plan_id, "packet_sha256": packet}),
            "not-ready",
        ),
        (
            json!({"plan": plan_id, "packet_sha256": "0".repeat(64), "confirm": true}),
            "not-ready",
        ),
    ];
    for (params, code) in refused {
        let (_, answer) = world.method("spawn_confirm", &params);
        assert_eq!(answer.text("error.code"), code, "{answer}");
    }
    assert_eq!(world.noted("wakes"), "");
    let (code, answer) = world.confirm(&plan);
    assert_eq!(code, 0, "{answer}");
    let (_, again) = world.confirm(&plan);
    assert_eq!(again.text("error.code"), "illegal-transition");
    let row = answer.text("daemon");
    until("it checked in", || world.row(&row)["liveness"] == "live");
    shows!(world.row(&row), {
        "name": ORCHESTRATOR, "role": "orchestrator", "project": "o/r", "gate": "hold", "incarnation": 1,
    });
    assert_eq!(world.baton("o/r"), (json!(row), json!(1)));
    let packet = plan.text("packet");
    assert_eq!(world.noted("packet-r-orchestrator"), packet.trim_end());
    until("it is woken", || {
        world.noted("wakes").contains("r-orchestrator tick")
    });
    // Its token is in the configuration of its server alone.
    let tokens = world.noted("tokens");
    let tokens: BTreeSet<_> = tokens.lines().collect();
    assert!(tokens.iter().all(|token| token.len() == 64), "{tokens:?}");
    let seen = world.noted("arguments") + &world.noted("packet-r-orchestrator");
    assert!(tokens.iter().all(|token| !seen.contains(token)), "{seen}");
    host.stop();
}

#[test]
fn a_plan_is_blocked_by_a_taken_name_and_cannot_be_confirmed_for_long() {
    let world = world("plan_ttl = \"4s\"");
    let host = world.serve();
    let row = world.spawn("o/r", "orchestrator");
    let plan = world.plan("o/r", "orchestrator");
    let why = [
        "a daemon or a process has it",
        "another daemon holds that of the role",
    ];
    shows!(plan, {"status": "blocked", "checks.5": {"name": "name", "outcome": "block", "why": why[0]},
        "checks.6": {"name": "baton", "outcome": "block", "why": why[1]}});
    let plan = world.plan("o/r", "ops");
    until("the plan expired", || {
        let (_, audit) = world.json(&["roster", "audit"]);
        let mut entries = audit["audit"].as_array().expect("a list").iter();
        entries.any(|it| it["kind"] == "plan" && it["to"] == "expired" && it["from"] == "clear")
    });
    let (_, answer) = world.confirm(&plan);
    assert_eq!(answer.text("error.code"), "illegal-transition");
    assert_eq!(rows(&world, "standing").len(), 1);
    let (code, _) = world.json(&["roster", "retire", &row, "--yes"]);
    assert_eq!(code, 0);
    host.stop();
}

#[test]
fn five_steps_replace_a_daemon_and_the_baton_has_one_holder_throughout() {
    let world = world("");
    let host = world.serve();
    let row = world.spawn("o/r", "orchestrator");
    assert_eq!(world.json(&["roster", "go", &row]).0, 0);
    until("it is woken", || {
        world.noted("wakes").contains("r-orchestrator go")
    });
    let reset = world.request_reset(&row);
    let (code, started) = world.start_reset(&reset);
    assert_eq!(code, 0, "{started}");
    let successor = started.text("successor");
    let mut holders = Vec::new();
    until("the predecessor is retired", || {
        holders.push(world.baton("o/r"));
        world.reset_state(&reset) == "retired"
    });
    holders.push(world.baton("o/r"));
    holders.dedup();
    let expected = [(json!(row), json!(1)), (json!(successor), json!(2))];
    assert_eq!(holders, expected);
    world.is_replaced(&successor, "");
    let (_, listed) = world.json(&["roster", "charters"]);
    let charters = listed["charters"].as_array().expect("a list").iter();
    let mut own = charters.filter(|charter| charter["role"] == "orchestrator");
    let version = own.next().expect("the charter").text("version");
    let (_, shown) = world.json(&["roster", "show", &successor]);
    shows!(shown, {"row.charter_version": version, "charter.role": "orchestrator"});
    let packet = world.noted("packet-r-orchestrator-2");
    assert!(
        packet.starts_with("You are `o/r-orchestrator-2`"),
        "{packet}"
    );
    assert!(!packet.to_lowercase().contains("spawn"), "{packet}");
    host.stop();
}

#[test]
fn a_plan_prints_why_it_is_blocked_and_else_how_to_confirm_it() {
    let world = world("");
    let host = world.serve();
    let plan = |role: &str, harness: &str| {
        let flags = ["--project", "o/r", "--role", role, "--harness", harness];
        let output = world.run(&[&["roster", "plan"][..], &flags].concat());
        String::from_utf8(output.stdout).expect("text")
    };
    let blocked = plan("ops", "builtin");
    let line = blocked.lines().find(|line| line.starts_with("harness"));
    let words: Vec<&str> = line.expect("a check").split_whitespace().collect();
    assert_eq!(
        words.join(" "),
        "harness block no such provider resumes sessions and uses MCP servers"
    );
    assert!(!blocked.contains("next:"), "{blocked}");
    let clear = plan("ops", "claude");
    let last = clear.lines().last().expect("a line");
    assert!(
        last.starts_with("next: daemon-run roster confirm "),
        "{last}"
    );
    assert!(clear.contains("\n  # o/r-ops\n"), "{clear}");
    let mut words = vec!["roster", "confirm"];
    words.extend(
        last.split(' ')
            .skip_while(|word| *word != "confirm")
            .skip(1),
    );
    words.push("--yes");
    assert_eq!(world.json(&words).0, 0);
    host.stop();
}

#[test]
fn a_successor_pulls_the_baton_from_a_silent_predecessor_whose_merge_is_fenced() {
    let world = world("pull_after = \"8s\"");
    let host = world.serve();
    let (reset, successor) = world.pulled(&[]);
    assert_eq!(world.baton("o/r").0, json!(successor));
    world.mark("merge-r-orchestrator");
    until("its merge is fenced", || {
        let answers = world.noted("answers");
        let mut own = answers
            .lines()
            .filter(|line| line.starts_with("r-orchestrator "));
        own.any(|line| line.contains("\"code\":\"fenced\""))
    });
    world.unmark("no-daemon_retire_predecessor");
    until("it is retired", || world.reset_state(&reset) == "retired");
    world.is_replaced(&successor, "");
    host.stop();
}

#[test]
fn a_predecessor_whose_process_died_is_retired_and_its_successor_is_unharmed() {
    let world = world("pull_after = \"8s\"");
    let host = world.serve();
    let (reset, successor) = world.pulled(&["hang-r-orchestrator"]);
    let pid = world.noted("pid-r-orchestrator");
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process"), Signal::KILL).expect("it lives");
    world.unmark("no-daemon_retire_predecessor");
    until("it is retired", || world.reset_state(&reset) == "retired");
    world.is_replaced(&successor, "");
    shows!(world.row(&successor), {"liveness": "live"});
    host.stop();
}

#[test]
fn two_projects_are_reset_at_once_and_each_keeps_its_own_baton() {
    let world = World::pushed();
    let other = world.beside("other");
    let (from, to) = (
        world.repo.display().to_string(),
        other.display().to_string(),
    );
    world.git(&["clone", "--quiet", &from, &to]);
    let world = standing(world, &format!("\n[[repo]]\npath = {to:?}\nname = \"o/s\""));
    let host = world.serve();
    let mut resets = Vec::new();
    for project in ["o/r", "o/s"] {
        let row = world.spawn(project, "orchestrator");
        resets.push((project, world.request_reset(&row)));
    }
    let successors: Vec<_> = resets
        .iter()
        .map(|(project, reset)| (*project, world.start_reset(reset).1.text("successor")))
        .collect();
    until("both are replaced", || {
        let mut states = resets.iter().map(|(_, reset)| world.reset_state(reset));
        states.all(|state| state == "retired")
    });
    for (project, successor) in successors {
        assert_eq!(
            world.baton(project),
            (json!(successor), json!(2)),
            "{project}"
        );
    }
    assert_eq!(world.noted("two"), "");
    host.stop();
}

#[test]
fn a_successor_that_never_checks_in_fails_the_reset_and_the_predecessor_keeps_its_baton() {
    let world = world("pull_after = \"3s\"");
    let host = world.serve();
    let row = world.spawn("o/r", "orchestrator");
    world.mark("silent-r-orchestrator-2");
    world.mark("hang-r-orchestrator-2");
    let reset = world.request_reset(&row);
    let (_, started) = world.start_reset(&reset);
    until("it failed", || world.reset_state(&reset) == "failed");
    assert_eq!(world.baton("o/r"), (json!(row), json!(1)));
    shows!(world.row(&row), {"liveness": "live", "gate": "hold"});
    shows!(world.row(&started.text("successor")), {"liveness": "dead"});
    let run = eventually("its run is cancelled", || {
        let runs = host.list("runs");
        let run = runs.into_iter().find(|run| run["state"] == "cancelled")?;
        Some(run.text("id"))
    });
    no_process_of(&run);
    host.stop();
}

#[test]
fn permissions_of_the_repository_that_differ_from_the_allowlist_block_a_spawn() {
    let world = world("");
    let host = world.serve();
    let outcome = |world: &World| world.plan("o/r", "ops").text("checks.9.outcome");
    for (allowed, expected) in [
        ("[\"mcp__daemon\", \"Bash\"]", "block"),
        ("[\"mcp__daemon\"]", "pass"),
    ] {
        let text = format!("{{\"permissions\": {{\"allow\": {allowed}}}}}");
        world.write(".claude/settings.json", &text);
        let commit = world.commit("settings");
        host.registered(&commit);
        assert_eq!(outcome(&world), expected, "{allowed}");
        let to = match expected {
            "block" => "drifted",
            _ => "equal",
        };
        until("it is recorded", || {
            let (_, audit) = world.json(&["roster", "audit"]);
            let mut entries = audit["audit"].as_array().expect("a list").iter();
            entries.any(|it| it["kind"] == "allowlist" && it["to"] == to && it["reason"] == "o/r")
        });
    }
    host.stop();
}

#[test]
fn an_agent_that_a_killed_host_cut_off_is_resumed_once_and_one_that_waited_by_its_heartbeat() {
    let world = world("");
    let host = world.serve();
    let orchestrator = world.spawn("o/r", "orchestrator");
    let ops = world.spawn("o/r", "ops");
    world.mark("hang-r-ops");
    let n_wakes = |name: &str, wake: &str| {
        let line = format!("{name} {wake}");
        world
            .noted("wakes")
            .lines()
            .filter(|it| *it == line)
            .count()
    };
    until("it works", || world.log_of("hangs-r-ops").is_file());
    host.kill();
    world.unmark("hang-r-ops");
    let host = world.serve();
    until("it is resumed", || n_wakes("r-ops", "start") == 2);
    until("it is woken again", || world.row(&ops)["incarnation"] == 2);
    shows!(world.row(&ops), {"liveness": "live", "gate": "hold"});
    let (_, audit) = world.json(&["roster", "audit", "--daemon", &ops]);
    let entries = audit["audit"].as_array().expect("a list").iter();
    assert_eq!(entries.filter(|it| it["kind"] == "resume").count(), 1);
    assert_eq!(world.noted("two"), "");
    assert_eq!(world.baton("o/r").0, json!(orchestrator));
    host.stop();
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_killed_after_any_write_of_a_reset_comes_to_the_same_end() {
    for place in [
        "daemon_request_reset",
        "daemon_start_reset",
        "E0",
        "process_started",
        "daemon_successor_ready",
        "daemon_reset_handoff",
        "daemon_retire_predecessor",
        "process_closed",
    ] {
        let world = world("");
        let host = world.serve();
        let row = world.spawn("o/r", "orchestrator");
        host.kill();
        let mut host = world.serve_with(&[], &[("DAEMON_FAILPOINT", place)]);
        let request = format!("reset-{row}");
        let params = json!({"daemon": row, "reason": "a test", "request_id": request});
        let asked = world.method("daemon_request_reset", &params);
        if asked.0 == 0 {
            let reset = asked.1.text("reset");
            let params = json!({"reset": reset, "request_id": format!("start-{reset}")});
            // The host may die before it answers.
            let _answer = world.method("daemon_start_reset", &params);
        }
        assert_eq!(host.wait().0, None, "{place}: it was killed");
        let host = world.serve();
        assert_ne!(world.baton("o/r").0, Value::Null, "{place}");
        let reset = world.request_reset(&row);
        let (code, started) = world.start_reset(&reset);
        assert_eq!(code, 0, "{place}: {started}");
        let mut holders = vec![world.baton("o/r").1];
        until(place, || {
            holders.push(world.baton("o/r").1);
            world.reset_state(&reset) == "retired"
        });
        holders.dedup();
        assert!(holders.len() <= 2, "{place}: {holders:?}");
        world.is_replaced(&started.text("successor"), place);
        host.stop();
    }
}
