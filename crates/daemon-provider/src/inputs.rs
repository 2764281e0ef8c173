//! The inputs that a caller adds to a task: skills, MCP servers and presets.
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

/// A fault in one input of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The path of the input in the task: `skills[0]`, `mcp[1]`, `preset`.
    pub at: String,
    /// The fault, in words for the caller.
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

/// Splits a file into its front matter, without the fences, and the text after it, byte for byte; `None` without front matter.
pub fn front_matter(text: &str) -> Option<(&str, &str)> {
    // Some editors write a byte order mark, which is no part of the fence.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let start = lines.next().filter(|line| is_fence(line))?.len();
    let mut end = start;
    for line in lines {
        if is_fence(line) {
            return Some((text.get(start..end)?, text.get(end + line.len()..)?));
        }
        end += line.len();
    }
    None
}

/// Plain scalars that some YAML parser does not read as strings.
const NOT_TEXT: [&str; 9] = ["y", "yes", "n", "no", "on", "off", "true", "false", "null"];

/// Formats a string as YAML: plain if every parser reads it as this string, else quoted.
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
