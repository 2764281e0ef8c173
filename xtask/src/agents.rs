//! The real agents against a model API on loopback.
//!
//! Each agent is installed from npm into a folder of `target`, and driven by the real `daemon-run`: an activation with the use
//! of a tool, an emanation, a follow-up that resumes its session, and a run that is stopped in the middle. Nothing but
//! loopback is reached, and an agent sees neither a key nor the home of whoever runs this.

mod agent;
mod install;
mod steps;
mod world;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::shell;
use agent::Agent;

/// One row of the table: what was tried, and what came of it.
struct Row {
    agent: &'static str,
    step: &'static str,
    outcome: Result<String>,
}

/// Drives the named agents, or all, and prints a table; fails when a step did.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<ExitCode> {
    let chosen: Vec<&Agent> = agent::ALL
        .iter()
        .filter(|agent| names.is_empty() || names.iter().any(|name| name == agent.name))
        .collect();
    if chosen.is_empty() {
        bail!("no agent of these names; there are claude, codex and opencode");
    }
    let programs = install::install(&root.join("target/agents"), &chosen)?;
    shell::run(&mut shell::cargo(
        root,
        &["build", "--locked", "-p", "daemon-run"],
    ))?;
    let binary = root.join("target/debug/daemon-run");
    let mut rows = Vec::new();
    for agent in chosen {
        rows.extend(steps::drive(agent, &binary, &programs));
    }
    println!(
        "{:<9} {:<8} {:<11} {:<5} found",
        "agent", "version", "step", ""
    );
    let mut is_green = true;
    for row in &rows {
        let version = agent::version(row.agent);
        let (word, detail) = match &row.outcome {
            Ok(detail) => ("ok", detail.clone()),
            Err(error) => ("FAIL", format!("{error:#}")),
        };
        is_green &= row.outcome.is_ok();
        println!(
            "{:<9} {version:<8} {:<11} {word:<5} {detail}",
            row.agent, row.step
        );
    }
    Ok(if is_green {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
