//! When expired leases are taken back, and old rows forgotten.

use std::time::Duration;

use jiff::SignedDuration;

use crate::effect::HostEffect;
use crate::now::Now;
use crate::settings::{Settings, forgotten_before};
use crate::turn::Turn;

/// How often leases and waiting activations are examined.
const SWEEP: Duration = Duration::from_secs(15);
/// One sweep in this many forgets old rows.
const SWEEPS_PER_FORGETTING: u32 = 240;
/// How long identities of events are kept.
const IDENTITIES: SignedDuration = SignedDuration::from_hours(30 * 24);

#[derive(Debug)]
pub(crate) struct Sweeps {
    pub(crate) turn: Turn,
    n_sweeps: u32,
}

impl Sweeps {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            turn: Turn::at(now.after(SWEEP)),
            n_sweeps: 0,
        }
    }

    pub(crate) fn act(&mut self, settings: &Settings, now: Now, effects: &mut Vec<HostEffect>) {
        if self.turn.is_due(now) {
            self.turn.begin();
            self.n_sweeps = self.n_sweeps.wrapping_add(1);
            effects.push(HostEffect::TakeBack(settings.epoch));
        }
    }

    /// Forgets old rows, or rests.
    pub(crate) fn expired(&mut self, settings: &Settings, now: Now, effects: &mut Vec<HostEffect>) {
        // The first round comes soon after the start, which takes more memory than the daemons keep.
        if self.n_sweeps % SWEEPS_PER_FORGETTING != 1 {
            return self.rest(now);
        }
        let kept = settings.kept;
        effects.push(HostEffect::Forget {
            payloads: forgotten_before(kept.payloads, now),
            identities: now.wall - IDENTITIES,
            ticks: forgotten_before(kept.ticks, now),
            runs: kept.runs.map(|kept| now.wall - kept),
        });
    }

    pub(crate) fn rest(&mut self, now: Now) {
        self.turn.rest_until(now.after(SWEEP));
    }
}
