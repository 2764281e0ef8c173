//! Tests of the real agents against a model API on loopback.
//!
//! Each agent is installed from npm into a folder of `target`, and driven by the real `daemon-run`: the check of `doctor`,
//! activations that change files and use the host's own tools, emanations with an MCP server that has a secret, inside and
//! outside their sandbox, a follow-up that resumes a session, and a run that is stopped in the middle. A proxy refuses every
//! connection of an agent except to loopback, and an agent sees neither a key nor the home of the user who runs this task.

mod agent;
mod gate;
mod install;
mod play;
mod steps;
mod tools;
mod world;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::shell;

/// One row of the table: a step and its result.
struct Row {
    agent: &'static str,
    version: String,
    step: &'static str,
    outcome: Result<String>,
}

impl Row {
    /// Prints the row; called as soon as the step has ended.
    fn print(&self) {
        let (word, detail) = match &self.outcome {
            Ok(detail) => ("ok", detail.clone()),
            Err(error) => ("FAIL", format!("{error:#}")),
        };
        let (agent, version, step) = (self.agent, &self.version, self.step);
        println!("{agent:<9} {version:<9} {step:<11} {word:<5} {detail}");
    }
}

/// Drives the named agents, or all, and prints a row for each step. Fails if a step failed.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<ExitCode> {
    let chosen = agent::choose(names)?;
    let programs = install::install(&root.join("target/agents"), &chosen)?;
    shell::run(&mut shell::cargo(
        root,
        &["build", "--locked", "--package", "daemon-run"],
    ))?;
    let binary = root.join("target/debug/daemon-run");
    let title = ["agent", "version", "step", "found"];
    println!(
        "{:<9} {:<9} {:<11}       {}",
        title[0], title[1], title[2], title[3]
    );
    // A failed step does not stop the others: they show whether the failure is of one agent or of all.
    let (mut n_ok, mut n_failed) = (0, 0);
    for agent in &chosen {
        for row in steps::drive(agent, &binary, &programs) {
            match row.outcome {
                Ok(_) => n_ok += 1,
                Err(_) => n_failed += 1,
            }
        }
    }
    println!("agents: {n_ok} steps passed, {n_failed} failed");
    Ok(if n_failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
