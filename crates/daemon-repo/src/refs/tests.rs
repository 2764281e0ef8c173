use super::*;
use proptest::prelude::*;

fn id(seed: u8) -> ObjectId {
    format!("{seed:02x}").repeat(20).parse().unwrap()
}

fn name(short: &str) -> RefName {
    RefName::branch(short).unwrap()
}

fn snapshot(refs: &[(&str, u8)]) -> RefSnapshot {
    refs.iter()
        .map(|(short, seed)| (name(short), id(*seed)))
        .collect()
}

fn moved(short: &str, step: RefChange, n: u64) -> RefMove {
    RefMove {
        name: name(short),
        step,
        n,
    }
}

#[test]
fn the_first_look_reports_no_moves() {
    let refs = snapshot(&[("main", 1)]);
    assert_eq!(
        RefPositions::baseline(&refs).advance(&refs),
        (RefPositions::baseline(&refs), vec![])
    );
}

#[test]
fn each_moved_ref_is_reported_once_with_its_count() {
    let first = RefPositions::baseline(&snapshot(&[("gone", 1), ("main", 1), ("same", 1)]));
    let (second, moves) = first.advance(&snapshot(&[("main", 2), ("new", 3), ("same", 1)]));
    assert_eq!(
        moves,
        [
            moved("gone", RefChange::Deleted { before: id(1) }, 1),
            moved(
                "main",
                RefChange::Moved {
                    before: id(1),
                    after: id(2)
                },
                1
            ),
            moved("new", RefChange::Created { after: id(3) }, 1),
        ]
    );
    let (third, moves) = second.advance(&snapshot(&[
        ("gone", 1),
        ("main", 2),
        ("new", 3),
        ("same", 1),
    ]));
    assert_eq!(
        moves,
        [moved("gone", RefChange::Created { after: id(1) }, 2)]
    );
    let rows: Vec<_> = third
        .iter()
        .map(|(name, at)| (name.clone(), at.clone()))
        .collect();
    assert_eq!(rows.into_iter().collect::<RefPositions>(), third);
}

#[test]
fn lines_of_refs_are_parsed_and_unusual_names_are_listed() {
    let one = id(1);
    let output = [
        format!("{one}\0\0refs/heads/-oProxy\n{one}\0\0refs/heads/$(id)\n").into_bytes(),
        format!("{one}\0refs/remotes/origin/trunk\0refs/remotes/origin/HEAD\n").into_bytes(),
        [one.as_str().as_bytes(), b"\0\0refs/heads/\xff\n"].concat(),
    ]
    .concat();
    let refs = parse_refs(&output, "refs/").unwrap();
    assert_eq!(
        refs.iter()
            .map(|(name, _)| name.short())
            .collect::<Vec<_>>(),
        ["$(id)", "-oProxy"]
    );
    assert_eq!(refs.origin_head(), Some(&name("trunk")));
    assert_eq!(refs.unnamable(), ["refs/heads/\u{fffd}"]);
    assert_eq!(parse_refs(b"x\n", "refs/"), None);
}

proptest! {
    #[test]
    fn parsing_any_listing_does_not_panic(output in prop::collection::vec(prop_oneof![Just(0u8), Just(b'\n'), any::<u8>()], 0..200)) {
        let _refs: Option<RefSnapshot> = parse_refs(&output, "refs/");
    }

    #[test]
    fn reported_moves_replay_to_the_same_refs_and_no_number_repeats(
        steps in prop::collection::vec(prop::collection::btree_map(0u8..4, 1u8..4, 0..4), 1..20)
    ) {
        let mut cursor = RefPositions::default();
        let mut replayed: BTreeMap<RefName, ObjectId> = BTreeMap::new();
        let mut numbers = std::collections::BTreeSet::new();
        for step in steps {
            let refs: RefSnapshot =
                step.iter().map(|(short, seed)| (name(&format!("b{short}")), id(*seed))).collect();
            let (next, moves) = cursor.advance(&refs);
            for RefMove { name, step, n } in moves {
                prop_assert_eq!(replayed.get(&name), step.before());
                match step.after() {
                    Some(after) => replayed.insert(name.clone(), after.clone()),
                    None => replayed.remove(&name),
                };
                prop_assert!(numbers.insert((name, n)));
            }
            prop_assert_eq!(&replayed, &refs.refs);
            prop_assert_eq!(next.advance(&refs), (next.clone(), vec![]));
            cursor = next;
        }
    }
}
