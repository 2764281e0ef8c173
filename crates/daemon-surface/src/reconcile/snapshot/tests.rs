use std::collections::BTreeMap;

use serde_json::json;

use super::{Change, PullRow, Snapshot};

fn pull(number: u64, state: &str, head: &str, at: u32) -> PullRow {
    let row = json!({
        "number": number, "state": state, "head": {"sha": head},
        "updated_at": format!("2026-11-23T10:00:{at:02}Z"),
    });
    PullRow::read(row).expect("every member is there")
}

fn refs(of: &[(&str, &str)]) -> Option<BTreeMap<String, String>> {
    let named = of
        .iter()
        .map(|(name, at)| ((*name).to_owned(), (*at).to_owned()));
    Some(named.collect())
}

fn words(changes: Vec<Change>) -> Vec<String> {
    let word = |change| match change {
        Change::Moved(moved) => format!(
            "{} {}..{}",
            moved.name,
            moved.before.unwrap_or_default(),
            moved.after.unwrap_or_default()
        ),
        Change::Opened(pull) => format!("opened {}", pull.number),
        Change::Synchronized { pull, before } => {
            format!("moved {} {before}..{}", pull.number, pull.head)
        }
        Change::Closed(pull) => format!("closed {}", pull.number),
    };
    changes.into_iter().map(word).collect()
}

#[test]
fn pull_requests_differ_by_their_number_head_and_state() {
    let known = [pull(3, "open", "a", 1), pull(4, "closed", "b", 2)];
    for (now, expected) in [
        (vec![pull(3, "open", "a", 3)], vec![]),
        (vec![pull(3, "open", "c", 3)], vec!["moved 3 a..c"]),
        (vec![pull(3, "closed", "a", 3)], vec!["closed 3"]),
        (
            vec![pull(3, "closed", "c", 3)],
            vec!["moved 3 a..c", "closed 3"],
        ),
        // A comment on a closed one, and one that was opened again.
        (vec![pull(4, "closed", "b", 3)], vec![]),
        (vec![pull(4, "open", "b", 3)], vec![]),
        (vec![pull(5, "open", "d", 3)], vec!["opened 5"]),
        (
            vec![pull(5, "closed", "d", 3)],
            vec!["opened 5", "closed 5"],
        ),
        // The newest was left alone while others were worked on.
        (
            vec![
                pull(7, "open", "f", 3),
                pull(5, "closed", "d", 4),
                pull(6, "open", "e", 5),
                pull(5, "closed", "d", 4),
            ],
            vec!["opened 7", "opened 5", "closed 5", "opened 6"],
        ),
    ] {
        let mut snapshot = Snapshot::baseline(None, &known);
        let kept = Snapshot::read(&snapshot.text());
        assert_eq!(kept.as_ref(), Some(&snapshot));
        assert_eq!(words(snapshot.update_pulls(now.clone())), expected);
        let again = snapshot.clone();
        assert_eq!(words(snapshot.update_pulls(now)), [""; 0]);
        assert_eq!(snapshot, again);
    }
}

#[test]
fn refs_differ_by_name_and_object_and_first_sight_is_the_baseline() {
    let mut snapshot = Snapshot::baseline(refs(&[("main", "a"), ("old", "b"), ("same", "c")]), &[]);
    let now = refs(&[("main", "d"), ("new", "e"), ("same", "c")]);
    let expected = ["main a..d", "new ..e", "old b.."];
    assert_eq!(words(snapshot.move_refs(now.clone())), expected);
    assert_eq!(words(snapshot.move_refs(now.clone())), [""; 0]);
    assert_eq!(words(snapshot.move_refs(None)), [""; 0]);
    assert_eq!(words(snapshot.move_refs(now)), [""; 0]);
}
