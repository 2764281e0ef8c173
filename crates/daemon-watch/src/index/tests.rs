use std::collections::BTreeSet;

use daemon_event::{Enrichment, Event, EventId, RepoName, Source, read};
use proptest::prelude::*;

use super::*;
use crate::interpret::interpret;
use crate::interpretation::WakeVerdict;

fn event(source: Source, kind: &str, body: &str) -> Event {
    let reading = read(source, kind, body.as_bytes(), &Enrichment::default())
        .expect("the body is well formed");
    Event {
        id: EventId::new(0, [0; 10]),
        source,
        kind: kind.to_owned(),
        action: reading.action,
        subject: reading.subject,
        actor: reading.actor,
        repo: reading.repo,
        time: jiff::Timestamp::UNIX_EPOCH,
        received_at: jiff::Timestamp::UNIX_EPOCH,
        delivery: "d".parse().expect("it is a delivery id"),
        facts: reading.facts,
        payload: body.as_bytes().into(),
    }
}

fn push(repo: &str, branch: &str, files: &[&str]) -> Event {
    let body = serde_json::json!({
        "ref": format!("refs/heads/{branch}"), "after": "b2", "deleted": false, "forced": false,
        "commits": [{"message": "m", "added": [], "modified": files, "removed": []}],
        "repository": {"full_name": repo, "default_branch": "trunk"}, "sender": {"login": "kit"},
    });
    event(Source::Github, "push", &body.to_string())
}

fn repo(name: &str) -> RepoName {
    name.parse().expect("it is a repository name")
}

fn index(lines: &[(&str, &str, &str)]) -> MatchIndex<String> {
    let mut index = MatchIndex::new();
    for (number, (of, key, line)) in lines.iter().enumerate() {
        index.insert(&repo(of), &(*key).to_owned(), number, &interpret(line));
    }
    index
}

fn matches(index: &MatchIndex<String>, event: &Event) -> Vec<(String, usize)> {
    let mut acc = Vec::new();
    index.matches(event, &mut acc);
    acc.sort();
    acc
}

const LINES: &[(&str, &str, &str)] = &[
    ("acme/pump", "a", "when a commit is pushed to trunk"),
    ("acme/pump", "b", "when files matching docs/** are changed"),
    ("Acme/Pump", "c", "when a commit is pushed to trunk or drip"),
    ("acme/valve", "d", "when a commit is pushed to trunk"),
    ("acme/pump", "e", "when a pull request is opened"),
    (
        "acme/valve",
        "f",
        "when a Slack message is posted in #leaks",
    ),
    ("acme/pump", "g", "when the docs are out of date"),
];

#[test]
fn an_event_meets_the_conditions_of_its_repository_in_any_case() {
    let index = index(LINES);
    let met = |event: &Event| -> Vec<String> {
        matches(&index, event)
            .into_iter()
            .map(|(key, _)| key)
            .collect()
    };
    assert_eq!(
        met(&push("ACME/pump", "trunk", &["docs/a.md"])),
        ["a", "b", "c"]
    );
    assert_eq!(met(&push("acme/pump", "drip", &["docs/a.md"])), ["c"]);
    assert_eq!(met(&push("acme/valve", "trunk", &[])), ["d"]);
    assert_eq!(
        met(&push("acme/other", "trunk", &["docs/a.md"])),
        Vec::<String>::new()
    );
}

#[test]
fn an_event_that_names_no_repository_meets_the_daemons_of_all() {
    let index = index(LINES);
    let mut said = event(
        Source::Slack,
        "message",
        r#"{"event":{"type":"message","user":"U1","channel":"C1","ts":"1.0","text":"x"}}"#,
    );
    assert_eq!(matches(&index, &said), []);
    said.facts.set_text(daemon_event::Field::Channel, "leaks");
    assert_eq!(matches(&index, &said), [("f".to_owned(), 5)]);
    let nowhere = Event {
        repo: None,
        ..push("acme/pump", "trunk", &[])
    };
    let keys: Vec<String> = matches(&index, &nowhere)
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, ["a", "c", "d"]);
}

#[test]
fn a_key_that_was_removed_is_met_no_more_and_can_come_back() {
    let mut index = index(LINES);
    let event = push("acme/pump", "trunk", &["docs/a.md"]);
    index.remove(&"b".to_owned());
    index.remove(&"a".to_owned());
    assert_eq!(matches(&index, &event), [("c".to_owned(), 2)]);
    index.insert(
        &repo("acme/pump"),
        &"b".to_owned(),
        0,
        &interpret("when files matching docs/** are changed"),
    );
    assert_eq!(
        matches(&index, &event),
        [("b".to_owned(), 0), ("c".to_owned(), 2)]
    );
}

#[test]
fn a_condition_with_several_alternatives_is_met_once() {
    let line = "when files matching docs/** or *.md are changed, or a commit is pushed to trunk";
    let index = index(&[("acme/pump", "a", line)]);
    let event = push("acme/pump", "trunk", &["docs/a.md", "b.md"]);
    assert_eq!(matches(&index, &event), [("a".to_owned(), 0)]);
}

