//! The table of facts on the page of a run, such as its provider, limits and cost.

use daemon_records::FOLDER_MISSING;
use serde_json::Value;

use crate::ops::RunView;
use daemon_view::PageCell;
use daemon_view::text::{encoded, grouped, seconds, usd};

/// A row of the table.
pub(super) struct Fact {
    /// The label.
    pub(super) name: &'static str,
    /// The member of the run's object that the script updates; empty for a fact that does not change.
    pub(super) member: &'static str,
    /// The value.
    pub(super) cell: PageCell,
}

/// Collects the facts that are known.
struct Facts<'a> {
    run: &'a RunView,
    all: Vec<Fact>,
}

/// Returns the facts of a run in the order of the page.
pub(super) fn of(run: &RunView) -> Vec<Fact> {
    let mut facts = Facts {
        run,
        all: Vec::new(),
    };
    facts.origin();
    facts.progress();
    facts.bounds();
    facts.cost();
    facts.end();
    facts.all
}

impl Facts<'_> {
    fn add(&mut self, name: &'static str, cell: PageCell) {
        self.add_live(name, "", cell);
    }

    fn add_live(&mut self, name: &'static str, member: &'static str, cell: PageCell) {
        self.all.push(Fact { name, member, cell });
    }

    fn add_some(&mut self, name: &'static str, cell: Option<PageCell>) {
        if let Some(cell) = cell {
            self.add(name, cell);
        }
    }

    fn at(&self, pointer: &str) -> Option<&Value> {
        let (first, rest) = match pointer.split_once('/') {
            Some((first, rest)) => (first, Some(rest)),
            None => (pointer, None),
        };
        let value = self.run.view.document.get(first)?;
        let value = match rest {
            Some(rest) => value.get(rest)?,
            None => value,
        };
        Some(value).filter(|value| !value.is_null())
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.at(pointer)?.as_str().filter(|text| !text.is_empty())
    }

    fn number(&self, pointer: &str) -> Option<u64> {
        self.at(pointer)?.as_u64()
    }

    fn span(&self, pointer: &str) -> Option<String> {
        self.at(pointer)?.as_f64().map(seconds)
    }

    /// Adds the provider, and the daemon or the parent.
    fn origin(&mut self) {
        let run = &self.run.run;
        let model = self.text("model").filter(|model| *model != run.provider);
        let preset = self
            .text("preset_name")
            .map(|name| format!("preset {name}"));
        let provider = [Some(run.provider.as_str()), model, preset.as_deref()];
        let provider: Vec<&str> = provider.into_iter().flatten().collect();
        self.add("Provider", PageCell::words(provider.join(" · ")));
        if let Some(daemon) = &run.daemon_id {
            let path = format!("/daemons/{}", encoded(daemon));
            self.add("Daemon", PageCell::code(daemon).to(path));
        } else {
            self.add_some("Parent", self.text("parent_addr").map(PageCell::code));
            self.add_some("Group", self.text("group_id").map(PageCell::code));
        }
        if let Some(activation) = &run.activation_id {
            let path = format!("/activations/{}", encoded(activation));
            self.add("Activation", PageCell::code(activation).to(path));
            self.add("Attempt", PageCell::words(run.attempt.to_string()));
        }
    }

    /// Adds the times, the current tool and the number of tool calls.
    fn progress(&mut self) {
        let run = &self.run.run;
        self.add("Started", PageCell::instant(&run.started_at));
        if let Some(finished) = &run.finished_at {
            self.add("Finished", PageCell::instant(finished));
        }
        let name = if run.finished_at.is_some() {
            "Took"
        } else {
            "Has taken"
        };
        self.add_live(name, "elapsed_s", PageCell::words(seconds(run.elapsed_s)));
        if run.state == "running" {
            let tool = run.current_tool.as_deref().unwrap_or("none");
            self.add_live("Current tool", "current_tool", PageCell::code(tool));
        }
        let n_tools = PageCell::words(grouped(run.tool_call_count));
        self.add_live("Tools called", "tool_call_count", n_tools);
        if run.turn > 0 {
            self.add_live("Turn", "turn", PageCell::words(run.turn.to_string()));
        }
        if let Some(at) = &run.last_output_at {
            self.add_live("Last output", "last_output_at", PageCell::instant(at));
        }
        if run.state == "running"
            && let Some(age) = self.run.view.heartbeat_age
        {
            let age = format!("{} ago", seconds(age.as_secs_f64()));
            self.add("Last heartbeat", PageCell::words(age));
        }
    }

    /// Adds the permissions, the sandbox, the limits and the budget.
    fn bounds(&mut self) {
        let permissions = self
            .text("permissions")
            .map(|permissions| match permissions {
                "bypass" => PageCell {
                    text: "bypass: its own checks are switched off".to_owned(),
                    ..PageCell::state(permissions)
                },
                other => PageCell::words(other),
            });
        self.add_some("Permissions", permissions);
        let sandbox = self
            .number("sandbox/level")
            .map(|level| match self.text("sandbox/detail") {
                Some(detail) => PageCell::words(format!("level {level}: {detail}")),
                None => PageCell::words(format!("level {level}")),
            });
        self.add_some("Sandbox", sandbox);
        let limits = [
            self.span("timeout_s").map(|span| format!("{span} in all")),
            self.span("idle_timeout_s")
                .map(|span| format!("{span} silent")),
            self.number("max_turns")
                .map(|turns| format!("{} turns", grouped(turns))),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        if !limits.is_empty() {
            self.add("Limits", PageCell::words(limits.join(", ")));
        }
        let budget = [
            self.at("budget/usd").and_then(Value::as_f64).map(usd),
            self.number("budget/tokens")
                .map(|n| format!("{} tokens", grouped(n))),
        ];
        let budget: Vec<String> = budget.into_iter().flatten().collect();
        let budget = match budget.is_empty() {
            // A run whose document is lost may have had one.
            true => self.at("budget").map(|_| "none".to_owned()),
            false => Some(budget.join(", ")),
        };
        self.add_some("Budget", budget.map(PageCell::words));
    }

    /// Adds the tokens and the cost.
    fn cost(&mut self) {
        for (name, member) in [
            ("Tokens", "tokens"),
            ("Tokens, as its program reports", "cli_tokens"),
        ] {
            let kinds = ["input", "output", "thinking", "cached"];
            let counts: Vec<String> = kinds
                .into_iter()
                .filter_map(|kind| {
                    let n = self
                        .number(&format!("{member}/{kind}"))
                        .filter(|n| *n > 0)?;
                    Some(format!("{} {kind}", grouped(n)))
                })
                .collect();
            if !counts.is_empty() {
                self.add(name, PageCell::words(counts.join(", ")));
            }
        }
        self.add_some(
            "Cost",
            self.run.run.cost_usd.map(|cost| PageCell::words(usd(cost))),
        );
    }

    /// Adds the exit status, the session and the folder.
    fn end(&mut self) {
        let exit = match (self.number("exit/code"), self.number("exit/signal")) {
            (Some(code), _) => Some(format!("code {code}")),
            (None, Some(signal)) => Some(format!("signal {signal}")),
            (None, None) => None,
        };
        self.add_some("Exit", exit.map(PageCell::words));
        let stopped = self.text("cli_termination/reason").map(|reason| {
            let detail = self.text("cli_termination/detail");
            detail.map_or_else(|| reason.to_owned(), |detail| format!("{reason}: {detail}"))
        });
        self.add_some("Stopped by the host", stopped.map(PageCell::words));
        let sessions = ["claude", "codex", "opencode", "command"];
        let session = sessions
            .iter()
            .find_map(|name| self.text(&format!("{name}_session_id")).map(PageCell::code));
        self.add_some("Session", session);
        if let Some(lines) = self.number("dropped/lines").filter(|lines| *lines > 0) {
            let bytes = self.number("dropped/bytes").unwrap_or_default();
            let dropped = format!("{} lines, {} bytes", grouped(lines), grouped(bytes));
            self.add("Output not kept", PageCell::words(dropped));
        }
        self.add_some(
            "Record",
            self.run.view.problem.as_deref().map(PageCell::words),
        );
        if self.run.view.problem.as_deref() != Some(FOLDER_MISSING) {
            self.add("Folder", PageCell::code(&self.run.run.folder));
        }
    }
}
