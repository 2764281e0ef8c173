//! The dispatcher itself: events to the concern they belong to, and whose turn it is.

use std::collections::BTreeSet;
use std::time::Duration;

use daemon_engine::{Activation, Output};

use crate::claims::{Claims, Loan};
use crate::disk::{DiskSpace, SpaceWatch};
use crate::effect::HostEffect;
use crate::event::HostEvent;
use crate::leases::Leases;
use crate::matching::MatchProgress;
use crate::now::Now;
use crate::outputs::OutputQueue;
use crate::settings::Settings;
use crate::stopping::StopProgress;
use crate::sweeps::Sweeps;
use crate::turn::{Concern, Turn};

/// How long a concern rests after one of its effects panicked.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// Decides what a host does next.
#[derive(Debug)]
pub struct Dispatcher {
    settings: Settings,
    active: BTreeSet<Concern>,
    stopping: StopProgress,
    disk: SpaceWatch,
    claims: Claims,
    leases: Leases,
    matching: MatchProgress,
    outputs: OutputQueue,
    sweeps: Sweeps,
}

impl Dispatcher {
    /// Makes a dispatcher of some concerns; hand it [`HostEvent::Time`] to begin.
    pub fn new(settings: Settings, concerns: &[Concern], now: Now) -> Self {
        Self {
            settings,
            active: concerns.iter().copied().collect(),
            stopping: StopProgress::No,
            disk: SpaceWatch::new(now),
            claims: Claims::new(now),
            leases: Leases::new(now),
            matching: MatchProgress::new(now),
            outputs: OutputQueue::new(now),
            sweeps: Sweeps::new(now),
        }
    }

    /// Claims nothing before a deadline, in the time since boot: hosts of this home crashed again and again.
    pub fn pause_claims(&mut self, until: Duration) {
        self.claims.pause_until(until);
    }

    /// Takes one event and appends what is to be done, in order. Call it with the result of each effect, and with
    /// [`HostEvent::Time`] by [`Self::next_deadline`].
    pub fn handle(&mut self, event: HostEvent, now: Now, effects: &mut Vec<HostEffect>) {
        self.take(event, now, effects);
        self.act(now, effects);
    }

    /// Returns when a concern is due, in the time since boot; `None` while all of them wait for effects.
    pub fn next_deadline(&self) -> Option<Duration> {
        let active = Concern::ALL.into_iter().filter(|one| self.is_active(*one));
        let turns = active.filter_map(|concern| self.turn(concern).deadline());
        let leases = self
            .is_active(Concern::Leases)
            .then(|| self.leases.deadline());
        turns
            .chain(leases.flatten())
            .chain(self.stopping.deadline())
            .min()
    }

    /// Reports whether the host was asked to stop and executes nothing any more.
    pub fn is_finished(&self) -> bool {
        self.stopping == StopProgress::Done
    }

    fn take(&mut self, event: HostEvent, now: Now, effects: &mut Vec<HostEffect>) {
        match event {
            HostEvent::Time => {}
            HostEvent::Began(concerns) => self.begin(concerns, now),
            HostEvent::Nudged(concern) => self.turn_mut(concern).nudge(),
            HostEvent::Configured(settings) => {
                self.settings = *settings;
                self.outputs.reconfigured();
            }
            HostEvent::StopRequested => self.stopping.begin(self.settings.drain, now),
            HostEvent::SpaceRead(space) => self.space_read(space, now, effects),
            HostEvent::Claimed(None) => effects.push(HostEffect::FindNextClaim),
            HostEvent::Claimed(Some(activation)) => self.claimed(activation, now, effects),
            HostEvent::NextClaim(next) => self.claims.rest(next, now),
            HostEvent::AttemptEnded(id, lease) => {
                self.leases.release(&id, lease);
                self.claims.ended();
                self.outputs.turn.nudge();
            }
            HostEvent::Renewed { lost } => self.leases.renewed(lost, now, effects),
            HostEvent::Matched(batch, claimed) => {
                self.claims.returned(batch.n_admitted);
                if let Some(activation) = claimed {
                    self.claimed(activation, now, effects);
                }
                self.matching.matched(batch, now, effects);
            }
            HostEvent::Settled(output) => self.settled(&output),
            HostEvent::OutputsDue(_)
            | HostEvent::NextOutput(_)
            | HostEvent::OutputsHastened
            | HostEvent::SendBegun(_)
            | HostEvent::Sent(..)
            | HostEvent::LookedUp(..)
            | HostEvent::SettledBefore(_)
            | HostEvent::OutputFailed(_) => self.outputs.take(event, now, effects),
            HostEvent::TakenBack(n) => {
                if n > 0 {
                    self.claims.turn.nudge();
                }
                effects.push(HostEffect::ClearStrays);
            }
            HostEvent::StraysCleared => effects.push(HostEffect::Expire),
            HostEvent::Expired => self.sweeps.expired(&self.settings, now, effects),
            HostEvent::Forgotten => self.sweeps.rest(now),
            HostEvent::StoreFailed(concern) => self.fail(concern, now),
            // A store that failed to sync refuses every write from then on; only a new process can open it again.
            HostEvent::StoreBroken(concern) => {
                effects.push(HostEffect::GiveUp);
                self.fail(concern, now);
            }
            HostEvent::Panicked(concern) => {
                self.fail(concern, now);
                self.turn_mut(concern).rest_until(now.after(AFTER_PANIC));
            }
        }
    }

