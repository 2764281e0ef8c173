//! From the parameters of a call to a request of the roster.

use std::fmt::Display;
use std::str::FromStr;

use daemon_records::error::OpError;
use daemon_roster::{
    CheckInParams, DedupeKey, GateChange, HandOffGate, HandoffRef, Interjection,
    InterjectionTarget, NewSignal, ReasonText, Roster, RosterCommand, TokenHash,
};

use super::{find, invalid, maybe_row, row};
use crate::ops::{Operation, Params, UnknownMethod};

/// The target of a line for the daemon that holds the orchestrator's baton. A daemon of this name is named by its id.
const ORCHESTRATOR: &str = "orchestrator";

/// Returns the request of a tool that changes something.
pub(super) fn command(
    operation: Operation,
    mut params: Params,
    roster: &Roster,
    registering: Option<TokenHash>,
) -> Result<RosterCommand, OpError> {
    use Operation as O;
    let given = &mut params;
    let command = match operation {
        O::RosterCheckIn => RosterCommand::CheckIn(check_in(given, registering)?),
        O::RosterEnqueue => RosterCommand::Enqueue(signal(given, roster)?),
        O::RosterClaim => RosterCommand::Claim(needed(given, "signal")?),
        O::RosterComplete => RosterCommand::Complete {
            signal: needed(given, "signal")?,
            token: needed(given, "token")?,
            result: given.text("result")?,
        },
        O::RosterFail => RosterCommand::Fail {
            signal: needed(given, "signal")?,
            token: needed(given, "token")?,
            error: given.required("error")?,
        },
        O::RosterCancelSignal => RosterCommand::CancelSignal(needed(given, "signal")?),
        O::RosterPoke => RosterCommand::Poke {
            row: row(given, roster)?,
            line: given.required("line")?,
        },
        O::RosterGo => gate(given, roster, GateChange::Go)?,
        O::RosterHold => gate(given, roster, GateChange::Hold)?,
        O::RosterAuthorize => RosterCommand::Authorize(needed(given, "action")?),
        O::RosterCompact => RosterCommand::RequestCompaction(row(given, roster)?),
        O::RosterCompacted => RosterCommand::CompactionDone(maybe_row(given, "daemon", roster)?),
        O::RosterReportBlocked => RosterCommand::ReportBlocked {
            tool: given.required("tool")?,
            error: given.required("error")?,
        },
        O::RosterInterject => RosterCommand::Interject(interjection(given, roster)?),
        other => lifecycle(other, given, roster)?,
    };
    params.finish()?;
    Ok(command)
}

/// Returns the request of a tool about resets, wind-downs and the end of a row.
fn lifecycle(
    operation: Operation,
    given: &mut Params,
    roster: &Roster,
) -> Result<RosterCommand, OpError> {
    use Operation as O;
    Ok(match operation {
        O::RosterReset => RosterCommand::RequestReset {
            row: row(given, roster)?,
            reason: reason(given)?,
        },
        O::RosterSuccessorReady => RosterCommand::SuccessorReady(needed(given, "reset")?),
        O::RosterHandOff => RosterCommand::HandOff {
            reset: needed(given, "reset")?,
            handoff_ref: word(given, "handoff_ref")?,
            gate: match given.flag("go")? {
                true => HandOffGate::Go,
                false => HandOffGate::Keep,
            },
        },
        O::RosterRetirePredecessor => RosterCommand::RetirePredecessor(needed(given, "reset")?),
        O::RosterCancelReset => RosterCommand::CancelReset(needed(given, "reset")?),
        O::RosterWindDown => RosterCommand::RequestWindDown {
            row: row(given, roster)?,
            reason: reason(given)?,
        },
        O::RosterWindDownReady => {
            RosterCommand::WindDownReady(needed::<HandoffRef>(given, "handoff_ref")?)
        }
        O::RosterSubordinates => RosterCommand::SubordinatesReady(needed(given, "project")?),
        O::RosterCancelWindDown => RosterCommand::CancelWindDown {
            row: row(given, roster)?,
            reason: reason(given)?,
        },
        O::RosterRetire => RosterCommand::Retire {
            row: row(given, roster)?,
            reason: reason(given)?,
        },
        other => return Err(UnknownMethod(other.method().to_owned()).into()),
    })
}

fn check_in(given: &mut Params, registering: Option<TokenHash>) -> Result<CheckInParams, OpError> {
    Ok(CheckInParams {
        // An unknown cadence refuses the check-in where it is recorded.
        cadence: given.text("cadence")?,
        context_tokens: given.number("context_tokens")?,
        context_limit: given.number("context_limit")?,
        process: word(given, "process_id")?,
        session: word(given, "session_id")?,
        nonce: word(given, "nonce")?,
        project: word(given, "project")?,
        role: word(given, "role")?,
        actor_ref: word(given, "actor_ref")?,
        token: registering,
        ..CheckInParams::new(needed(given, "wake")?)
    })
}

fn signal(given: &mut Params, roster: &Roster) -> Result<NewSignal, OpError> {
    let priority = match given.number("priority")? {
        None => NewSignal::DEFAULT_PRIORITY,
        Some(priority) => u8::try_from(priority)
            .ok()
            .ok_or_else(|| too_great(priority))?,
    };
    Ok(NewSignal {
        kind: needed(given, "kind")?,
        project: word(given, "project")?,
        target: maybe_row(given, "target", roster)?,
        dedupe_key: word::<DedupeKey>(given, "dedupe_key")?,
        priority,
        payload: given.required("payload")?,
        reference: given.text("ref")?,
    })
}

/// Reads a line for a daemon, or for the one that holds the orchestrator's baton.
fn interjection(given: &mut Params, roster: &Roster) -> Result<Interjection, OpError> {
    let target = given.required("target")?;
    let target = match target.as_str() {
        ORCHESTRATOR => InterjectionTarget::Orchestrator(word(given, "project")?),
        named => InterjectionTarget::Row(find(roster, named)?),
    };
    let delay_ms = given.value("delay_ms").filter(|value| !value.is_null());
    let delay_ms = delay_ms.map(|value| {
        let delay = value.as_i64();
        delay.ok_or_else(|| invalid("delay_ms", &"it is no whole number"))
    });
    Ok(Interjection {
        target,
        line: given.required("line")?,
        delay_ms: delay_ms.transpose()?,
    })
}

fn too_great(priority: u64) -> OpError {
    invalid("priority", &format_args!("{priority} is not 0 to 255"))
}

fn gate(given: &mut Params, roster: &Roster, change: GateChange) -> Result<RosterCommand, OpError> {
    Ok(RosterCommand::SetGate {
        row: row(given, roster)?,
        change,
        reason: reason(given)?,
    })
}

pub(super) fn reason(given: &mut Params) -> Result<ReasonText, OpError> {
    needed(given, "reason")
}

/// Removes and returns a value of a type that checks it.
pub(super) fn word<T>(given: &mut Params, name: &str) -> Result<Option<T>, OpError>
where
    T: FromStr,
    T::Err: Display,
{
    let text = given.text(name)?;
    let parsed = text.map(|text| text.parse().map_err(|error| invalid(name, &error)));
    parsed.transpose()
}

/// As [`word`], for a value that is required.
pub(super) fn needed<T>(given: &mut Params, name: &str) -> Result<T, OpError>
where
    T: FromStr,
    T::Err: Display,
{
    word(given, name)?.ok_or_else(|| OpError::invalid(format!("`{name}` is missing")))
}
