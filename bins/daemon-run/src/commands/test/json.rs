//! A payload written in YAML, as the JSON that a source would have sent.

use daemon_spec::{DocumentNode, NodeValue, Shape};
use serde_json::{Map, Number, Value};

use super::file::Problem;

/// Turns YAML into JSON; what readers of YAML take for different things is refused.
pub(super) fn to_json(node: DocumentNode<'_>) -> Result<Value, Problem> {
    match node.value() {
        NodeValue::Scalar { text, shape } => scalar(node, text, shape),
        NodeValue::List(entries) => entries.into_iter().map(to_json).collect(),
        NodeValue::Mapping(pairs) => {
            let mut map = Map::new();
            for (key, value) in pairs {
                let NodeValue::Scalar { text, .. } = key.value() else {
                    return Err(Problem::new(key.span(), "a key of JSON is text"));
                };
                if map.insert(text.to_owned(), to_json(value)?).is_some() {
                    return Err(Problem::new(key.span(), format!("`{text}` is given twice")));
                }
            }
            Ok(Value::Object(map))
        }
    }
}

fn scalar(node: DocumentNode<'_>, text: &str, shape: Shape) -> Result<Value, Problem> {
    let unclear = |what: &str| {
        let problem = Problem::new(node.span(), format!("`{text}` is {what}"));
        Err(problem.help("quote it if it is text"))
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

/// Reads a number as JSON writes it, else refuses it: `0x1f`, `1_000` and `.inf` are none.
fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    serde_json::from_str(unsigned).ok()
}
