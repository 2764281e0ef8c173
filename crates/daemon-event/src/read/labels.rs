//! Names of labels in payloads of Linear.

use std::collections::BTreeMap;

use serde_json::Value;

/// Returns the labels that a payload of Linear names, by id: those of an issue, or the label that the event is about.
///
/// Returns an empty map if the body is not JSON.
pub fn label_names(body: &[u8]) -> BTreeMap<String, String> {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return BTreeMap::new();
    };
    let data = &body["data"];
    let own = (body["type"] == "IssueLabel").then_some(data);
    let listed = data["labels"].as_array().into_iter().flatten();
    let named = |label: &Value| {
        let (id, name) = (label["id"].as_str()?, label["name"].as_str()?);
        Some((id.to_owned(), name.to_owned()))
    };
    listed.chain(own).filter_map(named).collect()
}
