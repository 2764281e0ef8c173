//! The objects of the roster as text.

use serde_json::{Map, Value};

use crate::out::{plain, put};
use daemon_view::columns::{Column, TableLayout, column, ids, names, table, times};

const ROWS: &[Column] = &[
    names("NAME", "/name"),
    column("KIND", "/kind"),
    names("PROJECT", "/project"),
    column("ROLE", "/role"),
    column("LIVENESS", "/liveness"),
    column("SEEN", "/seen"),
    column("GATE", "/gate"),
    column("FLAGS", "/flags"),
    column("WHY", "/reason"),
    ids("ROW", "/id"),
];

pub(super) const SIGNALS: &[Column] = &[
    names("SIGNAL", "/id"),
    column("KIND", "/kind"),
    names("PROJECT", "/project"),
    ids("FOR", "/target"),
    column("PRIORITY", "/priority"),
    column("STATUS", "/status"),
    column("PAYLOAD", "/payload"),
];

pub(super) const AUDIT: &[Column] = &[
    times("AT", "/at"),
    column("ACTOR", "/actor"),
    column("KIND", "/kind"),
    ids("ROW", "/row"),
    column("FROM", "/from"),
    column("TO", "/to"),
    column("RULE", "/rule"),
    column("REASON", "/reason"),
];

pub(super) const CHARTERS: &[Column] = &[
    column("ROLE", "/role"),
    ids("VERSION", "/version"),
    column("BODY", "/body"),
];

const CHECKS: &[Column] = &[
    column("CHECK", "/name"),
    column("OUTCOME", "/outcome"),
    column("WHY", "/why"),
];

const CHECK_INS: &[Column] = &[
    times("AT", "/at"),
    column("WAKE", "/wake"),
    column("CADENCE", "/cadence"),
    column("CONTEXT", "/context_tokens"),
];

/// Formats a page of rows, and who holds which baton.
pub(super) fn rows(answer: &Map<String, Value>, layout: &TableLayout) -> String {
    let mut rows = items(&answer["rows"]).to_vec();
    for row in &mut rows {
        row["seen"] = Value::String(seen(&row["age"]));
        row["flags"] = Value::String(flags(row));
    }
    let mut acc = table(ROWS, &rows, layout);
    let name = |id: &Value| {
        let found = rows.iter().find(|row| row["id"] == *id);
        found.map_or(id, |row| &row["name"]).clone()
    };
    for baton in items(&answer["batons"]) {
        let holder = match &baton["holder"] {
            Value::Null => "no holder".to_owned(),
            id => text(&name(id)),
        };
        put!(
            acc,
            "baton of the {} of {}: {holder}, generation {}\n",
            text(&baton["role"]),
            text(&baton["project"]),
            text(&baton["generation"])
        );
    }
    acc
}

/// Formats one row with what belongs to it.
pub(super) fn detail(answer: &Map<String, Value>, layout: &TableLayout) -> String {
    let row = &answer["row"];
    let mut acc = format!("{}\n", summary(row));
    let members = [
        ("why", &answer["reason"]),
        ("live until", &row["stale_at"]),
        ("gate", &row["gate"]),
        ("wind-down", &answer["winddown"]["state"]),
        ("handoff", &answer["winddown"]["handoff_ref"]),
        ("cadence", &row["meta"]["current_cadence"]),
        ("context", &row["context_tokens"]),
        ("actor", &row["actor_ref"]),
        ("predecessor", &row["predecessor"]),
        ("successor", &row["successor"]),
        ("retired", &row["retired_at"]),
    ];
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        put!(acc, "  {name:<12} {}\n", text(value));
    }
    let reset = &answer["reset"];
    if !reset.is_null() {
        put!(
            acc,
            "  {:<12} {} is {}: {}\n",
            "reset",
            text(&reset["id"]),
            text(&reset["state"]),
            text(&reset["reason"])
        );
    }
    for (title, columns, member) in [
        ("signals", SIGNALS, "signals"),
        ("check-ins", CHECK_INS, "checkins"),
    ] {
        let listed = items(&answer[member]);
        if !listed.is_empty() {
            put!(acc, "\n{title}\n{}", table(columns, listed, layout));
        }
    }
    acc
}

/// Formats a row as one line.
fn summary(row: &Value) -> String {
    let role = match &row["role"] {
        Value::Null => String::new(),
        role => format!("{} ", text(role)),
    };
    let project = match &row["project"] {
        Value::Null => String::new(),
        project => format!(" of {}", text(project)),
    };
    format!(
        "{}  {role}({}){project} is {}, seen {}",
        text(&row["name"]),
        text(&row["kind"]),
        text(&row["liveness"]),
        seen(&row["age"])
    )
}

/// Formats a plan: its checks, the packet, and the command that confirms it.
pub(super) fn plan(answer: &Map<String, Value>, layout: &TableLayout) -> String {
    let id = text(&answer["plan"]);
    let mut acc = format!("plan {id} is {}\n\n", text(&answer["status"]));
    acc.push_str(&table(CHECKS, items(&answer["checks"]), layout));
    acc.push_str("\npacket:\n\n");
    for line in answer["packet"].as_str().unwrap_or_default().lines() {
        put!(acc, "  {}\n", plain(line));
    }
    if answer["status"] == "clear" {
        let packet = text(&answer["packet_sha256"]);
        put!(
            acc,
            "\nnext: daemon-run roster confirm {id} --packet {packet}\n"
        );
    }
    acc
}

/// Formats the answer to a request: a line for each member that has a value.
pub(super) fn members(answer: &Map<String, Value>) -> String {
    let mut acc = String::new();
    for (name, value) in answer.iter().filter(|(_, value)| !value.is_null()) {
        put!(acc, "{}: {}\n", name.replace('_', " "), text(value));
    }
    acc
}

/// Formats how long ago something was.
fn seen(age: &Value) -> String {
    match age.as_u64() {
        None => "never".to_owned(),
        Some(seconds @ 0..60) => format!("{seconds} s ago"),
        Some(seconds @ 60..7_200) => format!("{} min ago", seconds / 60),
        Some(seconds @ 7_200..172_800) => format!("{} h ago", seconds / 3_600),
        Some(seconds) => format!("{} days ago", seconds / 86_400),
    }
}

/// Returns what a person should notice about a row.
fn flags(row: &Value) -> String {
    let badge = row["badge"].as_str().map(str::to_owned);
    let compaction = (row["needs_compaction"] == true).then(|| "compact".to_owned());
    let wind_down = row["winddown_state"].as_str();
    let wind_down = wind_down.filter(|state| *state != "none");
    let wind_down = wind_down.map(|state| format!("wind-down {state}"));
    let all = [badge, compaction, wind_down];
    let all: Vec<_> = all.into_iter().flatten().collect();
    if all.is_empty() {
        "-".to_owned()
    } else {
        all.join(", ")
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text),
        other => plain(&other.to_string()),
    }
}
