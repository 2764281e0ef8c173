//! Converts a payload written in YAML to the JSON that a source would have sent.

use daemon_spec::{DocumentNode, NodeValue, Shape};
use serde_json::{Map, Number, Value};

use super::file::TestFileProblem;

/// Converts YAML to JSON. Scalars that YAML readers interpret differently, such as `yes`, are rejected.
pub(super) fn to_json(node: DocumentNode<'_>) -> Result<Value, TestFileProblem> {
    match node.value() {
        NodeValue::Scalar { text, shape } => scalar(node, text, shape),
        NodeValue::List(entries) => entries.into_iter().map(to_json).collect(),
        NodeValue::Mapping(pairs) => {
            let mut map = Map::new();
            for (key, value) in pairs {
                let NodeValue::Scalar { text, .. } = key.value() else {
                    return Err(TestFileProblem::new(
                        key.span(),
                        "a key of JSON is a string",
                    ));
                };
                if map.insert(text.to_owned(), to_json(value)?).is_some() {
                    return Err(TestFileProblem::new(
                        key.span(),
                        format!("`{text}` is given twice"),
                    ));
                }
            }
            Ok(Value::Object(map))
        }
    }
}

fn scalar(node: DocumentNode<'_>, text: &str, shape: Shape) -> Result<Value, TestFileProblem> {
    let unclear = |what: &str| {
        let problem = TestFileProblem::new(node.span(), format!("`{text}` is {what}"));
        Err(problem.help("quote it if it is a string"))
    };
    match shape {
        Shape::Null => Ok(Value::Null),
        Shape::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => unclear("a boolean to some readers of YAML and text to others"),
        },
        Shape::Number => match number(text) {
            Some(number) => Ok(Value::Number(number)),
            None => unclear("a number that JSON does not have"),
        },
        Shape::Date | Shape::Text => Ok(Value::String(text.to_owned())),
        Shape::List | Shape::Mapping | Shape::Tagged | Shape::Unreadable => {
            unclear("not a value of JSON")
        }
    }
}

/// Reads a number in the syntax of JSON, which excludes `0x1f`, `1_000` and `.inf`.
fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    serde_json::from_str(unsigned).ok()
}
