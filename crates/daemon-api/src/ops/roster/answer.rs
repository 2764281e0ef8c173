//! The members of the answers of the roster.

use daemon_records::error::{OpError, blocker_object};
use daemon_roster::{CheckedIn, ResetState, Roster, RosterAnswer, RowId};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::known;
use crate::ops::{object, value};
use crate::wire::{RosterRowObject, instant};

/// Returns the members of an answer.
pub(super) fn members(
    answer: RosterAnswer,
    roster: &Roster,
    now: Timestamp,
) -> Result<Map<String, Value>, OpError> {
    use RosterAnswer as A;
    let members = match answer {
        A::CheckedIn(it) => checked_in(&it),
        A::Queued { signal, existing } => json!({"signal": signal.as_str(), "existing": existing}),
        A::Claimed { token, lease_until } => {
            json!({"token": token.as_str(), "lease_until": instant(lease_until)})
        }
        A::Signal(signal) => json!({"signal": signal.as_str()}),
        A::Gate(gate) => json!({"gate": gate.as_str()}),
        A::Generation(generation) => json!({"generation": generation.0}),
        A::Compaction(is_needed) => json!({"needs_compaction": is_needed}),
        A::Reset { reset, successor } => {
            json!({"reset": reset.as_str(), "successor": successor.as_ref().map(RowId::as_str)})
        }
        A::WindDown(state) => json!({"winddown_state": state.as_str()}),
        A::Subordinates { blockers } => {
            let blockers: Vec<_> = blockers.iter().map(blocker_object).collect();
            json!({"ready": blockers.is_empty(), "blockers": blockers})
        }
        A::Retired(row) => {
            let row = known(roster, &row)?;
            let report = daemon_roster::liveness(row, now, roster.settings());
            value(&RosterRowObject::new(row, &report))?
        }
        A::At(at) => json!({"at": instant(at)}),
        A::Spawning(row) => json!({"daemon": row.as_str()}),
        A::Planned {
            plan,
            status,
            checks,
            packet,
            hash,
        } => {
            let checks = checks.iter();
            let checks: Vec<_> = checks
                .map(
                    |check| json!({"name": check.name.as_str(), "outcome": check.outcome.as_str(), "why": check.why()}),
                )
                .collect();
            json!({
                "plan": plan.as_str(), "status": status.as_str(), "checks": checks,
                "packet": packet, "packet_sha256": hash.to_string(),
            })
        }
        // Requests of the host alone have no answer.
        _ => json!({}),
    };
    object(members)
}

fn checked_in(it: &CheckedIn) -> Value {
    json!({
        "daemon": it.row.as_str(),
        "incarnation": it.incarnation.0,
        "gate": it.gate.as_str(),
        "generation": it.generation.map(|generation| generation.0),
        "winddown_state": it.wind_down.as_str(),
        "reset_state": it.reset.map(ResetState::as_str),
        "needs_compaction": it.needs_compaction,
        "pending_signals": it.pending_signals,
        "next_due_at": instant(it.next_due_at),
    })
}
