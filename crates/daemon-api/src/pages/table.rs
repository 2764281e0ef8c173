//! The tables of listings: their columns, captions and rows.

use askama::Template;
use serde_json::Value;

use super::action::Subject;
use super::cell::{Cell, Column, Form};
use super::text::visible;

/// A table with formatted rows.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The caption above the table.
    pub(super) caption: &'static str,
    /// The text that replaces an empty table.
    pub(super) empty: &'static str,
    /// The titles of its columns.
    pub(super) titles: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Template)]
#[template(path = "row.html")]
pub(super) struct Row {
    /// Identifies it within its table.
    pub(super) key: String,
    /// Its cells, in the order of the columns.
    pub(super) cells: Vec<Cell>,
}

impl Row {
    /// Returns what a person reads in it, apart from its age.
    pub(super) fn text(&self) -> String {
        let cells = self.cells.iter().filter(|cell| cell.age.is_none());
        let texts: Vec<_> = cells.map(Cell::all_text).collect();
        texts.join("\n")
    }

    /// Returns its age in seconds.
    pub(super) fn age(&self) -> Option<u64> {
        self.cells.iter().find_map(|cell| cell.age)
    }
}

/// The layout of a listing.
#[derive(Debug)]
pub(super) struct Kind {
    /// The member of a result that contains the rows, and the name of the page.
    pub(super) plural: &'static str,
    /// The caption above the table.
    pub(super) caption: &'static str,
    /// The text that replaces an empty table.
    pub(super) empty: &'static str,
    columns: &'static [Column],
}

pub(super) const fn column(title: &'static str, pointer: &'static str, form: Form) -> Column {
    Column::new(title, pointer, form)
}

/// The id of a daemon, which links to its page.
const OF_DAEMON: Form = Form::Daemon;
/// The id of an activation, which links to its page.
const OF_ACTIVATION: Form = Form::ShortId("/activations/");

/// Registered daemons.
pub(super) const DAEMONS: Kind = Kind {
    plural: "daemons",
    caption: "Daemons",
    empty: "No daemon is registered. A repository that is watched needs .agents/daemons/ID/DAEMON.md on its branch.",
    columns: &[
        column("Daemon", "/id", OF_DAEMON),
        column("File", "/valid", Form::State),
        column("Gate", "/gate", Form::State),
        column("Wakes on", "/modes", Form::Name),
        column("Next tick", "/next_tick", Form::Instant),
        column("Last activation", "/last_activation/state", Form::State),
        column("Repository", "/repo", Form::Name),
    ],
};

/// Runs.
pub(super) const RUNS: Kind = Kind {
    plural: "runs",
    caption: "Runs",
    empty: "No runs. `daemon-run fire ID` wakes a daemon, and `daemon-run emanate` starts a run of your own.",
    columns: &[
        column("Run", "/id", Form::Headline("/runs/")),
        column("State", "/state", Form::State),
        column("Provider", "/provider", Form::Name),
        column("Took", "/elapsed_s", Form::Seconds),
        column("Started", "/started_at", Form::Instant),
        column("Id", "/id", Form::ShortId("")),
    ],
};

/// Activations.
pub(super) const ACTIVATIONS: Kind = Kind {
    plural: "activations",
    caption: "Activations",
    empty: "No activations. A daemon wakes for an event that meets a condition, for a tick of its schedule, or when it is fired from its page.",
    columns: &[
        column("Activation", "/id", Form::Headline("/activations/")),
        column("State", "/state", Form::State),
        column("Outputs", "/outputs", Form::Count),
        column("Cause", "/trigger", Form::Trigger),
        column("Created", "/created_at", Form::Instant),
        column("Daemon", "/daemon_id", OF_DAEMON),
        column("Id", "/id", Form::ShortId("")),
    ],
};

/// Events.
pub(super) const EVENTS: Kind = Kind {
    plural: "events",
    caption: "Events",
    empty: "No events. A commit in a watched repository is one; webhooks arrive at /webhooks/github, /webhooks/linear and /webhooks/slack once their secrets are configured.",
    columns: &[
        column("Event", "/id", Form::Headline("/events/")),
        column("Woke", "/verdicts", Form::Woken),
        column("Source", "/source", Form::Name),
        column("Repeats", "/duplicates", Form::Number),
        column("Received", "/received_at", Form::Instant),
        column("Id", "/id", Form::ShortId("")),
    ],
};

/// Ticks.
pub(super) const TICKS: Kind = Kind {
    plural: "ticks",
    caption: "Ticks",
    empty: "No ticks. They come from the `schedule` of a daemon; the overview shows the next ones.",
    columns: &[
        column("Daemon", "/daemon_id", OF_DAEMON),
        column("Outcome", "/outcome", Form::State),
        column("Scheduled", "/scheduled_at", Form::Instant),
        column("Since", "/first", Form::Instant),
        column("Count", "/count", Form::Number),
        column("Activation", "/activation_id", OF_ACTIVATION),
        column("Repository", "/repo", Form::Name),
    ],
};

