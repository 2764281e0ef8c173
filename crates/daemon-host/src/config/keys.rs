//! Finds unknown keys by comparing a configuration with its schema.

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::fault::{ConfigFault, dotted};

/// The maximum number of tables that a message suggests for a misplaced key.
const MOST_HOMES: usize = 3;

/// Finds every key that the schema does not have, with the most similar known key.
pub(super) fn unknown(tree: &DeTable<'_>, schema: &Value) -> Vec<ConfigFault> {
    let mut walk = Walk {
        schema,
        path: Vec::new(),
        faults: Vec::new(),
    };
    walk.table(tree, schema);
    walk.faults
}

/// Returns the candidate that is most similar to a misspelt word; `None` if none is similar enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // Two changes of a short word reach unrelated words.
    let allowed = if word.chars().count() < 5 { 1 } else { 2 };
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

struct Walk<'s> {
    schema: &'s Value,
    path: Vec<String>,
    faults: Vec<ConfigFault>,
}

impl<'s> Walk<'s> {
    fn table(&mut self, table: &DeTable<'_>, node: &'s Value) {
        let node = resolve(self.schema, node);
        let known = node["properties"].as_object();
        let others = &node["additionalProperties"];
        for (key, value) in table {
            let key: &str = key.get_ref();
            self.path.push(key.to_owned());
            match known.and_then(|known| known.get(key)) {
                Some(node) => self.value(value.get_ref(), node),
                None if others.is_object()
                    && !is_misplaced(self.schema, others, value.get_ref()) =>
                {
                    self.value(value.get_ref(), others);
                }
                // A map of plain values accepts any key.
                None if others.is_object() && known.is_some() || others == false => {
                    self.refuse(key, known);
                }
                None => {}
            }
            self.path.pop();
        }
    }

    fn value(&mut self, value: &DeValue<'_>, node: &'s Value) {
        match value {
            DeValue::Table(table) => self.table(table, node),
            DeValue::Array(array) => {
                let items = &resolve(self.schema, node)["items"];
                for (index, item) in array.iter().enumerate() {
                    self.path.push(index.to_string());
                    self.value(item.get_ref(), items);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn refuse(&mut self, key: &str, known: Option<&'s Map<String, Value>>) {
        let near = nearest(
            key,
            known.into_iter().flat_map(Map::keys).map(String::as_str),
        );
        let meant = match near {
            Some(near) => Some(format!("`{near}`")),
            None => self.homes(key),
        };
        let meant = meant.map(|meant| format!(", did you mean {meant}?"));
        let message = format!(
            "unknown key `{}`{}",
            dotted(&self.path),
            meant.unwrap_or_default()
        );
        self.faults.push(ConfigFault::of_key(&self.path, message));
    }

    /// Returns the tables that have a key of this name, unless there are too many.
    fn homes(&self, key: &str) -> Option<String> {
        let mut homes = Vec::new();
        homes_of(self.schema, self.schema, key, &mut Vec::new(), &mut homes);
        let homes: Vec<String> = homes.iter().map(|home| format!("`{home}`")).collect();
        (1..=MOST_HOMES)
            .contains(&homes.len())
            .then(|| homes.join(" or "))
    }
}

/// Reports whether the schema requires a table and the value is not one, so that the key is the error.
fn is_misplaced(schema: &Value, node: &Value, value: &DeValue<'_>) -> bool {
    resolve(schema, node)["properties"].is_object() && !value.is_table()
}

/// Follows references of the schema, and the non-null alternative of an optional value.
fn resolve<'s>(schema: &'s Value, node: &'s Value) -> &'s Value {
    if let Some(reference) = node["$ref"].as_str() {
        let target = reference.strip_prefix('#').unwrap_or(reference);
        return schema
            .pointer(target)
            .map_or(node, |found| resolve(schema, found));
    }
    let choices = node["anyOf"].as_array();
    let choice = choices.and_then(|all| all.iter().find(|choice| choice["type"] != "null"));
    choice.map_or(node, |choice| resolve(schema, choice))
}

/// Collects the tables that have a key of this name.
fn homes_of(
    schema: &Value,
    node: &Value,
    key: &str,
    path: &mut Vec<String>,
    homes: &mut Vec<String>,
) {
    let node = resolve(schema, node);
    let node = if node["items"].is_object() {
        resolve(schema, &node["items"])
    } else {
        node
    };
    for (name, inner) in node["properties"].as_object().into_iter().flatten() {
        path.push(name.clone());
        if name == key {
            homes.push(path.join("."));
        }
        homes_of(schema, inner, key, path, homes);
        path.pop();
    }
    if node["additionalProperties"].is_object() {
        path.push("<name>".to_owned());
        homes_of(schema, &node["additionalProperties"], key, path, homes);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_word_finds_its_neighbour_and_a_strange_one_none() {
        for (word, expected) in [
            ("listne", Some("listen")),
            ("Listen", Some("listen")),
            ("stor", Some("store")),
            ("wall", None),
            ("nonsense", None),
        ] {
            assert_eq!(
                nearest(word, ["listen", "store", "hold"]),
                expected,
                "{word}"
            );
        }
    }
}
