//! Servers of tools and the bounds of a run, through real agents.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use daemon_fakes::ModelApi;
use serde_json::{Value, json};

use super::agent::{DrivenAgent, UNCHECKED};
use super::play::{MESSAGE, NOTED, REACH, RING};
use super::steps::{emanate, ended};
use super::world::AgentSetup;

/// The secret of the MCP server given with a task.
const SECRET: &str = "canary-of-the-desk-7f3a";
/// The parts of the secret that are whole base64 groups, at each of the three offsets.
const SECRET_BASE64: [&str; 3] = [
    "Y2FuYXJ5LW9mLXRoZS1kZXNrLTdm",
    "YW5hcnktb2YtdGhlLWRlc2stN2Yz",
    "bmFyeS1vZi10aGUtZGVzay03ZjNh",
];

/// An activation sets state and proposes outputs through the host's own server; both are stored.
pub(super) fn of_host(world: &AgentSetup) -> Result<String> {
    let fired = world.json(&["fire", "keeper"])?;
    let run = &fired["runs"][0];
    ensure!(fired["activation"]["state"] == "succeeded", "{fired}");
    let seen = json!([run["state"], run["tool_call_count"], run["result_preview"]]);
    ensure!(
        seen == json!(["done", 5, NOTED]),
        "{run} {}",
        world.events(&run["folder"])?
    );
    let statuses = world.tool_results(&run["folder"])?;
    let expected = json!(["ok", "ok", "ok", "ok", "error"]);
    ensure!(
        json!(statuses) == expected,
        "{statuses:?} {}",
        world.events(&run["folder"])?
    );

    let branch = world.branch("keeper")?;
    let message = world.git(&["log", "-1", "--format=%s", &branch])?;
    ensure!(
        message.trim() == MESSAGE,
        "the commit message is {message:?}"
    );
    let listed = world.json(&["outputs", "--daemon", "keeper"])?;
    let outputs = listed["outputs"].as_array().context("no outputs")?;
    let ends: Vec<[&Value; 3]> = outputs
        .iter()
        .map(|output| ["surface", "state", "error"].map(|key| &output[key]))
        .collect();
    let reason = "the surface `github` is not configured on this host";
    let expected = json!([["none", "refused", reason], ["git", "confirmed", null]]);
    ensure!(json!(ends) == expected, "{listed}");

    // The next activation reads the state that this one has set.
    // A second activation, since state is stored only when the first has succeeded.
    let again = world.json(&["fire", "keeper"])?;
    let folder = again["runs"][0]["folder"].as_str().context("no folder")?;
    let state: Value =
        serde_json::from_str(&fs::read_to_string(format!("{folder}/context/state.json"))?)?;
    ensure!(state["values"]["seen"] == json!({"n": 1}), "{state}");
    Ok("state set and read back, 1 output confirmed, 1 refused with its reason".to_owned())
}

/// A run calls the tool of a server given with its task. The secret of the server reaches only that server.
pub(super) fn of_caller(world: &AgentSetup, api: &ModelApi) -> Result<String> {
    let program = world.path("desk/server.mjs");
    fs::write(&program, include_str!("server.mjs"))?;
    // Where the run and its server may write.
    let rung = world.path("cwd/rung");
    let server = json!({"name": "desk", "command": "node", "args": [program, rung], "env": {"DESK_SECRET": SECRET}});
    let run = emanate(
        world,
        None,
        json!({"task": format!("{RING}."), "mcp": [server]}),
    )?;
    let ended = ended(world, &run)?;
    ensure!(ended["status"] == "done", "{ended}");
    let reached =
        fs::read_to_string(&rung).with_context(|| format!("the tool was not called: {ended}"))?;
    let received: String = reached.chars().rev().collect();
    ensure!(received == SECRET, "the server received {received:?}");

    let holds = |text: &str| {
        let mut forms = SECRET_BASE64.iter().chain([&SECRET]);
        forms.any(|form| text.contains(form))
    };
    ensure!(
        !holds(&ended.to_string()),
        "`check` shows the secret: {ended}"
    );
    for received in api.received() {
        ensure!(
            !holds(&received.body.to_string()),
            "the secret was sent to the model"
        );
    }
    let mut n_files = 0;
    let mut places = ["home", "cwd", "serve.log"]
        .map(|name| world.path(name))
        .to_vec();
    while let Some(place) = places.pop() {
        if place.is_dir() {
            for entry in fs::read_dir(&place)? {
                places.push(entry?.path());
            }
        } else if place.is_file() {
            n_files += 1;
            let text = fs::read(&place)?;
            ensure!(
                !holds(&String::from_utf8_lossy(&text)),
                "the secret is in {}",
                place.display()
            );
        }
    }
    Ok(format!(
        "called; the secret is in none of {n_files} files and in no request"
    ))
}

/// A command that writes outside of the run's directory does not get there.
pub(super) fn inside_bounds(world: &AgentSetup) -> Result<String> {
    let outside = world.path("outside");
    let run = emanate(world, None, json!({"task": format!("{REACH}.")}))?;
    let ended = ended(world, &run)?;
    ensure!(ended["status"] == "done", "{ended}");
    ensure!(!outside.exists(), "the file outside was written: {ended}");
    Ok("a command that writes outside of its directory is denied".to_owned())
}

/// The same command is permitted if the configuration switches the agent's checks off, and only by the flag for that.
pub(super) fn without_bounds(agent: &DrivenAgent, world: &AgentSetup) -> Result<String> {
    let outside = world.path("outside");
    let run = emanate(world, Some(UNCHECKED), json!({"task": format!("{REACH}.")}))?;
    let ended = ended(world, &run)?;
    ensure!(ended["status"] == "done", "{ended}");
    ensure!(
        outside.exists(),
        "the file outside was not written: {ended}"
    );
    let document = world.document(&ended["path"])?;
    let argv: Vec<String> = serde_json::from_value(document["backend_argv"].clone())?;
    ensure!(argv.contains(&agent.bypass.to_owned()), "{argv:?}");
    let bounds = [
        "--permission-mode",
        "--sandbox",
        "--tools",
        "--allowedTools",
    ];
    ensure!(
        !argv.iter().any(|word| bounds.contains(&word.as_str())),
        "{argv:?}"
    );
    Ok(format!(
        "{} is accepted, and permits the command",
        agent.bypass
    ))
}
