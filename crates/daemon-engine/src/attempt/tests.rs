use jiff::SignedDuration;
use proptest::prelude::{any, proptest};

use super::{
    AttemptEnd, AttemptOutcome, Counting, Gate, MAX_ATTEMPTS, Missing, Next, backoff, end_attempt,
    reclaim,
};
use crate::activation::{Activation, ActivationState};
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

#[test]
fn a_crash_before_the_provider_began_does_not_count() {
    let claimed = Activation {
        host_crashes: 2,
        state: ActivationState::Claimed,
        ..pending()
    };
    let next = Next {
        not_before: Some(at(7)),
        counts: Counting::Uncounted,
        ..settled(ActivationState::Pending, Some("slot"))
    };
    assert_eq!(reclaim(&claimed, at(7)), next);
}

#[test]
fn a_third_host_crash_is_poison() {
    let after = |host_crashes| {
        let activation = Activation {
            host_crashes,
            state: ActivationState::Running,
            ..pending()
        };
        reclaim(&activation, at(7))
    };
    let again = Next {
        not_before: Some(at(7)),
        ..settled(ActivationState::Pending, Some("slot"))
    };
    assert_eq!(after(0), again);
    assert_eq!(after(1), again);
    assert_eq!(
        after(2),
        settled(
            ActivationState::Dead,
            Some("poison: 3 host crashes while it ran")
        )
    );
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
