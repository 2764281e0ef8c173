//! Properties of fixing, over generated files.

use std::path::Path;

use daemon_cron::Zone;
use daemon_spec::{Completeness, DaemonFile, Severity, Span};
use daemon_validate::Profile;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{ABOUT_ABSENCE, round, settle};
use crate::discovery;
use crate::interpretations::CachedInterpreter;
use crate::lint::{FileContent, Linted, Linter};

/// Lints bytes as the daemon file of the directory `tidy`.
fn lint(bytes: Vec<u8>, profile: Profile) -> Linted {
    let linter = Linter {
        profile,
        zone: Zone::new(TimeZone::UTC),
        now: "2026-11-20T09:00:00Z".parse().expect("an instant"),
        interpreter: CachedInterpreter::default(),
    };
    let path = Path::new(".agents/daemons/tidy/DAEMON.md");
    let found = discovery::at(path, Path::new("/nowhere"));
    linter.lint_content(FileContent {
        bytes,
        found: Some(&found),
    })
}

fn text(linted: &Linted) -> &[u8] {
    let source = linted.source().expect("the file was read");
    source.as_bytes()
}

/// Returns the bytes outside the edits of the offered fixes, in order.
fn outside_of_fixes(linted: &Linted) -> Vec<&[u8]> {
    let fixes = linted.diagnostics.iter().filter_map(|one| one.fix.as_ref());
    let mut edits: Vec<Span> = fixes
        .flat_map(|fix| &fix.edits)
        .map(|edit| edit.span)
        .collect();
    edits.sort_unstable();
    let mut acc = Vec::new();
    let mut at = 0;
    for edit in edits {
        acc.push(text(linted).get(at..edit.start).unwrap_or_default());
        at = at.max(edit.end);
    }
    acc.push(text(linted).get(at..).unwrap_or_default());
    acc
}