    fn begin(&mut self, concerns: Vec<Concern>, now: Now) {
        // The first concerns start before the repositories are read, the rest after.
        self.active.extend(concerns);
        // What was due meanwhile is due a whole period after the start.
        self.leases.rest(now);
        self.sweeps.rest(now);
    }

    fn space_read(&mut self, space: DiskSpace, now: Now, effects: &mut Vec<HostEffect>) {
        if self.disk.was_read(space, now, effects) {
            effects.push(HostEffect::SpaceChanged(space));
            self.claims.turn.nudge();
            self.matching.turn.nudge();
            self.outputs.turn.nudge();
        }
        self.claims.disk_was_read();
        self.matching.disk_was_read();
    }

    fn claimed(&mut self, activation: Box<Activation>, now: Now, effects: &mut Vec<HostEffect>) {
        let (id, lease) = (activation.id.clone(), activation.run_lease);
        self.leases.hold(id, lease, now);
        self.claims.begun();
        effects.push(HostEffect::Execute(activation));
    }

    fn settled(&mut self, output: &Output) {
        // The last output of an activation frees its subject.
        if output.state.is_settled() {
            self.claims.turn.nudge();
        }
        self.outputs.settled(&output.key);
    }

    fn act(&mut self, now: Now, effects: &mut Vec<HostEffect>) {
        self.stopping.act(self.claims.is_executing(), now, effects);
        // Runs that drain keep their leases; everything else begins nothing more.
        if self.is_active(Concern::Leases) {
            self.leases.act(now, effects);
        }
        if self.is_active(Concern::Disk) {
            self.disk.act(now, effects);
        }
        if self.is_active(Concern::Claims) {
            self.claims
                .act(&self.settings, &mut self.disk, now, effects);
        }
        if self.is_active(Concern::Matching) {
            let may_claim = self.is_active(Concern::Claims);
            let (claims, settings, disk) = (&mut self.claims, &self.settings, &mut self.disk);
            let lend = |effects: &mut Vec<HostEffect>| match may_claim {
                true => claims.lend(settings, disk, now, effects),
                false => Loan::No,
            };
            self.matching.act(now, lend, effects);
        }
        if self.is_active(Concern::Outputs) {
            self.outputs.act(&self.settings.surfaces, now, effects);
        }
        if self.is_active(Concern::Sweeps) {
            self.sweeps.act(&self.settings, now, effects);
        }
    }

    fn is_active(&self, concern: Concern) -> bool {
        let is_running = self.stopping == StopProgress::No || concern == Concern::Leases;
        is_running && self.active.contains(&concern)
    }

    fn fail(&mut self, concern: Concern, now: Now) {
        match concern {
            Concern::Disk => {
                self.disk.turn.rest_until(now.after(AFTER_PANIC));
                self.claims.disk_was_read();
                self.matching.disk_was_read();
            }
            Concern::Claims => self.claims.failed(now),
            Concern::Leases => self.leases.rest(now),
            Concern::Matching => {
                self.claims.matching_failed(now);
                self.matching.failed(now);
            }
            Concern::Outputs => self.outputs.failed(now),
            Concern::Sweeps => self.sweeps.rest(now),
        }
    }

    fn turn(&self, concern: Concern) -> &Turn {
        match concern {
            Concern::Disk => &self.disk.turn,
            Concern::Claims => &self.claims.turn,
            Concern::Leases => &self.leases.turn,
            Concern::Matching => &self.matching.turn,
            Concern::Outputs => &self.outputs.turn,
            Concern::Sweeps => &self.sweeps.turn,
        }
    }

    fn turn_mut(&mut self, concern: Concern) -> &mut Turn {
        match concern {
            Concern::Disk => &mut self.disk.turn,
            Concern::Claims => &mut self.claims.turn,
            Concern::Leases => &mut self.leases.turn,
            Concern::Matching => &mut self.matching.turn,
            Concern::Outputs => &mut self.outputs.turn,
            Concern::Sweeps => &mut self.sweeps.turn,
        }
    }
}
