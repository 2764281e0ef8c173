//! Commands that show one thing: a daemon, a run.

use serde_json::{Value, json};

use crate::cli::{Logs, RunShow, Show};
use crate::commands::listings::FOLLOW;
use crate::failure::Failure;
use crate::out::{Out, put};
use crate::place::Place;
use crate::session::{Intent, Session, parameter};

/// Shows one daemon.
pub(crate) async fn daemon(args: &Show, place: &Place, out: Out) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Look).await?;
    let mut params = parameter("id", &args.id);
    if let Some(repo) = &args.repo {
        params.insert("repo".to_owned(), json!(super::repo_name(place, repo)));
    }
    let answer = session.call("daemon/get", params).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let daemon = &answer["daemon"];
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut shown = format!("{}  {}\n", text(&daemon["id"]), text(&daemon["purpose"]));
    for name in ["repo", "path", "rev", "gate", "next_tick"] {
        put!(shown, "  {name:<10} {}\n", text(&daemon[name]));
    }
    put!(shown, "  {:<10} {}\n", "valid", daemon["valid"]);
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
    out.text(&shown)
}

/// Shows one run.
pub(crate) async fn run(args: &RunShow, place: &Place, out: Out) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Look).await?;
    let answer = session.call("run/get", parameter("id", &args.id)).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let mut text = pretty(&answer["run"]);
    for line in answer["timeline"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        text.push_str(&timeline_line(line));
    }
    out.text(&text)
}

/// Prints the timeline of a run, and follows it.
pub(crate) async fn logs(args: &Logs, place: &Place, out: Out) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Look).await?;
    let mut after = json!(0);
    loop {
        let mut params = parameter("id", &args.run);
        params.insert("after".to_owned(), after);
        let answer = session.call("run/log", params).await?;
        for line in answer["lines"].as_array().cloned().unwrap_or_default() {
            match (out.is_json(), line) {
                (true, Value::Object(members)) => out.envelope(members)?,
                (_, line) => out.text(&timeline_line(&line))?,
            }
        }
        if !args.follow || answer["state"] != "running" {
            return Ok(());
        }
        after = answer["next"].clone();
        tokio::time::sleep(FOLLOW).await;
    }
}

fn timeline_line(line: &Value) -> String {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    format!("{}  {:<18} {}\n", text("at"), text("kind"), text("detail"))
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