thread_local! {
    static N_COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A key that counts how often it is compared.
#[derive(Clone, Debug)]
struct Counted(usize);

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        N_COMPARED.set(N_COMPARED.get() + 1);
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl Hash for Counted {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Conditions for every part of a bucket: open ones, exact values, folders, globs and strings.
const FILLING: [&str; 8] = [
    "when a commit is pushed",
    "when a commit is pushed to trunk",
    "when a commit is pushed to release/{n}",
    "when files matching docs/{n}/** are changed",
    "when files matching *.{n} are changed",
    "when a PR comment containing \"drip {n}\" is created",
    "when someone comments \"/ask {n}\" in a PR",
    "when a Slack message is posted in #leaks",
];

fn filling(n: usize) -> Vec<Interpretation> {
    let lines = FILLING
        .iter()
        .map(|line| line.replace("{n}", &n.to_string()));
    lines.map(|line| interpret(&line)).collect()
}

/// Files daemons with all of the filling, asks once, takes all out; counts comparisons of keys on the way.
fn comparisons_to_empty(n_daemons: usize) -> usize {
    let mut index = MatchIndex::new();
    for n in 0..n_daemons {
        for (number, meaning) in filling(n).iter().enumerate() {
            index.insert(&repo("acme/pump"), &Counted(n), number, meaning);
        }
    }
    let event = push("acme/pump", "trunk", &["docs/1/a.md", "b.2"]);
    let said = comment("/ask 3", "NONE");
    let mut acc = Vec::new();
    [&event, &said]
        .iter()
        .for_each(|event| index.matches(event, &mut acc));
    assert!(acc.len() >= 2 * n_daemons, "only {} are met", acc.len());
    N_COMPARED.set(0);
    for n in 0..n_daemons {
        index.remove(&Counted(n));
    }
    let n_compared = N_COMPARED.get();
    acc.clear();
    [&event, &said]
        .iter()
        .for_each(|event| index.matches(event, &mut acc));
    assert_eq!(acc, []);
    n_compared
}

#[test]
fn taking_out_all_daemons_of_a_repository_looks_at_each_once() {
    assert!(comparisons_to_empty(50) <= 50 * 2);
    assert!(comparisons_to_empty(400) <= 400 * 2);
}

#[test]
fn slots_of_what_is_gone_are_used_again() {
    let mut bucket = Bucket::default();
    let meaning = interpret("when files matching *.md or docs/** are changed");
    let tests: Arc<[Test]> = meaning.clauses[0]
        .filters
        .iter()
        .map(|index| meaning.filters[*index].test.clone())
        .collect();
    let mut highest = 0;
    for round in 0..100 {
        let slots: Vec<Slot> = (0..40)
            .map(|key| {
                let tests = Arc::clone(&tests);
                bucket.insert(Entry {
                    key,
                    condition: round,
                    tests,
                    has_siblings: false,
                })
            })
            .collect();
        highest = highest.max(bucket.n_slots());
        slots.into_iter().for_each(|slot| bucket.remove(slot));
    }
    assert!(
        highest <= 120,
        "{highest} slots for 40 conditions at a time"
    );
}

#[test]
fn conditions_that_come_after_the_first_event_are_met() {
    let mut index = index(&[("acme/pump", "a", "when files matching *.md are changed")]);
    let event = push("acme/pump", "trunk", &["a.md"]);
    assert_eq!(matches(&index, &event).len(), 1);
    for n in 0..60 {
        let meaning = interpret("when files matching **/a.* are changed");
        index.insert(&repo("acme/pump"), &format!("b{n:02}"), 0, &meaning);
        assert_eq!(matches(&index, &event).len(), n + 2);
    }
    for n in (0..60).rev() {
        index.remove(&format!("b{n:02}"));
        assert_eq!(matches(&index, &event).len(), n + 1);
    }
}

#[test]
fn an_event_that_meets_nothing_allocates_nothing() {
    let mut index = MatchIndex::new();
    for n in 0..100 {
        for (number, meaning) in filling(n).iter().enumerate().skip(1) {
            index.insert(&repo("acme/pump"), &n, number, meaning);
        }
    }
    let misses = [
        push("acme/pump", "side", &["src/lid/sensor.rs", "README"]),
        push("acme/pump", "side", &[]),
        push("acme/valve", "trunk", &["docs/1/a.md"]),
        comment("nothing to ask for", "NONE"),
        event(
            Source::Github,
            "star",
            r#"{"action":"created","repository":{"full_name":"acme/pump"}}"#,
        ),
        event(
            Source::Slack,
            "message",
            r#"{"event":{"type":"message","user":"U1","channel":"C1","ts":"1.0","text":"x"}}"#,
        ),
    ];
    let mut acc: Vec<(usize, usize)> = Vec::new();
    for miss in &misses {
        // The first event of a kind compiles the patterns.
        index.matches(miss, &mut acc);
        let counted = allocation_counter::measure(|| index.matches(miss, &mut acc));
        assert_eq!((counted.count_total, acc.len()), (0, 0), "{}", miss.kind);
    }
}

fn comment(text: &str, association: &str) -> Event {
    let body = serde_json::json!({
        "action": "created",
        "comment": {"body": text, "user": {"login": "kit"}, "author_association": association},
        "issue": {"number": 7, "title": "t", "user": {"login": "kit"}, "pull_request": {"url": "u"}},
        "repository": {"full_name": "acme/pump", "default_branch": "trunk"}, "sender": {"login": "kit"},
    });
    event(Source::Github, "issue_comment", &body.to_string())
}

/// Files the chosen conditions, takes all but every third out again, and compares with each decided by itself.
fn finds_what_each_would(
    conditions: &[&str],
    chosen: &[usize],
    event: &Event,
) -> Result<(), TestCaseError> {
    let mut index = MatchIndex::new();
    let mut expected = BTreeSet::new();
    for (number, at) in chosen.iter().enumerate() {
        let meaning = interpret(conditions[*at]);
        index.insert(&repo("acme/pump"), &number, *at, &meaning);
        if number % 3 == 2 && meaning.wakes(event) == WakeVerdict::Wakes {
            expected.insert((number, *at));
        }
    }
    index.matches(event, &mut Vec::new());
    (0..chosen.len())
        .filter(|number| number % 3 != 2)
        .for_each(|number| index.remove(&number));
    let mut found = Vec::new();
    index.matches(event, &mut found);
    let n_found = found.len();
    let found: BTreeSet<(usize, usize)> = found.into_iter().collect();
    prop_assert_eq!(n_found, found.len());
    prop_assert_eq!(found, expected);
    Ok(())
}

#[test]
fn a_comment_matches_the_strings_it_contains() {
    let index = index(&[
        (
            "acme/pump",
            "a",
            "when a PR comment containing \"leak\" is created",
        ),
        (
            "acme/pump",
            "b",
            "when someone comments \"/ask help\" in a PR",
        ),
        (
            "acme/pump",
            "c",
            "when a PR comment containing \"drip\" is created",
        ),
    ]);
    let met = |text: &str| -> Vec<String> {
        let found = matches(&index, &comment(text, "NONE"));
        found.into_iter().map(|(key, _)| key).collect()
    };
    assert_eq!(met("/Ask help, it LEAKS"), ["a", "b"]);
    assert_eq!(met("please /ask help"), Vec::<String>::new());
    assert_eq!(met("a lea\u{212a}, /as\u{212a} help"), ["a"]);
}

proptest! {
    #[test]
    fn the_index_finds_what_each_condition_by_itself_would(
        chosen in proptest::collection::vec(0_usize..12, 1..90),
        branch in "trunk|drip|release/1",
        file in "docs/a\\.md|src/b\\.rs|c\\.md",
    ) {
        const CONDITIONS: [&str; 12] = [
            "when a commit is pushed to trunk",
            "when a commit is pushed to release/*",
            "when someone other than kit pushes to trunk",
            "when kit-2 or a bot pushes",
            "when files matching docs/** change",
            "when files outside docs/ change on trunk",
            "when a push to drip touches *.md",
            "when a push to trunk only touches docs/",
            "when a tag is pushed",
            "when a pull request is merged or a commit is pushed to the default branch",
            "when any .rs file changes on drip or trunk",
            "when a commit whose message contains \"m\" is pushed",
        ];
        let event = push("acme/pump", &branch, &[&file]);
        finds_what_each_would(&CONDITIONS, &chosen, &event)?;
    }

    #[test]
    fn strings_are_found_in_any_case_and_position(
        chosen in proptest::collection::vec(0_usize..10, 1..60),
        words in proptest::collection::vec(
            "/ask help|/ASK  help|/as\u{212a} help|leak|LEAKS|lea\u{212a}|naïve|NAÏVE|日本|\u{130}nk|ink|x|\n| ", 0..8),
        association in "OWNER|NONE",
    ) {
        const CONDITIONS: [&str; 10] = [
            "when a PR comment containing \"leak\" is created",
            "when a PR comment containing \"naïve\" is created",
            "when a PR comment containing \"日本\" is created",
            "when a PR comment containing \"ink\" is created",
            "when someone comments \"/ask help\" in a PR",
            "when a maintainer comments \"/ask\" in a PR",
            "when a comment containing \"leak\" or \"ink\" is created on a pull request",
            "when a maintainer comments on a pull request",
            "when a pull request comment not containing \"leak\" is created",
            "when kit comments \"/ask help\" in a PR",
        ];
        let event = comment(&words.concat(), &association);
        finds_what_each_would(&CONDITIONS, &chosen, &event)?;
    }
}
