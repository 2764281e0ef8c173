//! Properties of every file.

use daemon_spec::{Completeness, Fix, apply_fixes, parse};
use daemon_validate::{
    ConditionStatus, ConditionVerdict, Profile, Subject, SupportEntry, registrable, rule, validate,
};
use proptest::prelude::{
    ProptestConfig, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::strategy::{Just, Strategy};

/// Generates valid and invalid lines of front matter.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("---".to_owned()),
        "(id|purpose|watch|routines|deny|schedule|name|triggers|x): ?[^\n]{0,20}",
        "(id|purpose|schedule): ['\"][ @*/0-9a-z,-]{0,16}['\"]",
        "(watch|routines|deny): ?(\\[[a-z ,'{}:]{0,20}\\]|[|>]|)",
        "  ?- ?[a-z #:'\"<>{}*&!\u{200b}]{0,24}",
        "schedule: \"([0-9*,/-]{1,5} ){4}[0-9A-Z*,/#-]{1,5}\"",
        ".{0,20}",
    ]
}

fn file() -> impl Strategy<Value = String> {
    (
        prop::collection::vec(line(), 0..14),
        prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
    )
        .prop_map(|(lines, ending)| format!("---{ending}{}{ending}", lines.join(ending)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn validating_any_bytes_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let parse = parse(bytes);
        let found = validate(&Subject::new(&parse), Profile::Strict);
        prop_assert!(found.is_sorted_by_key(|one| (one.span, one.code)));
    }

    #[test]
    fn spans_are_inside_the_file_and_severities_come_from_the_table(text in file()) {
        let parse = parse(text.clone().into_bytes());
        let entries = [SupportEntry::file("scripts/a.sh", 1)];
        let verdict = ConditionVerdict::new(ConditionStatus::Partial);
        let verdicts = [ConditionVerdict { remainder: vec![0..3, 1..9], ..verdict }];
        let subject = Subject::new(&parse)
            .in_directory("a-b")
            .with_support(&entries)
            .with_conditions(&verdicts);
        for profile in [Profile::Spec, Profile::Strict] {
            for one in validate(&subject, profile) {
                prop_assert!(one.span.start <= one.span.end && one.span.end <= text.len(), "{one:?}");
                prop_assert!(text.is_char_boundary(one.span.start), "{one:?}");
                prop_assert!(text.is_char_boundary(one.span.end), "{one:?}");
                prop_assert_eq!(rule(one.code).map(|rule| rule.severity(profile)), Some(one.severity));
                prop_assert!(!one.message.is_empty() && !one.message.ends_with('.'), "{one:?}");
            }
        }
    }

    #[test]
    fn fixing_terminates_and_keeps_a_usable_file_usable(text in file()) {
        let mut bytes = text.into_bytes();
        let mut was_usable = false;
        for _ in 0..40 {
            let parse = parse(bytes.clone());
            let found = validate(&Subject::new(&parse).in_directory("a-b"), Profile::Spec);
            let is_usable = registrable(&found);
            prop_assert!(is_usable || !was_usable, "{}", String::from_utf8_lossy(&bytes));
            was_usable = is_usable;
            let fixes: Vec<&Fix> = found.iter().filter_map(|one| one.fix.as_ref()).collect();
            if fixes.is_empty() {
                return Ok(());
            }
            let fixed = apply_fixes(&bytes, fixes.iter().copied());
            prop_assert!(fixed.applied > 0);
            bytes = fixed.bytes;
        }
        prop_assert!(false, "still fixing {}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn each_fix_of_a_readable_file_removes_a_diagnostic_of_its_code(text in file()) {
        let before = parse(text.clone().into_bytes());
        // With a syntax error or a repeated key, fixing one field can reveal a problem of another.
        let has_twins = before.diagnostics.iter().any(|one| one.code.number() == 14);
        if has_twins || before.file.completeness() != Completeness::Whole {
            return Ok(());
        }
        let found = validate(&Subject::new(&before).in_directory("a-b"), Profile::Spec);
        for one in found.iter().filter(|one| one.fix.is_some() && one.code.number() >= 100) {
            let fixed = apply_fixes(text.as_bytes(), one.fix.as_ref());
            let after = parse(fixed.bytes.clone());
            let left = validate(&Subject::new(&after).in_directory("a-b"), Profile::Spec);
            let n_of = |all: &[daemon_spec::Diagnostic]| all.iter().filter(|other| other.code == one.code).count();
            prop_assert!(
                n_of(&left) < n_of(&found),
                "{one:?}\nbefore {text:?}\nafter {:?}\nleft {left:#?}",
                String::from_utf8_lossy(&fixed.bytes)
            );
        }
    }
}
