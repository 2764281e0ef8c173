//! What each agent goes through.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use daemon_fakes::ModelApi;
use serde_json::{Value, json};

use super::Row;
use super::agent::{AGAIN, Agent, HOLD, NOTED, SAID_AGAIN};
use super::world::{World, eventually, processes_of};

/// Drives one agent through every step; a step that needs one that failed is not tried.
pub(crate) fn drive(agent: &'static Agent, binary: &Path, programs: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut note = |step, outcome: Result<String>| {
        let is_ok = outcome.is_ok();
        rows.push(Row {
            agent: agent.name,
            step,
            outcome,
        });
        is_ok
    };
    let made = ModelApi::scripted(|received| agent.reply(received))
        .context("no port of loopback")
        .and_then(|api| Ok((World::new(agent, binary, programs, &api)?, api)));
    let (world, api) = match made {
        Ok(made) => made,
        Err(error) => {
            note("world", Err(error));
            return rows;
        }
    };
    note("flags", flags(agent, &world));
    note("activation", activation(agent, &world));
    match world.serve() {
        Err(error) => {
            note("host", Err(error));
        }
        Ok(_host) => {
            let begun = emanation(&world);
            let run = begun.as_ref().ok().cloned();
            note("emanation", begun.map(|run| format!("{run} done")));
            if let Some(run) = run {
                note("resume", resume(&world, &run));
            }
            note("cancel", cancel(&world, &api));
        }
    }
    rows
}

/// The agent knows every flag that it is given.
fn flags(agent: &Agent, world: &World) -> Result<String> {
    let report = world.json(&["doctor"])?;
    let name = format!("provider {}", agent.name);
    let checks = report["checks"].as_array().context("no checks")?;
    let check = checks
        .iter()
        .find(|check| check["name"] == *name)
        .context("it is not examined")?;
    ensure!(check["status"] == "ok", "{check}");
    Ok("it knows every flag it is given".to_owned())
}

/// A whole activation: it starts, uses a tool, tells its result, and its change becomes a branch.
fn activation(agent: &Agent, world: &World) -> Result<String> {
    let repo = world.path("repo").display().to_string();
    let fired = world.json(&["fire", "noter", "--repo", &repo])?;
    let run = &fired["runs"][0];
    ensure!(fired["activation"]["state"] == "succeeded", "{fired}");
    let seen = json!([run["state"], run["tool_call_count"], run["result_preview"]]);
    ensure!(seen == json!(["done", 1, NOTED]), "{run}");
    let folder = run["folder"].as_str().context("no folder")?;
    let document: Value =
        serde_json::from_str(&fs::read_to_string(format!("{folder}/daemon.json"))?)?;
    let session = document[format!("{}_session_id", agent.name)]
        .as_str()
        .context("no session")?;
    let tokens = &document["cli_tokens"];
    ensure!(tokens["input"].as_u64() > Some(0), "{tokens}");
    let branches = world.git(&[
        "for-each-ref",
        "--format=%(refname:short)",
        "refs/heads/daemon",
    ])?;
    let branch = branches.lines().next().context("no branch")?;
    let note = world.git(&["show", &format!("{branch}:NOTE.md")])?;
    ensure!(note == "note\n", "NOTE.md holds {note:?}");
    Ok(format!(
        "1 tool, session {session}, {} tokens read, 1 branch",
        tokens["input"]
    ))
}

fn emanate(world: &World, task: &str) -> Result<String> {
    let call = world.path("call.json");
    let cwd = world.path("cwd").display().to_string();
    fs::write(
        &call,
        json!({"action": "emanate", "tasks": [{"task": task, "cwd": cwd}]}).to_string(),
    )?;
    let call = call.display().to_string();
    let answer = world.json(&["emanate", "--call", &call])?;
    let run = answer["run_ids"][0].as_str();
    Ok(run.with_context(|| answer.to_string())?.to_owned())
}

fn check(world: &World, run: &str) -> Result<Value> {
    world.json(&["emanate", "check", run])
}

/// An emanation comes to its end.
fn emanation(world: &World) -> Result<String> {
    let run = emanate(world, "Write a note.")?;
    let ended = eventually("the emanation has ended", || {
        let entry = check(world, &run)?;
        Ok((entry["status"] != "running").then_some(entry))
    })?;
    ensure!(ended["status"] == "done", "{ended}");
    ensure!(ended["result_preview"] == NOTED, "{ended}");
    Ok(run)
}

/// A follow-up resumes its session.
fn resume(world: &World, run: &str) -> Result<String> {
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
    ensure!(said.trim() == SAID_AGAIN, "it said {said:?}");
    Ok(format!("follow-up 1 answered: {}", said.trim()))
}

/// A run that waits for its model is reclaimed, and nothing of it is left.
fn cancel(world: &World, api: &ModelApi) -> Result<String> {
    let run = emanate(world, &format!("{HOLD} and wait."))?;
    eventually("the model was asked", || {
        let asked = api.received().iter().any(|received| {
            !received.tools().is_empty() && received.body.to_string().contains(HOLD)
        });
        Ok(asked.then_some(()))
    })?;
    let n_before = processes_of(&run).len();
    ensure!(n_before > 0, "no process of {run} is there to be ended");
    let reclaimed = world.json(&["emanate", "reclaim", &run])?;
    ensure!(reclaimed["cancelled"] == 1, "{reclaimed}");
    let entry = check(world, &run)?;
    ensure!(entry["status"] == "cancelled", "{entry}");
    let left = processes_of(&run);
    ensure!(left.is_empty(), "still alive: {left:?}");
    Ok(format!("reclaimed; {n_before} processes ended, none left"))
}
