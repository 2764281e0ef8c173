//! Skills in turns: the tool that reads one on demand, and `/name` in a message.

use std::path::PathBuf;

use async_trait::async_trait;
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::definition::{AgentDefinition, AllowedNames};
use crate::hook::{Hook, HookTurn, Injected};
use crate::name::SkillName;
use crate::skills::Skills;

const SKILL: &str = "skill";
/// The most skills that one message invokes.
const MOST_INVOKED: usize = 4;
/// The most skills that the description of the tool names, and the most characters about each.
const MOST_NAMED: usize = 100;
const MOST_DESCRIPTION: usize = 300;

/// The hook of the skills.
#[derive(Debug)]
pub struct SkillsHook(Skills);

impl SkillsHook {
    /// Makes the hook.
    pub fn new(skills: Skills) -> Self {
        Self(skills)
    }

    /// Describes the skills that an agent may use, so that the model knows when to read one.
    fn described(&self, agent: &AgentDefinition) -> String {
        let listed = self.0.list().unwrap_or_else(|error| {
            tracing::warn!(%error, "the skills cannot be listed");
            Vec::new()
        });
        let lines = listed.into_iter().filter_map(|listed| {
            let bundle = listed.bundle.ok()?;
            let is_allowed = agent.skills.has(bundle.name.as_str());
            let description = bundle.description.chars().take(MOST_DESCRIPTION);
            is_allowed.then(|| format!("\n- {}: {}", bundle.name, description.collect::<String>()))
        });
        let lines: String = lines.take(MOST_NAMED).collect();
        match lines.as_str() {
            "" => "Reads the instructions of a skill, or a file of it. There are no skills yet."
                .to_owned(),
            lines => format!(
                "Reads the instructions of a skill, or a file of it. Read a skill before you do what it describes.{lines}"
            ),
        }
    }
}

#[async_trait]
impl Hook for SkillsHook {
    fn name(&self) -> &str {
        "skills"
    }

    fn tools(&self, agent: &AgentDefinition) -> Vec<ToolSpec> {
        if agent.skills == AllowedNames::Only(Vec::new()) {
            return Vec::new();
        }
        vec![ToolSpec {
            name: SKILL.to_owned(),
            description: self.described(agent),
            schema: json!({"type": "object", "required": ["name"], "additionalProperties": false,
                "properties": {"name": {"type": "string", "maxLength": 64},
                    "file": {"type": "string", "maxLength": 1024,
                        "description": "A file of the skill, relative to its directory; without it, the instructions."}}}),
        }]
    }

    async fn before_run(&self, turn: &HookTurn<'_>) -> Vec<Injected> {
        let names = invoked(turn.agent, turn.content);
        if names.is_empty() {
            return Vec::new();
        }
        let skills = self.0.clone();
        let read = spawn_blocking(move || {
            let texts = names
                .into_iter()
                .filter_map(|name| match instructions(&skills, &name) {
                    Ok(text) => Some(text),
                    // Not every word that begins with a slash is meant as a skill.
                    Err(problem) if problem.is_absent => None,
                    Err(problem) => Some(format!(
                        "The skill `{name}` cannot be used: {}",
                        problem.text
                    )),
                });
            texts.take(MOST_INVOKED).map(Injected).collect()
        });
        read.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the skills of a message were not read");
            Vec::new()
        })
    }

    async fn dispatch(&self, turn: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        let given = |key: &str| call.arguments[key].as_str();
        let asked = given("name").unwrap_or_default();
        let name = asked.parse::<SkillName>();
        let name = name
            .ok()
            .filter(|name| turn.agent.skills.has(name.as_str()));
        let name = name.ok_or_else(|| ToolError::new(format!("there is no skill `{asked}`")))?;
        let file = given("file").map(PathBuf::from);
        let skills = self.0.clone();
        let read = spawn_blocking(move || match file {
            None => instructions(&skills, &name).map_err(|problem| problem.text),
            Some(file) => skills
                .file(&name, &file)
                .map_err(|problem| format!("`{}`: {problem}", file.display())),
        });
        let read = read
            .await
            .map_err(|error| ToolError::new(error.to_string()))?;
        read.map_err(ToolError::new)
    }
}

/// Why there are no instructions.
struct NoInstructions {
    text: String,
    is_absent: bool,
}

/// Returns the body of a skill with the names of its files.
fn instructions(skills: &Skills, name: &SkillName) -> Result<String, NoInstructions> {
    let bundle = skills.get(name).map_err(|error| NoInstructions {
        is_absent: matches!(error, crate::AgentError::NotFound { .. }),
        text: error.to_string(),
    })?;
    let files = skills.files(name);
    let files = match files.as_slice() {
        [] => String::new(),
        files => format!(
            "\n\nIts files, for the tool `{SKILL}`: {}",
            files.join(", ")
        ),
    };
    Ok(format!("The skill `{name}`:\n\n{}{files}", bundle.body))
}

/// Returns the skills that the words of a message name with a slash, each once, as far as the agent may use them.
fn invoked(agent: &AgentDefinition, content: &str) -> Vec<SkillName> {
    let mut acc: Vec<SkillName> = Vec::new();
    for word in content.split_whitespace() {
        let name: Option<SkillName> = word.strip_prefix('/').and_then(|name| name.parse().ok());
        match name {
            Some(name) if agent.skills.has(name.as_str()) && !acc.contains(&name) => {
                acc.push(name);
            }
            _ => {}
        }
    }
    acc
}
