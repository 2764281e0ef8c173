//! What `fire` shows while it waits: states of the activation, its runs, their tools and output.

use std::convert::Infallible;
use std::io::IsTerminal as _;
use std::time::Duration;

use daemon_api::ops::Operation;
use daemon_api::wire::state_word;
use serde_json::{Value, json};

use crate::failure::CommandFailure;
use crate::out::{Out, plain};
use crate::place::Place;
use crate::session::{CommandSession, parameter};

/// How often the activation is polled.
pub(super) const POLL: Duration = Duration::from_millis(200);
/// The states of an activation before the end of its run.
const BEFORE_RUN: [&str; 3] = ["pending", "claimed", "running"];
/// The most characters of a line.
const WIDEST: usize = 160;
/// The most runs of the daemon among which the one of the activation is searched.
const RUNS: u32 = 20;

/// Shows the activation of one daemon.
pub(super) struct Progress {
    /// `None` if nothing is shown.
    out: Option<Out>,
    /// Whether more than the activation is shown.
    is_streamed: bool,
    daemon: String,
    activation: Option<String>,
    state: String,
    run: Option<RunPlace>,
}

/// The part of a run's log that was shown.
struct RunPlace {
    id: String,
    after: Value,
    output_after: Value,
}

impl Progress {
    /// Shows what happens, if standard error is a terminal and no log of a pipeline.
    pub(super) fn on_terminal(daemon: &str, place: &Place, out: Out) -> Self {
        Self {
            out: Some(out),
            is_streamed: std::io::stderr().is_terminal()
                && !out.is_json()
                && !place.environment.contains_key("CI"),
            ..Self::none(daemon)
        }
    }

    /// Shows nothing.
    pub(super) fn none(daemon: &str) -> Self {
        Self {
            out: None,
            is_streamed: false,
            daemon: daemon.to_owned(),
            activation: None,
            state: String::new(),
            run: None,
        }
    }

    /// Notes the activation, which is shown from then on.
    pub(super) fn begin(&mut self, activation: &str) {
        self.note(&format!("activation {activation} of {}", self.daemon));
        self.activation = Some(activation.to_owned());
    }

    /// Returns the activation that was begun.
    pub(super) fn activation(&self) -> Option<&str> {
        self.activation.as_deref()
    }

    /// Shows what happens, until the future is dropped.
    pub(super) async fn follow(&mut self, session: &mut CommandSession) -> Infallible {
        loop {
            self.poll(session).await;
            tokio::time::sleep(POLL).await;
        }
    }

    /// Shows what happened since the last time.
    pub(super) async fn poll(&mut self, session: &mut CommandSession) {
        let Some(activation) = self.activation.clone().filter(|_| self.is_streamed) else {
            return;
        };
        if let Err(failure) = self.show(&activation, session).await {
            // The activation itself is not affected.
            self.is_streamed = false;
            self.note(&format!(
                "its progress cannot be shown: {}",
                failure.message
            ));
        }
    }

    async fn show(
        &mut self,
        activation: &str,
        session: &mut CommandSession,
    ) -> Result<(), CommandFailure> {
        let found = session.call(Operation::ActivationGet, parameter("id", activation));
        let found = Value::Object(found.await?);
        let state = described(&found);
        // A state is shown before the lines of the run that it begins, and after those of the run that it ends.
        if BEFORE_RUN.iter().any(|name| found["state"] == *name) {
            self.enter(state.clone());
        }
        self.find_run(activation, session).await?;
        while self.show_lines(session).await? {}
        self.enter(state);
        Ok(())
    }

    fn enter(&mut self, state: String) {
        if state != self.state {
            self.note(&format!("  {state}"));
            self.state = state;
        }
    }

