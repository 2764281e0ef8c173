//! The outbox as a state machine: the next step for an output, and the state after it.

use jiff::{SignedDuration, Timestamp};

use crate::attempt::backoff;
use crate::output::{Output, OutputState};
use crate::surface::{Found, RemoteId, SurfaceError, SurfaceErrorKind};

/// How long after its creation an output is given up.
pub const OUTPUT_EXPIRY: SignedDuration = SignedDuration::from_hours(24);

/// The next step for a due output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStep {
    /// Send it.
    Send,
    /// Look it up first.
    LookUp,
    /// Do nothing: it is settled.
    Rest,
}

/// Returns the next step for an output.
///
/// An output that is [`OutputState::Sending`] when a host starts was being sent when the last one ended, so the step is a look-up.
pub fn step(state: OutputState) -> DeliveryStep {
    match state {
        OutputState::Planned => DeliveryStep::Send,
        OutputState::Sending | OutputState::Ambiguous => DeliveryStep::LookUp,
        OutputState::Refused
        | OutputState::Confirmed
        | OutputState::Unknown
        | OutputState::GaveUp => DeliveryStep::Rest,
    }
}

/// The result of a step: the next state of an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// The state that the store writes.
    pub state: OutputState,
    /// The surface's id, once it is known.
    pub remote: Option<RemoteId>,
    /// The newest failure, as the surface worded it; `None` after a success.
    pub error: Option<String>,
    /// The earliest next try, for a state that is not settled.
    pub not_before: Option<Timestamp>,
    /// The instant of the result.
    pub at: Timestamp,
}

/// Returns the next state of an output after a look-up.
pub fn after_look_up(
    output: &Output,
    found: Result<Found, SurfaceError>,
    now: Timestamp,
    jitter: u32,
) -> Settlement {
    match found {
        Ok(Found::At(remote)) => confirmed(remote, now),
        // A day of trying ends here for what was sent last without an answer.
        Ok(Found::Absent) if is_overdue(output, now) && output.error.is_some() => {
            let last = output.error.as_deref().unwrap_or_default();
            gave_up(format!("{last}; tried for 24 hours"), now)
        }
        // Due at once: the look-up has just shown that a send cannot repeat anything.
        Ok(Found::Absent) => Settlement {
            state: OutputState::Planned,
            remote: None,
            error: output.error.clone(),
            not_before: Some(now),
            at: now,
        },
        Ok(Found::Unreadable) => unknown("the surface cannot be read back".to_owned(), now),
        Err(error) if error.kind == SurfaceErrorKind::Refused => gave_up(error.message, now),
        // Not given up: a person's retry would send it again, and it may have landed.
        Err(error) if is_overdue(output, now) => {
            unknown(format!("{}; looked up for 24 hours", error.message), now)
        }
        Err(error) => retried(output, OutputState::Ambiguous, &error, now, jitter),
    }
}

fn unknown(error: String, now: Timestamp) -> Settlement {
    Settlement {
        state: OutputState::Unknown,
        remote: None,
        error: Some(error),
        not_before: None,
        at: now,
    }
}

/// Returns the next state of an output after it was sent.
pub fn after_send(
    output: &Output,
    sent: Result<RemoteId, SurfaceError>,
    now: Timestamp,
    jitter: u32,
) -> Settlement {
    match sent {
        Ok(remote) => confirmed(remote, now),
        Err(error) => match error.kind {
            SurfaceErrorKind::Refused => gave_up(error.message, now),
            SurfaceErrorKind::Retryable if is_overdue(output, now) => {
                gave_up(format!("{}; tried for 24 hours", error.message), now)
            }
            SurfaceErrorKind::Retryable => {
                retried(output, OutputState::Planned, &error, now, jitter)
            }
            // Even after a day: it may have landed, which only a look-up shows.
            SurfaceErrorKind::Ambiguous => {
                retried(output, OutputState::Ambiguous, &error, now, jitter)
            }
        },
    }
}

fn confirmed(remote: RemoteId, now: Timestamp) -> Settlement {
    Settlement {
        state: OutputState::Confirmed,
        remote: Some(remote),
        error: None,
        not_before: None,
        at: now,
    }
}

fn gave_up(error: String, now: Timestamp) -> Settlement {
    Settlement {
        state: OutputState::GaveUp,
        remote: None,
        error: Some(error),
        not_before: None,
        at: now,
    }
}

fn is_overdue(output: &Output, now: Timestamp) -> bool {
    // From the creation and not from the first failure, so that a surface that fails in turns cannot prolong it.
    now.duration_since(output.created_at) >= OUTPUT_EXPIRY
}

fn retried(
    output: &Output,
    state: OutputState,
    error: &SurfaceError,
    now: Timestamp,
    jitter: u32,
) -> Settlement {
    // A look-up may fail before the first send, when no attempt is counted yet.
    let own = now + backoff(output.attempts.max(1), jitter);
    // Not beyond the expiry, so that the last try is not left out.
    let expiry = output.created_at + OUTPUT_EXPIRY;
    let asked = error.retry_after.map(|limit| limit.end(now).min(expiry));
    Settlement {
        state,
        remote: None,
        error: Some(error.message.clone()),
        not_before: Some(asked.map_or(own, |asked| asked.max(own))),
        at: now,
    }
}

#[cfg(test)]
mod tests;
