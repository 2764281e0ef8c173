//! The actions of each kind of object.

use serde_json::Value;

use super::{Action, How, Input};
use crate::ops::Operation;

/// Why something is done, which the audit log keeps.
const REASON: Input = Input {
    name: "reason",
    label: "Reason",
    hint: "the audit log keeps it",
    most: 500,
    is_required: true,
};
/// One line for an agent.
const LINE: Input = Input {
    name: "line",
    label: "Line",
    hint: "one line",
    most: 240,
    is_required: true,
};

/// The id of a row of the roster, as the parameter of a tool.
const ROW: (&str, &str) = ("daemon", "/row/id");
/// The reset of a row of the roster.
const RESET: (&str, &str) = ("reset", "/reset/id");
/// The id of a daemon of a repository.
const DAEMON: (&str, &str) = ("id", "/daemon/id");
/// The id of an activation or an event.
const ID: (&str, &str) = ("id", "/id");
/// The id of a run.
const RUN: (&str, &str) = ("id", "/run/id");

/// An action without fields, which leads back to its page.
const PLAIN: Action = Action {
    verb: "",
    label: "",
    effect: "",
    done: "",
    operation: Operation::HostStats,
    of: ID,
    fixed: &[],
    inputs: &[],
    how: How::Confirmed,
    leads_to: None,
    is_possible: |_, _| true,
};

/// What can be done with an activation.
pub(in crate::pages) const ACTIVATION_ACTIONS: &[Action] = &[
    Action {
        verb: "cancel",
        label: "Cancel",
        effect: "The activation ends as cancelled, and its run is stopped with all of its processes. Nothing of it is delivered.",
        done: "It is cancelled.",
        operation: Operation::ActivationCancel,
        inputs: &[Input {
            hint: "optional",
            is_required: false,
            ..REASON
        }],
        how: How::Ends,
        is_possible: |activation, _| is(activation, "state", &["pending", "claimed", "running"]),
        ..PLAIN
    },
    Action {
        verb: "retry",
        label: "Retry",
        effect: "The activation waits for a new attempt, with the same trigger and the daemon file as it is then.",
        done: "It waits for its next attempt.",
        operation: Operation::ActivationRetry,
        is_possible: |activation, _| is(activation, "state", &["failed", "dead", "cancelled"]),
        ..PLAIN
    },
];

/// What can be done with a run.
pub(in crate::pages) const RUN_ACTIONS: &[Action] = &[
    Action {
        verb: "cancel",
        label: "Cancel",
        effect: "The run is stopped with all of its processes. If it belongs to an activation, that is cancelled.",
        done: "It is cancelled.",
        operation: Operation::RunCancel,
        of: RUN,
        how: How::Ends,
        is_possible: |run, _| is(run, "state", &["running"]),
        ..PLAIN
    },
    Action {
        verb: "ask",
        label: "Ask",
        effect: "The message reaches the agent of the run at the end of its turn.",
        done: "The message waits for the agent.",
        operation: Operation::RunAsk,
        of: RUN,
        inputs: &[Input {
            name: "message",
            label: "Message",
            hint: "",
            most: 4_000,
            is_required: true,
        }],
        is_possible: |run, _| run["activation_id"].is_null(),
        ..PLAIN
    },
];

/// What can be done with an event.
pub(in crate::pages) const EVENT_ACTIONS: &[Action] = &[Action {
    verb: "replay",
    label: "Replay",
    effect: "The event is accepted again as a new delivery: the daemons whose conditions it meets now wake again.",
    done: "This is the new delivery; its conditions are evaluated at once.",
    operation: Operation::EventReplay,
    fixed: &[("as_new", "true")],
    leads_to: Some(("/events/", "/id")),
    ..PLAIN
}];

/// What can be done with a daemon of a repository.
pub(in crate::pages) const DAEMON_ACTIONS: &[Action] = &[
    Action {
        verb: "fire",
        label: "Fire",
        effect: "The daemon wakes once, without an event or a tick, under its policy and its budget.",
        done: "This is the activation.",
        operation: Operation::DaemonFire,
        of: DAEMON,
        fixed: &[("by", "page")],
        leads_to: Some(("/activations/", "/activation/id")),
        is_possible: |daemon, _| daemon["valid"] == true,
        ..PLAIN
    },
    Action {
        verb: "hold",
        label: "Hold",
        effect: "Its events and ticks are recorded, and it starts nothing until its gate is opened. What runs goes on.",
        done: "It is held.",
        operation: Operation::DaemonHold,
        of: DAEMON,
        is_possible: |daemon, _| is(daemon, "gate", &["open"]),
        ..PLAIN
    },
    Action {
        verb: "go",
        label: "Go",
        effect: "Its gate is opened: what waits starts.",
        done: "Its gate is open.",
        operation: Operation::DaemonGo,
        of: DAEMON,
        is_possible: |daemon, _| !is(daemon, "gate", &["open"]),
        ..PLAIN
    },
];