/// Ticks that woke nothing.
pub(super) const MISSED: Kind = Kind {
    plural: "missed",
    caption: "Missed",
    empty: "Nothing was missed.",
    ..TICKS
};

/// The conditions of a daemon.
pub(super) const CONDITIONS: Kind = Kind {
    plural: "conditions",
    caption: "Conditions",
    empty: "It has no conditions.",
    columns: &[
        column("Condition", "/condition", Form::Words),
        column("Status", "/status", Form::Words),
    ],
};

/// The files next to a daemon file.
pub(super) const SUPPORT: Kind = Kind {
    plural: "support",
    caption: "Support files",
    empty: "It has no scripts and no references.",
    columns: &[
        column("Path", "/path", Form::Words),
        column("Bytes", "/bytes", Form::Number),
    ],
};

/// Why each daemon woke for an event or did not.
pub(super) const REASONS: Kind = Kind {
    plural: "reasons",
    caption: "Daemons",
    empty: "No daemon is registered.",
    columns: &[
        column("Daemon", "/daemon_id", OF_DAEMON),
        column("Verdict", "/verdict", Form::State),
        column("Why", "/why", Form::Words),
        column("Activation", "/activation_id", OF_ACTIVATION),
    ],
};

/// The runs of an activation.
pub(super) const ATTEMPTS: Kind = Kind {
    plural: "runs",
    caption: "Runs",
    empty: "No run has started.",
    columns: &[
        column("Attempt", "/attempt", Form::Number),
        column("Run", "/id", Form::ShortId("/runs/")),
        column("State", "/state", Form::State),
        column("Result", "/error/message", Form::Words).or("/result_preview"),
        column("Provider", "/provider", Form::Name),
        column("Took", "/elapsed_s", Form::Seconds),
        column("Cost", "/cost_usd", Form::Usd),
        column("Started", "/started_at", Form::Instant),
    ],
};

/// Facts that a payload may not contain.
pub(super) const FACTS: Kind = Kind {
    plural: "facts",
    caption: "Facts beyond the payload",
    empty: "No condition needs any.",
    columns: &[
        column("Fact", "/need", Form::Name),
        column("State", "/state", Form::Words),
        column("From", "/from", Form::Words),
        column("Note", "/note", Form::Words),
    ],
};

/// Outputs.
pub(super) const OUTPUTS: Kind = Kind {
    plural: "outputs",
    caption: "Outputs",
    empty: "No outputs. A run proposes them: a branch, a pull request, a comment, a message.",
    columns: &[
        column("Output", "/key", Form::Headline("/outputs/")),
        column("State", "/state", Form::State),
        column(
            "On the surface",
            "/target",
            Form::Web {
                url: "url",
                made: "remote_id",
            },
        ),
        column("Created", "/created_at", Form::Instant),
        column("Activation", "/activation_id", OF_ACTIVATION),
    ],
};

/// The outputs of an activation.
pub(super) const RESULTS: Kind = Kind {
    plural: "results",
    empty: "It has proposed no outputs.",
    ..OUTPUTS
};

/// A row of the roster, which links to its page.
const OF_ROW: Form = Form::Id("/roster/");

/// The roster.
pub(super) const ROSTER: Kind = Kind {
    plural: "rows",
    caption: "Roster",
    empty: "No rows. A host and the daemons of its repositories check in after its start; agents check in with `daemon_checkin`.",
    columns: &[
        column("Name", "/name", Form::Row),
        column("Kind", "/kind", Form::Name),
        column("Role", "/role", Form::Name),
        column("Liveness", "/liveness", Form::State),
        column("Seen", "/age", Form::Age),
        // A late heartbeat is what to know of a row that has one.
        column("Why", "/badge", Form::Words).or("/reason"),
        column("Gate", "/gate", Form::State),
        column("Wind-down", "/winddown_state", Form::Notable),
        column("Compaction", "/needs_compaction", Form::Notable),
        column("Context", "/context_tokens", Form::Number),
        column("Project", "/project", Form::Name),
    ],
};

/// The batons of projects.
pub(super) const BATONS: Kind = Kind {
    plural: "batons",
    caption: "Batons",
    empty: "No daemon holds a baton. One that the host starts gets that of its role with its first check-in.",
    columns: &[
        column("Role", "/role", Form::Name),
        column("Project", "/project", Form::Name),
        column("Holder", "/holder", OF_ROW),
        column("Generation", "/generation", Form::Number),
    ],
};

/// The signals of a daemon.
pub(super) const SIGNALS: Kind = Kind {
    plural: "signals",
    caption: "Signals",
    empty: "No signals.",
    columns: &[
        column("Signal", "/id", Form::Words),
        column("Kind", "/kind", Form::Name),
        column("Status", "/status", Form::State),
        column("Payload", "/payload", Form::Words),
        column("Requested by", "/requested_by", Form::Words),
        column("Attempts", "/attempts", Form::Number),
        column("Error", "/error", Form::Words),
    ],
};

