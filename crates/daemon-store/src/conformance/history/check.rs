//! What may not be in a history.

use std::collections::BTreeMap;

use daemon_engine::RunLease;
use daemon_event::ActivationId;

use super::{Deed, Entry};

/// Returns what breaks a promise: one sentence for each entry at fault.
pub(super) fn violations(entries: &[Entry]) -> Vec<String> {
    let mut histories: BTreeMap<&ActivationId, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        histories.entry(&entry.activation).or_default().push(entry);
    }
    histories
        .values()
        .flat_map(|of| of_activation(of))
        .collect()
}

fn of_activation(entries: &[&Entry]) -> Vec<String> {
    let mut acc = Vec::new();
    for entry in entries {
        let problem = match entry.deed {
            Deed::Claimed { .. } => of_claim(entry, entries),
            Deed::Renewed { .. } | Deed::Ended => of_write(entry, entries),
            Deed::TakenBack { at } => entries
                .iter()
                .any(|other| is_live(other, entry, at))
                .then_some("took back a live lease"),
            Deed::Refused => entries
                .iter()
                .all(|other| !is_release(other, entry.lease) || other.began > entry.answered)
                .then_some("refused a write under a lease that was held"),
            Deed::Cancelled => None,
        };
        acc.extend(problem.map(|problem| format!("{problem}: {entry:?}")));
    }
    acc
}

/// A claim begins a lease of its own, after the lease before was released.
fn of_claim(claim: &Entry, entries: &[&Entry]) -> Option<&'static str> {
    let is_claim = |other: &Entry| matches!(other.deed, Deed::Claimed { .. });
    let mut others = entries.iter().filter(|other| is_claim(other));
    if others.any(|other| other.lease == claim.lease && other.began != claim.began) {
        return Some("claimed under a lease that another claim has");
    }
    let before = entries
        .iter()
        .filter(|other| is_claim(other) && other.lease < claim.lease)
        .max_by_key(|other| other.lease)?;
    let is_released = entries
        .iter()
        .any(|other| is_release(other, before.lease) && other.began < claim.answered);
    (!is_released).then_some("claimed while another lease was held")
}

/// A write is accepted only under a lease that was not released before it began.
fn of_write(write: &Entry, entries: &[&Entry]) -> Option<&'static str> {
    let is_stale = entries.iter().any(|other| {
        let is_newer = matches!(other.deed, Deed::Claimed { .. }) && other.lease > write.lease;
        let is_other = other.began != write.began;
        is_other && (is_newer || is_release(other, write.lease)) && other.answered < write.began
    });
    is_stale.then_some("accepted a stale write")
}

/// Reports whether an entry ends a lease.
fn is_release(entry: &Entry, lease: RunLease) -> bool {
    match entry.deed {
        Deed::Ended | Deed::TakenBack { .. } => entry.lease == lease,
        // It names a lease of the worker that cancelled, and ends the one that the activation has.
        Deed::Cancelled => true,
        Deed::Claimed { .. } | Deed::Renewed { .. } | Deed::Refused => false,
    }
}

/// Reports whether an entry that was answered before another began made its lease last beyond an instant.
fn is_live(entry: &Entry, taken: &Entry, at: jiff::Timestamp) -> bool {
    let (Deed::Claimed { until } | Deed::Renewed { until }) = entry.deed else {
        return false;
    };
    entry.lease == taken.lease && entry.answered < taken.began && until > at
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
    }

    fn entry((began, answered): (u64, u64), lease: u64, deed: Deed) -> Entry {
        Entry {
            began,
            answered,
            activation: ActivationId::new(1, [0; 10]),
            lease: RunLease(lease),
            deed,
        }
    }

    /// Checks a history that begins with a claim until the tenth second.
    fn check(rest: &[Entry], expected: &[&str]) {
        let first = entry((0, 1), 1, Deed::Claimed { until: at(10) });
        let history: Vec<Entry> = std::iter::once(first).chain(rest.to_vec()).collect();
        let found = violations(&history);
        let found = found
            .iter()
            .map(|one| one.split(": ").next().expect("it has a beginning"));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{history:?}");
    }

    #[test]
    fn a_history_that_breaks_a_promise_is_noticed() {
        let claim = |span, lease| entry(span, lease, Deed::Claimed { until: at(30) });
        let taken = |span, second| entry(span, 1, Deed::TakenBack { at: at(second) });
        let ended = |span, lease| entry(span, lease, Deed::Ended);
        let renewed = |span| entry(span, 1, Deed::Renewed { until: at(20) });
        let refused = |span| entry(span, 1, Deed::Refused);
        check(
            &[taken((2, 3), 10), claim((4, 5), 2), ended((6, 7), 2)],
            &[],
        );
        check(
            &[claim((2, 3), 2)],
            &["claimed while another lease was held"],
        );
        let twice = "claimed under a lease that another claim has";
        check(&[claim((2, 3), 1)], &[twice, twice]);
        check(&[taken((2, 3), 9)], &["took back a live lease"]);
        check(
            &[renewed((2, 3)), taken((4, 5), 19)],
            &["took back a live lease"],
        );
        let stale = "accepted a stale write";
        check(&[taken((2, 3), 10), ended((4, 5), 1)], &[stale]);
        check(&[ended((2, 3), 1), renewed((4, 5))], &[stale]);
        check(
            &[refused((2, 3))],
            &["refused a write under a lease that was held"],
        );
        // Of operations at the same time, either may have been first.
        check(&[taken((2, 5), 10), refused((3, 4))], &[]);
        check(&[renewed((2, 5)), taken((3, 4), 10)], &[]);
    }
}
