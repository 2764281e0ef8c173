//! Budgets for model calls: one for each run, and one for the host within a day.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use daemon_provider::{GrantError, Grants, MicroUsd, Reservation};
use jiff::{SignedDuration, Timestamp};

use daemon_records::clock::Clock;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The cost of this process's model calls within a day, and the reservations of calls that have not returned.
///
/// The cost of earlier processes counts when activations are claimed, not here.
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
    /// Forgets costs that are older than a day, and returns what a limit leaves.
    fn left(&mut self, limit: MicroUsd, now: Timestamp) -> u64 {
        // Entries are in the order of their settlement, so that the old ones are at the front.
        let is_old = |at: Timestamp| now.duration_since(at) > DAY;
        while self.spent.front().is_some_and(|(at, _)| is_old(*at)) {
            self.spent.pop_front();
        }
        let spent: u64 = self.spent.iter().map(|(_, cost)| cost).sum();
        limit.0.saturating_sub(spent).saturating_sub(self.reserved)
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
mod tests {
    use super::*;
    use crate::test_clock::TestClock;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("it is in range")
    }

    fn day(clock: &Arc<TestClock>) -> Arc<DailyBudget> {
        Arc::new(DailyBudget::new(Arc::<TestClock>::clone(clock)))
    }

    fn is_over(answer: Result<Reservation, GrantError>) -> Option<u64> {
        match answer {
            Err(GrantError::OverBudget { left, .. }) => Some(left.0),
            _ => None,
        }
    }

    #[test]
    fn a_run_spends_no_more_than_its_own_budget() {
        let clock = TestClock::at(at(0));
        let budget = RunBudget::new(Some(MicroUsd(100)), day(&clock), None);
        let first = budget.reserve(MicroUsd(80)).unwrap();
        assert_eq!(is_over(budget.reserve(MicroUsd(30))), Some(20));
        clock.set(at(1));
        budget.settle(first, MicroUsd(10));
        budget.settle(first, MicroUsd(10));
        assert_eq!(is_over(budget.reserve(MicroUsd(91))), Some(90));
        budget.reserve(MicroUsd(90)).unwrap();
    }

    #[test]
    fn a_day_leaves_what_the_calls_of_the_last_24_hours_have_not_cost() {
        let clock = TestClock::at(at(0));
        let day = day(&clock);
        let limit = MicroUsd(100);
        let budget = RunBudget::new(None, Arc::clone(&day), Some(limit));
        let call = budget.reserve(MicroUsd(60)).unwrap();
        assert_eq!(day.left(limit), MicroUsd(40));
        budget.settle(call, MicroUsd(10));
        assert_eq!(day.left(limit), MicroUsd(90));
        clock.set(at(24 * 3_600 + 1));
        assert_eq!(day.left(limit), MicroUsd(100));
    }

    #[test]
    fn a_hundred_runs_at_once_never_pass_the_budget_of_the_day() {
        let clock = TestClock::at(at(0));
        let day = day(&clock);
        let limit = Some(MicroUsd(1_000));
        // No thread settles before all have reserved: reservations count like costs.
        let asked = std::sync::Barrier::new(100);
        let granted: Vec<u64> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..100)
                .map(|_| {
                    let (day, asked) = (Arc::clone(&day), &asked);
                    scope.spawn(move || {
                        let budget = RunBudget::new(None, day, limit);
                        let reserved = budget.reserve(MicroUsd(30));
                        asked.wait();
                        match reserved {
                            Ok(reservation) => {
                                budget.settle(reservation, MicroUsd(30));
                                30
                            }
                            Err(_) => 0,
                        }
                    })
                })
                .collect();
            starts
                .into_iter()
                .map(|start| start.join().unwrap())
                .collect()
        });
        // 33 reservations fit, in any order the threads run.
        let spent: u64 = granted.iter().sum();
        assert_eq!(spent, 990);
        let budget = RunBudget::new(None, Arc::clone(&day), limit);
        clock.set(at(3600));
        assert_eq!(is_over(budget.reserve(MicroUsd(30))), Some(10));
        clock.set(at(86_401));
        budget.reserve(MicroUsd(30)).unwrap();
    }

    #[test]
    fn what_a_lost_run_had_set_aside_stays_spent() {
        let clock = TestClock::at(at(0));
        let day = day(&clock);
        let limit = Some(MicroUsd(100));
        let lost = RunBudget::new(None, Arc::clone(&day), limit);
        lost.reserve(MicroUsd(60)).unwrap();
        drop(lost);
        let budget = RunBudget::new(None, day, limit);
        assert_eq!(is_over(budget.reserve(MicroUsd(50))), Some(40));
    }
}
