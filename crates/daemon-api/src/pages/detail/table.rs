//! What the page of each kind of object shows.

use super::Detail;
use crate::ops::Operation;
use crate::pages::action::{
    ACTIVATION_ACTIONS, DAEMON_ACTIONS, EVENT_ACTIONS, ROSTER_ACTIONS, Subject,
};
use crate::pages::cell::Form;
use crate::pages::table::{
    ACTIVATIONS, ATTEMPTS, CHECK_INS, CONDITIONS, FACTS, OUTPUTS, REASONS, RESULTS, SIGNALS,
    SUPPORT, column,
};

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
            column("Purpose", "/purpose", Form::Words),
            column("Gate", "/gate", Form::State),
            column("Last activation", "/last_activation/state", Form::State),
            column("Repository", "/repo", Form::Name),
        ],
        actions: DAEMON_ACTIONS,
    },
    lead: &[
        column("File", "/valid", Form::State),
        column("Gate", "/gate", Form::State),
        column("Purpose", "/purpose", Form::Words),
    ],
    facts: &[
        column("Wakes on", "/modes", Form::Name),
        column("Next tick", "/next_tick", Form::Instant),
        column(
            "Last activation",
            "/last_activation/id",
            Form::Id("/activations/"),
        ),
        column("All activations", "/id", Form::Id("/activations?daemon=")),
        column("All runs", "/id", Form::Id("/runs?daemon=")),
        column("Path", "/path", Form::Words),
        column("Revision", "/rev", Form::ShortId("")),
        column("Repository", "/repo", Form::Name),
    ],
    first: &[],
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
            column("State", "/state", Form::State),
            column("Reason", "/reason", Form::Words),
            column("Daemon", "/daemon_id", Form::Daemon),
            column("Cause", "/trigger", Form::Trigger),
            column("Created", "/created_at", Form::Instant),
            column("Attempts", "/attempts", Form::Number),
        ],
        actions: ACTIVATION_ACTIONS,
    },
    lead: &[
        column("State", "/state", Form::State),
        column("Reason", "/reason", Form::Words),
        column("Result", "/about", Form::Words),
    ],
    facts: &[
        column("Daemon", "/daemon_id", Form::Daemon),
        column("Cause", "/trigger", Form::Trigger),
        column("Newest event", "/trigger/event_ids/0", Form::Id("/events/")),
        column("Scheduled", "/trigger/scheduled_at", Form::Instant),
        column("By", "/trigger/by", Form::Words),
        column("Origin", "/chain/root", Form::Id("/activations/")),
        column("Depth", "/chain/depth", Form::Number),
        column("Created", "/created_at", Form::Instant),
        column("Started", "/started_at", Form::Instant),
        column("Finished", "/finished_at", Form::Instant),
        column("Attempts", "/attempts", Form::Number),
        column("Tokens", "/tokens", Form::Number),
        column("Cost", "/cost_usd", Form::Usd),
        column("Revision", "/rev", Form::ShortId("")),
        column("Repository", "/repo", Form::Name),
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
            column("Source", "/source", Form::Name),
            column("Kind", "/kind", Form::Words),
            column("Action", "/action", Form::Words),
            column("Subject", "/subject", Form::Words),
            column("Received", "/received_at", Form::Instant),
            column("Woke", "/verdicts", Form::Count),
        ],
        actions: EVENT_ACTIONS,
    },
    lead: &[column("Title", "/about", Form::Words)],
    facts: &[
        column("Source", "/source", Form::Name),
        column("Kind", "/kind", Form::Words),
        column("Action", "/action", Form::Words),
        column("Subject", "/subject", Form::Words),
        column("Actor", "/actor", Form::Words),
        column("Repository", "/repo", Form::Name),
        column("Time", "/time", Form::Instant),
        column("Received", "/received_at", Form::Instant),
        column("Delivery", "/delivery_id", Form::Words),
        column("Duplicates", "/duplicates", Form::Number),
        column("Origin", "/chain/root", Form::Id("/activations/")),
        column("Depth", "/chain/depth", Form::Number),
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
        column("State", "/state", Form::State),
        column("Error", "/error", Form::Words),
        column(
            "Made",
            "/target",
            Form::Web {
                url: "url",
                made: "remote_id",
            },
        ),
    ],
    facts: &[
        column("Activation", "/cause", Form::Cause),
        column("Daemon", "/daemon_id", Form::Id("/daemons/")),
        column("Surface", "/surface", Form::Name),
        column("Target", "/target", Form::Words),
        column("Made there", "/remote_id", Form::Words),
        column("Created", "/created_at", Form::Instant),
        column("Delivered", "/delivered_at", Form::Instant),
        column("Attempts", "/attempts", Form::Number),
        column("Place among the outputs", "/ordinal", Form::Number),
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
            column("Liveness", "/liveness", Form::State),
            column("Gate", "/gate", Form::State),
            column("Role", "/role", Form::Name),
            column("Project", "/project", Form::Name),
            column("Wind-down", "/winddown_state", Form::Name),
            column("Last check-in", "/last_checkin_at", Form::Instant),
        ],
        actions: ROSTER_ACTIONS,
    },
    lead: &[
        column("Liveness", "/row/liveness", Form::State),
        column("Gate", "/row/gate", Form::State),
        column("Mark", "/row/badge", Form::Notable),
        column("Why", "/reason", Form::Words),
    ],
    facts: &[
        column("Seen", "/row/age", Form::Seconds),
        column("Live until", "/row/stale_at", Form::Instant),
        column("Dead after", "/row/dead_at", Form::Instant),
        column("Kind", "/row/kind", Form::Name),
        column("Role", "/row/role", Form::Name),
        column("Project", "/row/project", Form::Name),
        column("Wind-down", "/winddown/state", Form::Notable),
        column("Handoff", "/winddown/handoff_ref", Form::Words),
        column("Reset", "/reset/state", Form::State),
        column("Reset since", "/reset/requested_at", Form::Instant),
        column("Reason of the reset", "/reset/reason", Form::Words),
        column("Predecessor", "/row/predecessor", Form::Id("/roster/")),
        column("Successor", "/row/successor", Form::Id("/roster/")),
        column("Cadence", "/row/meta/current_cadence", Form::Name),
        column("Context", "/row/context_tokens", Form::Number),
        column("Limit of the context", "/row/context_limit", Form::Number),
        column("Incarnation", "/row/incarnation", Form::Number),
        column("Charter", "/charter/version", Form::Words),
        column("Charter of a new one", "/charter/current", Form::Words),
        column("Program", "/row/harness", Form::Words),
        column("Actor", "/row/actor_ref", Form::Words),
        column("Process", "/row/process", Form::Words),
        column("Session", "/row/session", Form::Words),
        column("Expected since", "/row/expected_at", Form::Instant),
        column("First check-in", "/row/first_checkin_at", Form::Instant),
        column("Last check-in", "/row/last_checkin_at", Form::Instant),
        column("Last activity", "/row/last_activity_at", Form::Instant),
        column("Retired", "/row/retired_at", Form::Instant),
        column("Row", "/row/id", Form::Words),
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
