//! The layouts of the tables of pages.

use daemon_view::{CellForm, PageColumn, TableKind};

pub(super) const fn column(
    title: &'static str,
    pointer: &'static str,
    form: CellForm,
) -> PageColumn {
    PageColumn::new(title, pointer, form)
}

/// The id of a daemon, which links to its page.
const OF_DAEMON: CellForm = CellForm::Daemon;
/// The id of an activation, which links to its page.
const OF_ACTIVATION: CellForm = CellForm::ShortId("/activations/");

/// Registered daemons.
pub(super) const DAEMONS: TableKind = TableKind {
    plural: "daemons",
    caption: "Daemons",
    empty: "No daemon is registered. A repository that is watched needs .agents/daemons/ID/DAEMON.md on its branch.",
    columns: &[
        column("Daemon", "/id", OF_DAEMON),
        column("File", "/valid", CellForm::State),
        column("Gate", "/gate", CellForm::State),
        column("Wakes on", "/modes", CellForm::Name),
        column("Next tick", "/next_tick", CellForm::Instant),
        column("Last activation", "/last_activation/state", CellForm::State),
        column("Repository", "/repo", CellForm::Name),
    ],
};

/// Runs.
pub(super) const RUNS: TableKind = TableKind {
    plural: "runs",
    caption: "Runs",
    empty: "No runs. `daemon-run fire ID` wakes a daemon, and `daemon-run emanate` starts a run of your own.",
    columns: &[
        column("Run", "/id", CellForm::Headline("/runs/")),
        column("State", "/state", CellForm::State),
        column("Provider", "/provider", CellForm::Name),
        column("Took", "/elapsed_s", CellForm::Seconds),
        column("Started", "/started_at", CellForm::Instant),
        column("Id", "/id", CellForm::ShortId("")),
    ],
};

/// Activations.
pub(super) const ACTIVATIONS: TableKind = TableKind {
    plural: "activations",
    caption: "Activations",
    empty: "No activations. A daemon wakes for an event that meets a condition, for a tick of its schedule, or when it is fired from its page.",
    columns: &[
        column("Activation", "/id", CellForm::Headline("/activations/")),
        column("State", "/state", CellForm::State),
        column("Outputs", "/outputs", CellForm::Count),
        column("Cause", "/trigger", CellForm::Trigger),
        column("Created", "/created_at", CellForm::Instant),
        column("Daemon", "/daemon_id", OF_DAEMON),
        column("Id", "/id", CellForm::ShortId("")),
    ],
};

/// Events.
pub(super) const EVENTS: TableKind = TableKind {
    plural: "events",
    caption: "Events",
    empty: "No events. A commit in a watched repository is one; webhooks arrive at /webhooks/github, /webhooks/linear and /webhooks/slack once their secrets are configured.",
    columns: &[
        column("Event", "/id", CellForm::Headline("/events/")),
        column("Woke", "/verdicts", CellForm::Woken),
        column("Source", "/source", CellForm::Name),
        column("Repeats", "/duplicates", CellForm::Number),
        column("Received", "/received_at", CellForm::Instant),
        column("Id", "/id", CellForm::ShortId("")),
    ],
};

/// Ticks.
pub(super) const TICKS: TableKind = TableKind {
    plural: "ticks",
    caption: "Ticks",
    empty: "No ticks. They come from the `schedule` of a daemon; the overview shows the next ones.",
    columns: &[
        column("Daemon", "/daemon_id", OF_DAEMON),
        column("Outcome", "/outcome", CellForm::State),
        column("Scheduled", "/scheduled_at", CellForm::Instant),
        column("Since", "/first", CellForm::Instant),
        column("Count", "/count", CellForm::Number),
        column("Activation", "/activation_id", OF_ACTIVATION),
        column("Repository", "/repo", CellForm::Name),
    ],
};

/// Ticks that woke nothing.
pub(super) const MISSED: TableKind = TableKind {
    plural: "missed",
    caption: "Missed",
    empty: "Nothing was missed.",
    ..TICKS
};

/// The conditions of a daemon.
pub(super) const CONDITIONS: TableKind = TableKind {
    plural: "conditions",
    caption: "Conditions",
    empty: "No condition was read.",
    columns: &[
        column("Condition", "/condition", CellForm::Words),
        column("Status", "/status", CellForm::Words),
    ],
};

