use std::collections::BTreeMap;

use super::{MAX_KEY_BYTES, MAX_KEYS, MAX_VALUE_BYTES, StateError, apply};
use crate::output::StateChange;

fn set(key: &str, json: &str) -> StateChange {
    StateChange::Set {
        key: key.to_owned(),
        json: json.to_owned(),
    }
}

fn remove(key: &str) -> StateChange {
    StateChange::Remove {
        key: key.to_owned(),
    }
}

fn check(changes: &[StateChange], expected: &Result<(), StateError>) {
    let before = BTreeMap::from([("old".to_owned(), "1".to_owned())]);
    let mut values = before.clone();
    assert_eq!(apply(&mut values, changes), *expected);
    if expected.is_err() {
        assert_eq!(values, before, "nothing is changed");
    }
}

#[test]
fn changes_apply_in_order() {
    let mut values = BTreeMap::from([("old".to_owned(), "1".to_owned())]);
    let changes = [set("n", "1"), remove("old"), set("n", "2"), remove("none")];
    apply(&mut values, &changes).unwrap();
    assert_eq!(values, BTreeMap::from([("n".to_owned(), "2".to_owned())]));
}

#[test]
fn each_limit_is_met_exactly() {
    let longest = "k".repeat(MAX_KEY_BYTES);
    let long = "k".repeat(MAX_KEY_BYTES + 1);
    let largest = "9".repeat(MAX_VALUE_BYTES);
    let large = "9".repeat(MAX_VALUE_BYTES + 1);
    check(&[set(&longest, &largest)], &Ok(()));
    check(
        &[set("a", "1"), set("", "1")],
        &Err(StateError::Key { key: String::new() }),
    );
    check(
        &[set(&long, "1")],
        &Err(StateError::Key {
            key: "k".repeat(80),
        }),
    );
    check(
        &[set("v", &large)],
        &Err(StateError::Value {
            key: "v".to_owned(),
            found: MAX_VALUE_BYTES + 1,
        }),
    );
    let keys = |n| -> Vec<StateChange> { (0..n).map(|n| set(&n.to_string(), "1")).collect() };
    check(&keys(MAX_KEYS - 1), &Ok(()));
    check(&keys(MAX_KEYS), &Err(StateError::Keys));
    // 3 + 1 bytes are there; each of these takes 2 + 16,384.
    let values = |n: u32| -> Vec<StateChange> {
        (10..10 + n)
            .map(|n| set(&n.to_string(), &largest))
            .collect()
    };
    check(&values(15), &Ok(()));
    check(&values(16), &Err(StateError::Total));
}

#[test]
fn what_is_removed_makes_room() {
    let mut changes: Vec<StateChange> = (0..MAX_KEYS).map(|n| set(&n.to_string(), "1")).collect();
    changes.push(remove("old"));
    check(&changes, &Ok(()));
}
