//! The tools that a model is offered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// A tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name, unique among the tools of a run.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// What a tool answered: text for the model.
pub type ToolOutput = String;

/// Why a tool gave no result; the model is told, and the run goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// One line for the model.
    pub message: String,
}

impl ToolError {
    /// Says why.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// Something that offers tools to a run.
#[async_trait]
pub trait ToolSource: fmt::Debug + Send + Sync {
    /// Returns its tools.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Runs one of its tools with arguments that fit the tool's schema.
    ///
    /// When the future is dropped, what the tool started must end by itself.
    ///
    /// # Errors
    /// The tool gave no result.
    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError>;

    /// Ends what it holds; called once, whatever becomes of the run.
    async fn close(&self) {}
}

/// The tools of one run by their names.
pub(crate) struct Toolbox {
    sources: Vec<Arc<dyn ToolSource>>,
    specs: Vec<ToolSpec>,
    by_name: BTreeMap<String, (usize, Validator)>,
}

/// Tools that cannot be offered together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ToolboxError {
    /// Two have one name.
    #[error("two tools are named `{0}`")]
    Collision(String),
    /// The schema of one is none.
    #[error("the schema of the tool `{name}` cannot be used: {reason}")]
    Schema {
        /// The tool.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

impl Toolbox {
    /// Puts the tools of all sources together.
    ///
    /// # Errors
    /// Two tools have one name, or a schema is none.
    pub(crate) fn new(sources: Vec<Arc<dyn ToolSource>>) -> Result<Self, ToolboxError> {
        let mut specs = Vec::new();
        let mut by_name = BTreeMap::new();
        for (at, source) in sources.iter().enumerate() {
            for spec in source.tools() {
                let validator = validator(&spec.schema).map_err(|error| ToolboxError::Schema {
                    name: spec.name.clone(),
                    reason: error.to_string(),
                })?;
                if by_name.insert(spec.name.clone(), (at, validator)).is_some() {
                    return Err(ToolboxError::Collision(spec.name));
                }
                specs.push(spec);
            }
        }
        Ok(Self {
            sources,
            specs,
            by_name,
        })
    }

    /// Returns what the model is told of.
    pub(crate) fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Runs a tool, if there is one of this name and the arguments fit it.
    ///
    /// # Errors
    /// There is no such tool, the arguments do not fit, or it gave no result.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let (at, validator) = self
            .by_name
            .get(name)
            .ok_or_else(|| ToolError::new(format!("there is no tool `{name}`")))?;
        // A model that passes no argument may pass nothing at all.
        let arguments = match arguments {
            Value::Null => Value::Object(serde_json::Map::new()),
            Value::String(text) if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
            other => other,
        };
        let faults: Vec<String> = validator
            .iter_errors(&arguments)
            .take(3)
            .map(|error| told(&error))
            .collect();
        if !faults.is_empty() {
            let message = format!("the arguments do not fit `{name}`: {}", faults.join("; "));
            return Err(ToolError::new(message));
        }
        let source = self.sources.get(*at).expect("the place is one of these");
        source.call(name, arguments).await
    }

    /// Closes every source.
    pub(crate) async fn close(&self) {
        for source in &self.sources {
            source.close().await;
        }
    }
}

/// Reads a schema.
///
/// Schemas come from strangers too: a pattern must not be able to take for ever.
pub(crate) fn validator(schema: &Value) -> Result<Validator, jsonschema::ValidationError<'static>> {
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(schema)
}

/// How much of a fault is told; the value that is wrong may be long.
const MOST_TOLD: usize = 200;

fn told(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let what: String = error.to_string().chars().take(MOST_TOLD).collect();
    if place.is_empty() {
        what
    } else {
        format!("{place}: {what}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug)]
    struct Echo(&'static str, Value);

    #[async_trait]
    impl ToolSource for Echo {
        fn tools(&self) -> Vec<ToolSpec> {
            vec![ToolSpec {
                name: self.0.to_owned(),
                description: "Says it again.".to_owned(),
                schema: self.1.clone(),
            }]
        }

        async fn call(&self, _: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
            Ok(arguments.to_string())
        }
    }

    fn echo(name: &'static str) -> Arc<dyn ToolSource> {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false});
        Arc::new(Echo(name, schema))
    }

    #[test]
    fn two_tools_of_one_name_and_a_schema_that_is_none_are_refused() {
        let refused = |sources| Toolbox::new(sources).map(drop).unwrap_err().to_string();
        assert_eq!(
            refused(vec![echo("a"), echo("a")]),
            "two tools are named `a`"
        );
        let wrong = Arc::new(Echo("b", json!({"type": 5})));
        assert!(refused(vec![wrong]).starts_with("the schema of the tool `b` cannot be used: "));
    }

    #[tokio::test]
    async fn arguments_are_checked_before_a_tool_runs() {
        let toolbox = Toolbox::new(vec![echo("a")]).unwrap();
        assert_eq!(
            toolbox.call("a", json!({"n": 1})).await,
            Ok(r#"{"n":1}"#.to_owned())
        );
        assert_eq!(toolbox.call("a", Value::Null).await, Ok("{}".to_owned()));
        let error = toolbox.call("a", json!({"n": "x"})).await.unwrap_err();
        assert_eq!(
            error.message,
            "the arguments do not fit `a`: /n: \"x\" is not of type \"integer\""
        );
        let error = toolbox.call("a", json!("{broken")).await.unwrap_err();
        assert!(
            error.message.starts_with("the arguments do not fit `a`: "),
            "{error}"
        );
        let error = toolbox.call("b", json!({})).await.unwrap_err();
        assert_eq!(error.message, "there is no tool `b`");
    }
}