/// The check-ins of a daemon.
pub(super) const CHECK_INS: Kind = Kind {
    plural: "checkins",
    caption: "Check-ins",
    empty: "It has no check-ins of its own.",
    columns: &[
        column("At", "/at", Form::Instant),
        column("Wake", "/wake", Form::Name),
        column("Cadence", "/cadence", Form::Name),
        column("Context", "/context_tokens", Form::Number),
        column("Incarnation", "/incarnation", Form::Number),
    ],
};

/// Agents of the home.
pub(super) const AGENTS: Kind = Kind {
    plural: "agents",
    caption: "Agents",
    empty: "No agents. `daemon-run agent new NAME` writes one, and `daemon-run chat NAME` talks to it.",
    columns: &[
        column("Agent", "/name", Form::Id("/conversations?agent=")),
        column("What it is for", "/description", Form::Words),
        column("Model", "/model", Form::Name),
        column("Problem", "/problem", Form::Words),
    ],
};

/// Conversations with agents.
pub(super) const CONVERSATIONS: Kind = Kind {
    plural: "conversations",
    caption: "Conversations",
    empty: "No conversations. `daemon-run chat AGENT` begins one.",
    columns: &[
        column("Conversation", "/title", Form::Words),
        column("Agent", "/agent", Form::Name),
        column("Sender", "/sender", Form::Words),
        column("Turns", "/turns", Form::Number),
        column("Active", "/active", Form::Flag("running")),
        column("Waits for an answer", "/ask_id", Form::Words),
        column("Last line", "/updated_at", Form::Instant),
    ],
};

/// Crons of the home.
pub(super) const CRONS: Kind = Kind {
    plural: "crons",
    caption: "Crons",
    empty: "No crons. `daemon-run call cron/create '{\"schedule\": \"0 9 * * 1-5\", \"skill\": \"inbox\", \"agent\": \"NAME\", \"sender\": \"cron\"}'` adds one.",
    columns: &[
        column("Cron", "/id", Form::Number),
        column("Schedule", "/schedule", Form::Words),
        column("Zone", "/zone", Form::Name),
        column("Skill", "/skill", Form::Name),
        column("Agent", "/agent", Form::Name),
        column("Next", "/next_at", Form::Instant),
        column("Last", "/last/outcome", Form::State),
        column("Problem", "/problem", Form::Words),
    ],
};

/// Subscriptions of agents.
pub(super) const SUBSCRIPTIONS: Kind = Kind {
    plural: "subscriptions",
    caption: "Subscriptions",
    empty: "No subscriptions. An agent makes one with its tool `subscribe_event`, a person with `daemon-run call subscription/create '{\"source\": \"agent:NAME:done\", \"target_agent\": \"NAME\"}'`.",
    columns: &[
        column("Subscription", "/id", Form::Number),
        column("Source", "/source", Form::Words),
        column("Wakes", "/target_agent", Form::Name),
        column("Once", "/once", Form::Flag("once")),
        column("Problem", "/problem", Form::Words),
    ],
};

/// MCP servers of the configuration.
pub(super) const SERVERS: Kind = Kind {
    plural: "servers",
    caption: "MCP servers",
    empty: "No MCP servers. A section `[mcp.NAME]` with a `command` or a `url` in config.toml of the home is one; `daemon-run reload` reads it.",
    columns: &[
        column("Server", "/name", Form::Name),
        column("State", "/state", Form::State),
        column("Tools", "/tools", Form::Count),
        column("Since", "/since", Form::Instant),
        column("Restarts", "/restarts", Form::Number),
        column("Error", "/error", Form::Words),
    ],
};

impl Table {
    /// Adds the column with the first action of each row.
    pub(super) fn offer(&mut self, subject: &Subject, rows: &[Value]) {
        self.titles.push("Action");
        for (shown, row) in self.rows.iter_mut().zip(rows) {
            shown.cells.push(subject.in_row(row));
        }
    }
}

impl Kind {
    /// Creates the layout of a list that is shown on one page.
    pub(super) const fn new(
        plural: &'static str,
        caption: &'static str,
        empty: &'static str,
        columns: &'static [Column],
    ) -> Self {
        Self {
            plural,
            caption,
            empty,
            columns,
        }
    }

    /// Formats rows.
    pub(super) fn table(&self, rows: &[Value]) -> Table {
        let row = |row: &Value| Row {
            key: key(row),
            cells: self.columns.iter().map(|column| column.cell(row)).collect(),
        };
        Table {
            caption: self.caption,
            empty: self.empty,
            titles: self.columns.iter().map(|column| column.title).collect(),
            rows: rows.iter().map(row).collect(),
        }
    }
}

/// Returns what identifies a row within its table: its id, or the members that are unique together.
fn key(row: &Value) -> String {
    let member = |name: &str| row[name].as_str().unwrap_or_default();
    if let Some(number) = row["id"].as_u64() {
        return number.to_string();
    }
    match (member("id"), member("key")) {
        ("", "") => {
            let names = [
                "repo",
                "project",
                "role",
                "daemon_id",
                "scheduled_at",
                "path",
                "need",
                "name",
                "agent",
                "sender",
            ];
            visible(&names.map(member).join(" "))
        }
        ("", key) => visible(key),
        (id, _) => visible(id),
    }
}
