//! The published corpus as a file format: what `fixtures/watch/README.md` promises to other runtimes.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::corpus::{fixtures, payloads};

const STATUSES: [&str; 5] = ["mapped", "partial", "vague", "unmapped", "time-based"];

/// What begins or marks a credential; none may be in a payload, not even an invented one.
const SECRETS: [&str; 14] = [
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "lin_api_",
    "lin_oauth_",
    "sntrys_",
    "AKIA",
    "-----BEGIN",
    "Bearer ",
    "x-hub-signature",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    family: String,
    condition: String,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    status: String,
    matches: BTreeSet<String>,
    rejects: BTreeSet<String>,
    #[serde(default)]
    dontcare: BTreeSet<String>,
    exhaustive: bool,
    #[serde(default)]
    accept: BTreeSet<String>,
    #[serde(default)]
    remainder: Vec<String>,
    kind: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    gold: Option<String>,
}

impl Row {
    /// The words without case, quotes and spacing: two rows of the same wording say nothing new.
    fn wording(&self) -> String {
        let kept = |c: char| {
            if c.is_alphanumeric() || "/*#@_-:.".contains(c) {
                c
            } else {
                ' '
            }
        };
        let plain: String = self.condition.to_lowercase().chars().map(kept).collect();
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether it is of a batch whose authors labelled the payloads and wrote no readings.
    fn is_of_another_hand(&self) -> bool {
        [
            "ba-", "bb-", "bc-", "bd-", "be-", "bf-", "bg-", "bh-", "bi-", "bj-", "bk-", "bl-",
            "bm-", "bn-", "bo-", "bp-",
        ]
        .iter()
        .any(|batch| self.id.starts_with(batch))
    }

    fn faults(&self, payloads: &BTreeSet<String>) -> Vec<String> {
        let expect = &self.expect;
        let wakes = matches!(expect.status.as_str(), "mapped" | "partial");
        let every = || {
            expect
                .matches
                .iter()
                .chain(&expect.rejects)
                .chain(&expect.dontcare)
        };
        let statuses = || expect.accept.iter().chain([&expect.status]);
        let checks = [
            (
                "a wording",
                !self.wording().is_empty() && !self.family.is_empty(),
            ),
            (
                "known statuses",
                statuses().all(|status| STATUSES.contains(&status.as_str())),
            ),
            (
                "payloads that exist",
                every().all(|name| payloads.contains(name)),
            ),
            (
                "no payload in two lists",
                every().count() == every().collect::<BTreeSet<_>>().len(),
            ),
            (
                "matches exactly where it can wake",
                wakes != expect.matches.is_empty(),
            ),
            ("at least five rejects", expect.rejects.len() >= 5),
            ("complete matches", expect.exhaustive),
            (
                "a reading in words where it can wake",
                wakes == expect.gold.is_some() || (wakes && self.is_of_another_hand()),
            ),
            (
                "a remainder exactly where partial",
                (expect.status == "partial") != expect.remainder.is_empty(),
            ),
            (
                "a kind exactly where time-based",
                (expect.status == "time-based") == expect.kind.is_some(),
            ),
            (
                "known kinds",
                expect
                    .kind
                    .iter()
                    .all(|kind| ["schedule", "elapsed"].contains(&kind.as_str())),
            ),
            (
                "known needs",
                expect.needs.iter().all(|need| {
                    [
                        "changed_files",
                        "pull_requests",
                        "channel_name",
                        "label_name",
                    ]
                    .contains(&need.as_str())
                }),
            ),
        ];
        let lacking = checks.iter().filter(|(_, holds)| !holds);
        lacking
            .map(|(what, _)| format!("{}: not {what}", self.id))
            .collect()
    }
}

fn rows() -> Vec<Row> {
    let read = |file: &str| std::fs::read_to_string(fixtures().join(file)).expect("it is there");
    let text = read("conditions.jsonl") + &read("open.jsonl");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn every_row_is_well_formed_and_every_payload_is_named() {
    let names: BTreeSet<String> = payloads().into_keys().collect();
    let (mut ids, mut wordings, mut named) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut faults = Vec::new();
    for row in rows() {
        faults.extend(row.faults(&names));
        if !ids.insert(row.id.clone()) || !wordings.insert(row.wording()) {
            faults.push(format!("{}: told twice", row.id));
        }
        named.extend(row.expect.matches);
        named.extend(row.expect.rejects);
    }
    let unnamed = names.difference(&named);
    faults.extend(unnamed.map(|name| format!("{name}: named by no condition")));
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn the_corpus_is_large_enough_to_tell_readings_apart() {
    let rows = rows();
    let families: BTreeSet<&str> = rows.iter().map(|row| row.family.as_str()).collect();
    let sizes = (rows.len(), families.len(), payloads().len());
    assert!(
        sizes.0 >= 400 && sizes.1 >= 200 && sizes.2 >= 150,
        "{sizes:?}"
    );
    for status in STATUSES {
        let count = rows
            .iter()
            .filter(|row| row.expect.status == status)
            .count();
        assert!(count >= 10, "only {count} conditions are {status}");
    }
}

#[test]
fn no_payload_holds_what_looks_like_a_secret() {
    let dir = std::fs::read_dir(fixtures().join("payloads")).expect("the fixtures hold payloads");
    let mut faults = Vec::new();
    for entry in dir {
        let path = entry.expect("the folder can be read").path();
        let text = std::fs::read_to_string(&path).expect("a payload is UTF-8");
        let marks = SECRETS.iter().filter(|mark| text.contains(**mark));
        faults.extend(marks.map(|mark| format!("{}: {mark}", path.display())));
    }
    assert_eq!(faults, Vec::<String>::new());
}