/// Returns `true` if `text` begins with the first part, ends with the last, and has the others between
/// them in order.
fn contains_in_order(text: &[u8], parts: &[&[u8]]) -> bool {
    let [first, between @ .., last] = parts else {
        return parts.iter().all(|part| text == *part);
    };
    let rest = text.strip_prefix(*first);
    let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(*last)) else {
        return false;
    };
    for part in between.iter().filter(|part| !part.is_empty()) {
        let Some(at) = rest.windows(part.len()).position(|window| window == *part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    true
}

/// Returns the number of errors, without those about absent fields if more became readable.
fn n_errors(linted: &Linted, is_as_readable: bool) -> usize {
    let errors = linted
        .diagnostics
        .iter()
        .filter(|one| one.severity == Severity::Error);
    errors
        .filter(|one| is_as_readable || !ABOUT_ABSENCE.contains(&one.code.number()))
        .count()
}

fn completeness(linted: &Linted) -> Option<Completeness> {
    let file = linted.file.as_ref();
    file.map(DaemonFile::completeness)
}

/// Generates words: plain, quoted, with indicators of YAML, and with hidden characters.
fn words() -> BoxedStrategy<String> {
    prop_oneof![
        4 => "[a-z]{1,6}( [a-z]{1,6}){0,3}",
        2 => "[a-z]{1,5}: [a-z]{1,5}",
        2 => "[a-z]{1,5} #[a-z]{1,5}",
        1 => "[*`@{&!%|>\\[][a-z]{1,5}( [a-z]{1,5}]?)?",
        1 => "\"[a-z: ]{0,6}\"( [a-z]{1,4})?",
        1 => "'[a-z:' ]{0,6}'( [a-z]{1,4})?",
        1 => "[é🙂\u{200b}a-z]{1,5}(\u{200b}|: |\t)[é🙂a-z]{1,5}",
        1 => "(7|~|true|''|\"\"|)",
        1 => "[ -~]{0,12}",
    ]
    .boxed()
}

/// Generates a value: on one line, folded with any indentation, or a block.
fn value() -> BoxedStrategy<String> {
    prop_oneof![
        4 => words(),
        3 => (words(), " {0,5}\t?", words()).prop_map(|(a, indent, b)| format!("{a}\n{indent}{b}")),
        1 => (words(), " {1,5}").prop_map(|(a, indent)| format!("|\n{indent}{a}")),
        1 => (words(), " {1,5}").prop_map(|(a, indent)| format!(">-\n{indent}- {a}")),
        1 => (words(), "# [a-z]{0,4}").prop_map(|(a, comment)| format!("{a} {comment}")),
    ]
    .boxed()
}

fn list() -> BoxedStrategy<String> {
    let entry = prop_oneof![
        2 => value(),
        1 => Just("when a pull request is opened".to_owned()),
    ];
    prop_oneof![
        5 => (" {0,4}", prop::collection::vec(entry, 1..4)).prop_map(|(indent, entries)| {
            let lines = entries.iter().map(|entry| format!("\n{indent}- {entry}"));
            lines.collect()
        }),
        1 => value().prop_map(|value| format!(" {value}")),
        1 => prop::collection::vec(words(), 0..3).prop_map(|words| format!(" [{}]", words.join(", "))),
    ]
    .boxed()
}

fn schedule() -> BoxedStrategy<String> {
    prop_oneof![
        "(\\*/5|0|5/15|22-6|75) (\\*|9|22-6|/2) \\* (\\*|JAN) (\\*|MON-FRI|7)",
        "0 30 14 \\* \\* 1-5",
        "@(daily|hourly|reboot)",
        value(),
    ]
    .boxed()
}

fn file() -> BoxedStrategy<String> {
    let field = prop_oneof![
        2 => value().prop_map(|value| format!("purpose: {value}")),
        1 => "(id|name): ?( tidy|\" tidy\"|x|7)?",
        1 => value().prop_map(|value| format!("description: {value}")),
        3 => ("(watch|triggers)", list()).prop_map(|(key, list)| format!("{key}:{list}")),
        3 => ("(routines|actions|deny)", list()).prop_map(|(key, list)| format!("{key}:{list}")),
        2 => schedule().prop_map(|value| format!("schedule: {value}")),
        1 => schedule().prop_map(|value| format!("schedule: \"{value}\"")),
        1 => "(# [a-z: ]{0,8}|owner: me|\tx: y|)",
    ];
    let head = prop_oneof![
        6 => Just("---\n"),
        1 => Just("\u{feff}---\n"),
        1 => Just("\n \n---\n"),
    ];
    let ending = prop_oneof![3 => Just("\n"), 1 => Just("\r\n")];
    (head, prop::collection::vec(field, 1..7), ending)
        .prop_map(|(head, fields, ending)| {
            let text = format!("{head}{}\n---\nBody: a: b\n- *c\n", fields.join("\n"));
            text.replace('\n', ending)
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fixing_changes_only_spans_of_fixes_adds_no_error_and_is_complete(text_before in file(), strict: bool) {
        let profile = if strict { Profile::Strict } else { Profile::Spec };
        let again = |bytes| lint(bytes, profile);
        let before = again(text_before.clone().into_bytes());

        let mut linted = again(text_before.clone().into_bytes());
        while let Some((next, _)) = round(&linted, &again) {
            prop_assert!(
                contains_in_order(text(&next), &outside_of_fixes(&linted)),
                "{:?} became {:?}",
                String::from_utf8_lossy(text(&linted)),
                String::from_utf8_lossy(text(&next))
            );
            let is_as_readable = completeness(&next) == completeness(&linted);
            prop_assert!(n_errors(&next, is_as_readable) <= n_errors(&linted, is_as_readable));
            linted = next;
        }

        let (settled, _) = settle(before, again);
        let shown = String::from_utf8_lossy(text(&settled)).into_owned();
        prop_assert_eq!(text(&settled), text(&linted));
        let left: Vec<_> = settled.diagnostics.iter().filter(|one| one.fix.is_some()).collect();
        prop_assert!(left.is_empty(), "{left:?} in {shown:?}");
        let body = |text: &str| text.rsplit_once("---").map(|(_, body)| body.to_owned());
        prop_assert_eq!(body(&shown), body(&text_before));
        let (_, n_fixed) = settle(again(text(&settled).to_vec()), again);
        prop_assert_eq!(n_fixed, 0, "{}", shown);
    }
}
