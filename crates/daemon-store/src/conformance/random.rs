//! Random operations on two stores: the same answers, always.

mod content;
mod dice;
mod matching;

use daemon_engine::{
    Activation, AttemptEnd, AttemptOutcome, Chain, Fact, FactError, FactErrorKind, FactOrigin,
    Gate, HostEnd, HostEpoch, Joining, NewTrigger, Output, OutputState, RemoteId, Settlement,
    StateChange,
};
use daemon_event::{Enrichment, Need, Source, TriggerKey};
use daemon_schedule::{Cancels, TickOutcome, TickRow};
use jiff::{SignedDuration, Timestamp};

use self::content::{recent, show, whole};
pub(super) use self::dice::Dice;
use super::scene::{
    activation_id, at, claim, daemon, ending, first, forever, new_event, planned, registration,
    repo, row, run, scheduled, subject, tick, trigger, within,
};
use crate::rows::{ClaimRequest, FoundFact, Rates, RefCursor, TickCommit, TriedFact, Validity};
use crate::traits::Store;

/// The roll of a match while nothing waits.
const IDLE: u64 = 100;
pub(super) const DAEMONS: [&str; 3] = ["a", "b", "c"];

/// Applies `n_steps` random operations drawn from `seed` to both stores.
///
/// # Panics
/// At the first operation that the stores answer differently, naming seed and step.
pub async fn compare(one: &dyn Store, other: &dyn Store, seed: u64, n_steps: u32) {
    let mut dice = Dice(seed);
    let mut world = World::new();
    for step in 0..n_steps {
        world.pass(&mut dice);
        // A busy store is seldom idle by chance.
        let roll = match step % 12 {
            11 => IDLE,
            _ => dice.below(IDLE),
        };
        let before = dice;
        let first = world.clone().step(one, &mut dice, roll).await;
        dice = before;
        let mut next = world.clone();
        let second = next.step(other, &mut dice, roll).await;
        assert_eq!(first, second, "seed {seed}, step {step}, roll {roll}");
        world = next;
        if step % 50 == 49 {
            let (first, second) = (whole(one, world.now).await, whole(other, world.now).await);
            assert_eq!(first, second, "seed {seed}, content after step {step}");
        }
    }
}

