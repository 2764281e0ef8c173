//! What a caller gives a run beside its task: skills, MCP servers, presets.
//!
//! ```
//! use daemon_provider::inputs;
//! use serde_json::json;
//!
//! let given = [json!({"name": "docs", "command": "docs-server", "env": {"DOCS_TOKEN": "s3cr3t-s3cr3t"}})];
//! let servers = inputs::mcp(&given).unwrap();
//! assert_eq!(
//!     inputs::render_mcp(&servers),
//!     "- name: docs\n  transport: stdio\n  command: docs-server\n  env:\n    DOCS_TOKEN: \"<redacted>\"\n",
//! );
//!
//! let faults = inputs::mcp(&[json!({"command": "docs-server"})]).unwrap_err();
//! assert_eq!(faults[0].to_string(), "mcp[0]: name missing");
//! ```

mod mcp;
mod preset;
mod skills;
pub(crate) mod url;

use std::fmt;

pub use mcp::{MAX_MCP, McpRegistration, McpServer, mcp, render_mcp};
pub use preset::{Preset, preset};
pub use skills::{MAX_SKILLS, Skill, render_skills, skills};

/// What is wrong with one input of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, from the task on: `skills[0]`, `mcp[1]`, `preset`.
    pub at: String,
    /// What, as a caller is told.
    pub problem: String,
}

impl Fault {
    pub(crate) fn new(at: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            at: at.into(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.problem)
    }
}

impl std::error::Error for Fault {}

/// The words that some reader of YAML takes for something else than text.
const NOT_TEXT: [&str; 9] = ["y", "yes", "n", "no", "on", "off", "true", "false", "null"];

/// Writes a text as YAML: plain where every reader takes it for this text, else quoted.
fn scalar(text: &str) -> String {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let is_text = |word: &&str| text.eq_ignore_ascii_case(word);
    if begins && text.chars().all(is_word) && !NOT_TEXT.iter().any(is_text) {
        return text.to_owned();
    }
    daemon_spec::quoted(text)
}

#[cfg(test)]
mod tests;
