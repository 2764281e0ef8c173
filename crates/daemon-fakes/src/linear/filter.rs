//! Filters of lists: comparisons of fields, nested by entity, joined by `and` and `or`.

use std::cmp::Ordering;

use serde_json::Value;

use super::error::LinearError;
use super::schema;
use super::state::{LinearState, LinearValue};
use crate::clock;

/// Returns whether an entity meets a filter.
pub(crate) fn meets(
    state: &LinearState,
    of: &str,
    id: &str,
    filter: &Value,
) -> Result<bool, LinearError> {
    let Value::Object(filter) = filter else {
        return Ok(true);
    };
    for (name, condition) in filter {
        let is_met = match (name.as_str(), condition) {
            ("and", Value::Array(parts)) => all(parts, |part| meets(state, of, id, part))?,
            ("or", Value::Array(parts)) => !all(parts, |part| Ok(!meets(state, of, id, part)?))?,
            _ => field_meets(state, (of, id, name), condition)?,
        };
        if !is_met {
            return Ok(false);
        }
    }
    Ok(true)
}

fn all(
    parts: &[Value],
    mut is_met: impl FnMut(&Value) -> Result<bool, LinearError>,
) -> Result<bool, LinearError> {
    for part in parts {
        if !is_met(part)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn field_meets(
    state: &LinearState,
    (of, id, name): (&str, &str, &str),
    condition: &Value,
) -> Result<bool, LinearError> {
    // Issues are found by team and number: the identifier is no field of the filter.
    let is_field = (of, name) != ("Issue", "identifier");
    let known = schema::field(of, name).filter(|_| is_field);
    let unknown = || LinearError::unknown_input(&format!("{of}Filter"), name);
    let (type_name, _) = known.ok_or_else(unknown)?;
    match state.value(of, id, name) {
        Some(LinearValue::Scalar(value)) => compare(&value, condition),
        Some(LinearValue::Entity(Some(other))) if condition["null"].is_boolean() => {
            Ok(condition["null"] == other.is_empty())
        }
        Some(LinearValue::Entity(Some(other))) => meets(state, type_name, &other, condition),
        Some(LinearValue::Entity(None)) => Ok(condition["null"] == true),
        Some(LinearValue::List(_) | LinearValue::Nodes(_)) | None => Err(unknown()),
    }
}

fn compare(value: &Value, condition: &Value) -> Result<bool, LinearError> {
    let Value::Object(condition) = condition else {
        return Err(LinearError::unknown_input(
            "Comparator",
            &condition.to_string(),
        ));
    };
    for (name, expected) in condition {
        let order = order(value, expected);
        let within = || expected.as_array().is_some_and(|list| list.contains(value));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_lowercase();
        let is_met = match name.as_str() {
            "eq" => value == expected || order.is_some_and(Ordering::is_eq),
            "neq" => value != expected,
            "in" => within(),
            "nin" => !within(),
            "gt" => order.is_some_and(Ordering::is_gt),
            "gte" => order.is_some_and(Ordering::is_ge),
            "lt" => order.is_some_and(Ordering::is_lt),
            "lte" => order.is_some_and(Ordering::is_le),
            "eqIgnoreCase" => text(value) == text(expected),
            "containsIgnoreCase" => text(value).contains(&text(expected)),
            "null" => value.is_null() == (*expected == true),
            _ => return Err(LinearError::unknown_input("Comparator", name)),
        };
        if !is_met {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares numbers, or times. Strings that are not times have no order.
fn order(value: &Value, expected: &Value) -> Option<Ordering> {
    if let (Some(value), Some(expected)) = (value.as_f64(), expected.as_f64()) {
        return value.partial_cmp(&expected);
    }
    let time = |value: &Value| clock::parse(value.as_str()?);
    Some(time(value)?.cmp(&time(expected)?))
}
