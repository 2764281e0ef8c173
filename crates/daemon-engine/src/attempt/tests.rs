use jiff::SignedDuration;
use proptest::prelude::{any, proptest};

use super::{
    AttemptEnd, AttemptOutcome, Counting, Gate, MAX_ATTEMPTS, Missing, Next, TakenBack, backoff,
    end_attempt, reclaim,
};
use crate::activation::{Activation, ActivationState};
use crate::crash::{Blame, Departure, HostCrash, HostEnd};
use crate::fixture::{at, end, pending, retryable};

fn check(outcome: AttemptOutcome, attempts: u32, unsettled: usize, expected: &Next) {
    let activation = Activation {
        attempts,
        ..pending()
    };
    let end = end(outcome);
    assert_eq!(
        end_attempt(&activation, &end, unsettled),
        *expected,
        "{end:?}"
    );
}

fn settled(state: ActivationState, reason: Option<&str>) -> Next {
    Next {
        state,
        reason: reason.map(str::to_owned),
        not_before: None,
        counts: Counting::Counted,
    }
}

#[test]
fn an_attempt_ends_in_what_its_outcome_says() {
    let reason = || "why".to_owned();
    check(
        AttemptOutcome::Done,
        1,
        0,
        &settled(ActivationState::Succeeded, None),
    );
    check(
        AttemptOutcome::Done,
        1,
        2,
        &settled(ActivationState::Delivering, None),
    );
    check(
        AttemptOutcome::Final { reason: reason() },
        1,
        0,
        &settled(ActivationState::Failed, Some("why")),
    );
    check(
        AttemptOutcome::Cancelled { reason: reason() },
        1,
        0,
        &settled(ActivationState::Cancelled, Some("why")),
    );
    check(
        AttemptOutcome::HostStopping,
        MAX_ATTEMPTS,
        0,
        &Next {
            not_before: Some(at(100)),
            counts: Counting::Uncounted,
            ..settled(ActivationState::Pending, Some("slot"))
        },
    );
}

#[test]
fn a_retryable_failure_waits_until_attempts_run_out() {
    for (attempts, wait) in [(1, 10), (2, 30), (3, 90), (4, 270)] {
        check(
            retryable(),
            attempts,
            0,
            &Next {
                not_before: Some(at(100 + wait)),
                ..settled(ActivationState::Pending, Some("backoff: it crashed"))
            },
        );
    }
    for attempts in [5, 6] {
        let dead = settled(ActivationState::Dead, Some("it crashed; 5 attempts"));
        check(retryable(), attempts, 0, &dead);
    }
}

fn leased(state: ActivationState, attempts: u32, blame: Blame) -> Activation {
    Activation {
        state,
        attempts,
        blame,
        ..pending()
    }
}

fn ended(end: HostEnd, present: u32) -> Departure {
    Departure::HostEnded(HostCrash { end, present })
}

fn again(counts: Counting) -> Next {
    Next {
        not_before: Some(at(7)),
        counts,
        ..settled(ActivationState::Pending, Some("slot"))
    }
}

#[test]
fn a_host_that_was_killed_or_stopped_counts_against_nobody() {
    let suspect = Blame {
        alone: 2,
        in_row: 2,
    };
    for end in [HostEnd::Killed, HostEnd::Stopped] {
        for state in [ActivationState::Claimed, ActivationState::Running] {
            let taken = reclaim(&leased(state, 5, suspect), ended(end, 1), at(7));
            let expected = TakenBack {
                next: again(Counting::Uncounted),
                blame: suspect,
            };
            assert_eq!(taken, expected, "{end:?} {state:?}");
        }
    }
}

#[test]
fn a_third_fault_is_poison() {
    let after = |n| {
        let blame = Blame {
            alone: n,
            in_row: n,
        };
        let activation = leased(ActivationState::Running, n + 1, blame);
        reclaim(&activation, ended(HostEnd::Aborted, 1), at(7))
    };
    for n in [0, 1] {
        assert_eq!(after(n).next, again(Counting::Counted));
        assert!(!after(n).is_poison());
    }
    assert!(after(2).is_poison());
    assert_eq!(
        after(2).next,
        settled(
            ActivationState::Dead,
            Some("poison: 3 host crashes while it ran")
        )
    );
}

#[test]
fn a_lease_that_runs_out_counts_as_an_attempt_and_not_as_a_crash() {
    let over = |attempts| {
        let activation = leased(ActivationState::Running, attempts, Blame::default());
        reclaim(&activation, Departure::LeaseOver, at(7))
    };
    assert_eq!(over(4).next, again(Counting::Counted));
    let dead = over(5);
    assert_eq!(
        dead.next,
        settled(ActivationState::Dead, Some("its lease ran out; 5 attempts"))
    );
    assert!(!dead.is_poison());
}

#[test]
fn gates_print_and_parse() {
    for gate in [Gate::Open, Gate::Held, Gate::Tripped] {
        assert_eq!(gate.as_str().parse(), Ok(gate));
    }
    assert!("ajar".parse::<Gate>().is_err());
}

proptest! {
    #[test]
    fn backoff_is_between_nothing_and_its_ceiling(n in any::<u32>(), jitter in any::<u32>()) {
        let wait = backoff(n, jitter);
        let ceiling = match n {
            0 | 1 => 10,
            2..=5 => 10 * 3_i64.pow(n - 1),
            _ => 1_800,
        };
        assert!(wait >= SignedDuration::ZERO);
        assert!(wait <= SignedDuration::from_secs(ceiling), "{n}: {wait:?}");
        assert_eq!(backoff(n, u32::MAX), SignedDuration::from_secs(ceiling));
        assert_eq!(backoff(n, 0), SignedDuration::ZERO);
    }
}

#[test]
fn what_is_missing_is_looked_for_as_facts_are_and_fails_uncounted() {
    let missing = |second: i64| {
        let outcome = AttemptOutcome::Missing {
            what: Missing::Commit,
            detail: "`c0ffee` is not in `o/r`".to_owned(),
        };
        let activation = Activation {
            attempts: 1,
            ..pending()
        };
        let asked_at = activation.triggers[0].recorded_at;
        let ended = AttemptEnd {
            at: asked_at + SignedDuration::from_secs(second),
            ..end(outcome)
        };
        let next = end_attempt(&activation, &ended, 0);
        let wait = next
            .not_before
            .map(|at| at.duration_since(asked_at).as_secs());
        assert_eq!(next.counts, Counting::Uncounted);
        assert!(!ended.counts_for_gate());
        (next.state, next.reason.unwrap_or_default(), wait)
    };
    let reason = "commit: `c0ffee` is not in `o/r`";
    for (second, next) in [
        (0, 5),
        (4, 5),
        (5, 30),
        (29, 30),
        (30, 330),
        (86_100, 86_400),
    ] {
        let expected = (ActivationState::Pending, reason.to_owned(), Some(next));
        assert_eq!(missing(second), expected, "after {second} s");
    }
    let over = format!("{reason}; it was looked for during 24 hours");
    assert_eq!(missing(86_101), (ActivationState::Failed, over, None));
    assert_eq!(Missing::of_reason(reason), Some(Missing::Commit));
    assert_eq!(Missing::of_reason("slot"), None);
}
