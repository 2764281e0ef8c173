use super::*;

/// The events and actions listed in the services' documentation.
const DOCUMENTED: &str = include_str!("documented.txt");

#[test]
fn every_documented_event_and_action_has_a_row() {
    let mut missing = Vec::new();
    for line in DOCUMENTED.lines().filter(|line| !line.starts_with('#')) {
        let (event, actions) = line.split_once(':').unwrap();
        let (source, name) = event.split_once(' ').unwrap();
        let source: Source = source.parse().unwrap();
        let rows = kind(source, name).map_or(&[][..], |kind| kind.rows);
        if rows.is_empty() {
            missing.push(event.to_owned());
        }
        for action in actions.split_whitespace() {
            if !rows.iter().any(|row| row.action == Some(action)) {
                missing.push(format!("{event}.{action}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_row_has_a_noun_and_a_verb_with_phrases() {
    for kind in kinds() {
        for row in kind.rows {
            assert!(!row.noun.phrases().is_empty(), "{}", kind.name);
            assert!(!row.verbs.is_empty(), "{} {:?}", kind.name, row.action);
            assert!(row.verbs.iter().all(|verb| !verb.phrases().is_empty()));
            let found = rows(row.noun);
            assert!(found.iter().any(|(owner, _)| owner.name == kind.name));
        }
    }
}

#[test]
fn no_kind_of_a_source_is_listed_twice() {
    let mut names: Vec<_> = kinds()
        .iter()
        .map(|kind| (kind.source, kind.name))
        .collect();
    let n_kinds = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n_kinds);
}