/// What random operations share, next to the store they are applied to.
#[derive(Clone)]
pub(super) struct World {
    now: Timestamp,
    /// Counts steps, so that ids are fresh.
    n: u64,
    epoch: HostEpoch,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            now: at(0),
            n: 0,
            epoch: HostEpoch(1),
        }
    }

    /// Lets up to 40 seconds pass before the next step.
    pub(super) fn pass(&mut self, dice: &mut Dice) {
        self.now += SignedDuration::from_secs(dice.below(40) as i64);
        self.n += 1;
    }

    /// Applies one operation and returns the store's answer as text.
    pub(super) async fn step(&mut self, store: &dyn Store, dice: &mut Dice, roll: u64) -> String {
        match roll {
            0..14 => self.accept(store, dice).await,
            14..22 => self.matches(store, dice).await,
            22..32 => self.enqueue(store, dice).await,
            32..48 => self.claim(store, dice).await,
            48..64 => self.attempt(store, dice).await,
            64..74 => self.output(store, dice).await,
            74..82 => self.ticks(store, dice).await,
            82..86 => self.register(store, dice).await,
            86..90 => self.fact(store, dice).await,
            90..95 => self.person(store, dice).await,
            IDLE => self.match_while_idle(store, dice).await,
            _ => self.host(store, dice).await,
        }
    }

    async fn accept(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let mut events = Vec::new();
        for place in 0..1 + dice.below(3) {
            let mut new = new_event(self.n * 10 + place, &format!("id:{}", dice.below(40)));
            new.event.received_at = self.now;
            new.identities.push(match dice.below(2) {
                0 => forever(&format!("body:{}", dice.below(60))),
                _ => within(&format!("move:{}", dice.below(10)), 100),
            });
            new.event.source = dice
                .of(&[Source::Git, Source::Github])
                .expect("there are two");
            new.event.kind = format!("kind-{}", dice.below(2));
            for _ in 0..dice.below(3) {
                let key = format!("happened:{}", dice.below(12));
                new.happenings.push(match dice.below(2) {
                    0 => forever(&key),
                    _ => within(&key, 100),
                });
            }
            events.push(new);
        }
        if dice.below(3) > 0 {
            return show(&store.accept(events).await);
        }
        let cursor = RefCursor {
            name: format!("refs/heads/{}", dice.below(4)),
            commit: (dice.below(4) > 0).then(|| format!("{:x}", dice.roll())),
            moves: self.n,
        };
        show(&store.accept_moves(&repo(), vec![cursor], events).await)
    }

    fn about(&self, new: NewTrigger, dice: &mut Dice) -> NewTrigger {
        let is_event = matches!(new.trigger.key, TriggerKey::Event(_));
        NewTrigger {
            subject: match dice.below(4) {
                0 => None,
                n => subject(&format!("s-{n}")),
            },
            not_before: match dice.below(4) {
                0 => self.now + SignedDuration::from_secs(50),
                _ => self.now,
            },
            joining: match dice.below(6) {
                0 => Joining::Separate,
                _ => Joining::Coalesce,
            },
            link: (is_event && dice.below(3) == 0).then(|| {
                let chain = Chain {
                    root: activation_id(100 * dice.below(8) + 99),
                    depth: u32::try_from(dice.below(4)).expect("small"),
                };
                chain.link(3)
            }),
            ..new
        }
    }

    async fn fact(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let due = store.due_facts(self.now, 3).await.expect("reads");
        let Some(row) = dice.of(&due) else {
            return String::new();
        };
        let fact = dice.of(&row.wanted).expect("something is wanted");
        let error = FactError::new(
            dice.of(&[FactErrorKind::Final, FactErrorKind::Retryable])
                .expect("there are two"),
            "no answer",
        );
        let fetched = Fact {
            found: Enrichment::default(),
            origin: FactOrigin::LocalGit,
            note: None,
        };
        let is_found = dice.below(2) == 0;
        let key = TriggerKey::Event(row.event.id.clone());
        let trigger = trigger(dice.daemon(), self.n * 100 + 98, key, self.now);
        let found = FoundFact {
            facts: row.event.facts.clone(),
            triggers: vec![self.about(trigger, dice)],
            wanted: wanted(dice),
        };
        let tried = TriedFact {
            event: row.event.id.clone(),
            fact: fact.after_try(if is_found { Ok(&fetched) } else { Err(&error) }, self.now),
            found: is_found.then_some(found),
        };
        let settled = store.settle_fact(tried, self.now).await;
        format!("{due:?} {}", show(&settled))
    }

    async fn enqueue(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let key = TriggerKey::Person(format!("p-{}", dice.below(200)).into());
        let new = trigger(dice.daemon(), self.n * 100 + 99, key, self.now);
        let new = self.about(new, dice);
        show(&store.enqueue(new).await)
    }

    async fn claim(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let request = self.request(dice);
        if dice.below(5) > 0 {
            return show(&store.claim(&request).await);
        }
        match dice.of(&recent(store).await) {
            None => String::new(),
            Some(any) => show(&store.claim_one(&any.id, &request).await),
        }
    }

    /// Ends the host by a fault of its own, with what is leased under way, and begins another.
    pub(super) async fn crash(&mut self, store: &dyn Store) {
        let begun = store.begin_epoch(HostEnd::Panicked, self.now).await;
        self.epoch = begun.expect("begins");
        store.reclaim(self.epoch, self.now).await.expect("reclaims");
    }

    /// Makes a claim with random limits.
    pub(super) fn request(&self, dice: &mut Dice) -> ClaimRequest {
        let mut rate = || {
            let limit = u32::try_from(dice.below(40)).expect("small");
            (limit < 10).then_some(limit)
        };
        let rates = Rates {
            subject: rate(),
            daemon: rate(),
            host: rate(),
        };
        // An end costs a quarter of a dollar.
        let quarters = u32::try_from(dice.below(60)).expect("small");
        ClaimRequest {
            owner: self.epoch,
            host_slots: u32::try_from(2 + dice.below(4)).expect("small"),
            daemon_slots: u32::try_from(1 + dice.below(3)).expect("small"),
            rates,
            day_usd: (quarters < 15).then_some(f64::from(quarters) / 4.0),
            ..claim(self.now)
        }
    }

    async fn attempt(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let all = recent(store).await;
        let leased: Vec<Activation> = all
            .iter()
            .filter(|row| row.state.is_leased())
            .cloned()
            .collect();
        let pool = if dice.below(12) == 0 { &all } else { &leased };
        let Some(one) = dice.of(pool) else {
            return String::new();
        };
        let lease = one.run_lease;
        match dice.below(8) {
            0 | 1 => {
                let row = run(&format!("r-{}", self.n), &one, self.now);
                show(&store.start_run(&one.id, lease, row, self.now).await)
            }
            2 => {
                let until = self.now + SignedDuration::from_secs(60);
                show(&store.renew(vec![(one.id, lease)], until).await)
            }
            3 => {
                let mut row = run(&format!("r-{}", dice.below(self.n)), &one, self.now);
                row.state = "done".to_owned();
                show(&store.put_run(row, Some(lease)).await)
            }
            _ => {
                let end = self.end(&one, dice);
                show(&store.end_attempt(&one.id, lease, end).await)
            }
        }
    }

    fn end(&self, activation: &Activation, dice: &mut Dice) -> AttemptEnd {
        let reason = "because".to_owned();
        let outcome = match dice.below(10) {
            0..5 => AttemptOutcome::Done,
            5 | 6 => AttemptOutcome::Retryable { reason },
            7 => AttemptOutcome::Final { reason },
            8 => AttemptOutcome::Cancelled { reason },
            _ => AttemptOutcome::HostStopping,
        };
        let mut end = ending(outcome, self.now);
        end.jitter = u32::try_from(dice.below(1 << 32)).expect("32 bits");
        end.tokens = (dice.below(2) == 0).then_some(10);
        for ordinal in 0..dice.below(3) {
            let ordinal = u32::try_from(ordinal).expect("small");
            let mut output = planned(&activation.id, ordinal);
            if dice.below(4) == 0 {
                output.state = OutputState::Refused;
                output.error = Some("no".to_owned());
            }
            end.outputs.push(output);
        }
        let key = format!("k-{}", dice.below(5));
        end.state.push(match dice.below(12) {
            0 => StateChange::Set {
                key: String::new(),
                json: "1".to_owned(),
            },
            1..4 => StateChange::Remove { key },
            _ => StateChange::Set {
                key,
                json: self.n.to_string(),
            },
        });
        end
    }

    async fn output(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let due = store.due_outputs(self.now, 5).await.expect("reads");
        let page = store.outputs(&first(20)).await.expect("lists");
        let pool = if dice.below(4) == 0 { &due } else { &page.rows };
        let Some(one) = dice.of(pool) else {
            return format!("{due:?}");
        };
        let result = if dice.below(3) == 0 {
            show(&store.begin_send(&one.key).await)
        } else {
            let settlement = self.settlement(&one, dice);
            show(&store.settle(&one.key, settlement).await)
        };
        format!("{due:?} {result}")
    }

    fn settlement(&self, output: &Output, dice: &mut Dice) -> Settlement {
        let state = dice
            .of(&[
                OutputState::Planned,
                OutputState::Ambiguous,
                OutputState::Confirmed,
                OutputState::Confirmed,
                OutputState::Unknown,
                OutputState::GaveUp,
            ])
            .expect("there are some");
        Settlement {
            state,
            remote: (state == OutputState::Confirmed).then(|| RemoteId {
                id: format!("remote-{}", output.key),
                url: None,
                revision: output
                    .key
                    .as_str()
                    .starts_with('a')
                    .then(|| "check_suite:5".to_owned()),
            }),
            error: (state == OutputState::GaveUp).then(|| "403".to_owned()),
            not_before: (!state.is_settled()).then(|| self.now + SignedDuration::from_secs(20)),
            at: self.now,
        }
    }

    async fn ticks(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let coverages = store.coverages().await.expect("reads");
        if dice.below(12) == 0 {
            let back = self.now - SignedDuration::from_secs(60);
            return show(&store.retract(back).await);
        }
        let Some(coverage) = dice.of(&coverages) else {
            return format!("{coverages:?}");
        };
        let stale = SignedDuration::from_secs(i64::from(dice.below(8) == 0));
        let key = TriggerKey::Tick(self.now);
        let outcome = dice.of(&TickOutcome::ALL).expect("there are some");
        let wakes = matches!(outcome, TickOutcome::Enqueued | TickOutcome::Coalesced);
        let new = trigger(
            coverage.daemon.id.as_str(),
            self.n * 100 + 98,
            key,
            self.now,
        );
        let missed = TickRow {
            first: coverage.cursor,
            scheduled_at: self.now - SignedDuration::from_secs(1),
            count: 2,
            outcome: TickOutcome::MissedWindow,
        };
        let commit = TickCommit {
            daemon: coverage.daemon.clone(),
            coverage: coverage.number,
            from: coverage.cursor + stale,
            to: self.now,
            rows: vec![missed, tick(self.now, outcome)],
            trigger: wakes.then(|| self.about(new, dice)),
            cancels: Cancels::Nothing,
            now: self.now,
        };
        let result = store.commit_ticks(vec![commit]).await;
        let unfinished = store
            .tick_activations(std::slice::from_ref(&coverage.daemon))
            .await;
        format!("{coverages:?} {} {}", show(&result), show(&unfinished))
    }

    async fn register(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let mut rows = Vec::new();
        for id in DAEMONS {
            let mut row = match dice.below(3) {
                0 => row(id),
                n => scheduled(id, if n == 1 { "* * * * *" } else { "5 * * * *" }),
            };
            row.rev = format!("rev-{}", dice.below(3));
            if dice.below(10) == 0 {
                row.validity = Validity::Invalid;
            }
            if dice.below(12) == 0 {
                let twin = format!("twin-of-{id}");
                rows.push(crate::rows::DaemonRow {
                    path: twin,
                    ..row.clone()
                });
            }
            if dice.below(10) > 0 {
                rows.push(row);
            }
        }
        show(&store.register(registration(rows, self.now)).await)
    }

    async fn person(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let any = dice.of(&recent(store).await);
        match (dice.below(4), any) {
            (0, Some(one)) => show(&store.cancel(&one.id, "a person", self.now).await),
            (1 | 2, Some(one)) => show(&store.retry(&one.id, self.now).await),
            _ => {
                let gate = if dice.below(3) == 0 {
                    Gate::Held
                } else {
                    Gate::Open
                };
                show(&store.set_gate(&daemon(dice.daemon()), gate).await)
            }
        }
    }

    async fn host(&mut self, store: &dyn Store, dice: &mut Dice) -> String {
        match dice.below(6) {
            0 => {
                let end = dice.of(&HostEnd::ALL).expect("there are some");
                let begun = store.begin_epoch(end, self.now).await;
                self.epoch = begun.expect("begins");
                let since = self.now - SignedDuration::from_hours(9);
                let crashes = store.starts_after_crashes(since).await;
                format!("{:?} {}", self.epoch, show(&crashes))
            }
            1 | 2 => {
                let reclaimable = store.reclaimable(self.epoch, self.now).await;
                let reclaimed = store.reclaim(self.epoch, self.now).await;
                format!("{} {}", show(&reclaimable), show(&reclaimed))
            }
            3 => {
                self.now +=
                    SignedDuration::from_hours(i64::try_from(dice.below(8)).expect("small"));
                show(&store.expire(self.now).await)
            }
            4 => {
                let gate = if dice.below(4) == 0 {
                    Gate::Held
                } else {
                    Gate::Open
                };
                show(&store.set_host_gate(gate).await)
            }
            _ => {
                let old = self.now - SignedDuration::from_hours(20);
                let forgotten = show(&store.forget_states(old).await);
                forgotten + &show(&store.retain(old, old, old).await)
            }
        }
    }
}

fn wanted(dice: &mut Dice) -> Vec<Need> {
    let any = Need::ALL.into_iter();
    any.filter(|_| dice.below(3) == 0).collect()
}
