//! Installing the agents from npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::agent::Agent;
use crate::shell;

/// Installs the agents into a folder unless their versions are there, and returns the folder of their programs.
pub(crate) fn install(folder: &Path, agents: &[&Agent]) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let modules = folder.join("node_modules");
    let missing: Vec<&&Agent> = agents
        .iter()
        .filter(|agent| installed(&modules, agent).as_deref() != Some(agent.version))
        .collect();
    if !missing.is_empty() {
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--prefix",
        ]);
        npm.arg(folder);
        npm.args(
            agents
                .iter()
                .map(|agent| format!("{}@{}", agent.package, agent.version)),
        );
        shell::run(npm.current_dir(folder))?;
    }
    for agent in missing {
        if let Some(script) = agent.installer {
            let package = modules.join(agent.package);
            shell::run(Command::new("node").arg(script).current_dir(&package))
                .with_context(|| format!("{} could not fetch its program", agent.name))?;
        }
    }
    Ok(modules.join(".bin"))
}

/// Returns the version of an agent that is there.
fn installed(modules: &Path, agent: &Agent) -> Option<String> {
    let text = fs::read_to_string(modules.join(agent.package).join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    package["version"].as_str().map(str::to_owned)
}
