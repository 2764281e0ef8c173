//! What the page of each kind of object shows.

use super::Detail;
use crate::ops::Operation;
use crate::pages::action::{
    ACTIVATION_ACTIONS, DAEMON_ACTIONS, EVENT_ACTIONS, ROSTER_ACTIONS, Subject,
};
use crate::pages::table::{
    ACTIVATIONS, ATTEMPTS, CHECK_INS, CONDITIONS, DIAGNOSTICS, FACTS, OUTPUTS, REASONS, RESULTS,
    SIGNALS, SUPPORT, column,
};
use daemon_view::CellForm;

/// A daemon of a repository.
const DAEMON: Detail = Detail {
    subject: Subject {
        route: "/daemons/{id}",
        place: "/",
        operation: Operation::DaemonGet,
        noun: "daemon",
        member: "daemon",
        headline: "",
        summary: &[
            column("Purpose", "/purpose", CellForm::Words),
            column("Gate", "/gate", CellForm::State),
            column("Last activation", "/last_activation/state", CellForm::State),
            column("Repository", "/repo", CellForm::Name),
        ],
        actions: DAEMON_ACTIONS,
    },
    lead: &[
        column("File", "/valid", CellForm::State),
        column("Gate", "/gate", CellForm::State),
        column("Purpose", "/purpose", CellForm::Words),
    ],
    facts: &[
        column("Wakes on", "/modes", CellForm::Name),
        column("Next tick", "/next_tick", CellForm::Instant),
        column(
            "Last activation",
            "/last_activation/id",
            CellForm::Id("/activations/"),
        ),
        column(
            "All activations",
            "/id",
            CellForm::Id("/activations?daemon="),
        ),
        column("All runs", "/id", CellForm::Id("/runs?daemon=")),
        column("Path", "/path", CellForm::Words),
        column("Revision", "/rev", CellForm::ShortId("")),
        column("Repository", "/repo", CellForm::Name),
    ],
    first: &[&DIAGNOSTICS],
    tables: &[&CONDITIONS, &ACTIVATIONS, &OUTPUTS, &SUPPORT],
    json: "",
};

const ACTIVATION: Detail = Detail {
    subject: Subject {
        route: "/activations/{id}",
        place: "/activations",
        operation: Operation::ActivationGet,
        noun: "activation",
        member: "",
        headline: "/headline",
        summary: &[
            column("State", "/state", CellForm::State),
            column("Reason", "/reason", CellForm::Words),
            column("Daemon", "/daemon_id", CellForm::Daemon),
            column("Cause", "/trigger", CellForm::Trigger),
            column("Created", "/created_at", CellForm::Instant),
            column("Attempts", "/attempts", CellForm::Number),
        ],
        actions: ACTIVATION_ACTIONS,
    },
    lead: &[
        column("State", "/state", CellForm::State),
        column("Reason", "/reason", CellForm::Words),
        column("Result", "/about", CellForm::Words),
    ],
    facts: &[
        column("Daemon", "/daemon_id", CellForm::Daemon),
        column("Cause", "/trigger", CellForm::Trigger),
        column(
            "Newest event",
            "/trigger/event_ids/0",
            CellForm::Id("/events/"),
        ),
        column("Scheduled", "/trigger/scheduled_at", CellForm::Instant),
        column("By", "/trigger/by", CellForm::Words),
        column("Origin", "/chain/root", CellForm::Id("/activations/")),
        column("Depth", "/chain/depth", CellForm::Number),
        column("Created", "/created_at", CellForm::Instant),
        column("Started", "/started_at", CellForm::Instant),
        column("Finished", "/finished_at", CellForm::Instant),
        column("Attempts", "/attempts", CellForm::Number),
        column("Tokens", "/tokens", CellForm::Number),
        column("Cost", "/cost_usd", CellForm::Usd),
        column("Revision", "/rev", CellForm::ShortId("")),
        column("Repository", "/repo", CellForm::Name),
    ],
    first: &[&RESULTS, &ATTEMPTS],
    tables: &[],
    json: "",
};

const EVENT: Detail = Detail {
    subject: Subject {
        route: "/events/{id}",
        place: "/events",
        operation: Operation::EventGet,
        noun: "event",
        member: "",
        headline: "/headline",
        summary: &[
            column("Source", "/source", CellForm::Name),
            column("Kind", "/kind", CellForm::Words),
            column("Action", "/action", CellForm::Words),
            column("Subject", "/subject", CellForm::Words),
            column("Received", "/received_at", CellForm::Instant),
            column("Woke", "/verdicts", CellForm::Count),
        ],
        actions: EVENT_ACTIONS,
    },
    lead: &[column("Title", "/about", CellForm::Words)],
    facts: &[
        column("Source", "/source", CellForm::Name),
        column("Kind", "/kind", CellForm::Words),
        column("Action", "/action", CellForm::Words),
        column("Subject", "/subject", CellForm::Linked("url")),
        column("Actor", "/actor", CellForm::Words),
        column("Repository", "/repo", CellForm::Name),
        column("Time", "/time", CellForm::Instant),
        column("Received", "/received_at", CellForm::Instant),
        column("Delivery", "/delivery_id", CellForm::Words),
        column("Duplicates", "/duplicates", CellForm::Number),
        column("Origin", "/chain/root", CellForm::Id("/activations/")),
        column("Depth", "/chain/depth", CellForm::Number),
    ],
    first: &[&REASONS],
    tables: &[&FACTS],
    json: "payload",
};

