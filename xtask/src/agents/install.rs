//! Installs the agents from npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::agent::DrivenAgent;
use crate::shell;

/// Installs the agents into a folder unless it has their versions, and returns the folder of their programs.
pub(crate) fn install(folder: &Path, agents: &[DrivenAgent]) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let modules = folder.join("node_modules");
    for agent in agents {
        let what = format!("{} {}", agent.name, agent.version);
        if installed(&modules, agent).as_deref() == Some(agent.version.as_str()) {
            println!("{what}: installed already");
            continue;
        }
        require_npm()?;
        println!("{what}: downloading from npm, several hundred megabytes");
        let began = Instant::now();
        fetch(folder, agent)?;
        let package = modules.join(agent.package);
        // Older versions of a package have no such script.
        let installer = agent
            .installer
            .filter(|script| package.join(script).exists());
        if let Some(script) = installer {
            shell::run(Command::new("node").arg(script).current_dir(&package))
                .with_context(|| format!("the install script of {what} failed"))?;
        }
        println!("{what}: installed in {} s", began.elapsed().as_secs());
    }
    Ok(modules.join(".bin"))
}

fn require_npm() -> Result<()> {
    if shell::is_present("npm", "--version") {
        return Ok(());
    }
    bail!(
        "`npm` is missing, and the agents are npm packages: install Node.js 20 or newer, then try again"
    )
}

/// Installs one package with npm, and keeps those that are installed.
fn fetch(folder: &Path, agent: &DrivenAgent) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--no-audit",
        "--no-fund",
        // Scripts of dependencies are not run; the one that is needed is started by name.
        "--ignore-scripts",
        "--fetch-retries",
        "1",
        "--prefix",
    ]);
    npm.arg(folder)
        .arg(format!("{}@{}", agent.package, agent.version))
        .current_dir(folder);
    shell::run(&mut npm).with_context(|| {
        format!(
            "{} {} could not be downloaded: see the output of npm above; `npm ping` checks whether the registry can be reached",
            agent.package, agent.version
        )
    })
}

/// Returns the installed version of an agent.
fn installed(modules: &Path, agent: &DrivenAgent) -> Option<String> {
    let text = fs::read_to_string(modules.join(agent.package).join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    package["version"].as_str().map(str::to_owned)
}