/// What the linter finds in a daemon file.
pub(super) const DIAGNOSTICS: TableKind = TableKind {
    plural: "diagnostics",
    caption: "Diagnostics",
    empty: "The linter finds nothing in its file.",
    columns: &[
        column("Code", "/code", CellForm::Name),
        column("Severity", "/severity", CellForm::State),
        column("Line", "/start/line", CellForm::Number),
        column("Message", "/message", CellForm::Words),
        column("Remedy", "/help", CellForm::Words),
    ],
};

/// The files next to a daemon file.
pub(super) const SUPPORT: TableKind = TableKind {
    plural: "support",
    caption: "Support files",
    empty: "It has no scripts and no references.",
    columns: &[
        column("Path", "/path", CellForm::Words),
        column("Bytes", "/bytes", CellForm::Number),
    ],
};

/// Why each daemon woke for an event or did not.
pub(super) const REASONS: TableKind = TableKind {
    plural: "reasons",
    caption: "Daemons",
    empty: "No daemon is registered.",
    columns: &[
        column("Daemon", "/daemon_id", OF_DAEMON),
        column("Verdict", "/verdict", CellForm::State),
        column("Why", "/why", CellForm::Words),
        column("Activation", "/activation_id", OF_ACTIVATION),
    ],
};

/// The runs of an activation.
pub(super) const ATTEMPTS: TableKind = TableKind {
    plural: "runs",
    caption: "Runs",
    empty: "No run has started.",
    columns: &[
        column("Attempt", "/attempt", CellForm::Number),
        column("Run", "/id", CellForm::ShortId("/runs/")),
        column("State", "/state", CellForm::State),
        column("Result", "/error/message", CellForm::Words).or("/result_preview"),
        column("Provider", "/provider", CellForm::Name),
        column("Took", "/elapsed_s", CellForm::Seconds),
        column("Cost", "/cost_usd", CellForm::Usd),
        column("Started", "/started_at", CellForm::Instant),
    ],
};

/// Facts that a payload may not contain.
pub(super) const FACTS: TableKind = TableKind {
    plural: "facts",
    caption: "Facts beyond the payload",
    empty: "No condition needs any.",
    columns: &[
        column("Fact", "/need", CellForm::Name),
        column("State", "/state", CellForm::Words),
        column("From", "/from", CellForm::Words),
        column("Note", "/note", CellForm::Words),
    ],
};

/// Outputs.
pub(super) const OUTPUTS: TableKind = TableKind {
    plural: "outputs",
    caption: "Outputs",
    empty: "No outputs. A run proposes them: a branch, a pull request, a comment, a message.",
    columns: &[
        column("Output", "/key", CellForm::Headline("/outputs/")),
        column("State", "/state", CellForm::State),
        column(
            "On the surface",
            "/target",
            CellForm::Web {
                url: "url",
                made: "remote_id",
            },
        ),
        column("Created", "/created_at", CellForm::Instant),
        column("Activation", "/activation_id", OF_ACTIVATION),
    ],
};

/// The outputs of an activation.
pub(super) const RESULTS: TableKind = TableKind {
    plural: "results",
    empty: "It has proposed no outputs.",
    ..OUTPUTS
};

/// A row of the roster, which links to its page.
const OF_ROW: CellForm = CellForm::Id("/roster/");

/// The roster.
pub(super) const ROSTER: TableKind = TableKind {
    plural: "rows",
    caption: "Roster",
    empty: "No rows. A host and the daemons of its repositories check in after its start; agents check in with `daemon_checkin`.",
    columns: &[
        column("Name", "/name", CellForm::Row),
        column("Kind", "/kind", CellForm::Name),
        column("Role", "/role", CellForm::Name),
        column("Liveness", "/liveness", CellForm::State),
        column("Seen", "/age", CellForm::Age),
        // A late heartbeat is what to know of a row that has one.
        column("Why", "/badge", CellForm::Words).or("/reason"),
        column("Gate", "/gate", CellForm::State),
        column("Wind-down", "/winddown_state", CellForm::Notable),
        column("Compaction", "/needs_compaction", CellForm::Notable),
        column("Context", "/context_tokens", CellForm::Number),
        column("Project", "/project", CellForm::Name),
    ],
};

/// The batons of projects.
pub(super) const BATONS: TableKind = TableKind {
    plural: "batons",
    caption: "Batons",
    empty: "No daemon holds a baton. One that the host starts gets that of its role with its first check-in.",
    columns: &[
        column("Role", "/role", CellForm::Name),
        column("Project", "/project", CellForm::Name),
        column("Holder", "/holder", OF_ROW),
        column("Generation", "/generation", CellForm::Number),
    ],
};

