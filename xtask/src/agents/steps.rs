//! The steps through which each agent is driven.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, ensure};
use daemon_fakes::{ModelApi, Received};
use serde_json::{Value, json};

use super::agent::{DrivenAgent, UNCHECKED};
use super::gate::RefusingProxy;
use super::play::{self, AGAIN, COMMIT, HOLD, NOTED, SAID_AGAIN};
use super::world::{AgentSetup, eventually, processes_of};
use super::{Row, tools};

/// Drives one agent through the steps. A step is skipped if a step that it needs has failed.
pub(crate) fn drive(agent: &DrivenAgent, binary: &Path, programs: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut note = |step, outcome: Result<String>| {
        let row = Row {
            agent: agent.name,
            version: agent.version.clone(),
            step,
            outcome,
        };
        row.print();
        rows.push(row);
    };
    let (world, api, gate) = match surround(agent, binary, programs) {
        Ok(made) => made,
        Err(error) => {
            note("world", Err(error));
            return rows;
        }
    };
    let examined = doctor(agent, &world);
    let is_fit = examined.is_ok();
    note("doctor", examined);
    // If `doctor` fails, every run would fail for the same reason.
    if is_fit {
        note("activation", activation(agent, &world));
        note("place", place(&world, &api));
        note("level 2", confined(agent, &world));
        match world.serve() {
            Err(error) => note("host", Err(error)),
            Ok(_host) => with_host(&world, &api, &mut note),
        }
        note("bypass", unconfined(agent, &world));
    }
    for place in gate.asked() {
        println!(
            "{:<9} tried to connect to {place}, which was refused",
            agent.name
        );
    }
    rows
}

/// Creates the surroundings of an agent: repository, home, model API and proxy.
fn surround(
    agent: &DrivenAgent,
    binary: &Path,
    programs: &Path,
) -> Result<(AgentSetup, ModelApi, RefusingProxy)> {
    let root = programs.join("../../world").join(agent.name);
    let probes = Arc::new(OnceLock::new());
    let known = Arc::clone(&probes);
    let script =
        move |received: &Received| play::reply(received, known.get().map_or("", String::as_str));
    let api = ModelApi::scripted(script).context("no port of loopback")?;
    let gate = RefusingProxy::open()?;
    let mut environment = agent.environment(&api);
    environment.extend(gate.environment());
    // The directory exists only after the world is made, and agents need its path without `..`.
    fs::create_dir_all(&root)?;
    let desk = root.canonicalize()?.join("desk");
    let sections = agent.sections(programs, &desk, &environment, &api);
    let world = AgentSetup::new(agent, binary, &root, environment, &sections)?;
    probes.get_or_init(|| play::probes(&world.path("home"), &world.path("repo")));
    Ok((world, api, gate))
}

