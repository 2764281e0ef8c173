//! Claims, attempts and their ends, with providers that fail and hang.

use daemon_engine::{Activation, AttemptEnd, AttemptOutcome, Gate, LEASE};
use daemon_store::{ClaimRequest, RunRow};

use super::{Happening, World};
use crate::host::{Fate, RunningAttempt};

/// How long a provider that hangs is waited for: the limit of silence, and the limit of a run that is never silent.
const LIMITS: [i64; 2] = [600, 1_800];

impl World {
    /// Lets running hosts claim everything that is ready.
    pub(super) fn claim_ready(&mut self) {
        self.is_claimable = false;
        let n_hosts = self.hosts.len();
        let first = usize::try_from(self.dice.below(3)).expect("small");
        let alive = (0..n_hosts)
            .map(|place| (first + place) % n_hosts)
            .find(|host| self.hosts[*host].is_alive());
        let Some(host) = alive else {
            return;
        };
        let now = self.now();
        let request = ClaimRequest {
            owner: self.epoch,
            now,
            lease_until: now + LEASE,
            host_slots: 8,
            daemon_slots: 2,
            rates: Default::default(),
            day_usd: None,
        };
        while let Some(activation) = self.store.claim(&request) {
            self.begin(host, activation);
            if !self.hosts[host].is_alive() {
                return;
            }
        }
        if let Some(at) = self.store.next_claim_at(now) {
            let wait = at.duration_since(now).as_secs() + 1;
            let due = self.real + wait;
            if self.ready_at.is_none_or(|known| due < known) {
                self.ready_at = Some(due);
                self.after(wait, Happening::Ready);
            }
        }
    }

    fn begin(&mut self, host: usize, activation: Activation) {
        let now = self.now();
        if !self.is_calm && self.dice.once_in(2_000) {
            return self.die(host);
        }
        let run = RunRow {
            id: format!("{}-{}", activation.id, activation.attempts),
            activation: Some(activation.id.clone()),
            daemon: None,
            attempt: activation.attempts,
            provider: String::new(),
            state: "running".to_owned(),
            started_at: now,
            finished_at: None,
            object: String::new(),
        };
        let (id, lease) = (activation.id.clone(), activation.run_lease);
        if self
            .store
            .start_run(&activation.id, lease, run, now)
            .is_err()
        {
            return;
        }
        let (fate, takes) = if !self.is_calm && self.dice.once_in(30) {
            self.tally.hangs += 1;
            (Fate::Hangs, *self.dice.of(&LIMITS))
        } else {
            (Fate::Ends, self.dice.between(5, 600))
        };
        self.n_queued += 1;
        let number = self.n_queued;
        self.hosts[host].running.push(RunningAttempt {
            number,
            id: activation.id,
            lease,
            fate,
        });
        self.note(&[3, takes]);
        self.say(|_| {
            format!(
                "host {host} runs {} for {takes} s: it {fate:?}",
                id.as_str()
            )
        });
        self.after(takes, Happening::AttemptEnds { host, number });
    }

    pub(super) fn end_attempt(&mut self, host: usize, number: u64) {
        let running = &mut self.hosts[host].running;
        let Some(place) = running.iter().position(|one| one.number == number) else {
            // The host died in between: the store takes it back.
            return;
        };
        let attempt = running.swap_remove(place);
        let now = self.now();
        let reason = String::new;
        let outcome = match self.dice.below(40) {
            _ if attempt.fate == Fate::Hangs => AttemptOutcome::Retryable { reason: reason() },
            _ if self.is_calm => AttemptOutcome::Done,
            0..3 => AttemptOutcome::Retryable { reason: reason() },
            3 => AttemptOutcome::Final { reason: reason() },
            _ => AttemptOutcome::Done,
        };
        let jitter = u32::try_from(self.dice.below(1 << 32)).expect("32 bits");
        let end = AttemptEnd::new(outcome, now, jitter);
        let ended = self.store.end_attempt(&attempt.id, attempt.lease, end);
        self.is_claimable = true;
        self.note(&[4, i64::from(ended.is_ok())]);
        self.say(|_| match &ended {
            Ok(ended) => format!("{} is {}", attempt.id, ended.activation.state),
            Err(error) => format!("{}: {error}", attempt.id),
        });
        if let Ok(ended) = ended
            && ended.gate == Gate::Tripped
        {
            let daemon = self.daemon(&ended.activation.daemon);
            let wait = self.dice.wait(86_400);
            self.after(wait, Happening::Go(daemon));
        }
    }

    /// Hosts that are alive renew what they run, as they do every ten seconds.
    pub(super) fn heartbeat(&mut self) {
        let until = self.now() + LEASE;
        for host in &mut self.hosts {
            let leases = host.running.iter().map(|one| (one.id.clone(), one.lease));
            let lost = self.store.renew(leases.collect(), until);
            host.running.retain(|one| !lost.contains(&one.id));
        }
    }

    /// Reclaims expired leases, and expires activations that waited too long.
    pub(super) fn sweep(&mut self) {
        if !self.hosts.iter().any(crate::host::SimulatedHost::is_alive) {
            return;
        }
        let now = self.now();
        let taken = self.store.reclaim(self.epoch, now).len();
        let expired = self.store.expire(now);
        self.is_claimable = true;
        self.note(&[
            5,
            i64::try_from(taken).unwrap_or(-1),
            i64::try_from(expired).unwrap_or(-1),
        ]);
    }
}
