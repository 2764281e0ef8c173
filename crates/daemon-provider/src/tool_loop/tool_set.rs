//! The tools that a model is offered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::LoopCall;

/// A tool, as it is described to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name, unique among the tools of a run.
    pub name: String,
    /// A description for the model.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub schema: Value,
}

impl ToolSpec {
    /// Returns the approximate size in a request.
    pub(super) fn size(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.to_string().len()
    }
}

/// The result of a tool: text for the model.
pub type ToolOutput = String;

/// A tool call that failed. The model receives the message, and the run continues.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// One line for the model.
    pub message: String,
}

impl ToolError {
    /// Makes an error with a message for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// A group of tools of a run.
#[async_trait]
pub trait ToolSource: fmt::Debug + Send + Sync {
    /// Returns the descriptions of its tools.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Runs one of its tools; the arguments are valid under the tool's schema.
    ///
    /// If the future is dropped, everything that the tool started has to end by itself.
    ///
    /// # Errors
    /// Fails with a message for the model.
    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError>;

    /// Releases its processes and connections; called once at the end of every run.
    async fn close(&self) {}
}

/// The tools of one run, by name.
pub struct ToolSet {
    sources: Vec<Arc<dyn ToolSource>>,
    specs: Vec<ToolSpec>,
    by_name: BTreeMap<String, (usize, Validator)>,
    scope: ToolScope,
}

/// Which tools a model may use, by name.
type ToolScope = Box<dyn Fn(&str) -> bool + Send + Sync>;

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolSet").field(&self.sources).finish()
    }
}

/// Tools that cannot be offered together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolSetError {
    /// Two tools have the same name.
    #[error("two tools are named `{0}`")]
    Collision(String),
    /// The schema of a tool is invalid.
    #[error("the schema of the tool `{name}` cannot be used: {reason}")]
    Schema {
        /// The name of the tool.
        name: String,
        /// The message of the schema compiler.
        reason: String,
    },
}

impl ToolSet {
    /// Combines the tools of all sources.
    ///
    /// # Errors
    /// Fails if two tools have the same name, or a schema is invalid.
    pub fn new(sources: Vec<Arc<dyn ToolSource>>) -> Result<Self, ToolSetError> {
        let mut specs = Vec::new();
        let mut by_name = BTreeMap::new();
        for (at, source) in sources.iter().enumerate() {
            for spec in source.tools() {
                let validator =
                    schema_validator(&spec.schema).map_err(|error| ToolSetError::Schema {
                        name: spec.name.clone(),
                        reason: error.to_string(),
                    })?;
                // Refused instead of renamed: a model could not distinguish the two.
                if by_name.insert(spec.name.clone(), (at, validator)).is_some() {
                    return Err(ToolSetError::Collision(spec.name));
                }
                specs.push(spec);
            }
        }
        Ok(Self {
            sources,
            specs,
            by_name,
            scope: Box::new(|_| true),
        })
    }

    /// Offers only the tools whose names are in a scope, and refuses calls of others.
    #[must_use]
    pub fn within(mut self, scope: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.specs.retain(|spec| scope(&spec.name));
        self.scope = Box::new(scope);
        self
    }

    /// Returns the descriptions of the tools that are offered.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Runs a tool.
    ///
    /// # Errors
    /// Fails if the tool is not in the scope, no tool has this name, the arguments are invalid, or the tool fails.
    pub async fn call(&self, call: &LoopCall) -> Result<ToolOutput, ToolError> {
        let name = call.name.as_str();
        if !(self.scope)(name) {
            return Err(ToolError::new(format!("tool not available: `{name}`")));
        }
        let (at, validator) = self
            .by_name
            .get(name)
            .ok_or_else(|| ToolError::new(format!("tool not registered: `{name}`")))?;
        // Some models send null or an empty string for a call without arguments.
        let arguments = match call.arguments.clone() {
            Value::Null => Value::Object(serde_json::Map::new()),
            Value::String(text) if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
            other => other,
        };
        let faults: Vec<String> = validator
            .iter_errors(&arguments)
            // A large value could have thousands of errors.
            .take(3)
            .map(|error| describe(&error))
            .collect();
        if !faults.is_empty() {
            let message = format!("the arguments do not fit `{name}`: {}", faults.join("; "));
            return Err(ToolError::new(message));
        }
        let source = self.sources.get(*at).expect("the place is one of these");
        source.call(name, arguments).await
    }

    /// Closes every source.
    pub async fn close(&self) {
        for source in &self.sources {
            source.close().await;
        }
    }
}

/// Compiles the JSON Schema of arguments.
///
/// # Errors
/// If the schema is invalid.
pub fn schema_validator(schema: &Value) -> Result<Validator, jsonschema::ValidationError<'static>> {
    // Schemas also come from servers of third parties, and this engine matches every pattern in linear time.
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(schema)
}

/// The most characters of a validation error, which quotes the invalid value.
const MOST_DESCRIPTION: usize = 200;

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let what: String = error.to_string().chars().take(MOST_DESCRIPTION).collect();
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
                description: "Repeats its arguments.".to_owned(),
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
    fn two_tools_of_one_name_and_an_invalid_schema_are_refused() {
        let refused = |sources| ToolSet::new(sources).map(drop).unwrap_err().to_string();
        assert_eq!(
            refused(vec![echo("a"), echo("a")]),
            "two tools are named `a`"
        );
        let wrong = Arc::new(Echo("b", json!({"type": 5})));
        assert!(refused(vec![wrong]).starts_with("the schema of the tool `b` cannot be used: "));
    }

    #[tokio::test]
    async fn arguments_are_checked_before_a_tool_runs() {
        let tool_set = ToolSet::new(vec![echo("a")]).unwrap();
        let call = async |name: &str, arguments| {
            let call = LoopCall {
                id: "c1".to_owned(),
                name: name.to_owned(),
                arguments,
            };
            tool_set.call(&call).await
        };
        assert_eq!(
            call("a", json!({"n": 1})).await,
            Ok(r#"{"n":1}"#.to_owned())
        );
        assert_eq!(call("a", Value::Null).await, Ok("{}".to_owned()));
        let error = call("a", json!({"n": "x"})).await.unwrap_err();
        assert_eq!(
            error.message,
            "the arguments do not fit `a`: /n: \"x\" is not of type \"integer\""
        );
        let error = call("a", json!("{broken")).await.unwrap_err();
        assert!(
            error.message.starts_with("the arguments do not fit `a`: "),
            "{error}"
        );
        let error = call("b", json!({})).await.unwrap_err();
        assert_eq!(error.message, "tool not registered: `b`");
    }

    #[tokio::test]
    async fn a_tool_outside_the_scope_is_neither_offered_nor_run() {
        let tool_set = ToolSet::new(vec![echo("a"), echo("b")]).unwrap();
        let tool_set = tool_set.within(|name| name != "b");
        let names: Vec<_> = tool_set.specs().iter().map(|spec| &spec.name).collect();
        assert_eq!(names, ["a"]);
        let call = async |name: &str| {
            let call = LoopCall {
                id: "c1".to_owned(),
                name: name.to_owned(),
                arguments: json!({}),
            };
            tool_set.call(&call).await.map_err(|error| error.message)
        };
        assert_eq!(call("a").await, Ok("{}".to_owned()));
        assert_eq!(call("b").await, Err("tool not available: `b`".to_owned()));
        assert_eq!(call("c").await, Err("tool not registered: `c`".to_owned()));
    }
}
