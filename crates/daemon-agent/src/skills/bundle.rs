//! The instructions of one skill.

use std::io;

use daemon_spec::{DocumentNode, NodeValue, Shape, YamlDocument};
use rustix::io::Errno;
use serde_json::{Map, Value};

use super::{INSTRUCTIONS, MAX_BYTES};
use crate::name::{InvalidSkillName, SkillName};

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillBundle {
    /// The name, which is that of its directory.
    pub name: SkillName,
    /// What it is for.
    pub description: String,
    /// The other keys of its front matter, which are shown and not enforced.
    pub keys: Map<String, Value>,
    /// The instructions, byte for byte.
    pub body: String,
}

/// What is wrong with a bundle, or with a file that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillProblem {
    /// There is no such directory.
    #[error("there is no such skill")]
    Absent,
    /// The directory has a name that no skill can have.
    #[error(transparent)]
    Name(#[from] InvalidSkillName),
    /// The directory is a link, or another kind of file.
    #[error("it is a link or no directory")]
    NoDirectory,
    /// The directory has no instructions.
    #[error("it has no {INSTRUCTIONS}")]
    NoInstructions,
    /// There is no such file.
    #[error("there is no such file")]
    NoFile,
    /// The path leaves the directory, or passes a link.
    #[error("only files beneath the directory of the skill are read, without links")]
    Outside,
    /// A file is too large.
    #[error("it has more than {MAX_BYTES} bytes")]
    Size,
    /// A file is not UTF-8.
    #[error("it is not text in UTF-8")]
    NoText,
    /// A file cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(io::ErrorKind),
    /// There is no front matter.
    #[error("{INSTRUCTIONS} begins with no front matter between lines of `---`")]
    NoFrontMatter,
    /// The front matter is no YAML mapping.
    #[error("the front matter cannot be read: {0}")]
    Yaml(String),
    /// A required key is missing or no text.
    #[error("the front matter has no `{0}`")]
    Missing(&'static str),
    /// The name in the front matter is not that of the directory.
    #[error("the front matter names `{0}`, and the directory has another name")]
    OtherName(String),
}

impl SkillProblem {
    /// Converts the error of a call that opens a part of a path.
    pub(super) fn of(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR => Self::NoFile,
            Errno::LOOP => Self::Outside,
            error => Self::Unreadable(io::Error::from(error).kind()),
        }
    }
}

impl SkillBundle {
    /// Reads the instructions.
    ///
    /// # Errors
    /// Names the first problem.
    pub(super) fn parse(name: &SkillName, text: &str) -> Result<Self, SkillProblem> {
        let parts = daemon_provider::inputs::front_matter(text);
        let (matter, body) = parts.ok_or(SkillProblem::NoFrontMatter)?;
        let document =
            YamlDocument::read(matter).map_err(|error| SkillProblem::Yaml(error.to_string()))?;
        let mut keys = match document.root().map(json_of) {
            None => Map::new(),
            Some(Value::Object(keys)) => keys,
            Some(_) => return Err(SkillProblem::Yaml("it is no mapping".to_owned())),
        };
        let mut required = |key: &'static str| match keys.shift_remove(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            _ => Err(SkillProblem::Missing(key)),
        };
        let (given, description) = (required("name")?, required("description")?);
        if given != name.as_str() {
            return Err(SkillProblem::OtherName(given.chars().take(80).collect()));
        }
        Ok(Self {
            name: name.clone(),
            description,
            keys,
            body: body.to_owned(),
        })
    }
}

fn json_of(node: DocumentNode<'_>) -> Value {
    match node.value() {
        NodeValue::Scalar { text, shape } => match shape {
            Shape::Null => Value::Null,
            Shape::Boolean => Value::Bool(matches!(
                text.to_ascii_lowercase().as_str(),
                "true" | "yes" | "on" | "y"
            )),
            // A number that JSON cannot write, such as `.inf`, stays text.
            Shape::Number => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            _ => text.into(),
        },
        NodeValue::List(entries) => entries.into_iter().map(json_of).collect(),
        NodeValue::Mapping(pairs) => {
            let pairs = pairs
                .into_iter()
                .filter_map(|(key, value)| match key.value() {
                    NodeValue::Scalar { text, .. } => Some((text.to_owned(), json_of(value))),
                    _ => None,
                });
            Value::Object(pairs.collect())
        }
    }
}
