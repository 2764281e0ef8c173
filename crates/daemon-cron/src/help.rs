//! The help of problems, and the expansions of macros.

use crate::CronField;
use crate::problem::CronProblemKind;

/// Returns the general help for a kind of problem. The parser replaces it where it knows a fix.
pub(crate) fn help(kind: CronProblemKind, field: Option<CronField>) -> Box<str> {
    match (kind, field) {
        (CronProblemKind::FieldCount(6), _) => "remove the seconds field".into(),
        (CronProblemKind::FieldCount(7), _) => "remove the seconds and the year".into(),
        (CronProblemKind::FieldCount(_), _) => {
            "write minute, hour, day-of-month, month, day-of-week".into()
        }
        (CronProblemKind::Macro, _) => "no five-field form".into(),
        (CronProblemKind::OutOfRange, Some(field)) => {
            format!("{}–{}", field.min(), field.max()).into()
        }
        (CronProblemKind::StepZero, _) => "a step is 1 or more".into(),
        (CronProblemKind::Zone, _) => "remove it; the operator sets the zone".into(),
        (CronProblemKind::TooLong, _) => "shorten the lists".into(),
        (CronProblemKind::UnknownName, Some(field)) if !field.names().is_empty() => {
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

/// Returns the five fields that a macro abbreviates.
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
