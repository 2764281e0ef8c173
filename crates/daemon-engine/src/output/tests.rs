use std::collections::BTreeSet;

use proptest::prelude::{any, proptest};

use super::{OutputKey, OutputState, base32};
use crate::activation::ActivationState;
use crate::delivery::Settlement;
use crate::fixture::{at, id, output};

#[test]
fn every_part_of_an_output_changes_its_key() {
    let table = [
        (1, 0, "git", "a"),
        (2, 0, "git", "a"),
        (1, 1, "git", "a"),
        (1, 0, "gi", "ta"),
        (1, 0, "gita", ""),
        (1, 0, "git", "b"),
    ];
    let keys: BTreeSet<OutputKey> = table
        .iter()
        .map(|(n, ordinal, surface, target)| OutputKey::derive(&id(*n), *ordinal, surface, target))
        .collect();
    assert_eq!(keys.len(), table.len());
    let again = OutputKey::derive(&id(1), 0, "git", "a");
    assert!(keys.contains(&again));
}

#[test]
fn keys_never_change_between_versions() {
    let key = OutputKey::derive(&id(1), 0, "git", "refs/heads/daemon/a/1");
    expect_test::expect!["4ymwin7k4k363ohv3ycu7vcqhh"].assert_eq(key.as_str());
}

#[test]
fn base32_is_that_of_rfc_4648_in_lower_case() {
    for (text, expected) in [
        ("fooba", "mzxw6ytb"),
        ("f", "m"),
        ("foobar-foo", "mzxw6ytboiwwm33p"),
    ] {
        assert_eq!(base32(text.as_bytes()), expected);
    }
}

#[test]
fn what_is_not_a_key_is_refused() {
    let good = "abcdefghijklmnopqrstuvwxyz";
    assert_eq!(good.parse::<OutputKey>().unwrap().as_str(), good);
    for bad in [
        "",
        "abcdefghijklmnopqrstuvwxy",
        "abcdefghijklmnopqrstuvwxyza",
        "Abcdefghijklmnopqrstuvwxyz",
        "0bcdefghijklmnopqrstuvwxyz",
        "8bcdefghijklmnopqrstuvwxyz",
        "äbcdefghijklmnopqrstuvwxy",
    ] {
        assert!(bad.parse::<OutputKey>().is_err(), "{bad}");
    }
}

#[test]
fn states_print_and_parse() {
    for state in OutputState::ALL {
        assert_eq!(state.as_str().parse(), Ok(state));
    }
    assert!("sent".parse::<OutputState>().is_err());
}

#[test]
fn a_cancelled_activation_plans_nothing() {
    let again = || Settlement {
        state: OutputState::Planned,
        remote: None,
        error: Some("502".to_owned()),
        not_before: Some(at(9)),
        at: at(5),
    };
    let mut open = output(OutputState::Sending);
    open.settle(again(), ActivationState::Delivering);
    assert_eq!((open.state, open.not_before), (OutputState::Planned, at(9)));
    let mut cancelled = output(OutputState::Sending);
    cancelled.settle(again(), ActivationState::Cancelled);
    assert_eq!(
        (cancelled.state, cancelled.error.as_deref()),
        (OutputState::Refused, Some("the activation was cancelled"))
    );
}

#[test]
fn only_what_never_arrived_gives_way() {
    let giving: Vec<OutputState> = OutputState::ALL
        .into_iter()
        .filter(|state| output(*state).gives_way())
        .collect();
    assert_eq!(giving, [OutputState::Refused, OutputState::GaveUp]);
}

proptest! {
    #[test]
    fn keys_print_and_parse(n in any::<u32>(), ordinal in any::<u32>(), surface in ".*", target in ".*") {
        let key = OutputKey::derive(&id(n.into()), ordinal, &surface, &target);
        assert_eq!(key.as_str().len(), 26);
        assert_eq!(key.to_string().parse(), Ok(key));
    }
}

#[test]
fn only_an_output_that_waits_is_hastened() {
    let mut waiting = output(OutputState::Ambiguous);
    waiting.not_before = at(90_000);
    assert!(waiting.hasten(at(100)));
    assert_eq!(waiting.not_before, at(100));
    assert!(!waiting.hasten(at(100)));

    let mut settled = output(OutputState::Confirmed);
    settled.not_before = at(90_000);
    assert!(!settled.hasten(at(100)));
}