/// What can be done with a row of the roster.
pub(in crate::pages) const ROSTER_ACTIONS: &[Action] = &[
    Action {
        verb: "hold",
        label: "Hold",
        effect: "Its work loop stops: dispatch, starts of daemons, merges, acts on triage, its own reset. It goes on checking in.",
        done: "Its gate is on hold.",
        operation: Operation::RosterHold,
        of: ROW,
        inputs: &[REASON],
        is_possible: |row, _| has_gate(row) && is(row, "gate", &["go"]),
        ..PLAIN
    },
    Action {
        verb: "go",
        label: "Go",
        effect: "Its gate is opened, and it is woken.",
        done: "Its gate is open.",
        operation: Operation::RosterGo,
        of: ROW,
        inputs: &[REASON],
        is_possible: |row, _| has_gate(row) && !is(row, "gate", &["go"]),
        ..PLAIN
    },
    Action {
        verb: "poke",
        label: "Poke",
        effect: "The line is queued as a signal, and the agent is woken.",
        done: "The line is queued.",
        operation: Operation::RosterPoke,
        of: ROW,
        inputs: &[LINE],
        how: How::AtOnce,
        is_possible: |row, _| is_standing(row),
        ..PLAIN
    },
    Action {
        verb: "compact",
        label: "Compact",
        effect: "The agent reads at its next check-in that it has to compact its context.",
        done: "It reads at its next check-in that it has to compact.",
        operation: Operation::RosterCompact,
        of: ROW,
        how: How::AtOnce,
        is_possible: |row, _| is_standing(row) && row["needs_compaction"] == false,
        ..PLAIN
    },
    Action {
        verb: "interject",
        label: "Interject",
        effect: "The line reaches the agent at once, also in the middle of its work. It is not stored; poke it if it must not get lost.",
        done: "The line is on its way.",
        operation: Operation::RosterInterject,
        of: ("target", "/row/id"),
        inputs: &[LINE],
        is_possible: |row, _| is_standing(row) && is(row, "liveness", &["live"]),
        ..PLAIN
    },
    Action {
        verb: "reset",
        label: "Reset",
        effect: "It is to be replaced by a successor with the same role. It works on until the successor is ready and it has handed over.",
        done: "The reset is requested.",
        operation: Operation::RosterReset,
        of: ROW,
        inputs: &[REASON],
        is_possible: |row, found| {
            is_standing(row) && row["role"].is_string() && !is_resetting(found)
        },
        ..PLAIN
    },
    Action {
        verb: "start",
        label: "Start the successor",
        effect: "The successor is started, on hold. It takes the baton over when it is ready.",
        done: "The successor is being started.",
        operation: Operation::RosterStartReset,
        of: RESET,
        is_possible: |_, found| is(&found["reset"], "state", &["requested"]),
        ..PLAIN
    },
    Action {
        verb: "winddown",
        label: "Wind down",
        effect: "It finishes or parks its work, writes a handoff and stops. After that it can be retired.",
        done: "The wind-down is requested.",
        operation: Operation::RosterWindDown,
        of: ROW,
        inputs: &[REASON],
        is_possible: |row, _| is_standing(row) && is(row, "winddown_state", &["none"]),
        ..PLAIN
    },
    Action {
        verb: "cancel",
        label: "Cancel the hand-over",
        effect: "Its reset is given up, with its successor, or else its wind-down is withdrawn.",
        done: "It is withdrawn.",
        operation: Operation::RosterCancel,
        of: ROW,
        inputs: &[REASON],
        is_possible: |row, found| {
            let winds_down = is(row, "winddown_state", &["requested", "preparing", "ready"]);
            is_standing(row) && (winds_down || is_resetting(found))
        },
        ..PLAIN
    },
    Action {
        verb: "retire",
        label: "Retire",
        effect: "Its process is closed, its token is not valid any more, and its row leaves the roster. This cannot be taken back.",
        done: "It is retired.",
        operation: Operation::RosterRetire,
        of: ROW,
        inputs: &[REASON],
        how: How::Ends,
        is_possible: |row, _| is_standing(row),
        ..PLAIN
    },
];

/// Reports whether a member of an object is one of some words.
fn is(object: &Value, member: &str, words: &[&str]) -> bool {
    let word = object[member].as_str();
    word.is_some_and(|word| words.contains(&word))
}

fn is_standing(row: &Value) -> bool {
    row["kind"] == "standing" && row["retired_at"].is_null()
}

/// Reports whether people move the gate of a row.
fn has_gate(row: &Value) -> bool {
    is_standing(row) || row["kind"] == "repository" && row["retired_at"].is_null()
}

/// Reports whether a reset is open: which `cancel` gives up until the hand-over.
fn is_resetting(found: &Value) -> bool {
    is(
        &found["reset"],
        "state",
        &["requested", "starting", "spawned", "ready"],
    )
}
