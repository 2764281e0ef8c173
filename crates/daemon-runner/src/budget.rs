//! Budgets: one for each run, and one for the host within a day.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use daemon_provider::{
    Failure, FailureKind, GrantError, Grants, MicroUsd, Outcome, Pricing, Reservation,
};
use daemon_records::clock::Clock;
use daemon_records::counted_usd;
use jiff::{SignedDuration, Timestamp};

use crate::policy::micros;
use crate::settings::DayBounds;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// What the runs of all hosts of this home cost within a day, and the reservations of calls and runs that have not ended.
///
/// The runs of earlier processes are counted once, with [`DailyBudget::count`].
#[derive(Debug)]
pub struct DailyBudget {
    clock: Arc<dyn Clock>,
    day: Mutex<Day>,
}

#[derive(Debug, Default)]
struct Day {
    spent: VecDeque<(Timestamp, u64)>,
    reserved: u64,
}

impl Day {
    /// Returns what a limit leaves.
    fn left(&mut self, limit: MicroUsd, now: Timestamp) -> u64 {
        let spent = self.spent(now);
        limit.0.saturating_sub(spent).saturating_sub(self.reserved)
    }

    /// Forgets costs that are older than a day, and adds up the others.
    fn spent(&mut self, now: Timestamp) -> u64 {
        // Entries are in the order of their settlement, so that the old ones are at the front.
        let is_old = |at: Timestamp| now.duration_since(at) > DAY;
        while self.spent.front().is_some_and(|(at, _)| is_old(*at)) {
            self.spent.pop_front();
        }
        self.spent.iter().map(|(_, cost)| cost).sum()
    }
}

impl DailyBudget {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            day: Mutex::default(),
        }
    }

    /// Returns what a limit leaves for the calls of the next runs.
    pub(crate) fn left(&self, limit: MicroUsd) -> MicroUsd {
        let mut day = self.day.lock().expect("no holder panics");
        MicroUsd(day.left(limit, self.clock.now()))
    }

    /// Returns what the day leaves for the calls of the next runs; `None` without a limit.
    pub(crate) fn left_of(&self, bounds: DayBounds) -> Option<MicroUsd> {
        bounds.limit.map(|limit| self.left(limit))
    }

    /// Counts the cost of runs of earlier processes. They are sorted by their instants, and come before all others.
    pub fn count(&self, earlier: impl IntoIterator<Item = (Timestamp, MicroUsd)>) {
        let mut day = self.day.lock().expect("no holder panics");
        let mut spent: VecDeque<_> = earlier.into_iter().map(|(at, cost)| (at, cost.0)).collect();
        spent.append(&mut day.spent);
        day.spent = spent;
    }

    /// Returns what was spent and is not reserved.
    pub fn spent(&self) -> MicroUsd {
        let mut day = self.day.lock().expect("no holder panics");
        MicroUsd(day.spent(self.clock.now()))
    }

    /// Reports whether the day leaves enough for one more run.
    pub fn lets_start(&self, bounds: DayBounds) -> bool {
        let Some(limit) = bounds.limit else {
            return true;
        };
        let left = self.left(limit);
        left.0 > 0 && left >= bounds.start.min(limit)
    }

    /// Reserves what a run may cost before it starts, if only its program knows what it costs.
    ///
    /// # Errors
    /// Nothing is left of what the run may cost, or the day leaves less than a run needs.
    pub(crate) fn begin(
        self: &Arc<Self>,
        pricing: Pricing,
        wanted: Option<MicroUsd>,
        bounds: DayBounds,
    ) -> Result<RunReserve, BudgetUsedUp> {
        let mut reserve = RunReserve {
            day: Arc::clone(self),
            pricing,
            wanted,
            reserved: None,
        };
        if pricing != Pricing::Assumed {
            return Ok(reserve);
        }
        if wanted == Some(MicroUsd(0)) {
            return Err(BudgetUsedUp::Run);
        }
        let now = self.clock.now();
        let mut day = self.day.lock().expect("no holder panics");
        let left = bounds.limit.map(|limit| MicroUsd(day.left(limit, now)));
        let needed = bounds
            .limit
            .map_or(bounds.start, |limit| bounds.start.min(limit));
        if let Some(left) = left.filter(|left| left.0 == 0 || *left < needed) {
            return Err(BudgetUsedUp::Day { needed, left });
        }
        let wanted = wanted.unwrap_or(bounds.start);
        let reserved = left.map_or(wanted, |left| wanted.min(left));
        day.reserved += reserved.0;
        reserve.reserved = Some(reserved);
        drop(day);
        Ok(reserve)
    }

    fn reserve(&self, cost: u64, limit: Option<MicroUsd>) -> Result<(), u64> {
        let now = self.clock.now();
        let mut day = self.day.lock().expect("no holder panics");
        let left = limit.map_or(u64::MAX, |limit| day.left(limit, now));
        if cost > left {
            return Err(left);
        }
        day.reserved += cost;
        Ok(())
    }

    fn settle(&self, reserved: u64, cost: u64) {
        let now = self.clock.now();
        let mut day = self.day.lock().expect("no holder panics");
        day.reserved = day.reserved.saturating_sub(reserved);
        if cost > 0 {
            day.spent.push_back((now, cost));
        }
    }
}

