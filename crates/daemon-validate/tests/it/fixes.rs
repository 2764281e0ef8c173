//! Fixes remove their diagnostic, change nothing else, and terminate.

use daemon_spec::{Diagnostic, Fix, apply_fixes};
use daemon_validate::{Fixability, rules};

use super::{codes, completed, file, lint, read};

/// A code, an input with a diagnostic, and the input after its fix.
const FIXES: &[(&str, &str, &str)] = &[
    (
        "D101",
        "---\nid: a\ndisallowed:\n  - merge pull requests\n---\nText.\n",
        "id: a\ndeny:\n  - merge pull requests",
    ),
    ("D110", "id:\npurpose: x", "id: pr-helper\npurpose: x"),
    ("D110", "id: 12", "id: pr-helper"),
    ("D110", "id: ''", "id: pr-helper"),
    ("D110", "id: [x]", "id: pr-helper"),
    ("D113", "id: \" pr-helper\\n\"", "id: \"pr-helper\""),
    (
        "D130",
        "deny: merge pull requests",
        "deny:\n  - \"merge pull requests\"",
    ),
    (
        "D130",
        "deny: \"say \\\"no\\\"\"",
        "deny:\n  - 'say \"no\"'",
    ),
    (
        "D130",
        "deny:\n  merge pull requests",
        "deny:\n  - \"merge pull requests\"",
    ),
    (
        "D130",
        "deny: |\n  - merge pull requests\n  - 'close' issues",
        "deny:\n  - \"merge pull requests\"\n  - \"'close' issues\"",
    ),
    (
        "D131",
        "deny:\n  - when: x # why\n  - y z",
        "deny:\n  - \"when: x\" # why\n  - y z",
    ),
    ("D131", "deny: [404, y z]", "deny: [\"404\", y z]"),
    (
        "D132",
        "deny:\n  - x y\n  -\n  - z z",
        "deny:\n  - x y\n  - z z",
    ),
    ("D132", "deny: [x y, '', z z]", "deny: [x y, z z]"),
    (
        "D132",
        "schedule: 0 9 * * *\ndeny:\n  - ''",
        "schedule: 0 9 * * *",
    ),
    (
        "D133",
        "deny:\n  - x y\n  - X y # again\n  - z z",
        "deny:\n  - x y\n  - z z",
    ),
    ("D133", "deny: [x y, x y]", "deny: [x y]"),
    ("D135", "schedule: ''\ndeny:\n  - x y", "deny:\n  - x y"),
    (
        "D200",
        "schedule: [\"0 9 * * 1,2\"]",
        "schedule: \"0 9 * * 1,2\"",
    ),
    ("D200", "schedule: 5", "schedule: \"5\""),
    (
        "D201",
        "schedule: \"0 30 14 * * 1-5\"",
        "schedule: \"30 14 * * 1-5\"",
    ),
    (
        "D201",
        "schedule: 0 */5 * * * *",
        "schedule: \"*/5 * * * *\"",
    ),
    ("D202", "schedule: '@hourly'", "schedule: '0 * * * *'"),
    (
        "D205",
        "schedule: 5/15 * * * *",
        "schedule: 5-59/15 * * * *",
    ),
    (
        "D206",
        "schedule: 0 22-6 * * *",
        "schedule: 0 22-23,0-6 * * *",
    ),
    (
        "D207",
        "schedule: 0 9 * JAN,MAR MON-FRI",
        "schedule: 0 9 * 1,3 MON-FRI",
    ),
    (
        "D702",
        "deny:\n  - merge\u{200b}\u{200b} pull\u{ad} requests",
        "deny:\n  - merge pull\u{ad} requests",
    ),
];

#[test]
fn a_fix_removes_its_diagnostic_and_changes_nothing_else() {
    for (code, before, after) in FIXES {
        let before = file(before);
        let found = lint(&before);
        let first = found
            .iter()
            .find(|one| one.code.to_string() == *code && one.fix.is_some());
        let fix = first.and_then(|one| one.fix.as_ref());
        let fix = fix.unwrap_or_else(|| panic!("{code} has no fix in\n{before}\n{found:#?}"));
        let fixed = text_after(&before, [fix]);
        // The text before and after the changed part is the same.
        let rest = |text: &str| text.rsplit_once("\n---\n").map(|(_, body)| body.to_owned());
        assert!(
            fixed.starts_with(&format!("---\n{after}\n")),
            "{code} made\n{fixed}"
        );
        assert_eq!(rest(&fixed), rest(&before), "{code}");
        let n_of = |found: &[Diagnostic]| codes(found).iter().filter(|one| one == code).count();
        assert!(
            n_of(&lint(&fixed)) < n_of(&found),
            "{code} is still in\n{fixed}"
        );
        assert_eq!(
            read(&fixed).file.completeness(),
            daemon_spec::Completeness::Whole,
            "{code}\n{fixed}"
        );
    }
}

