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

#[derive(Debug)]
pub(crate) struct Leases {
    pub(crate) turn: Turn,
    held: BTreeMap<ActivationId, RunLease>,
    /// What the renewal that is under way asked for.
    asked: BTreeMap<ActivationId, RunLease>,
}

impl Leases {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            turn: Turn::at(now.after(HEARTBEAT)),
            held: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    pub(crate) fn hold(&mut self, id: ActivationId, lease: RunLease) {
        self.held.insert(id, lease);
    }

    pub(crate) fn release(&mut self, id: &ActivationId, lease: RunLease) {
        // A later attempt at the same activation keeps its own lease.
        if self.held.get(id) == Some(&lease) {
            self.held.remove(id);
        }
    }

    pub(crate) fn act(&mut self, now: Now, effects: &mut Vec<HostEffect>) {
        if !self.turn.is_due(now) {
            return;
        }
        self.turn.begin();
        if self.held.is_empty() {
            return self.rest(now);
        }
        self.asked.clone_from(&self.held);
        effects.push(HostEffect::Renew {
            leases: self.held.clone().into_iter().collect(),
            until: now.wall + LEASE,
        });
    }

    /// Has the runs stopped whose leases were lost; not a run that began since the renewal was asked for.
    pub(crate) fn renewed(
        &mut self,
        lost: Vec<ActivationId>,
        now: Now,
        effects: &mut Vec<HostEffect>,
    ) {
        // A slow answer may name a lease that ended meanwhile, and its activation may run again under a new one.
        for id in lost {
            let held = self.held.get(&id);
            if held.is_some() && held == self.asked.get(&id) {
                effects.push(HostEffect::StopUnleased(id));
            }
        }
        self.rest(now);
    }

    pub(crate) fn rest(&mut self, now: Now) {
        self.turn.rest_until(now.after(HEARTBEAT));
    }
}
