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

/// Reads a number that a later tier raises.
#[expect(
    clippy::disallowed_methods,
    reason = "the tier is told by the environment"
)]
fn setting(name: &str, otherwise: u32) -> u32 {
    let text = std::env::var(name).ok();
    text.map_or(otherwise, |text| text.parse().unwrap())
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

/// A day of ten dollars, of which an activation needs one.
const TEN: DayBounds = DayBounds {
    limit: Some(MicroUsd(10_000_000)),
    start: MicroUsd(1_000_000),
};

fn begin(day: &Arc<DailyBudget>, pricing: Pricing) -> Result<RunReserve, BudgetUsedUp> {
    day.begin(pricing, Some(TEN.start), TEN)
}

fn failed(kind: FailureKind) -> Outcome {
    Outcome::Failed(Failure::new(kind, "it failed"))
}

#[test]
fn a_run_whose_cost_is_unknown_counts_what_was_reserved_for_it() {
    let spent = |pricing, cost, outcome: &Outcome| {
        let clock = TestClock::at(at(0));
        let day = day(&clock);
        let reserve = begin(&day, pricing).unwrap();
        let reserved = reserve.reserved();
        reserve.settle(cost, outcome);
        (reserved.map(|usd| usd.0), day.spent().0)
    };
    let (assumed, reported) = (Pricing::Assumed, Pricing::Reported);
    let broken = failed(FailureKind::Protocol);
    let usd = Some(1_000_000);
    assert_eq!(spent(assumed, None, &Outcome::Done), (usd, 1_000_000));
    assert_eq!(spent(assumed, Some(0.2), &Outcome::Done), (usd, 200_000));
    // A program that does not obey its budget counts in full.
    assert_eq!(spent(assumed, Some(10.0), &broken), (usd, 10_000_000));
    assert_eq!(spent(assumed, None, &broken), (usd, 1_000_000));
    assert_eq!(spent(assumed, None, &failed(FailureKind::Spawn)), (usd, 0));
    assert_eq!(spent(reported, None, &Outcome::Done), (None, 0));
    assert_eq!(spent(reported, Some(0.2), &Outcome::Done), (None, 200_000));
    assert_eq!(spent(Pricing::ByCall, Some(0.2), &Outcome::Done), (None, 0));
    assert_eq!(spent(Pricing::Free, None, &Outcome::Done), (None, 0));
}

#[test]
fn a_run_that_is_lost_keeps_its_reservation_and_one_that_never_starts_gives_it_back() {
    let clock = TestClock::at(at(0));
    let day = day(&clock);
    drop(begin(&day, Pricing::Assumed).unwrap());
    assert_eq!(day.spent().0, 1_000_000);
    begin(&day, Pricing::Assumed).unwrap().release();
    assert_eq!(day.spent().0, 1_000_000);
    assert_eq!(day.left(MicroUsd(10_000_000)).0, 9_000_000);
}

#[test]
fn a_run_starts_only_if_the_day_leaves_the_budget_of_an_activation() {
    let clock = TestClock::at(at(0));
    let day = day(&clock);
    day.count([(at(-86_399), MicroUsd(9_000_001))]);
    assert!(!day.lets_start(TEN));
    let refusal = begin(&day, Pricing::Assumed).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "the budget of the day leaves 0.999999 USD, and a run needs 1.00 USD"
    );
    clock.set(at(2));
    assert!(day.lets_start(TEN));
    // A limit below the budget of an activation lets a run have all of it.
    let small = DayBounds {
        limit: Some(MicroUsd(5)),
        ..TEN
    };
    let reserve = day.begin(Pricing::Assumed, Some(TEN.start), small).unwrap();
    assert_eq!(reserve.limit(), Some(MicroUsd(5)));
    assert!(!day.lets_start(small));
}

#[test]
fn a_run_whose_activation_has_spent_its_budget_is_refused_and_reserves_nothing() {
    let clock = TestClock::at(at(0));
    let day = day(&clock);
    let begin = |pricing| day.begin(pricing, Some(MicroUsd(0)), TEN);
    assert_eq!(begin(Pricing::Assumed).unwrap_err(), BudgetUsedUp::Run);
    assert_eq!(day.left(MicroUsd(10_000_000)).0, 10_000_000);
    // Whether a command costs anything is known when it ends.
    assert_eq!(begin(Pricing::Reported).unwrap().limit(), Some(MicroUsd(0)));
}

#[test]
fn a_hundred_starts_at_once_never_reserve_more_than_the_day() {
    for _ in 0..setting("DAEMON_TEST_STARTS", 50) {
        let clock = TestClock::at(at(0));
        let day = day(&clock);
        let asked = std::sync::Barrier::new(100);
        let reserves: Vec<_> = std::thread::scope(|scope| {
            let start = || {
                asked.wait();
                begin(&day, Pricing::Assumed).ok()
            };
            let starts: Vec<_> = (0..100).map(|_| scope.spawn(start)).collect();
            let ended = starts.into_iter().map(|start| start.join().unwrap());
            ended.flatten().collect()
        });
        assert_eq!(reserves.len(), 10);
        drop(reserves);
        assert_eq!(day.spent().0, 10_000_000);
    }
}
