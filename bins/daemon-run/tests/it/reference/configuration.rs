//! The page of the configuration, from its JSON Schema.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::row;

const OPENING: &str = "\
# Configuration keys

Every section and key of `config.toml` in the home. `cargo xtask docs` writes this page from the code, and `daemon-run schema config` prints the
same as a JSON Schema. [Serving](serving.md#configuration) describes how the file is read. A time is written as `90s`, `10m`, `24h` or `14d`.
";

pub(super) fn page() -> String {
    let schema = daemon_host::config::schema();
    let mut page = Page {
        schema: &schema,
        text: OPENING.to_owned(),
    };
    for (name, node) in properties(&schema) {
        page.push(name, "", node);
    }
    page.text
}

fn properties(node: &Value) -> impl Iterator<Item = (&String, &Value)> {
    node["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::iter)
}

struct Page<'a> {
    schema: &'a Value,
    text: String,
}

impl<'a> Page<'a> {
    /// Writes the section at a path and those below it, with an introduction before its own description.
    fn push(&mut self, path: &str, introduction: &str, node: &'a Value) {
        let list = node["items"].get("$ref").is_some();
        let table = match list {
            true => self.resolved(&node["items"]),
            false => self.resolved(node),
        };
        let heading = match list {
            true => format!("[[{path}]]"),
            false => format!("[{path}]"),
        };
        let about = text(node, "description").or_else(|| text(table, "description"));
        let about = about.unwrap_or_default();
        let mut rows = String::new();
        let mut below = Vec::new();
        for (key, value) in properties(table) {
            if properties(self.resolved(value)).next().is_some() || entries(value).is_some() {
                below.push((format!("{path}.{key}"), value));
            } else {
                rows.push_str(&self.key(table, key, value));
            }
        }
        let is_section = properties(table).next().is_some();
        if is_section {
            let about = format!("{introduction} {about}");
            write!(self.text, "\n## `{heading}`\n\n{}\n", about.trim()).expect("a string takes it");
        }
        if !rows.is_empty() {
            let header = "| key | value | default | meaning |\n|---|---|---|---|\n";
            write!(self.text, "\n{header}{rows}").expect("a string takes it");
        }
        for (path, value) in below {
            self.push(&path, "", value);
        }
        if let Some(value) = entries(table) {
            let introduction = if is_section { "" } else { about };
            self.push(&format!("{path}.NAME"), introduction, value);
        }
    }

    fn key(&self, table: &Value, key: &str, value: &'a Value) -> String {
        let required = table["required"].as_array();
        let default = match value.get("default") {
            _ if required.is_some_and(|keys| keys.contains(&key.into())) => "required".to_owned(),
            None | Some(Value::Null) => "–".to_owned(),
            Some(default) => format!("`{default}`"),
        };
        let mut meaning = text(value, "description").unwrap_or_default().to_owned();
        for choice in self.choices(value) {
            let about = text(choice, "description").unwrap_or_default();
            let name = text(choice, "const").unwrap_or_default();
            write!(meaning, " `{name}`: {about}").expect("a string takes it");
        }
        row(&[&format!("`{key}`"), &self.kind(value), &default, &meaning])
    }

    /// Returns the words for what a key takes.
    fn kind(&self, value: &'a Value) -> String {
        let names: Vec<String> = self
            .choices(value)
            .iter()
            .map(|choice| format!("`{}`", choice["const"]))
            .collect();
        if !names.is_empty() {
            return names.join(", ");
        }
        let definition = reference(value).unwrap_or_default();
        let kind = self.resolved(value)["type"].as_str().or_else(|| {
            let kinds = value["type"].as_array();
            kinds.and_then(|kinds| kinds.first()?.as_str())
        });
        match (definition, kind) {
            ("Period", _) => "a time",
            ("Retention", _) => "a time, or `\"forever\"`",
            ("ByteSize", _) => "a number of bytes, or a string such as `\"8GiB\"`",
            (_, Some("boolean")) => "`true` or `false`",
            (_, Some("integer" | "number")) => "a number",
            (_, Some("array")) => "a list of strings",
            (_, Some("object")) => "a table of strings",
            (_, Some("string")) => "a string",
            (name, kind) => panic!("no words for `{name}`, {kind:?}: {value}"),
        }
        .to_owned()
    }

    fn choices(&self, value: &'a Value) -> Vec<&'a Value> {
        let choices = self.resolved(value)["oneOf"].as_array();
        choices.into_iter().flatten().collect()
    }

    /// Returns what a node refers to, or the node.
    fn resolved(&self, node: &'a Value) -> &'a Value {
        reference(node).map_or(node, |name| &self.schema["$defs"][name])
    }
}

/// Returns the tables by name of a node, unless their values are plain.
fn entries(node: &Value) -> Option<&Value> {
    node.get("additionalProperties")
        .filter(|value| reference(value).is_some())
}

/// Returns the name of the definition that a node, or its alternative to null, refers to.
fn reference(node: &Value) -> Option<&str> {
    let alternatives = node["anyOf"].as_array().into_iter().flatten();
    let mut nodes = std::iter::once(node).chain(alternatives);
    nodes.find_map(|node| node["$ref"].as_str()?.strip_prefix("#/$defs/"))
}

fn text<'a>(node: &'a Value, key: &str) -> Option<&'a str> {
    node[key].as_str()
}
