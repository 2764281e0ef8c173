//! Parses a configuration and reports all its errors with their positions.

use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::fault::{ConfigError, ConfigFault, Problem, dotted, locate, problem};
use super::keys;
use super::meaning;
use super::model::Config;

/// Parses a configuration.
///
/// # Errors
/// Returns all errors with their positions: those of the syntax, or else unknown keys, values of the wrong type, unknown zones,
/// values out of range, and names that are not configured.
pub fn parse(text: &str) -> Result<Config, ConfigError> {
    parse_with(text, |_| Vec::new())
}

/// Parses a configuration with additional checks of the caller.
///
/// # Errors
/// Like [`parse`], with the errors that the caller finds.
pub fn parse_with(
    text: &str,
    more: impl FnOnce(&Config) -> Vec<ConfigFault>,
) -> Result<Config, ConfigError> {
    let (tree, syntax) = DeTable::parse_recoverable(text);
    // After a syntax error the tree is incomplete, and further checks would report missing keys.
    if !syntax.is_empty() {
        let problems = syntax.iter().map(|error| at(text, error)).collect();
        return Err(ConfigError::new(problems));
    }
    let mut shape = Shape {
        text,
        tree: tree.clone(),
        problems: Vec::new(),
        taken: Vec::new(),
        is_shifted: false,
    };
    shape.take_unknown();
    let Some(config) = shape.read() else {
        return Err(ConfigError::new(shape.problems));
    };
    // With other indexes than in the text, an error in a list would get the position of another entry.
    if !shape.is_shifted {
        let mut faults = meaning::faults(&config);
        faults.extend(more(&config));
        faults.retain(|fault| !shape.explains(fault, tree.get_ref()));
        shape.problems.extend(locate(text, &faults).problems);
    }
    if shape.problems.is_empty() {
        return Ok(config);
    }
    Err(ConfigError::new(shape.problems))
}

/// Returns the JSON Schema of the configuration, draft 2020-12.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}

fn at(text: &str, error: &toml::de::Error) -> Problem {
    let start = error.span().map_or(0, |span| span.start);
    problem(text, start, error.message().to_owned())
}

/// A configuration from which invalid entries are removed, so that the errors of the rest are found too.
struct Shape<'t> {
    text: &'t str,
    tree: Spanned<DeTable<'t>>,
    problems: Vec<Problem>,
    /// The removed keys.
    taken: Vec<Vec<String>>,
    /// Whether an entry of a list was removed, so that the others have other indexes than in the text.
    is_shifted: bool,
}

impl Shape<'_> {
    fn take_unknown(&mut self) {
        let unknown = keys::unknown(self.tree.get_ref(), &schema());
        self.problems.extend(locate(self.text, &unknown).problems);
        for fault in unknown {
            self.take(fault.path);
        }
    }

    /// Deserialises the configuration; `None` if an error has no position, so that nothing can be removed.
    fn read(&mut self) -> Option<Config> {
        loop {
            match Config::deserialize(Deserializer::from(self.tree.clone())) {
                Ok(config) => return Some(config),
                Err(error) => self.refuse(&error)?,
            }
        }
    }

    fn refuse(&mut self, error: &toml::de::Error) -> Option<()> {
        let mut found = at(self.text, error);
        let path = error.span().and_then(|span| {
            let mut path = Vec::new();
            find(self.tree.get_ref(), &span, &mut path).then_some(path)
        });
        let Some(path) = path else {
            self.problems.push(found);
            return None;
        };
        // A required key that was removed is then missing, which is no further error.
        let is_known = self.taken.iter().any(|taken| {
            let (key, table) = taken.split_last().expect("a key has a name");
            table == path && found.message == format!("missing field `{key}`")
        });
        if !is_known {
            found.message = format!("`{}`: {}", dotted(&path), found.message);
            self.problems.push(found);
        }
        self.take(path);
        Some(())
    }

    fn take(&mut self, path: Vec<String>) {
        self.is_shifted |= remove(self.tree.get_mut(), &path) == Removed::FromList;
        self.taken.push(path);
    }

    /// Reports whether an error is only that a key is missing in a table from which another key was removed.
    fn explains(&self, fault: &ConfigFault, whole: &DeTable<'_>) -> bool {
        let Some((_, table)) = fault.path.split_last() else {
            return false;
        };
        let is_beside = |taken: &Vec<String>| taken.split_last().is_some_and(|(_, of)| of == table);
        self.taken.iter().any(is_beside) && !has(whole, &fault.path)
    }
}

/// Finds the innermost entry whose key or value has a span.
fn find(table: &DeTable<'_>, span: &std::ops::Range<usize>, path: &mut Vec<String>) -> bool {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        if find_below(value, span, path) || key.span() == *span || value.span() == *span {
            return true;
        }
        path.pop();
    }
    false
}

fn find_below(
    value: &Spanned<DeValue<'_>>,
    span: &std::ops::Range<usize>,
    path: &mut Vec<String>,
) -> bool {
    match value.get_ref() {
        DeValue::Table(table) => find(table, span, path),
        DeValue::Array(array) => array.iter().enumerate().any(|(index, item)| {
            path.push(index.to_string());
            let is_found = find_below(item, span, path) || item.span() == *span;
            if !is_found {
                path.pop();
            }
            is_found
        }),
        _ => false,
    }
}

fn has(table: &DeTable<'_>, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return true;
    };
    match table.get(first.as_str()).map(Spanned::get_ref) {
        Some(DeValue::Table(inner)) => has(inner, rest),
        Some(_) => true,
        None => false,
    }
}

/// The container from which an entry was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removed {
    FromTable,
    FromList,
}

fn remove(table: &mut DeTable<'_>, path: &[String]) -> Removed {
    let [first, rest @ ..] = path else {
        return Removed::FromTable;
    };
    if rest.is_empty() {
        table.remove(first.as_str());
        return Removed::FromTable;
    }
    match table.get_mut(first.as_str()) {
        Some(value) => remove_below(value, rest),
        None => Removed::FromTable,
    }
}

fn remove_below(value: &mut Spanned<DeValue<'_>>, path: &[String]) -> Removed {
    match value.get_mut() {
        DeValue::Table(table) => remove(table, path),
        DeValue::Array(array) => {
            let [first, rest @ ..] = path else {
                return Removed::FromList;
            };
            let index: usize = first.parse().expect("an entry of a list has an index");
            if !rest.is_empty() {
                let item = array.get_mut(index);
                return item.map_or(Removed::FromList, |item| remove_below(item, rest));
            }
            let kept = array.iter().enumerate().filter(|(at, _)| *at != index);
            *array = kept.map(|(_, item)| item.clone()).collect();
            Removed::FromList
        }
        _ => Removed::FromTable,
    }
}
