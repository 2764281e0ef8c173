//! Skills on the wire.

use daemon_agent::{ListedSkill, SkillBundle};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A skill in a listing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ListedSkillObject {
    /// The name of its directory.
    pub name: String,
    /// What it is for; null if its bundle is bad.
    pub description: Option<String>,
    /// What is wrong with its bundle; null if nothing is.
    pub problem: Option<String>,
}

/// A skill, without its body.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SkillObject {
    /// The name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The other keys of its front matter, which nothing enforces.
    pub keys: Map<String, Value>,
    /// Its further files, relative to its directory.
    pub files: Vec<String>,
}

impl From<ListedSkill> for ListedSkillObject {
    fn from(listed: ListedSkill) -> Self {
        let (description, problem) = match listed.bundle {
            Ok(bundle) => (Some(bundle.description), None),
            Err(problem) => (None, Some(problem.to_string())),
        };
        Self {
            name: listed.name,
            description,
            problem,
        }
    }
}

impl SkillObject {
    /// Converts a bundle with the names of its files.
    pub fn new(bundle: SkillBundle, files: Vec<String>) -> Self {
        Self {
            name: bundle.name.to_string(),
            description: bundle.description,
            keys: bundle.keys,
            files,
        }
    }
}
