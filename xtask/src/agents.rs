//! The real agents against a model API on loopback.
//!
//! Each agent is installed from npm into a folder of `target`, and driven by the real `daemon-run`: what `doctor` says of it,
//! activations that change files and use the host's own tools, emanations with a server of tools that holds a secret, inside
//! and outside their bounds, a follow-up that resumes a session, and a run that is stopped in the middle. A proxy that lets
//! nobody out stands between an agent and everything but loopback, and an agent sees neither a key nor the home of whoever
//! runs this.

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

/// One row of the table: what was tried, and what came of it.
struct Row {
    agent: &'static str,
    version: String,
    step: &'static str,
    outcome: Result<String>,
}

impl Row {
    /// Prints the row, as soon as it is known.
    fn print(&self) {
        let (word, detail) = match &self.outcome {
            Ok(detail) => ("ok", detail.clone()),
            Err(error) => ("FAIL", format!("{error:#}")),
        };
        let (agent, version, step) = (self.agent, &self.version, self.step);
        println!("{agent:<9} {version:<9} {step:<11} {word:<5} {detail}");
    }
}

/// Drives the named agents, or all, and prints a row for each step; fails when a step did.
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
