//! The listings that have pages.

use daemon_engine::{ActivationState, OutputState};
use daemon_roster::Liveness;
use daemon_schedule::TickOutcome;
use daemon_store::RUN_STATES;

use super::{Filter, Listing};
use crate::ops::Operation;
use crate::pages::table::{
    ACTIVATIONS, AGENTS, BATONS, CONVERSATIONS, CRONS, EVENTS, OUTPUTS, ROSTER, RUNS, SERVERS,
    SUBSCRIPTIONS, TICKS,
};
use crate::pages::{detail, run};

/// The filters of most listings in the order of the form.
const FILTERS: &[Filter] = &[
    ("daemon", "Daemon", "any"),
    ("repo", "Repository", "any"),
    ("since", "Since", "2h, 7d, 2026-01-31T09:00:00Z"),
    ("until", "Until", "now"),
];

/// The filter that is chosen among words: parameter and label.
const STATE: (&str, &str) = ("state", "State");

/// A listing without filters, of which each has a part.
const PLAIN: Listing = Listing {
    kind: &RUNS,
    intro: "",
    filters: &[],
    choice: STATE,
    rows: None,
    more: &[],
    path: "",
    operation: Operation::RunList,
    states: Vec::new,
    subject: None,
    adds: None,
};

/// All of them.
pub(super) static LISTINGS: [Listing; 11] = [
    Listing {
        filters: FILTERS,
        path: "/runs",
        states: || RUN_STATES.to_vec(),
        subject: Some(|| &run::RUN),
        ..PLAIN
    },
    Listing {
        kind: &ACTIVATIONS,
        filters: FILTERS,
        path: "/activations",
        operation: Operation::ActivationList,
        states: || ActivationState::ALL.iter().map(|it| it.as_str()).collect(),
        subject: Some(detail::activation),
        ..PLAIN
    },
    Listing {
        kind: &EVENTS,
        filters: FILTERS,
        path: "/events",
        operation: Operation::EventList,
        ..PLAIN
    },
    Listing {
        kind: &TICKS,
        filters: FILTERS,
        path: "/ticks",
        operation: Operation::TickList,
        states: || TickOutcome::ALL.iter().map(|it| it.as_str()).collect(),
        ..PLAIN
    },
    Listing {
        kind: &OUTPUTS,
        filters: FILTERS,
        path: "/outputs",
        operation: Operation::OutputList,
        states: || OutputState::ALL.iter().map(|it| it.as_str()).collect(),
        ..PLAIN
    },
    Listing {
        kind: &ROSTER,
        filters: &[
            ("project", "Project", "any"),
            ("role", "Role", "any"),
            ("kind", "Kind", "standing, repository, host"),
        ],
        choice: ("liveness", "Liveness"),
        rows: Some(1_000),
        more: &[&BATONS],
        path: "/roster",
        operation: Operation::RosterList,
        states: || Liveness::ALL.iter().map(|it| it.as_str()).collect(),
        subject: Some(detail::roster_row),
        adds: Some(("/roster/spawn", "Start a daemon")),
        ..PLAIN
    },
    Listing {
        kind: &AGENTS,
        intro: "People and programs talk to agents in conversations; a file below agents/ of the home is one agent.",
        path: "/agents",
        operation: Operation::AgentList,
        ..PLAIN
    },
    Listing {
        kind: &CONVERSATIONS,
        intro: "A conversation is one agent with one sender; its log is a file below sessions/ of the home.",
        filters: &[("agent", "Agent", "any")],
        path: "/conversations",
        operation: Operation::ConversationList,
        ..PLAIN
    },
    Listing {
        kind: &CRONS,
        intro: "A cron sends a skill to an agent at the instants of its schedule.",
        path: "/crons",
        operation: Operation::CronList,
        ..PLAIN
    },
    Listing {
        kind: &SUBSCRIPTIONS,
        intro: "A subscription starts a turn of an agent for each event of its source on the bus of the host.",
        path: "/subscriptions",
        operation: Operation::SubscriptionList,
        ..PLAIN
    },
    Listing {
        kind: &SERVERS,
        intro: "The MCP servers that the host connects to, whose tools agents may use.",
        path: "/mcp-servers",
        operation: Operation::McpList,
        ..PLAIN
    },
];
