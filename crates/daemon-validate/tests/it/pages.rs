//! The table agrees with its pages and its index.

use std::collections::BTreeSet;
use std::path::Path;

use daemon_spec::{Code, Severity};
use daemon_validate::{Fixability, Profile, RuleEntry, page, rules};

use super::{codes, completed, lint, shown};

/// Returns `true` for codes whose examples need verdicts on conditions.
fn needs_more(code: Code) -> bool {
    matches!(code.number(), 300..=399 | 601)
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let pages: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    let codes: BTreeSet<String> = rules()
        .iter()
        .map(|rule| format!("{}.md", rule.code()))
        .collect();
    assert_eq!(pages, codes);
    assert_eq!(page(Code::new(999)), None);
}

#[test]
fn codes_are_ascending_and_names_unique() {
    assert!(rules().is_sorted_by_key(RuleEntry::code));
    let names: BTreeSet<&str> = rules().iter().map(RuleEntry::name).collect();
    assert_eq!(names.len(), rules().len());
}

#[test]
fn a_page_begins_with_title_and_severities_and_describes_the_fix() {
    for rule in rules() {
        let spec = rule.severity(Profile::Spec);
        let strict = rule.severity(Profile::Strict);
        let mut level = if spec == strict {
            format!("{spec} under `spec` and `strict`.")
        } else {
            format!("{spec} under `spec`, {strict} under `strict`.")
        };
        level[..1].make_ascii_uppercase();
        let opening = format!("# {}: {}\n\n{level}\n\n", rule.code(), rule.name());
        assert!(
            rule.page().starts_with(&opening),
            "{} does not begin with its title",
            rule.code()
        );
        let fixability = match rule.page().contains("`--fix` leaves it alone.") {
            true => Fixability::ByHand,
            false => Fixability::Fixable,
        };
        assert_eq!(fixability, rule.fixability(), "{}", rule.code());
        assert!(
            rule.page().lines().any(|line| line.starts_with("`--fix` ")),
            "{}",
            rule.code()
        );
    }
}

#[test]
fn a_rule_is_more_severe_under_strict_only_with_evidence_on_its_page() {
    for rule in rules() {
        let is_raised = rule.severity(Profile::Strict) != rule.severity(Profile::Spec);
        assert_eq!(is_raised, rule.evidence().is_some(), "{}", rule.code());
        let page: Vec<&str> = rule.page().split_whitespace().collect();
        let expected = match rule.evidence() {
            Some(evidence) => format!("Evidence for `strict`: {evidence}. "),
            None => String::new(),
        };
        assert!(page.join(" ").contains(&expected), "{}", rule.code());
    }
}

#[test]
fn the_index_has_a_row_for_each_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors/README.md");
    let index = std::fs::read_to_string(path).unwrap();
    for rule in rules() {
        let code = rule.code();
        let mark = if rule.fixability() == Fixability::Fixable {
            "✓"
        } else {
            "–"
        };
        let row = format!(
            "| [{code}]({code}.md) | {} | {} | {} | {mark} | {} |",
            rule.name(),
            rule.severity(Profile::Spec),
            rule.severity(Profile::Strict),
            rule.summary()
        );
        assert!(index.contains(&row), "no row {row}");
    }
}

#[test]
fn the_bad_example_of_a_page_has_its_code_and_the_good_one_does_not() {
    let mut n_checked = 0;
    let mut wrong = Vec::new();
    for rule in rules().iter().filter(|rule| !needs_more(rule.code())) {
        let code = rule.code().to_string();
        for (info, text) in examples(rule.page()) {
            let (text, is_bad) = match info {
                "yaml bad" => (completed(&text), true),
                "yaml good" => (completed(&text), false),
                "markdown bad" => (text, true),
                "markdown good" => (text, false),
                _ => continue,
            };
            let found = lint(&text);
            let is_usable = found.iter().all(|one| one.severity != Severity::Error);
            if codes(&found).contains(&code) != is_bad || !(is_bad || is_usable) {
                wrong.push(format!("{code}, {info}:\n{text}{}\n", shown(&text, &found)));
            }
            n_checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
    assert!(n_checked > 90, "only {n_checked} examples were checked");
}

/// Returns the fenced blocks of a page with their info strings.
fn examples(page: &str) -> Vec<(&str, String)> {
    let mut acc = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let block = lines.by_ref().take_while(|line| *line != "```");
            acc.push((info, block.map(|line| format!("{line}\n")).collect()));
        }
    }
    acc
}
