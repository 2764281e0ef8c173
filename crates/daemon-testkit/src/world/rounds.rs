//! Rounds of the tick loop, on hosts that race and die.

use daemon_event::{ActivationId, DaemonKey};
use daemon_store::{Cursors, Overdue, Round, TickCommit, TickResult, TickerState, Waking};

use super::{Happening, World};
use crate::host::Point;

impl World {
    /// Lets every host look at the clock, in some order.
    pub(super) fn tick_round(&mut self) {
        let n_hosts = self.hosts.len();
        // Without a running host, no one saw the time of the clock, and the oracle must not either.
        if self.hosts.iter().any(crate::host::SimulatedHost::is_alive) {
            self.oracle.pass(self.wall());
        }
        let first = usize::try_from(self.dice.below(3)).expect("small");
        let is_race = n_hosts > 1 && self.dice.once_in(2);
        let mut raced = Vec::new();
        for place in 0..n_hosts {
            let host = (first + place) % n_hosts;
            let commits = self.plan(host);
            if is_race {
                raced.push((host, commits));
            } else {
                self.record(host, commits);
            }
        }
        for (host, commits) in raced.into_iter().rev() {
            self.record(host, commits);
        }
        let is_current = |host: &crate::host::SimulatedHost| host.is_alive() && host.is_current;
        if self.hosts.iter().any(is_current) {
            self.oracle.demand_rows(&self.store);
        }
    }

    /// The commits of a host for its due ticks.
    fn plan(&mut self, host: usize) -> Vec<TickCommit> {
        let (now, since_boot) = (self.now(), self.since_boot());
        let place = host;
        let host = &mut self.hosts[place];
        let Some(ticker) = &mut host.ticker else {
            return Vec::new();
        };
        if host.is_stale {
            if ticker.load(self.store.coverages(), now).cursors == Cursors::Ahead {
                self.store.retract(now);
                ticker.load(self.store.coverages(), now);
                self.is_claimable = true;
            }
            host.is_stale = false;
            host.revision = self.revision;
        }
        host.is_current = false;
        match ticker.round(now, since_boot) {
            Round::Wait => Vec::new(),
            Round::SteppedBack => {
                let retracted = self.store.retract(now);
                self.is_claimable = true;
                host.is_stale = true;
                self.note(&[1, i64::try_from(retracted).unwrap_or(-1)]);
                self.say(|_| {
                    format!("host {place} sees the clock go back: {retracted} rows retracted")
                });
                self.after(1, Happening::Look);
                Vec::new()
            }
            Round::Due { overdue, .. } => {
                host.is_current = host.revision == self.revision;
                self.commits_of(&overdue)
            }
        }
    }

    fn commits_of(&mut self, overdue: &[Overdue]) -> Vec<TickCommit> {
        if overdue.is_empty() {
            return Vec::new();
        }
        let now = self.now();
        let keys: Vec<DaemonKey> = overdue.iter().map(|due| due.daemon.clone()).collect();
        let known = self.store.tick_activations(&keys);
        let mut commits = Vec::new();
        for (due, known) in overdue.iter().zip(known) {
            let daemon = self.daemon(&due.daemon);
            let rules = self.rules[daemon];
            let jitter = daemon_schedule::jitter(due.daemon.id.as_str().as_bytes(), rules.jitter);
            let unfinished = known.unfinished();
            let (dice, n_made) = (&mut self.dice, &mut self.n_made);
            let planned = due.commits(&rules.policy, unfinished, now, || {
                Some(Waking {
                    rev: String::new(),
                    expression: String::new(),
                    jitter,
                    activation_id: activation_id(n_made, dice),
                })
            });
            commits.extend(planned);
        }
        commits
    }

    /// Commits batch by batch; a host that is doomed dies at one of them.
    fn record(&mut self, host: usize, commits: Vec<TickCommit>) {
        if commits.is_empty() || !self.hosts[host].is_alive() {
            return;
        }
        let size = 1 + usize::try_from(self.dice.below(4)).expect("small");
        let n_batches = u64::try_from(commits.len().div_ceil(size)).expect("a count fits");
        let last = self.dice.below(n_batches);
        let mut commits = commits.into_iter();
        for place in 0..n_batches {
            let batch: Vec<TickCommit> = commits.by_ref().take(size).collect();
            let names: Vec<(DaemonKey, u64)> = batch
                .iter()
                .map(|commit| (commit.daemon.clone(), commit.coverage))
                .collect();
            let doom = self.hosts[host].doomed.filter(|_| place == last);
            match doom {
                Some(Point::T1 | Point::T2) => return self.die(host),
                Some(Point::T3) => {
                    // A transaction is complete or absent: a torn one is discarded when the store is opened.
                    if self.dice.once_in(2) {
                        self.commit(batch);
                    }
                    return self.die(host);
                }
                _ => {}
            }
            let results = self.commit(batch);
            if doom == Some(Point::T4) {
                return self.die(host);
            }
            self.take_answers(host, &names, &results);
            if doom == Some(Point::T5) {
                return self.die(host);
            }
        }
    }

    fn commit(&mut self, batch: Vec<TickCommit>) -> Vec<TickResult> {
        for commit in &batch {
            let daemon = self.daemon(&commit.daemon);
            self.note(&[2, i64::try_from(daemon).unwrap_or(-1)]);
            for row in &commit.rows {
                let count = i64::try_from(row.count).unwrap_or(-1);
                let outcome = i64::from(row.outcome.as_str().as_bytes()[0]);
                self.note(&[row.scheduled_at.as_second(), count, outcome]);
            }
        }
        self.say_rows(&batch);
        let results = self.store.commit_ticks(batch);
        for result in &results {
            self.say(|_| format!("  {result:?}"));
            self.note(&[i64::from(matches!(result, TickResult::Recorded(_)))]);
            self.is_claimable |= matches!(result, TickResult::Recorded(Some(_)));
        }
        results
    }

    fn say_rows(&mut self, batch: &[TickCommit]) {
        for commit in batch {
            for row in &commit.rows {
                self.say(|_| {
                    format!(
                        "{} {}: {} from {} to {} are {}",
                        commit.daemon.id,
                        commit.coverage,
                        row.count,
                        row.first,
                        row.scheduled_at,
                        row.outcome
                    )
                });
            }
        }
    }

    fn take_answers(&mut self, host: usize, names: &[(DaemonKey, u64)], results: &[TickResult]) {
        let mut has_to_look = false;
        let host = &mut self.hosts[host];
        for ((daemon, coverage), result) in names.iter().zip(results) {
            if let Some(ticker) = &mut host.ticker
                && ticker.recorded(daemon, *coverage, result) == TickerState::Stale
            {
                host.is_stale = true;
            }
            if matches!(result, TickResult::Elsewhere { .. }) {
                host.is_current = false;
                has_to_look = true;
            }
        }
        if has_to_look {
            self.after(1, Happening::Look);
        }
    }

    pub(super) fn daemon(&self, key: &DaemonKey) -> usize {
        self.keys
            .iter()
            .position(|known| known == key)
            .expect("only known daemons are registered")
    }
}

pub(super) fn activation_id(n_made: &mut u64, dice: &mut crate::dice::Dice) -> ActivationId {
    *n_made += 1;
    let mut random = [0; 10];
    random[..8].copy_from_slice(&dice.roll().to_le_bytes());
    ActivationId::new(*n_made, random)
}