const OUTPUT: Detail = Detail {
    subject: Subject {
        route: "/outputs/{id}",
        place: "/outputs",
        operation: Operation::OutputGet,
        noun: "output",
        member: "",
        headline: "/headline",
        summary: &[],
        actions: &[],
    },
    lead: &[
        column("State", "/state", CellForm::State),
        column("Error", "/error", CellForm::Words),
        column(
            "Made",
            "/target",
            CellForm::Web {
                url: "url",
                made: "remote_id",
            },
        ),
    ],
    facts: &[
        column("Activation", "/cause", CellForm::Cause),
        column("Daemon", "/daemon_id", CellForm::Id("/daemons/")),
        column("Surface", "/surface", CellForm::Name),
        column("Target", "/target", CellForm::Words),
        column("Made there", "/remote_id", CellForm::Words),
        column("Created", "/created_at", CellForm::Instant),
        column("Delivered", "/delivered_at", CellForm::Instant),
        column("Attempts", "/attempts", CellForm::Number),
        column("Place among the outputs", "/ordinal", CellForm::Number),
    ],
    first: &[],
    tables: &[],
    json: "",
};

const ROSTER_ROW: Detail = Detail {
    subject: Subject {
        route: "/roster/{id}",
        place: "/roster",
        operation: Operation::RosterGet,
        noun: "row of the roster",
        member: "row",
        headline: "/row/name",
        summary: &[
            column("Liveness", "/liveness", CellForm::State),
            column("Gate", "/gate", CellForm::State),
            column("Role", "/role", CellForm::Name),
            column("Project", "/project", CellForm::Name),
            column("Wind-down", "/winddown_state", CellForm::Name),
            column("Last check-in", "/last_checkin_at", CellForm::Instant),
        ],
        actions: ROSTER_ACTIONS,
    },
    lead: &[
        column("Liveness", "/row/liveness", CellForm::State),
        column("Gate", "/row/gate", CellForm::State),
        column("Mark", "/row/badge", CellForm::Notable),
        column("Why", "/reason", CellForm::Words),
    ],
    facts: &[
        column("Seen", "/row/age", CellForm::Seconds),
        column("Live until", "/row/stale_at", CellForm::Instant),
        column("Dead after", "/row/dead_at", CellForm::Instant),
        column("Kind", "/row/kind", CellForm::Name),
        column("Role", "/row/role", CellForm::Name),
        column("Project", "/row/project", CellForm::Name),
        column("Wind-down", "/winddown/state", CellForm::Notable),
        column("Handoff", "/winddown/handoff_ref", CellForm::Words),
        column("Reset", "/reset/state", CellForm::State),
        column("Reset since", "/reset/requested_at", CellForm::Instant),
        column("Reason of the reset", "/reset/reason", CellForm::Words),
        column("Predecessor", "/row/predecessor", CellForm::Id("/roster/")),
        column("Successor", "/row/successor", CellForm::Id("/roster/")),
        column("Cadence", "/row/meta/current_cadence", CellForm::Name),
        column("Context", "/row/context_tokens", CellForm::Number),
        column(
            "Limit of the context",
            "/row/context_limit",
            CellForm::Number,
        ),
        column("Incarnation", "/row/incarnation", CellForm::Number),
        column("Charter", "/charter/version", CellForm::Words),
        column("Charter of a new one", "/charter/current", CellForm::Words),
        column("Program", "/row/harness", CellForm::Words),
        column("Actor", "/row/actor_ref", CellForm::Words),
        column("Process", "/row/process", CellForm::Words),
        column("Session", "/row/session", CellForm::Words),
        column("Expected since", "/row/expected_at", CellForm::Instant),
        column("First check-in", "/row/first_checkin_at", CellForm::Instant),
        column("Last check-in", "/row/last_checkin_at", CellForm::Instant),
        column("Last activity", "/row/last_activity_at", CellForm::Instant),
        column("Retired", "/row/retired_at", CellForm::Instant),
        column("Row", "/row/id", CellForm::Words),
    ],
    first: &[],
    tables: &[&SIGNALS, &CHECK_INS],
    json: "",
};

/// The pages of all kinds of objects that have such a one.
pub(super) static DETAILS: [Detail; 5] = [DAEMON, ACTIVATION, EVENT, OUTPUT, ROSTER_ROW];

/// Returns what a row of the roster is about, for its listing.
pub(in crate::pages) fn roster_row() -> &'static Subject {
    let [.., row] = &DETAILS;
    &row.subject
}

/// Returns what an activation is about, for its listing.
pub(in crate::pages) fn activation() -> &'static Subject {
    let [_, activation, ..] = &DETAILS;
    &activation.subject
}