/// The signals of a daemon.
pub(super) const SIGNALS: TableKind = TableKind {
    plural: "signals",
    caption: "Signals",
    empty: "No signals.",
    columns: &[
        column("Signal", "/id", CellForm::Words),
        column("Kind", "/kind", CellForm::Name),
        column("Status", "/status", CellForm::State),
        column("Payload", "/payload", CellForm::Words),
        column("Requested by", "/requested_by", CellForm::Words),
        column("Attempts", "/attempts", CellForm::Number),
        column("Error", "/error", CellForm::Words),
    ],
};

/// The check-ins of a daemon.
pub(super) const CHECK_INS: TableKind = TableKind {
    plural: "checkins",
    caption: "Check-ins",
    empty: "It has no check-ins of its own.",
    columns: &[
        column("At", "/at", CellForm::Instant),
        column("Wake", "/wake", CellForm::Name),
        column("Cadence", "/cadence", CellForm::Name),
        column("Context", "/context_tokens", CellForm::Number),
        column("Incarnation", "/incarnation", CellForm::Number),
    ],
};

/// Agents of the home.
pub(super) const AGENTS: TableKind = TableKind {
    plural: "agents",
    caption: "Agents",
    empty: "No agents. `daemon-run agent new NAME` writes one, and `daemon-run chat NAME` talks to it.",
    columns: &[
        column("Agent", "/name", CellForm::Id("/conversations?agent=")),
        column("What it is for", "/description", CellForm::Words),
        column("Model", "/model", CellForm::Name),
        column("Problem", "/problem", CellForm::Words),
    ],
};

/// Conversations with agents.
pub(super) const CONVERSATIONS: TableKind = TableKind {
    plural: "conversations",
    caption: "Conversations",
    empty: "No conversations. `daemon-run chat AGENT` begins one.",
    columns: &[
        column("Conversation", "/title", CellForm::Conversation),
        column("Agent", "/agent", CellForm::Name),
        column("Sender", "/sender", CellForm::Words),
        column("Turns", "/turns", CellForm::Number),
        column("Active", "/active", CellForm::Flag("running")),
        column("Waits for an answer", "/ask_id", CellForm::Words),
        column("Last line", "/updated_at", CellForm::Instant),
    ],
};

/// Crons of the home.
pub(super) const CRONS: TableKind = TableKind {
    plural: "crons",
    caption: "Crons",
    empty: "No crons. `daemon-run call cron/create '{\"schedule\": \"0 9 * * 1-5\", \"skill\": \"inbox\", \"agent\": \"NAME\", \"sender\": \"cron\"}'` adds one.",
    columns: &[
        column("Cron", "/id", CellForm::Number),
        column("Schedule", "/schedule", CellForm::Words),
        column("Zone", "/zone", CellForm::Name),
        column("Skill", "/skill", CellForm::Name),
        column("Agent", "/agent", CellForm::Name),
        column("Next", "/next_at", CellForm::Instant),
        column("Last", "/last/outcome", CellForm::State),
        column("Problem", "/problem", CellForm::Words),
    ],
};

/// Subscriptions of agents.
pub(super) const SUBSCRIPTIONS: TableKind = TableKind {
    plural: "subscriptions",
    caption: "Subscriptions",
    empty: "No subscriptions. An agent makes one with its tool `subscribe_event`, a person with `daemon-run call subscription/create '{\"source\": \"agent:NAME:done\", \"target_agent\": \"NAME\"}'`.",
    columns: &[
        column("Subscription", "/id", CellForm::Number),
        column("Source", "/source", CellForm::Words),
        column("Wakes", "/target_agent", CellForm::Name),
        column("Once", "/once", CellForm::Flag("once")),
        column("Problem", "/problem", CellForm::Words),
    ],
};

/// MCP servers of the configuration.
pub(super) const SERVERS: TableKind = TableKind {
    plural: "servers",
    caption: "MCP servers",
    empty: "No MCP servers. A section `[mcp.NAME]` with a `command` or a `url` in config.toml of the home is one; `daemon-run reload` reads it.",
    columns: &[
        column("Server", "/name", CellForm::Name),
        column("State", "/state", CellForm::State),
        column("Tools", "/tools", CellForm::Count),
        column("Since", "/since", CellForm::Instant),
        column("Restarts", "/restarts", CellForm::Number),
        column("Error", "/error", CellForm::Words),
    ],
};
