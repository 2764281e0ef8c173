//! The definition of an agent: front matter and a prompt in one file.

use daemon_spec::{DocumentNode, NodeValue, Shape, YamlDocument, quoted};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::name::AgentName;

/// The largest file of an agent, in bytes.
pub(crate) const MAX_BYTES: usize = 256 * 1024;
/// The most calls of the model in one turn, if the definition does not say.
const ITERATIONS: u32 = 16;
/// The most that a definition may ask for.
const MOST_ITERATIONS: u32 = 1_000;
/// The tokens beyond which earlier messages are summarised, if the definition does not say.
const COMPACT_THRESHOLD: u64 = 100_000;

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentDefinition {
    /// The name, which is that of its file.
    pub name: AgentName,
    /// What it is for, in a sentence.
    pub description: String,
    /// The provider, or the model of one, that answers; `None` is the host's own choice.
    pub model: Option<String>,
    /// The most calls of the model in one turn.
    pub max_iterations: u32,
    /// Whether the model may call tools.
    pub tool_choice: ToolChoice,
    /// The tools that it may use.
    pub tools: AllowedNames,
    /// The agents that it may delegate to.
    pub members: AllowedNames,
    /// The skills that it may use.
    pub skills: AllowedNames,
    /// The MCP servers whose tools it may use; none unless the definition names them.
    pub mcps: AllowedNames,
    /// The tokens beyond which earlier messages are summarised.
    pub compact_threshold: u64,
    /// The prompt, byte for byte.
    pub prompt: String,
    /// The hash of the file.
    pub rev: String,
}

/// Whether a model may call tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// It decides.
    Auto,
    /// It is offered none.
    None,
}

/// A list of allowed names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedNames {
    /// All.
    All,
    /// These.
    Only(Vec<String>),
}

impl AllowedNames {
    /// Reports whether a name is allowed.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|allowed| allowed == name),
        }
    }
}

/// What is wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The file is too large.
    #[error("it has more than {MAX_BYTES} bytes")]
    Size,
    /// There is no front matter.
    #[error("it begins with no front matter between lines of `---`")]
    NoFrontMatter,
    /// The front matter is no YAML mapping.
    #[error("its front matter cannot be read: {0}")]
    Yaml(String),
    /// A key is unknown, given twice, or has a value of the wrong kind.
    #[error("`{key}` {problem}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl AgentDefinition {
    /// Reads a definition.
    ///
    /// # Errors
    /// Names the first problem.
    pub fn parse(name: AgentName, text: &str) -> Result<Self, DefinitionError> {
        if text.len() > MAX_BYTES {
            return Err(DefinitionError::Size);
        }
        let parts = daemon_provider::inputs::front_matter(text);
        let (matter, prompt) = parts.ok_or(DefinitionError::NoFrontMatter)?;
        let document =
            YamlDocument::read(matter).map_err(|error| DefinitionError::Yaml(error.to_string()))?;
        let mut agent = Self::usual(name, prompt.to_owned(), rev(text));
        let pairs = match document.root().map(DocumentNode::value) {
            None => Vec::new(),
            Some(NodeValue::Mapping(pairs)) => pairs,
            Some(_) => return Err(DefinitionError::Yaml("it is no mapping".to_owned())),
        };
        let mut seen = Vec::new();
        for (key, value) in pairs {
            let NodeValue::Scalar { text: key, .. } = key.value() else {
                return Err(DefinitionError::Yaml("a key is no text".to_owned()));
            };
            if seen.contains(&key) {
                return Err(wrong(key, "is given twice"));
            }
            seen.push(key);
            agent.set(key, value)?;
        }
        Ok(agent)
    }

    /// Returns an agent without restrictions, whose tools are those that any agent can have.
    pub(crate) fn unrestricted() -> Self {
        let name = "any".parse().expect("it is a name");
        Self {
            members: AllowedNames::All,
            ..Self::usual(name, String::new(), String::new())
        }
    }

    /// Returns an agent whose front matter says nothing.
    fn usual(name: AgentName, prompt: String, rev: String) -> Self {
        Self {
            name,
            description: String::new(),
            model: None,
            max_iterations: ITERATIONS,
            tool_choice: ToolChoice::Auto,
            tools: AllowedNames::All,
            members: AllowedNames::Only(Vec::new()),
            skills: AllowedNames::All,
            // They have credentials of the host, which an agent gets only by name.
            mcps: AllowedNames::Only(Vec::new()),
            compact_threshold: COMPACT_THRESHOLD,
            prompt,
            rev,
        }
    }

    /// Returns the prompt, if it says anything.
    pub(crate) fn system(&self) -> Option<String> {
        Some(self.prompt.clone()).filter(|prompt| !prompt.trim().is_empty())
    }

    fn set(&mut self, key: &str, value: DocumentNode<'_>) -> Result<(), DefinitionError> {
        match key {
            "description" => self.description = text(key, value)?.to_owned(),
            "model" => self.model = Some(text(key, value)?.to_owned()),
            "max_iterations" => {
                let number = u32::try_from(number(key, value)?).ok();
                let number = number.filter(|number| (1..=MOST_ITERATIONS).contains(number));
                self.max_iterations = number.ok_or_else(|| wrong(key, "must be 1 to 1000"))?;
            }
            "tool_choice" => {
                self.tool_choice = match text(key, value)? {
                    "auto" => ToolChoice::Auto,
                    "none" => ToolChoice::None,
                    _ => return Err(wrong(key, "must be `auto` or `none`")),
                }
            }
            "tools" => self.tools = allowed(key, value)?,
            "members" => self.members = allowed(key, value)?,
            "skills" => self.skills = allowed(key, value)?,
            "mcps" => self.mcps = allowed(key, value)?,
            "compact_threshold" => self.compact_threshold = number(key, value)?,
            _ => return Err(wrong(key, "is not a key of an agent")),
        }
        Ok(())
    }
}

