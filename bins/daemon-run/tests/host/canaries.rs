//! Fifty secrets of every kind that a host holds, planted at once; then everything that it stored or sent is searched for them.

use std::fs;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::leaks::{Search, walk};
use crate::mcp_client::Client;
use crate::rpc::Rpc;
use crate::trap::{OF_ARGUMENTS, OF_ENVIRONMENT, Trap};
use crate::world::{Host, World, processes_with, until};

/// Something that was stored or sent.
pub(crate) type Told = Vec<(String, String)>;

/// Runs all programs to their ends, and returns everything that was stored or sent during and after that.
fn live(trap: &Trap, more: &[(&str, &str)]) -> Told {
    let world = &trap.world;
    let host = trap.serve(more);
    let mut listening = Rpc::initialized(host.socket());
    let mut told = vec![("ready line".to_owned(), host.line.clone())];
    let mut runs = Vec::new();
    for backend in ["claude", "opencode", "codex", "llm", "preset", "server"] {
        let reply = shown!(world.tool(&trap.call(backend)), {"$?": 0}, "{backend}");
        runs.push(reply.text("run_ids.0"));
        told.push((format!("reply to {backend}"), reply.to_string()));
    }
    let leaker = world.begin(&["fire", "leaker", "--json"]);
    for name in ["sh", "claude", "opencode", "codex"] {
        let up = world.beside(&format!("up-{name}"));
        until(&format!("{name} has leaked"), || up.exists());
    }
    let running = running(trap);
    assert!(running.len() >= 4, "{running:?}");
    assert_eq!(in_processes(trap, &host, running), Vec::<String>::new());
    fs::write(world.beside("go"), "").expect("a file");
    told.push(("fire leaker".to_owned(), leaker.json().1.to_string()));
    for daemon in ["messenger", "failer"] {
        let (_, fired) = world.json(&["fire", daemon]);
        told.push((format!("fire {daemon}"), fired.to_string()));
    }
    let states = ["done", "done", "failed", "done", "failed", "failed"];
    for (run, state) in runs.iter().zip(states) {
        let ended = world.announced(run);
        assert_eq!(ended["status"], state, "{ended}");
        told.push(("pushed".to_owned(), listening.answer().to_string()));
    }
    told.extend(asked(world, &host, &runs));
    let (_, rest) = host.stop();
    told.push(("stdout".to_owned(), rest));
    told.push(("log".to_owned(), world.log()));
    told.extend(kept(trap));
    told
}

/// Returns the processes of the runs.
fn running(trap: &Trap) -> Vec<u32> {
    let home = trap.world.home.join("daemons");
    processes_with(&format!("HOME={}", home.display()))
}

