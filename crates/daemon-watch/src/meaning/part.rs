//! The attributes of things with values of a scale, and the fields that hold them.

use std::sync::LazyLock;

use daemon_event::vocabulary;
use daemon_event::{Field, Source};
use rustc_hash::FxHashMap;

/// An attribute whose values are words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Priority,
    Status,
    Category,
    Environment,
    Severity,
    Level,
    Health,
    Conclusion,
}

impl Part {
    /// Returns the attribute that a row of the grammar names.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "priority" => Self::Priority,
            "severity" => Self::Severity,
            "level" => Self::Level,
            "environment" => Self::Environment,
            "health" => Self::Health,
            "conclusion" => Self::Conclusion,
            "status" => Self::Status,
            "category" => Self::Category,
            _ => return None,
        })
    }
}

/// Returns the field for values in events of a kind, and the values in the spelling of the service.
pub(crate) fn value_field(
    source: Source,
    kind: &str,
    part: Option<Part>,
    values: &[String],
) -> Option<(Field, Vec<String>)> {
    let mut folded: Vec<String> = values.iter().map(|value| normal(value)).collect();
    let told =
        |field: &&Field| vocabulary::kind(source, kind).is_some_and(|kind| kind.can_hold(**field));
    let fields = value_fields(part, &folded);
    // If another event of the clause has the field, this one fails: the guard applies to all events.
    let field = *fields.iter().find(told).or(fields.first())?;
    if field == Field::Conclusion && part.is_none() && folded == ["failure"] {
        let other = match kind {
            "status" | "deployment_status" => "error",
            _ => "timed_out",
        };
        folded.push(other.to_owned());
    }
    Some((field, folded))
}

/// The fields that can hold a value, the most likely first.
fn value_fields(part: Option<Part>, values: &[String]) -> &'static [Field] {
    let all = |names: &[&str]| values.iter().all(|value| names.contains(&value.as_str()));
    match part {
        Some(Part::Priority) => &[Field::Priority, Field::Severity],
        Some(Part::Severity) => &[Field::Severity, Field::Level, Field::Priority],
        Some(Part::Level) => &[Field::Level, Field::Severity, Field::Priority],
        Some(Part::Environment) => &[Field::Environment],
        Some(Part::Health) => &[Field::Health],
        Some(Part::Category) => &[Field::Category],
        Some(Part::Conclusion) => &[Field::Conclusion],
        Some(Part::Status) if all(&["production", "staging", "preview"]) => &[Field::Environment],
        Some(Part::Status) => &[Field::Conclusion, Field::State, Field::Health],
        _ if all(&["production", "staging", "preview"]) => &[Field::Environment],
        _ if all(&["high", "medium", "low", "urgent", "none"]) => &[
            Field::Severity,
            Field::Priority,
            Field::Level,
            Field::Conclusion,
            Field::Health,
        ],
        _ => &[
            Field::Severity,
            Field::Level,
            Field::Conclusion,
            Field::Health,
            Field::Priority,
        ],
    }
}

/// The values that services spell in another way than authors.
static SPELLINGS: LazyLock<FxHashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let rows = include_str!("../../lexicon/spellings.tsv").lines().skip(1);
    rows.filter_map(|row| row.split_once('\t')).collect()
});

/// Returns the services' spelling of a value.
fn normal(value: &str) -> String {
    let folded = value.to_lowercase();
    let spelled = SPELLINGS.get(folded.as_str()).copied();
    spelled.unwrap_or(value).to_owned()
}