    /// Finds the newest run of the activation. Listings have no such filter, so it is applied here.
    async fn find_run(
        &mut self,
        activation: &str,
        session: &mut CommandSession,
    ) -> Result<(), CommandFailure> {
        let mut params = parameter("daemon", &self.daemon);
        params.insert("limit".to_owned(), json!(RUNS));
        let listed = session.call(Operation::RunList, params).await?;
        let mut runs = listed["runs"].as_array().into_iter().flatten();
        let Some(run) = runs.find(|run| run["activation_id"] == activation) else {
            return Ok(());
        };
        let id = run["id"].as_str().unwrap_or_default();
        if self.run.as_ref().is_none_or(|run| run.id != id) {
            let provider = run["provider"].as_str().unwrap_or_default();
            let attempt = &run["attempt"];
            self.note(&format!("  run {id} of {provider}, attempt {attempt}"));
            self.run = Some(RunPlace {
                id: id.to_owned(),
                after: json!(0),
                output_after: Value::Null,
            });
        }
        Ok(())
    }

    /// Shows one part of the log of the run, and returns whether there may be another.
    async fn show_lines(&mut self, session: &mut CommandSession) -> Result<bool, CommandFailure> {
        let Some(run) = &mut self.run else {
            return Ok(false);
        };
        let mut params = parameter("id", &run.id);
        params.insert("after".to_owned(), run.after.clone());
        params.insert("output_after".to_owned(), run.output_after.clone());
        let part = session.call(Operation::RunLog, params).await?;
        run.after = part["next"].clone();
        run.output_after = part["next_output"].clone();
        let lines = part["lines"].as_array().into_iter().flatten();
        let texts: Vec<String> = lines.filter_map(shown).collect();
        for text in &texts {
            self.note(&format!("    {text}"));
        }
        Ok(!texts.is_empty())
    }

    fn note(&self, text: &str) {
        if let Some(out) = self.out {
            out.note(text);
        }
    }
}

/// Describes the state of an activation, with the reason of one that waits or failed.
fn described(activation: &Value) -> String {
    let word = state_word(activation);
    match activation["reason"].as_str() {
        Some(reason) => plain(&format!("{word}: {reason}")),
        None => plain(word),
    }
}

/// Formats a line of a log. Lines that repeat what is shown otherwise are left out.
fn shown(line: &Value) -> Option<String> {
    let (kind, detail) = (line["kind"].as_str()?, line["detail"].as_str()?);
    let text = match kind {
        "daemon_start" | "provider_terminal" | "daemon_done" | "daemon_error" => return None,
        "tool_result" if detail.contains(" status=ok") => return None,
        "cli_output" => between(detail, " text=", " elapsed_s=").to_owned(),
        "tool_call" => {
            let name = between(detail, "name=", " args_preview=");
            let arguments = between(detail, " args_preview=", " turn=");
            format!("> {name} {arguments}")
        }
        _ => format!("{kind} {detail}"),
    };
    let text: String = plain(&text).chars().take(WIDEST).collect();
    Some(text.trim_end().to_owned())
}

/// Returns the text from the first `start` to the last `end`; all of it where one is missing.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text.split_once(start).map_or(text, |(_, rest)| rest);
    rest.rsplit_once(end).map_or(rest, |(rest, _)| rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::shown;

    #[test]
    fn a_line_shows_the_tool_or_the_output_of_a_program() {
        let line = |kind: &str, detail: &str| shown(&json!({"kind": kind, "detail": detail}));
        let lines = [
            line("daemon_start", ""),
            line(
                "cli_output",
                "stream=stdout text=a text=b elapsed_s=1 elapsed_s=0.032",
            ),
            line(
                "tool_call",
                "name=Bash args_preview={\"command\":\"ls\\u001b\"} turn=2",
            ),
            line("tool_result", "name=Bash status=ok turn=2"),
            line("tool_result", "name=Bash status=error turn=2"),
            line("rate_limited", "until=soon\u{1b}[31m"),
            line(
                "cli_output",
                &format!("stream=stderr text={} elapsed_s=1", "x".repeat(200)),
            ),
        ];
        let shown = lines.map(Option::unwrap_or_default);
        let long = "x".repeat(160);
        let expected = [
            "",
            "a text=b elapsed_s=1",
            "> Bash {\"command\":\"ls\\u001b\"}",
            "",
            "tool_result name=Bash status=error turn=2",
            "rate_limited until=soon [31m",
            &long,
        ];
        assert_eq!(shown, expected);
    }
}
