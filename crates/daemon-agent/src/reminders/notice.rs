//! The file of reminders, in the form of every notice: a header for people, and the data.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Kept;

/// The part of the file that is read back.
#[derive(Deserialize)]
struct File {
    data: Kept,
}

pub(super) fn parse(bytes: &[u8]) -> Result<Kept, serde_json::Error> {
    let mut kept = serde_json::from_slice::<File>(bytes)?.data;
    // An id that was edited must not be given again.
    let used = kept.reminders.iter().map(|one| one.id).max().unwrap_or(0);
    kept.next_id = kept.next_id.max(used + 1);
    Ok(kept)
}

/// Returns the content of the file.
pub(super) fn content(kept: &Kept, now: Timestamp) -> Value {
    let n_due = kept.reminders.iter().filter(|one| one.is_due).count();
    let n = kept.reminders.len();
    let noun = if n == 1 { "reminder" } else { "reminders" };
    let (icon, priority) = if n_due == 0 {
        ("clock", "normal")
    } else {
        ("alert", "high")
    };
    json!({
        "header": format!("{n} {noun}, {n_due} due"),
        "icon": icon,
        "priority": priority,
        "published_at": now.round(jiff::Unit::Second).unwrap_or(now).to_string(),
        "data": kept,
    })
}

/// Returns the text of the file.
pub(super) fn text(kept: &Kept, now: Timestamp) -> String {
    format!("{:#}\n", content(kept, now))
}