/// Returns secrets among arguments and variables of this host and of all that it runs, where they do not belong.
fn in_processes(trap: &Trap, host: &Host, running: Vec<u32>) -> Vec<String> {
    let mut wrong = Vec::new();
    for pid in running.into_iter().chain([host.pid()]) {
        let read = |name: &str| {
            let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (argv, environ) = (read("cmdline"), read("environ"));
        for (n, secret) in trap.secrets.iter().enumerate() {
            if argv.contains(secret) && !OF_ARGUMENTS.contains(&n) {
                wrong.push(format!("{n} in the arguments {argv}"));
            }
            // Secrets that no run receives cannot leak from runs; some of them belong to the host only.
            // Those of MCP servers reach no program of a run but the servers.
            let is_given = OF_ENVIRONMENT.contains(&n) || n == 14;
            if pid != host.pid() && environ.contains(secret) && !is_given {
                wrong.push(format!("{n} in the environment of {argv}"));
            }
        }
    }
    wrong
}

/// Asks the API, the commands and the MCP server for everything.
fn asked(world: &World, host: &Host, runs: &[String]) -> Told {
    let mut told = asked_of_api(host);
    told.extend(asked_of_commands(world, runs));
    told.extend(asked_of_tools(world, runs));
    told
}

pub(crate) fn asked_of_api(host: &Host) -> Told {
    let mut told = Vec::new();
    let mut ids: Vec<(&str, String)> = Vec::new();
    for (plural, singular) in [
        ("daemons", "daemons"),
        ("activations", "activations"),
        ("runs", "runs"),
        ("outputs", "outputs"),
        ("events", "events"),
        ("ticks", "ticks"),
    ] {
        let page = host.get(&format!("{plural}?limit=500"));
        for row in page[plural].as_array().into_iter().flatten() {
            ids.extend(row["id"].as_str().map(|id| (singular, id.to_owned())));
        }
        told.push((format!("GET {plural}"), page.to_string()));
    }
    assert!(ids.len() >= 12, "{ids:?}");
    for (plural, id) in &ids {
        let routes = match *plural {
            "runs" => vec![format!("runs/{id}"), format!("runs/{id}/log?limit=500")],
            "outputs" | "ticks" => Vec::new(),
            plural => vec![format!("{plural}/{}", id.replace('/', "%2F"))],
        };
        for route in routes {
            let answer = host.ask("GET", &format!("/api/v1/{route}"), &Value::Null);
            told.push((route, format!("{answer:?}")));
        }
    }
    for route in ["doctor", "stats"] {
        told.push((format!("GET {route}"), host.get(route).to_string()));
    }
    told.push((
        "metrics".to_owned(),
        format!("{:?}", host.open("GET", "/metrics", &[])),
    ));
    told
}

fn asked_of_commands(world: &World, runs: &[String]) -> Told {
    let mut told = Vec::new();
    let mut commands: Vec<Vec<&str>> = [
        "list",
        "activations",
        "runs",
        "outputs",
        "events",
        "ticks",
        "doctor",
    ]
    .map(|command| vec![command])
    .to_vec();
    commands.push(vec!["emanate", "list", "--last", "1000"]);
    commands.push(vec!["emanate", "ask", &runs[3], "more"]);
    for run in runs {
        commands.push(vec![
            "emanate",
            "check",
            run,
            "--last",
            "1000",
            "--truncate",
            "0",
        ]);
        commands.push(vec!["run", run]);
        commands.push(vec!["logs", run]);
    }
    for args in commands {
        for more in [&["--json"][..], &[]] {
            let output = world.run(&[&args[..], more].concat());
            let text = [output.stdout, output.stderr].concat();
            told.push((
                format!("{args:?} {more:?}"),
                String::from_utf8_lossy(&text).into_owned(),
            ));
        }
    }
    told
}

fn asked_of_tools(world: &World, runs: &[String]) -> Told {
    let mut told = Vec::new();
    let mut client = Client::start(world);
    for (tool, arguments) in [
        ("runs", json!({})),
        ("activations", json!({})),
        ("run", json!({"id": runs[0]})),
        ("logs", json!({"id": runs[0]})),
        (
            "daemon",
            json!({"action": "check", "id": runs[0], "last": 1000, "truncate": 0}),
        ),
        ("daemon", json!({"action": "list", "last": 1000})),
    ] {
        let (_, object) = client.call(tool, &arguments);
        assert!(object.is_object(), "{tool} {arguments}: {object}");
        told.push((format!("mcp {tool}"), object.to_string()));
    }
    client.end();
    told
}

/// Reads everything that was written, bar the operator's own files and what a run is meant to read.
fn kept(trap: &Trap) -> Told {
    let world = &trap.world;
    let mut told: Told = walk(&world.home, &["session", "context"])
        .into_iter()
        .filter(|found| !trap.inputs.contains(&found.path))
        .map(|found| (found.path, found.text))
        .collect();
    let mut joined = Vec::new();
    for (path, text) in &told {
        if path.ends_with("events.jsonl") {
            for stream in ["stdout", "stderr"] {
                let lines = text
                    .lines()
                    .filter_map(|line| serde_json::from_str::<Value>(line).ok());
                let output = lines.filter(|event| event["stream"] == stream);
                let texts =
                    output.map(|event| event["text"].as_str().unwrap_or_default().to_owned());
                joined.push((format!("{stream} of {path}"), texts.collect::<String>()));
            }
        }
    }
    assert!(joined.len() >= 12, "{}", joined.len());
    told.append(&mut joined);
    let patches = world.git(&["log", "--all", "--patch"]);
    assert!(
        patches.contains("Daemon-Activation"),
        "the messenger's branch is there"
    );
    told.push(("commits".to_owned(), patches));
    told
}

#[test]
fn fifty_planted_secrets_occur_only_where_they_belong() {
    let trap = Trap::set();
    let told = live(&trap, &[]);
    let search = Search::of(&trap.secrets);
    let found: Vec<String> = told
        .iter()
        .flat_map(|(what, text)| {
            let found = search.leaks(text).into_iter();
            found.map(move |form| format!("{form} in {what}"))
        })
        .collect();
    assert_eq!(found, Vec::<String>::new());
    // The search would have found something: what is hidden was there.
    let n_hidden: usize = told
        .iter()
        .map(|(_, text)| text.matches("<redacted>").count())
        .sum();
    assert!(n_hidden > 10_000, "{n_hidden}");
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_redactor_that_forgets_edges_is_found_out() {
    let trap = Trap::set();
    let told = live(&trap, &[("DAEMON_CANARY", "redactor-forgets-edges")]);
    let search = Search::of(&trap.secrets);
    let places: Vec<&String> = told
        .iter()
        .filter(|(_, text)| !search.leaks(text).is_empty())
        .map(|(what, _)| what)
        .collect();
    assert!(
        places.iter().any(|what| what.starts_with("stdout of ")),
        "{places:?}"
    );
    assert!(
        places.iter().any(|what| what.starts_with("stderr of ")),
        "{places:?}"
    );
}

#[cfg(feature = "internal-testing")]
#[test]
fn an_environment_that_runs_inherit_is_found_out() {
    let trap = Trap::set();
    let host = trap.serve(&[("DAEMON_CANARY", "inherit-environment")]);
    let leaker = trap.world.begin(&["fire", "leaker", "--json"]);
    let up = trap.world.beside("up-sh");
    until("the run has leaked", || up.exists());
    let found = in_processes(&trap, &host, running(&trap));
    fs::write(trap.world.beside("go"), "").expect("a file");
    leaker.json();
    assert!(!found.is_empty(), "{found:?}");
    assert!(
        found
            .iter()
            .all(|found| found.contains(" in the environment of ")),
        "{found:?}"
    );
}
