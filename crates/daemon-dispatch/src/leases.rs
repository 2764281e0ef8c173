//! When leases are renewed, and what a lost one means.

use std::collections::BTreeMap;
use std::time::Duration;

use daemon_engine::{LEASE, RunLease};
use daemon_event::ActivationId;

use crate::effect::HostEffect;
use crate::now::Now;
use crate::turn::Turn;

/// How often leases are renewed: five times within the time that one lasts.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long after its last renewal the run of a lease is stopped. Its processes have to be dead before the lease is over, because another
/// host may then start the activation.
const LONGEST_UNRENEWED: Duration = Duration::from_secs(50);

#[derive(Debug)]
pub(crate) struct Leases {
    pub(crate) turn: Turn,
    held: BTreeMap<ActivationId, HeldLease>,
    /// What the renewal that is under way asked for, and when.
    asked: BTreeMap<ActivationId, RunLease>,
    asked_at: Duration,
}

#[derive(Debug)]
struct HeldLease {
    lease: RunLease,
    /// The time since boot from which it lasts, or a little before.
    renewed_at: Duration,
    is_stopped: bool,
}

impl Leases {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            turn: Turn::at(now.after(HEARTBEAT)),
            held: BTreeMap::new(),
            asked: BTreeMap::new(),
            asked_at: now.since_boot,
        }
    }

    pub(crate) fn hold(&mut self, id: ActivationId, lease: RunLease, now: Now) {
        let held = HeldLease {
            lease,
            renewed_at: now.since_boot,
            is_stopped: false,
        };
        self.held.insert(id, held);
    }

    /// Returns when the run of a lease is stopped unless it is renewed before, in the time since boot.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let held = self.held.values().filter(|held| !held.is_stopped);
        held.map(|held| held.renewed_at + LONGEST_UNRENEWED).min()
    }

    pub(crate) fn release(&mut self, id: &ActivationId, lease: RunLease) {
        // A later attempt at the same activation keeps its own lease.
        if self.held.get(id).is_some_and(|held| held.lease == lease) {
            self.held.remove(id);
        }
    }

    pub(crate) fn act(&mut self, now: Now, effects: &mut Vec<HostEffect>) {
        self.stop_unrenewed(now, effects);
        if !self.turn.is_due(now) {
            return;
        }
        self.turn.begin();
        if self.held.is_empty() {
            return self.rest(now);
        }
        let held = self.held.iter();
        self.asked = held.map(|(id, held)| (id.clone(), held.lease)).collect();
        self.asked_at = now.since_boot;
        effects.push(HostEffect::Renew {
            leases: self.asked.clone().into_iter().collect(),
            until: now.wall + LEASE,
        });
    }

    /// Has the runs stopped whose leases are nearly over: the store cannot be reached, or the host was stopped.
    fn stop_unrenewed(&mut self, now: Now, effects: &mut Vec<HostEffect>) {
        for (id, held) in &mut self.held {
            if !held.is_stopped && now.since_boot >= held.renewed_at + LONGEST_UNRENEWED {
                held.is_stopped = true;
                effects.push(HostEffect::StopUnleased(id.clone()));
            }
        }
    }

    /// Has the runs stopped whose leases were lost; not a run that began since the renewal was asked for.
    pub(crate) fn renewed(
        &mut self,
        lost: Vec<ActivationId>,
        now: Now,
        effects: &mut Vec<HostEffect>,
    ) {
        // A slow answer may name a lease that ended meanwhile, and its activation may run again under a new one.
        for (id, asked) in &self.asked {
            match self.held.get_mut(id) {
                Some(held) if held.lease == *asked && lost.contains(id) => {
                    held.is_stopped = true;
                    effects.push(HostEffect::StopUnleased(id.clone()));
                }
                Some(held) if held.lease == *asked => held.renewed_at = self.asked_at,
                _ => {}
            }
        }
        self.rest(now);
    }

    pub(crate) fn rest(&mut self, now: Now) {
        self.turn.rest_until(now.after(HEARTBEAT));
    }
}
