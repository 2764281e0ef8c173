//! The JSON of one run for the `daemon` tool: its entry in the reply to `list`, and the details that `check` adds.

use serde_json::{Map, Value, json};

use jiff::Timestamp;

use daemon_records::{RecordedRun, second};

/// The longest task of an entry, in characters.
const TASK_CHARS: usize = 120;
/// The longest string in the parameters of an entry, in characters.
const PARAMETER_CHARS: usize = 500;

/// Makes the entry of a run. Members that are null are left out.
pub(crate) fn entry(run: &RecordedRun, now: Timestamp) -> Map<String, Value> {
    let document = run.document();
    let task = run.member("task", &document.task);
    let call_parameters = run.member("call_parameters", &document.call_parameters);
    let started_at = run.member("started_at", second(document.started_at));
    let finished_at = run.member("finished_at", document.finished_at.map(second));
    filled([
        ("id", run.member("handle", &document.handle)),
        ("run_id", run.member("run_id", &document.run_id)),
        (
            "parent_addr",
            run.member("parent_addr", &document.parent_addr),
        ),
        ("group_id", run.member("group_id", &document.group_id)),
        ("activation", run.member("activation", &document.activation)),
        (
            "task",
            json!(task.as_str().map(|task| cut(task, TASK_CHARS))),
        ),
        ("status", run.member("state", document.state.as_str())),
        (
            "reported",
            run.member("reported", document.reported.then_some(true)),
        ),
        ("backend", run.member("backend", &document.backend)),
        ("started_at", started_at),
        ("finished_at", finished_at),
        ("elapsed_s", run.elapsed(now)),
        (
            "result_preview",
            run.member("result_preview", &document.result_preview),
        ),
        (
            "result_path",
            run.member("result_path", &document.result_path),
        ),
        ("path", json!(run.folder().path().to_string_lossy())),
        ("error", run.member("error", &document.error)),
        ("call_parameters", shortened(call_parameters)),
        ("migration", run.member("migration", &document.migration)),
        (
            "notified_seq",
            run.member("notified_seq", document.notified_seq),
        ),
    ])
}

/// Makes the members that `check` adds to the entry of a run.
pub(crate) fn details(run: &RecordedRun) -> Map<String, Value> {
    let document = run.document();
    let sessions = [
        ("claude_session_id", &document.claude_session_id),
        ("codex_session_id", &document.codex_session_id),
        ("opencode_session_id", &document.opencode_session_id),
        ("command_session_id", &document.command_session_id),
    ];
    let progress = [
        ("turn", json!(document.turn)),
        ("current_tool", json!(document.current_tool)),
        ("tool_call_count", json!(document.tool_call_count)),
        ("tokens", json!(document.tokens)),
        ("cli_tokens", json!(document.cli_tokens)),
        ("last_output", json!(document.last_output)),
        ("last_output_at", json!(document.last_output_at.map(second))),
    ];
    let limits_and_end = [
        ("permissions", json!(document.permissions)),
        ("sandbox", json!(document.sandbox)),
        ("followups", json!(document.followups)),
        ("exit", json!(document.exit)),
        ("cli_termination", json!(document.cli_termination)),
    ];
    let members = progress
        .into_iter()
        .chain(sessions.map(|(name, session)| (name, json!(session))))
        .chain(limits_and_end);
    filled(members.map(|(name, value)| (name, run.member(name, value))))
}

/// Makes an object of the members that are not null.
pub(crate) fn filled<'m>(
    members: impl IntoIterator<Item = (&'m str, Value)>,
) -> Map<String, Value> {
    let present = members.into_iter().filter(|(_, value)| !value.is_null());
    present
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Shortens every string in a value. Null members and an empty object are left out.
fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(&text, PARAMETER_CHARS)),
        Value::Array(values) => values.into_iter().map(shortened).collect(),
        Value::Object(map) if map.is_empty() => Value::Null,
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, shortened(value)))
                .collect(),
        ),
        other => other,
    }
}

/// Returns the first `most` characters of a string; an ellipsis replaces the last of them if there are more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
