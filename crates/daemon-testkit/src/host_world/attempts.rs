//! Attempts: runs that take time, end, fail, hang and lose their lease; also those of hosts that died.

use daemon_dispatch::HostEvent;
use daemon_engine::{
    Activation, AttemptEnd, AttemptOutcome, Gate, NewOutput, OutputKey, OutputState, RunLease,
};
use daemon_event::ActivationId;
use daemon_store::{RunRow, StoreError};

use super::effects::StoreFate;
use super::{HOUR, HostCanary, HostHappening, HostWorld, MINUTE, SECOND};

/// One attempt, of the host that lives or of one that died.
#[derive(Clone, Debug)]
pub(super) struct SimulatedAttempt {
    /// The life of its host.
    pub(super) life: u64,
    pub(super) id: ActivationId,
    pub(super) lease: RunLease,
    number: u32,
    /// Whether it was asked to stop, or its processes were ended.
    is_stopped: bool,
}

impl HostWorld {
    pub(super) fn execute(&mut self, activation: &Activation) {
        self.n_queued += 1;
        let number = self.n_queued;
        let attempt = SimulatedAttempt {
            life: self.life,
            id: activation.id.clone(),
            lease: activation.run_lease,
            number: activation.attempts,
            is_stopped: false,
        };
        self.attempts.insert(number, attempt);
        let wait = self.latency();
        self.after(wait, HostHappening::AttemptStarts(number));
    }

    pub(super) fn attempt_starts(&mut self, number: u64) {
        let Some(attempt) = self.attempts.get(&number).cloned() else {
            return;
        };
        let fate = self.store_fate();
        let is_started = fate == StoreFate::Works && self.start_run(&attempt);
        let takes = match self.dice.below(30) {
            _ if !is_started || attempt.is_stopped => self.between(10, SECOND),
            // It hangs until the limit of a run ends it.
            0 if !self.is_calm => 30 * MINUTE,
            _ => self.between(5 * SECOND, 5 * MINUTE),
        };
        self.after(takes, HostHappening::AttemptEnds(number));
    }

    fn start_run(&mut self, attempt: &SimulatedAttempt) -> bool {
        let now = self.now();
        let run = RunRow {
            id: format!("{}-{}", attempt.id, attempt.lease.0),
            activation: Some(attempt.id.clone()),
            daemon: None,
            attempt: attempt.number,
            provider: String::new(),
            state: "running".to_owned(),
            started_at: now,
            finished_at: None,
            object: String::new(),
        };
        let started = self.store.start_run(&attempt.id, attempt.lease, run, now);
        started.is_ok()
    }

    pub(super) fn attempt_ends(&mut self, number: u64) {
        let Some(attempt) = self.attempts.remove(&number) else {
            return;
        };
        let end = self.end(&attempt);
        let lease = match self.setup.canary {
            Some(HostCanary::AttemptWithoutFence) => self
                .store
                .activation(&attempt.id)
                .map_or(attempt.lease, |activation| activation.run_lease),
            _ => attempt.lease,
        };
        let fate = self.store_fate();
        if matches!(fate, StoreFate::Works | StoreFate::IsInDoubt) {
            let ended = self.store.end_attempt(&attempt.id, lease, end);
            self.note(&[4, u64::from(ended.is_ok())]);
            self.say(|world| {
                let is_stale = attempt.life != world.life;
                let result = ended.as_ref().map(|ended| ended.activation.state);
                format!("attempt {attempt:?} (stale: {is_stale}) ends: {result:?}")
            });
            match ended {
                Ok(ended) => {
                    self.oracle.ended(&attempt.id, attempt.lease);
                    if ended.gate == Gate::Tripped {
                        let daemon = self.place_of(&ended.activation.daemon);
                        let wait = self.between(MINUTE, HOUR);
                        self.after(wait, HostHappening::OpenGate(daemon));
                    }
                }
                Err(StoreError::LeaseLost) => self.tally.fenced += 1,
                Err(error) => {
                    let text = format!("G4: the end of an attempt failed: {error}");
                    self.oracle.violations.push(text);
                }
            }
        }
        if attempt.life == self.life {
            self.handle(HostEvent::AttemptEnded(attempt.id, attempt.lease));
        }
    }

    fn end(&mut self, attempt: &SimulatedAttempt) -> AttemptEnd {
        let reason = String::new();
        let outcome = match self.dice.below(40) {
            _ if attempt.is_stopped => AttemptOutcome::HostStopping,
            _ if self.is_calm => AttemptOutcome::Done,
            0..4 => AttemptOutcome::Retryable { reason },
            4 => AttemptOutcome::Final { reason },
            _ => AttemptOutcome::Done,
        };
        let jitter = self.jitter();
        let mut end = AttemptEnd::new(outcome, self.now(), jitter);
        for ordinal in 0..u32::try_from(self.dice.below(3)).expect("small") {
            let surface = if self.dice.once_in(40) {
                "gone"
            } else {
                "remote"
            };
            end.outputs.push(NewOutput {
                key: OutputKey::derive(&attempt.id, ordinal, surface, "place"),
                ordinal,
                surface: surface.to_owned(),
                target: "place".to_owned(),
                content: "{}".to_owned(),
                revision: None,
                state: OutputState::Planned,
                error: None,
            });
        }
        end
    }

    /// Asks attempts of the host that lives to stop; each takes a moment.
    pub(super) fn stop_attempts(&mut self, is_meant: impl Fn(&SimulatedAttempt) -> bool) {
        let life = self.life;
        let meant: Vec<u64> = self
            .attempts
            .iter()
            .filter(|(_, attempt)| attempt.life == life && !attempt.is_stopped)
            .filter(|(_, attempt)| is_meant(attempt))
            .map(|(number, _)| *number)
            .collect();
        for number in meant {
            if let Some(attempt) = self.attempts.get_mut(&number) {
                attempt.is_stopped = true;
            }
            // Now and then a run takes longer to stop than it is waited for.
            let takes = match self.dice.below(20) {
                0 if !self.is_calm => self.between(8 * SECOND, 20 * SECOND),
                _ => self.between(100, 5 * SECOND),
            };
            self.after(takes, HostHappening::AttemptEnds(number));
        }
    }

    /// Ends the processes of attempts that are to be taken back; the host that runs one of them notices.
    pub(super) fn end_remains(&mut self, id: &ActivationId) {
        self.stop_attempts(|attempt| attempt.id == *id);
    }

    pub(super) fn abandon_attempts(&mut self) {
        let life = self.life;
        self.attempts.retain(|_, attempt| attempt.life != life);
    }

    pub(super) fn activation_id(&mut self) -> ActivationId {
        self.n_made += 1;
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.dice.roll().to_le_bytes());
        ActivationId::new(self.n_made, random)
    }
}