/// Drives the steps that need a running host.
fn with_host(
    world: &AgentSetup,
    api: &ModelApi,
    note: &mut dyn FnMut(&'static str, Result<String>),
) {
    note("host tools", tools::of_host(world));
    note("mcp secret", tools::of_caller(world, api));
    note("bounds", tools::inside_bounds(world));
    let begun = emanation(world);
    let run = begun.as_ref().ok().cloned();
    note("emanation", begun.map(|run| format!("{run} done")));
    if let Some(run) = run {
        note("resume", resume(world, &run));
    }
    note("cancel", cancel(world, api));
}

/// `doctor` reports the version of the agent and that it supports every flag, and warns of the provider without checks.
fn doctor(agent: &DrivenAgent, world: &AgentSetup) -> Result<String> {
    let report = world.json(&["doctor"])?;
    let checks = report["checks"].as_array().context("no checks")?;
    let of = |provider: &str| {
        let name = format!("provider {provider}");
        let found = checks.iter().find(|check| check["name"] == *name);
        let found = found.with_context(|| format!("`{name}` is not examined"))?;
        let detail = found["detail"].as_str().context("no detail")?;
        anyhow::Ok((found["status"].clone(), detail.to_owned()))
    };
    let (status, detail) = of(agent.name)?;
    ensure!(status == "ok", "{detail}");
    ensure!(detail.contains(&agent.version), "{detail}");
    ensure!(detail.contains("supports every flag"), "{detail}");
    let (status, unchecked) = of(UNCHECKED)?;
    ensure!(status == "warn", "{unchecked}");
    ensure!(unchecked.contains("switched off"), "{unchecked}");
    // The path of the program is long and the same in each row.
    let after_path = detail.split_once(' ').map_or("", |(_, rest)| rest);
    Ok(after_path.to_owned())
}

/// A whole activation: it starts, calls a tool, reports its result, and its change becomes a branch.
fn activation(agent: &DrivenAgent, world: &AgentSetup) -> Result<String> {
    let fired = fire(world, "noter")?;
    let run = &fired["runs"][0];
    ensure!(fired["activation"]["state"] == "succeeded", "{fired}");
    let seen = json!([run["state"], run["tool_call_count"], run["result_preview"]]);
    ensure!(seen == json!(["done", 1, NOTED]), "{run}");
    let document = world.document(&run["folder"])?;
    let session = document[format!("{}_session_id", agent.name)]
        .as_str()
        .context("no session")?;
    let tokens = &document["cli_tokens"];
    ensure!(tokens["input"].as_u64() > Some(0), "{tokens}");
    let branch = world.branch("noter")?;
    let note = world.git(&["show", &format!("{branch}:NOTE.md")])?;
    ensure!(note == "note\n", "NOTE.md contains {note:?}");
    Ok(format!(
        "1 tool, session {session}, {} tokens read, 1 branch",
        tokens["input"]
    ))
}

/// At the default level: git, a test command, an edit and a commit work, which becomes a branch; nothing forbidden does.
fn place(world: &AgentSetup, api: &ModelApi) -> Result<String> {
    let fired = fire(world, "worker")?;
    let run = &fired["runs"][0];
    ensure!(
        json!([run["state"], run["result_preview"]]) == json!(["done", NOTED]),
        "{run} {}",
        world.events(&run["folder"])?
    );
    let requests = api.received();
    let last = requests
        .iter()
        .rfind(|received| !received.tools().is_empty());
    let results = last.context("the model was not called")?.tool_results();
    let [looked, _, committed, probed] = &results[..] else {
        anyhow::bail!("{results:?}");
    };
    ensure!(
        looked.contains("begin") && looked.contains("checked"),
        "{looked}"
    );
    ensure!(committed.contains("committed"), "{committed}");
    ensure!(probed.contains("probed"), "{probed}");
    for success in ["open /", "wrote /", "reached "] {
        ensure!(!probed.contains(success), "{probed}");
    }
    let branch = world.branch("worker")?;
    let log = world.git(&["log", "--format=%s", &branch])?;
    ensure!(log.lines().any(|subject| subject == COMMIT), "{log}");
    ensure!(
        world.git(&["show", &format!("{branch}:NOTE.md")])? == "note\n",
        "{log}"
    );
    let level = world.document(&run["folder"])?["sandbox"]["level"].clone();
    Ok(format!(
        "level {level}: git log, test command, edit and commit; 1 branch; 12 probes refused"
    ))
}

fn fire(world: &AgentSetup, daemon: &str) -> Result<Value> {
    let repo = world.path("repo").display().to_string();
    world.json(&["fire", daemon, "--repo", &repo])
}

/// The agent starts, calls a tool and ends at level 2, which a machine without user namespaces offers.
fn confined(agent: &DrivenAgent, world: &AgentSetup) -> Result<String> {
    let config = world.path("home/config.toml");
    let usual = fs::read_to_string(&config)?;
    let section = format!("[provider.{}]\n", agent.name);
    fs::write(
        &config,
        usual.replace(&section, &format!("{section}sandbox_max = 2\n")),
    )?;
    let fired = fire(world, "noter");
    // Restore the configuration on failure, too.
    fs::write(&config, usual)?;
    let fired = fired?;
    let run = &fired["runs"][0];
    ensure!(run["state"] == "done", "{fired}");
    let sandbox = world.document(&run["folder"])?["sandbox"].clone();
    ensure!(sandbox["level"] == 2, "{sandbox}");
    Ok("works at level 2".to_owned())
}

/// Without a sandbox, which a person has to permit, the agent's own checks are off only by its key.
fn unconfined(agent: &DrivenAgent, world: &AgentSetup) -> Result<String> {
    let config = world.path("home/config.toml");
    let usual = fs::read_to_string(&config)?;
    fs::write(&config, format!("{usual}\n[policy]\nsandbox_min = 1\n"))?;
    let _host = world.serve()?;
    tools::without_bounds(agent, world)
}

/// Dispatches one run, and returns its id.
pub(super) fn emanate(world: &AgentSetup, backend: Option<&str>, task: Value) -> Result<String> {
    let call_file = world.path("call.json");
    let mut call = json!({"action": "emanate", "tasks": [task]});
    if let Some(backend) = backend {
        call["backend"] = json!(backend);
    }
    call["tasks"][0]["cwd"] = json!(world.path("cwd").display().to_string());
    fs::write(&call_file, call.to_string())?;
    let answer = world.json(&["emanate", "--call", &call_file.display().to_string()])?;
    let run = answer["run_ids"][0].as_str();
    Ok(run.with_context(|| answer.to_string())?.to_owned())
}

fn check(world: &AgentSetup, run: &str) -> Result<Value> {
    world.json(&["emanate", "check", run])
}

/// Waits until a run has ended, and returns its entry.
pub(super) fn ended(world: &AgentSetup, run: &str) -> Result<Value> {
    eventually("the run has ended", || {
        let entry = check(world, run)?;
        Ok((entry["status"] != "running").then_some(entry))
    })
}

/// An emanation ends with its result.
fn emanation(world: &AgentSetup) -> Result<String> {
    let run = emanate(world, None, json!({"task": "Write a note."}))?;
    let ended = ended(world, &run)?;
    ensure!(ended["status"] == "done", "{ended}");
    ensure!(ended["result_preview"] == NOTED, "{ended}");
    Ok(run)
}

/// A follow-up resumes its session.
fn resume(world: &AgentSetup, run: &str) -> Result<String> {
    let sent = world.json(&["emanate", "ask", run, AGAIN])?;
    ensure!(sent["status"] == "sent", "{sent}");
    let followup = eventually("the follow-up has ended", || {
        let entry = check(world, run)?;
        let followup = entry["followups"][0].clone();
        let is_over = followup["finished_at"].is_string();
        Ok(is_over.then_some(followup))
    })?;
    ensure!(followup["state"] == "done", "{followup}");
    let path = followup["result_path"].as_str().context("no result")?;
    let said = fs::read_to_string(path)?;
    ensure!(said.trim() == SAID_AGAIN, "the follow-up returned {said:?}");
    Ok(format!("result of follow-up 1: {}", said.trim()))
}

/// A run that waits for its model is reclaimed, and no process of it is left.
fn cancel(world: &AgentSetup, api: &ModelApi) -> Result<String> {
    let run = emanate(world, None, json!({"task": format!("{HOLD} and wait.")}))?;
    eventually("the model was asked", || {
        let asked = api.received().iter().any(|received| {
            !received.tools().is_empty() && received.body.to_string().contains(HOLD)
        });
        let entry = check(world, &run)?;
        ensure!(entry["status"] == "running", "it does not wait: {entry}");
        Ok(asked.then_some(()))
    })?;
    let n_before = processes_of(&run).len();
    ensure!(n_before > 0, "{run} has no process");
    let reclaimed = world.json(&["emanate", "reclaim", &run])?;
    ensure!(reclaimed["cancelled"] == 1, "{reclaimed}");
    let entry = check(world, &run)?;
    ensure!(entry["status"] == "cancelled", "{entry}");
    let left = processes_of(&run);
    ensure!(left.is_empty(), "still alive: {left:?}");
    Ok(format!("reclaimed; {n_before} processes ended, none left"))
}