#[test]
fn a_missing_id_is_added_with_the_line_ends_of_the_file() {
    let text = "---\r\npurpose: x\r\n---\r\nBody.\r\n";
    let found = lint(text);
    let fix = found
        .iter()
        .find(|one| one.code.to_string() == "D110")
        .unwrap()
        .fix
        .as_ref();
    assert_eq!(
        text_after(text, fix),
        "---\r\nid: pr-helper\r\npurpose: x\r\n---\r\nBody.\r\n"
    );
}

#[test]
fn no_fix_duplicates_a_key_or_loses_words() {
    for (code, text) in [
        ("D101", completed("deny: [a b]\ndisallowed: [c d]")),
        (
            "D110",
            "---\nname: pr-helper\npurpose: x\n---\nBody.\n".to_owned(),
        ),
        ("D130", completed("deny: {a: b}")),
        ("D131", completed("deny:\n  - a: b\n    c: d")),
        ("D132", completed("routines: ['']")),
        ("D200", completed("schedule: [0 9 * * 1,2]")),
        ("D201", completed("schedule: 15 0 9 * * *")),
        ("D202", completed("schedule: '@reboot'")),
    ] {
        let found = lint(&text);
        let fixes: Vec<Option<&Fix>> = found
            .iter()
            .filter(|one| one.code.to_string() == code)
            .map(|one| one.fix.as_ref())
            .collect();
        assert_eq!(fixes, [None], "{code} of\n{text}");
    }
}

#[test]
fn fixing_everything_terminates_without_remaining_fixes() {
    let mut text = "\u{feff}---\r\nname: x\r\npurpose: Helps: a lot\r\nwatch: when a PR is opened\r\nschedule: \"0 22-6 * * MON\"\r\nroutines:\r\n  - 7\r\n  - ''\r\n  - 7\r\ndeny: []\r\n---\r\nKeep\u{200b} this.\r\n".to_owned();
    for _ in 0..8 {
        let found = lint(&text);
        let fixes: Vec<&Fix> = found.iter().filter_map(|one| one.fix.as_ref()).collect();
        if fixes.is_empty() {
            break;
        }
        text = text_after(&text, fixes);
    }
    expect_test::expect![[r#"
        ---\r\n
        id: x\r\n
        purpose: \"Helps: a lot\"\r\n
        watch:\r\n
          - \"when a PR is opened\"\r\n
        schedule: \"0 22-23,0-6 * * 1\"\r\n
        routines:\r\n
          - \"7\"\r\n
        ---\r\n
        Keep this.\r\n
    "#]]
    .assert_eq(
        &text
            .escape_debug()
            .to_string()
            .replace("\\r\\n", "\\r\\n\n"),
    );
    assert!(lint(&text).iter().all(|one| one.fix.is_none()));
}

#[test]
fn exactly_the_fixable_rules_have_fixes_in_this_file() {
    for (code, before, _) in FIXES {
        for one in lint(&file(before)) {
            let rule = daemon_validate::rule(one.code).unwrap();
            assert!(
                one.fix.is_none() || rule.fixability() == Fixability::Fixable,
                "{code}"
            );
        }
    }
    let by_reader = ["D004", "D006", "D011", "D012", "D013"];
    let by_verdict = ["D309"];
    for rule in rules()
        .iter()
        .filter(|rule| rule.fixability() == Fixability::Fixable)
    {
        let code = rule.code().to_string();
        let is_shown = FIXES.iter().any(|(of, ..)| *of == code)
            || by_reader.contains(&&*code)
            || by_verdict.contains(&&*code);
        assert!(is_shown, "{code}");
    }
}

fn text_after<'a>(text: &str, fixes: impl IntoIterator<Item = &'a Fix>) -> String {
    String::from_utf8(apply_fixes(text.as_bytes(), fixes).bytes).expect("fixes insert text only")
}