/// Writes a definition; the members of `definition` become front matter, and the prompt follows byte for byte.
///
/// # Errors
/// Names the first problem of the result.
pub fn write(
    name: AgentName,
    definition: &Map<String, Value>,
    prompt: &str,
) -> Result<String, DefinitionError> {
    // Every JSON value is a YAML value in one line; text is quoted so that no reader takes it for another kind.
    let lines = definition.iter().map(|(key, value)| match value {
        Value::String(value) => format!("{}: {}\n", quoted(key), quoted(value)),
        value => format!("{}: {value}\n", quoted(key)),
    });
    let text = format!("---\n{}---\n{prompt}", lines.collect::<String>());
    AgentDefinition::parse(name, &text)?;
    Ok(text)
}

/// Returns the hash of a file.
fn rev(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn wrong(key: &str, problem: &'static str) -> DefinitionError {
    DefinitionError::Key {
        key: key.chars().take(80).collect(),
        problem,
    }
}

fn text<'t>(key: &str, value: DocumentNode<'t>) -> Result<&'t str, DefinitionError> {
    match value.value() {
        NodeValue::Scalar {
            text,
            shape: Shape::Text,
        } if !text.trim().is_empty() => Ok(text),
        _ => Err(wrong(key, "must be text")),
    }
}

fn number(key: &str, value: DocumentNode<'_>) -> Result<u64, DefinitionError> {
    let digits = match value.value() {
        NodeValue::Scalar { text, .. } => text.parse().ok(),
        _ => None,
    };
    digits.ok_or_else(|| wrong(key, "must be a whole number"))
}

fn allowed(key: &str, value: DocumentNode<'_>) -> Result<AllowedNames, DefinitionError> {
    let NodeValue::List(entries) = value.value() else {
        return Err(wrong(key, "must be a list of names"));
    };
    let names = entries.into_iter().map(|entry| text(key, entry));
    let names: Vec<&str> = names.collect::<Result<_, _>>()?;
    Ok(match names.contains(&"*") {
        true => AllowedNames::All,
        false => AllowedNames::Only(names.into_iter().map(str::to_owned).collect()),
    })
}

#[cfg(test)]
mod tests;