/// Why a run may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BudgetUsedUp {
    /// Earlier attempts cost all that the run may cost. That does not change with time.
    #[error("nothing is left of what the run may cost")]
    Run,
    /// The day does not leave what a run needs; a later day does.
    #[error("the budget of the day leaves {left}, and a run needs {needed}")]
    Day { needed: MicroUsd, left: MicroUsd },
}

/// What is reserved for one turn of a run from the budget of the day. Dropped without its end, it counts as spent.
#[derive(Debug)]
pub(crate) struct RunReserve {
    day: Arc<DailyBudget>,
    pricing: Pricing,
    wanted: Option<MicroUsd>,
    reserved: Option<MicroUsd>,
}

impl RunReserve {
    /// Returns what the turn may cost; `None` is unlimited.
    pub(crate) fn limit(&self) -> Option<MicroUsd> {
        // The part of the day may be smaller than what was wanted.
        self.wanted.map(|wanted| self.reserved.unwrap_or(wanted))
    }

    /// Returns what was reserved; `None` if nothing is reserved for such a run.
    pub(crate) fn reserved(&self) -> Option<MicroUsd> {
        self.reserved
    }

    /// Ends the reservation of a turn that did not start.
    pub(crate) fn release(mut self) {
        self.end(MicroUsd(0));
    }

    /// Replaces the reservation by the cost of the turn, in US dollars, or counts it if the cost is unknown.
    pub(crate) fn settle(mut self, cost: Option<f64>, outcome: &Outcome) {
        if self.pricing == Pricing::ByCall {
            // Each call was settled by itself.
            return;
        }
        let is_unstarted = matches!(
            outcome,
            Outcome::Failed(Failure {
                kind: FailureKind::Spawn,
                ..
            })
        );
        let reserved = self.reserved.map(MicroUsd::as_usd);
        self.end(micros(counted_usd(cost, reserved, is_unstarted)));
    }

    fn end(&mut self, cost: MicroUsd) {
        let reserved = self.reserved.take().unwrap_or_default();
        self.day.settle(reserved.0, cost.0);
    }
}

impl Drop for RunReserve {
    fn drop(&mut self) {
        // The cost of a turn that was interrupted is unknown.
        if let Some(reserved) = self.reserved {
            self.end(reserved);
        }
    }
}

/// The budget of one run, within that of the day.
#[derive(Debug)]
pub(crate) struct RunBudget {
    day: Arc<DailyBudget>,
    day_limit: Option<MicroUsd>,
    own: Mutex<Own>,
}

#[derive(Debug)]
struct Own {
    /// In millionths of a US dollar; `None` is unlimited.
    left: Option<u64>,
    n_reservations: u64,
    reservations: BTreeMap<u64, u64>,
}

impl RunBudget {
    /// Makes the budget of a run: `left` of its own, and at most what `day_limit` leaves to the whole host.
    pub(crate) fn new(
        left: Option<MicroUsd>,
        day: Arc<DailyBudget>,
        day_limit: Option<MicroUsd>,
    ) -> Self {
        Self {
            day,
            day_limit,
            own: Mutex::new(Own {
                left: left.map(|left| left.0),
                n_reservations: 0,
                reservations: BTreeMap::new(),
            }),
        }
    }

    /// Reserves the highest cost of a call before it is made.
    ///
    /// # Errors
    /// The run's own budget, or that of the day, is too small.
    pub(crate) fn reserve(&self, cost: MicroUsd) -> Result<Reservation, GrantError> {
        let over = |left: u64| GrantError::OverBudget {
            wanted: cost,
            left: MicroUsd(left),
        };
        // The lock of the run is held while the day is reserved, so that two calls of a run cannot both pass its own limit.
        let mut own = self.own.lock().expect("no holder panics");
        if let Some(left) = own.left.filter(|left| cost.0 > *left) {
            return Err(over(left));
        }
        self.day.reserve(cost.0, self.day_limit).map_err(over)?;
        own.left = own.left.map(|left| left - cost.0);
        own.n_reservations += 1;
        let n = own.n_reservations;
        own.reservations.insert(n, cost.0);
        Ok(Reservation(n))
    }

    /// Replaces a reservation by the actual cost. A second call for the same reservation changes nothing.
    pub(crate) fn settle(&self, reservation: Reservation, cost: MicroUsd) {
        let mut own = self.own.lock().expect("no holder panics");
        let Some(reserved) = own.reservations.remove(&reservation.0) else {
            return;
        };
        own.left = own
            .left
            .map(|left| left.saturating_add(reserved).saturating_sub(cost.0));
        self.day.settle(reserved, cost.0);
    }
}

impl Drop for RunBudget {
    fn drop(&mut self) {
        // The cost of a call that was interrupted is unknown. Its whole reservation counts, so that the limit still holds.
        if let Ok(own) = self.own.get_mut() {
            for reserved in own.reservations.values() {
                self.day.settle(*reserved, *reserved);
            }
        }
    }
}

/// The grants of a run without a daemon: a budget, and no state and outputs.
#[derive(Debug)]
pub(crate) struct BudgetOnly(pub(crate) RunBudget);

#[async_trait]
impl Grants for BudgetOnly {
    async fn reserve(&self, cost: MicroUsd) -> Result<Reservation, GrantError> {
        self.0.reserve(cost)
    }

    async fn settle(&self, reservation: Reservation, cost: MicroUsd) -> Result<(), GrantError> {
        self.0.settle(reservation, cost);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
