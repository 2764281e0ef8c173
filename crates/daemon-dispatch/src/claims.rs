//! When ready activations are claimed, and how many.

use std::time::Duration;

use daemon_store::ClaimRequest;
use jiff::Timestamp;

use crate::disk::{DISK_LOOK, DiskSpace, SpaceWatch};
use crate::effect::HostEffect;
use crate::now::Now;
use crate::settings::Settings;
use crate::turn::Turn;

/// How long nothing is claimed unless something wakes the dispatcher.
const IDLE: Duration = Duration::from_secs(15);
/// How long nothing is claimed after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Claims {
    pub(crate) turn: Turn,
    waits_for_disk: bool,
    /// The end of the pause after a crash loop.
    paused_until: Duration,
    n_executed: u32,
    /// The rest that matching interrupted: it claims meanwhile.
    lent: Option<Duration>,
}

/// Whether matching may claim in its own transaction.
pub(crate) enum Loan {
    /// A claim is due or under way, or nothing may start.
    No,
    /// Once the disk was examined.
    AfterReading,
    Yes(ClaimRequest),
}

impl Claims {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            turn: Turn::at(now.since_boot),
            waits_for_disk: false,
            paused_until: Duration::ZERO,
            n_executed: 0,
            lent: None,
        }
    }

    pub(crate) fn pause_until(&mut self, deadline: Duration) {
        self.paused_until = deadline;
    }

    /// Reports whether something is executed, or may be once a claim that is under way is answered.
    pub(crate) fn is_executing(&self) -> bool {
        // A claim under way may lease an activation after the stop was asked for; its run would be abandoned without being
        // counted.
        self.n_executed > 0 || self.turn.deadline().is_none()
    }

    pub(crate) fn act(
        &mut self,
        settings: &Settings,
        disk: &mut SpaceWatch,
        now: Now,
        effects: &mut Vec<HostEffect>,
    ) {
        if !self.turn.is_due(now) {
            return;
        }
        self.turn.begin();
        if now.since_boot < self.paused_until {
            return self.turn.rest_until(self.paused_until);
        }
        match disk.fresh(now) {
            // A claim must not rely on a reading from before the disk filled up.
            None => {
                self.waits_for_disk = true;
                disk.read(effects);
            }
            // One claim at a time, until the store has nothing or the slots are full: a claim in advance would hold a lease
            // that no run uses.
            Some(DiskSpace::Enough) if self.n_executed < settings.limits.host_slots => {
                effects.push(HostEffect::Claim(settings.claim_request(now.wall)));
            }
            Some(DiskSpace::Enough) => effects.push(HostEffect::FindNextClaim),
            Some(_) => self.turn.rest_until(now.after(DISK_LOOK)),
        }
    }

    /// Lends the next claim to matching, which saves an activation that starts at once the wait for a second transaction.
    pub(crate) fn lend(
        &mut self,
        settings: &Settings,
        disk: &mut SpaceWatch,
        now: Now,
        effects: &mut Vec<HostEffect>,
    ) -> Loan {
        let Some(rest) = self.turn.deadline().filter(|_| !self.turn.is_due(now)) else {
            return Loan::No;
        };
        if now.since_boot < self.paused_until || self.n_executed >= settings.limits.host_slots {
            return Loan::No;
        }
        match disk.fresh(now) {
            None => {
                disk.read(effects);
                Loan::AfterReading
            }
            Some(DiskSpace::Enough) => {
                self.turn.begin();
                self.lent = Some(rest);
                Loan::Yes(settings.claim_request(now.wall))
            }
            Some(_) => Loan::No,
        }
    }

    /// Takes back what was lent to matching, which admitted as many triggers as this and claimed none of them.
    pub(crate) fn returned(&mut self, n_admitted: usize) {
        if let Some(rest) = self.lent.take() {
            self.turn.rest_until(rest);
        }
        // Only if something was admitted: most events wake no daemon, and each claim costs a query.
        if n_admitted > 0 {
            self.turn.nudge();
        }
    }

    /// Takes back what was lent to matching, which failed.
    pub(crate) fn matching_failed(&mut self, now: Now) {
        if self.lent.take().is_some() {
            self.failed(now);
        }
    }

    pub(crate) fn disk_was_read(&mut self) {
        if std::mem::take(&mut self.waits_for_disk) {
            self.turn.again();
        }
    }

    pub(crate) fn begun(&mut self) {
        self.n_executed += 1;
        self.turn.again();
    }

    pub(crate) fn ended(&mut self) {
        self.n_executed = self.n_executed.saturating_sub(1);
        // The slot is free now; without the nudge it would stay empty for up to 15 seconds.
        self.turn.nudge();
    }

    pub(crate) fn rest(&mut self, next: Option<Timestamp>, now: Now) {
        self.turn.rest_until(now.until(next, IDLE));
    }

    pub(crate) fn failed(&mut self, now: Now) {
        self.waits_for_disk = false;
        // A claim that failed may have been stored. Its lease is renewed by no run and expires, and the sweep takes it back.
        self.turn.rest_until(now.after(AFTER_FAILURE));
    }
}
