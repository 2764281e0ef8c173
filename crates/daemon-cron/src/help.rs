//! What an author can do about a problem.

use crate::Field;
use crate::problem::ProblemKind;

/// Says what to do about a kind of problem in general.
pub(crate) fn help(kind: ProblemKind, field: Option<Field>) -> Box<str> {
    match (kind, field) {
        (ProblemKind::FieldCount(6), _) => "remove the seconds field".into(),
        (ProblemKind::FieldCount(7), _) => "remove the seconds and the year".into(),
        (ProblemKind::FieldCount(_), _) => {
            "write minute, hour, day-of-month, month, day-of-week".into()
        }
        (ProblemKind::Macro, _) => "no five-field form".into(),
        (ProblemKind::OutOfRange, Some(field)) => format!("{}–{}", field.min(), field.max()).into(),
        (ProblemKind::StepZero, _) => "a step is 1 or more".into(),
        (ProblemKind::Zone, _) => "remove it; the operator sets the zone".into(),
        (ProblemKind::TooLong, _) => "shorten the lists".into(),
        (ProblemKind::UnknownName, Some(field)) if !field.names().is_empty() => {
            let names = field.names();
            format!(
                "{}–{} or {}–{}",
                names[0],
                names[names.len() - 1],
                field.min(),
                field.max()
            )
            .into()
        }
        _ => "use integers, `*`, `a-b`, `/n` and lists".into(),
    }
}

/// Returns the five fields a macro stands for.
pub(crate) fn expansion(macro_text: &str) -> Option<&'static str> {
    const MACROS: [(&str, &str); 7] = [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ];
    MACROS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(macro_text))
        .map(|(_, text)| *text)
}
