//! Claims and the rule of the engine: a store that finds ready activations by a query finds those that the rule finds.

use std::collections::BTreeSet;

use daemon_engine::{
    Activation, ActivationState, ClaimRequest, ClaimState, Gate, LEASE, Obstacle, RATE_PERIOD,
    is_over_rate, obstacle,
};
use daemon_event::ActivationId;
use jiff::Timestamp;

use super::random::{DAEMONS, Dice, World};
use super::scene::{first, registered};
use crate::listing::MAX_PAGE;
use crate::rows::{DaemonRow, Validity};
use crate::traits::Store;

const STEPS: u32 = 600;
/// Every reason, so that a generator which no longer reaches one of them is noticed.
const OBSTACLES: [Obstacle; 10] = [
    Obstacle::NotPending,
    Obstacle::Early,
    Obstacle::HostHeld,
    Obstacle::DaemonHeld,
    Obstacle::HostBusy,
    Obstacle::DaemonBusy,
    Obstacle::SubjectBusy,
    Obstacle::Suspect,
    Obstacle::OverRate,
    Obstacle::OverBudget,
];

pub(super) async fn claims_follow_the_rule_of_the_engine(store: &dyn Store) {
    registered(store, &DAEMONS).await;
    let mut dice = Dice(11);
    let mut world = World::new();
    let mut met = Vec::new();
    for step in 0..STEPS {
        world.pass(&mut dice);
        let roll = dice.below(100);
        world.step(store, &mut dice, roll).await;
        if step % 60 == 59 {
            // Random ends of the host seldom leave two activations that may have crashed it.
            world.crash(store).await;
        }
        if step % 3 == 0 {
            let rows = Rows::read(store).await;
            let request = rows.at_a_limit(world.request(&mut dice), &mut dice);
            rows.check_times(store, &request).await;
            rows.check_rates(store, &request).await;
            met.extend(rows.check_claims(store, &request, &mut dice).await);
        }
    }
    // A generator that reaches no full host would let a store ignore that limit.
    let missed = OBSTACLES.into_iter().filter(|one| !met.contains(one));
    assert_eq!(missed.collect::<Vec<_>>(), [], "no activation met these");
}

/// The rows that the rule reads.
struct Rows {
    activations: Vec<Activation>,
    daemons: Vec<DaemonRow>,
    host_gate: Gate,
}

impl Rows {
    async fn read(store: &dyn Store) -> Self {
        let page = store.activations(&first(MAX_PAGE)).await.expect("lists");
        assert_eq!(page.next, None, "one page holds all activations");
        Self {
            activations: page.rows,
            daemons: store.daemons().await.expect("reads"),
            host_gate: store.host_gate().await.expect("reads"),
        }
    }

    fn obstacle(&self, activation: &Activation, request: &ClaimRequest) -> Option<Obstacle> {
        let is_registration =
            |row: &&DaemonRow| row.key == activation.daemon && row.validity == Validity::Valid;
        let around = ClaimState {
            host_gate: self.host_gate,
            daemon_gate: self
                .daemons
                .iter()
                .find(is_registration)
                .map(|row| row.gate),
            unfinished: self.activations.iter().filter(|one| !one.state.is_final()),
            all: self.activations.iter(),
        };
        obstacle(activation, &around, request)
    }

    /// Moves one claim in three to an instant at which something changes: one becomes due, or leaves a rate.
    fn at_a_limit(&self, request: ClaimRequest, dice: &mut Dice) -> ClaimRequest {
        let pending = self
            .activations
            .iter()
            .filter(|one| one.state == ActivationState::Pending);
        let due = pending.map(|one| one.not_before);
        let began = self.activations.iter().filter_map(|one| one.started_at);
        // Errors of one instant (`<` for `<=`) show only exactly at a limit, which random times never hit.
        let limits: Vec<Timestamp> = due.chain(began.map(|at| at + RATE_PERIOD)).collect();
        match dice.of(&limits) {
            Some(now) if dice.below(3) == 0 => ClaimRequest {
                now,
                lease_until: now + LEASE,
                ..request
            },
            _ => request,
        }
    }

    async fn check_times(&self, store: &dyn Store, request: &ClaimRequest) {
        let pending = self
            .activations
            .iter()
            .filter(|one| one.state == ActivationState::Pending);
        let next = pending
            .filter(|one| !one.is_due(request.now))
            .map(|one| one.not_before)
            .min();
        let found = store.next_claim_at(request.now).await.expect("reads");
        assert_eq!(found, next, "the earliest time of a claim");
    }

    async fn check_rates(&self, store: &dyn Store, request: &ClaimRequest) {
        let all: Vec<ActivationId> = self.activations.iter().map(|one| one.id.clone()).collect();
        let over = self
            .activations
            .iter()
            .filter(|one| is_over_rate(one, self.activations.iter(), request.rates, request.now));
        let over: BTreeSet<ActivationId> = over.map(|one| one.id.clone()).collect();
        let found = store
            .over_rate(&all, request.rates, request.now)
            .await
            .expect("reads");
        assert_eq!(found, over, "over {:?}", request.rates);
    }

    /// Checks that no activation with an obstacle is claimed and that a ready one is; returns the obstacles.
    async fn check_claims(
        &self,
        store: &dyn Store,
        request: &ClaimRequest,
        dice: &mut Dice,
    ) -> Vec<Obstacle> {
        let mut met = Vec::new();
        let mut ready = Vec::new();
        for activation in &self.activations {
            // Most have ended, and a few of those are enough.
            if activation.state.is_final() && dice.below(40) > 0 {
                continue;
            }
            let Some(obstacle) = self.obstacle(activation, request) else {
                ready.push(activation);
                continue;
            };
            let claimed = store
                .claim_one(&activation.id, request)
                .await
                .expect("claims");
            assert_eq!(claimed, None, "{obstacle:?}: {activation:?}, {request:?}");
            met.push(obstacle);
        }
        // Either by id or by turn, not both: a claim changes what is ready.
        let one = dice.of(&ready).filter(|_| dice.below(2) == 0);
        match one {
            Some(one) => {
                let claimed = store.claim_one(&one.id, request).await.expect("claims");
                let claimed = claimed.map(|one| one.id);
                assert_eq!(
                    claimed.as_ref(),
                    Some(&one.id),
                    "ready: {one:?}, {request:?}"
                );
            }
            None => {
                let claimed = store.claim(request).await.expect("claims");
                // A person's request comes first; among those of one kind, the turns of the daemons decide.
                let is_for_person = ready.iter().any(|one| one.has_person());
                let claimed = claimed.map(|one| one.id);
                let foremost = ready.iter().filter(|one| one.has_person() == is_for_person);
                let foremost: Vec<_> = foremost.map(|one| one.id.clone()).collect();
                let is_right = match &claimed {
                    None => ready.is_empty(),
                    Some(id) => foremost.contains(id),
                };
                assert!(is_right, "{claimed:?} of {foremost:?}, {request:?}");
            }
        }
        met
    }
}
