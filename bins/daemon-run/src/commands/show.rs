//! Commands that show one daemon, one run, or the timeline of a run.

use daemon_api::ops::Operation;
use daemon_api::wire::state_word;
use daemon_records::FOLDER_MISSING;
use serde_json::{Value, json};

use crate::cli::{LogsArgs, RunShowArgs, ShowArgs};
use crate::commands::listings::{FOLLOW, error_lines};
use crate::commands::which;
use crate::failure::CommandFailure;
use crate::out::{Out, plain, put};
use crate::place::Place;
use crate::session::{CommandSession, Intent, parameter};
use daemon_view::Times;

/// Shows one daemon.
pub(crate) async fn daemon(args: &ShowArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut session = CommandSession::of_daemons(place, out).await?;
    let mut params = parameter("id", &args.id);
    if let Some(repo) = &args.repo {
        params.insert("repo".to_owned(), json!(super::repo_name(place, repo)));
    }
    let answer = session.call(Operation::DaemonGet, params).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let daemon = &answer["daemon"];
    let text = |value: &Value| plain(value.as_str().unwrap_or("-"));
    let mut shown = format!("{}  {}\n", text(&daemon["id"]), text(&daemon["purpose"]));
    for name in ["repo", "path", "rev", "gate"] {
        put!(shown, "  {name:<10} {}\n", text(&daemon[name]));
    }
    let next_tick = out
        .times()
        .of_text(&text(&daemon["next_tick"]), Times::long);
    put!(shown, "  {:<10} {next_tick}\n", "next tick");
    put!(shown, "  {:<10} {}\n", "valid", daemon["valid"]);
    let errors = error_lines(&text(&daemon["path"]), &daemon["diagnostics"]);
    let is_valid = errors.is_empty();
    for error in errors {
        put!(shown, "  {error}\n");
    }
    for condition in answer["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        shown.push_str(&super::reading::condition_text(condition, None));
    }
    for file in answer["support"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        put!(
            shown,
            "  support    {} ({} bytes)\n",
            text(&file["path"]),
            file["bytes"]
        );
    }
    out.text(&shown)?;
    if !is_valid {
        let path = text(&daemon["path"]);
        out.note(&format!("it does not wake; next: daemon-run lint {path}"));
    }
    Ok(())
}

/// Shows one run.
pub(crate) async fn run(args: &RunShowArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Look).await?;
    let id = which::run(&args.run, &mut session).await?;
    let answer = session
        .call(Operation::RunGet, parameter("id", &id))
        .await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let times = out.times();
    let mut text = facts(&answer["run"], &answer["problem"], &times);
    let timeline = answer["timeline"].as_array().into_iter().flatten();
    text.extend(timeline.map(|line| timeline_line(line, &times)));
    out.text(&text)?;
    if answer["run"]["finished_at"].is_null() {
        out.note(&format!("next: daemon-run logs {id} --follow"));
    }
    Ok(())
}

/// Formats the fields of a run, one per line, without those that are `null`. `problem` says why parts of it are unknown.
fn facts(run: &Value, problem: &Value, times: &Times) -> String {
    let mut text = format!("{}  {}\n", shown(&run["id"]), plain(state_word(run)));
    let elapsed = run["elapsed_s"].as_f64().unwrap_or_default();
    let tokens = &run["tokens"];
    let tokens = format!("{} in, {} out", tokens["input"], tokens["output"]);
    let known = |name: &'static str| (name, shown(&run[name]));
    let at = |name: &'static str| (name, times.of_text(&shown(&run[name]), Times::long));
    let folder = match problem.as_str() {
        Some(FOLDER_MISSING) => String::new(),
        _ => shown(&run["folder"]),
    };
    let rows = [
        known("daemon_id"),
        known("activation_id"),
        known("provider"),
        at("started_at"),
        at("finished_at"),
        ("elapsed", format!("{elapsed:.1} s")),
        known("current_tool"),
        ("tool calls", shown(&run["tool_call_count"])),
        ("tokens", tokens),
        known("cost_usd"),
        at("last_output_at"),
        ("error", shown(&run["error"]["type"])),
        ("message", shown(&run["error"]["message"])),
        ("result", shown(&run["result_preview"])),
        known("result_path"),
        ("record", shown(problem)),
        ("folder", folder),
    ];
    for (name, fact) in rows {
        if !fact.is_empty() {
            put!(
                text,
                "  {:<14} {fact}\n",
                name.trim_end_matches("_id")
                    .trim_end_matches("_at")
                    .replace('_', " ")
            );
        }
    }
    text
}

/// Formats a value as one line that is safe for a terminal.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        other => plain(&other.to_string()),
    }
}

/// Prints the timeline of a run, and with `--follow` new lines until the run ends.
pub(crate) async fn logs(args: &LogsArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Look).await?;
    let id = which::run(&args.run, &mut session).await?;
    // Events and output are read with cursors of their own.
    let mut place = [("after", json!(0)), ("output_after", Value::Null)];
    loop {
        let mut params = parameter("id", &id);
        params.extend(place.clone().map(|(name, at)| (name.to_owned(), at)));
        let mut answer = session.call(Operation::RunLog, params).await?;
        if let Some(Value::Array(lines)) = answer.remove("lines") {
            print(lines, out)?;
        }
        let next = [
            ("after", answer["next"].take()),
            ("output_after", answer["next_output"].take()),
        ];
        let is_read = next == place;
        place = next;
        // The host reads the state before the lines, so the lines of a run that had ended are complete.
        match (is_read, answer["state"] == "running") {
            (false, _) => {}
            (true, true) if args.follow => tokio::time::sleep(FOLLOW).await,
            (true, _) => return Ok(()),
        }
    }
}

fn print(lines: Vec<Value>, out: Out) -> Result<(), CommandFailure> {
    if !out.is_json() {
        let times = out.times();
        let text = lines.iter().map(|line| timeline_line(line, &times));
        return out.text(&text.collect::<String>());
    }
    for line in lines {
        out.envelope(line)?;
    }
    Ok(())
}

fn timeline_line(line: &Value, times: &Times) -> String {
    let at = times.of_text(&shown(&line["at"]), Times::exact);
    let kind = shown(&line["kind"]);
    let text = format!("{at}  {kind:<18} {}", shown(&line["detail"]));
    format!("{}\n", text.trim_end())
}
