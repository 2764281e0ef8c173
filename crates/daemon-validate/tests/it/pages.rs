//! The table and its pages say the same.

use std::collections::BTreeSet;
use std::path::Path;

use daemon_spec::{Code, Severity};
use daemon_validate::{Mend, Profile, RuleEntry, page, rules};

use super::{codes, completed, lint, shown};

/// Codes whose examples need an interpreter of conditions or something outside the file.
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
fn codes_ascend_and_names_differ() {
    assert!(rules().is_sorted_by_key(RuleEntry::code));
    let names: BTreeSet<&str> = rules().iter().map(RuleEntry::name).collect();
    assert_eq!(names.len(), rules().len());
}

#[test]
fn a_page_opens_with_its_title_and_severities_and_ends_with_what_fix_does() {
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
            "{} begins otherwise",
            rule.code()
        );
        let mend = match rule.page().contains("`--fix` leaves it alone.") {
            true => Mend::ByHand,
            false => Mend::Fixable,
        };
        assert_eq!(mend, rule.mend(), "{}", rule.code());
        assert!(
            rule.page().lines().any(|line| line.starts_with("`--fix` ")),
            "{}",
            rule.code()
        );
    }
}

#[test]
fn the_index_lists_each_rule_as_the_table_has_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors/README.md");
    let index = std::fs::read_to_string(path).unwrap();
    for rule in rules() {
        let code = rule.code();
        let mark = if rule.mend() == Mend::Fixable {
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
fn the_bad_example_of_a_page_has_its_code_and_the_good_one_has_not() {
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

/// Finds the fenced blocks of a page: what stands after the fence, and the block.
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
