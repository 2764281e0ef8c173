//! What `fire` prints at the end.

use std::path::Path;

use daemon_api::wire::state_word;
use daemon_engine::ActivationState;
use serde_json::Value;

use crate::cli::FireArgs;
use crate::out::{plain, put};

/// Formats the outcome of an activation, or the plan of a dry run.
pub(super) fn text(args: &FireArgs, answer: &Value, page: Option<&str>) -> String {
    if answer["dry_run"] == true {
        return plan_text(&args.id, answer);
    }
    if answer["activation"].is_null() {
        return format!("{} does not wake: the event meets no condition\n", args.id);
    }
    let activation = &answer["activation"];
    let again = if answer["duplicate"] == true {
        "  (already fired: the same activation)"
    } else {
        ""
    };
    let mut text = format!(
        "activation  {}  {}{again}\n",
        word(&activation["id"]),
        state_word(activation)
    );
    if let Some(reason) = activation["reason"].as_str() {
        put!(text, "reason      {}\n", plain(reason));
    }
    for run in answer["runs"].as_array().into_iter().flatten() {
        let (id, state, folder) = (word(&run["id"]), state_word(run), word(&run["folder"]));
        put!(
            text,
            "run         {id}  {state}  {} s  {folder}\n",
            run["elapsed_s"]
        );
        if let Some(first) = word(&run["result_preview"]).lines().next() {
            put!(text, "result      {}\n", plain(first));
        }
    }
    for output in answer["outputs"].as_array().into_iter().flatten() {
        let (target, state) = (word(&output["target"]), word(&output["state"]));
        let trouble = output["error"].as_str().unwrap_or_default();
        let line = format!("output      {target}  {state}  {trouble}");
        put!(text, "{}\n", plain(line.trim_end()));
        if let Some(url) = output["url"].as_str() {
            put!(text, "see it      {}\n", plain(url));
        } else if let Some(branch) = local_branch(output) {
            put!(text, "see it      git diff HEAD...{}\n", plain(branch));
        }
    }
    if let Some(page) = page {
        put!(text, "page        {page}\n");
    }
    text
}

/// Returns the branch of an output that was delivered to one.
pub(crate) fn local_branch(output: &Value) -> Option<&str> {
    let is_there = output["state"] == "confirmed" && output["surface"] == "git";
    let target = output["target"].as_str().filter(|_| is_there);
    target?.strip_prefix("refs/heads/")
}

/// Suggests the command that follows.
pub(super) fn next(args: &FireArgs, answer: &Value, host: Host) -> Option<String> {
    let id = &args.id;
    if answer["dry_run"] == true {
        let repo = args.repo.as_deref().unwrap_or(Path::new("."));
        return Some(match host {
            Host::Running => format!("daemon-run fire {id}"),
            Host::Absent => format!("daemon-run serve --repo {}", repo.display()),
        });
    }
    let activation = &answer["activation"];
    let state: ActivationState = activation["state"].as_str()?.parse().ok()?;
    let run = answer["runs"].as_array()?.last();
    if state == ActivationState::Succeeded {
        let mut outputs = answer["outputs"].as_array()?.iter();
        let branch = outputs.find_map(local_branch)?;
        return Some(format!("git merge {}, to keep what it did", plain(branch)));
    }
    let logs = run.map(|run| format!("daemon-run logs {}", word(&run["id"])));
    let again = match state {
        ActivationState::Pending => "daemon-run doctor".to_owned(),
        _ => format!("daemon-run retry {}", word(&activation["id"])),
    };
    Some(
        logs.into_iter()
            .chain([again])
            .collect::<Vec<_>>()
            .join("; "),
    )
}

/// Whether a host is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Absent,
    Running,
}

fn plan_text(id: &str, answer: &Value) -> String {
    let plan = &answer["plan"];
    let verb = if answer["wakes"] == true {
        "would wake"
    } else {
        "would not wake: the event meets no condition"
    };
    format!(
        "{id} {verb}\n  provider    {}\n  capability  {}\n  sandbox     level {}\n  context     {} bytes, sha256 {}\n",
        word(&plan["provider"]),
        word(&plan["capability"]),
        plan["sandbox"],
        plan["context"]["bytes"],
        word(&plan["context"]["sha256"]),
    )
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
