//! What the machine and the repository have.

use std::path::{Path, PathBuf};

use daemon_repo::Repository;

use crate::place::Place;

/// The programs of coding agents.
const AGENTS: [&str; 3] = ["claude", "codex", "opencode"];

/// Model APIs with the variable of their key.
const APIS: [(&str, &str); 3] = [
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("openai", "OPENAI_API_KEY"),
    ("gemini", "GEMINI_API_KEY"),
];

/// A coding agent on the search path.
#[derive(Debug)]
pub(crate) struct FoundAgent {
    /// The name, which is also the kind of provider.
    pub(crate) name: &'static str,
    /// The program.
    pub(super) program: PathBuf,
}

/// Looks for coding agents on the search path.
pub(crate) fn agents(place: &Place) -> Vec<FoundAgent> {
    let agents = AGENTS.into_iter().filter_map(|name| {
        let program = program(name, place)?;
        Some(FoundAgent { name, program })
    });
    agents.collect()
}

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    repository: String,
    pub(super) agents: Vec<FoundAgent>,
    /// Model APIs with the variable of their key, which is set.
    pub(super) apis: Vec<(&'static str, &'static str)>,
    sandbox: String,
}

impl Found {
    /// Looks for coding agents, keys, the remote and the sandbox.
    pub(super) fn look(repository: &Repository, place: &Place) -> Self {
        let is_set = |key: &str| {
            place
                .environment
                .get(key)
                .is_some_and(|key| !key.is_empty())
        };
        let probe = daemon_process::probe();
        Self {
            repository: repository.name().to_string(),
            agents: agents(place),
            apis: APIS.into_iter().filter(|(_, key)| is_set(key)).collect(),
            sandbox: format!("level {} of 3", probe.level.number()),
        }
    }

    /// Returns the names and the values of the findings.
    pub(super) fn lines(&self) -> [(&'static str, String); 4] {
        let agents = self.agents.iter();
        let agents = agents.map(|agent| format!("{} ({})", agent.name, agent.program.display()));
        let keys = self.apis.iter().map(|(_, key)| (*key).to_owned());
        [
            ("repository", self.repository.clone()),
            ("agents", listed(agents.collect())),
            ("keys", listed(keys.collect())),
            ("sandbox", self.sandbox.clone()),
        ]
    }
}

fn listed(names: Vec<String>) -> String {
    match names.is_empty() {
        true => "none found".to_owned(),
        false => names.join(", "),
    }
}

/// Finds a program on the search path.
fn program(name: &str, place: &Place) -> Option<PathBuf> {
    let mut directories = std::env::split_paths(&place.path).filter(|path| path.is_absolute());
    directories.find_map(|directory| {
        let path = directory.join(name);
        is_executable(&path).then_some(path)
    })
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
