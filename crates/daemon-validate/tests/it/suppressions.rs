//! Comments that suppress diagnostics.

use daemon_validate::{
    ConditionStatus, ConditionVerdict, MAX_PER_CODE, Profile, Subject, Validation, validation,
};
use expect_test::{Expect, expect};

use super::{CLEAN, codes, completed, read, shown};

fn validated(text: &str, profile: Profile) -> Validation {
    let verdict = |text: &daemon_spec::Text| match text.value.find("risky") {
        None => ConditionVerdict {
            names_the_format: true,
            ..ConditionVerdict::new(ConditionStatus::Mapped)
        },
        Some(at) => ConditionVerdict {
            remainder: std::iter::once(at..at + 5).collect(),
            names_the_format: true,
            ..ConditionVerdict::new(ConditionStatus::Partial)
        },
    };
    let parse = read(text);
    let watch = parse.file.watch().value();
    let verdicts: Vec<ConditionVerdict> = watch
        .into_iter()
        .flat_map(daemon_spec::FieldList::texts)
        .map(verdict)
        .collect();
    let subject = Subject::new(&parse).in_directory("pr-helper");
    validation(&subject.with_conditions(&verdicts), profile)
}

/// Compares the diagnostics and the number of those that are suppressed.
fn check(text: &str, expected: Expect) {
    let found = validated(text, Profile::Spec);
    let shown = shown(text, &found.diagnostics);
    expected.assert_eq(&format!("{shown}{} suppressed\n", found.suppressed));
}

#[test]
fn a_comment_suppresses_its_line_or_the_next_one() {
    check(
        &completed("colour: red # daemon-lint: allow D100\nshape: round"),
        expect![[r#"
            warning D100 3:1 [shape] `shape` is not a field | the fields are `id`, `purpose`, `watch`, `routines`, `deny` and `schedule`; move what is meant for the model to the body
            1 suppressed
        "#]],
    );
    check(
        &completed("# daemon-lint: allow D100\ncolour: red\nshape: round"),
        expect![[r#"
            warning D100 4:1 [shape] `shape` is not a field | the fields are `id`, `purpose`, `watch`, `routines`, `deny` and `schedule`; move what is meant for the model to the body
            1 suppressed
        "#]],
    );
    check(
        &completed("# daemon-lint: allow D100\n# daemon-lint: allow D112\ncolour: red"),
        expect![[r#"
            warning D017 3:22 [D112] `D112` is not reported here | delete it
            1 suppressed
        "#]],
    );
    check(
        &completed("# daemon-lint: allow D100\n\ncolour: red"),
        expect![[r#"
            warning D017 2:22 [D100] `D100` is not reported here | delete it
            warning D100 4:1 [colour] `colour` is not a field | the fields are `id`, `purpose`, `watch`, `routines`, `deny` and `schedule`; move what is meant for the model to the body
            0 suppressed
        "#]],
    );
}

#[test]
fn a_comment_can_name_several_codes_and_a_reason() {
    check(
        &completed("colour: red # daemon-lint: allow D100, d013 the owner (D999) wants it"),
        expect![[r#"
            warning D017 2:40 [d013] `D013` is not reported here | delete it
            1 suppressed
        "#]],
    );
    check(
        &completed("colour: red\nshape: round\n# daemon-lint: allow-file D100"),
        expect![[r#"
            2 suppressed
        "#]],
    );
}

#[test]
fn a_comment_of_the_body_also_suppresses_what_is_in_the_front_matter() {
    let body = "colour: red\n---\nBe brief.\n\n<!-- daemon-lint: allow D100 -->\n";
    check(
        &CLEAN.replace("---\n## Policy\n\nKeep changes small.\n", body),
        expect![[r#"
        1 suppressed
    "#]],
    );
    let body = "\n<!-- daemon-lint: allow D140 -->\nUse {{one}}.\nUse {{two}}.\n";
    check(
        &format!("{CLEAN}{body}"),
        expect![[r#"
        warning D140 17:5 [{{two}}] `{{two}}` is a placeholder of a template | fill it in
        1 suppressed
    "#]],
    );
    let body = "\nUse {{one}}.\nUse {{two}}.\n<!-- daemon-lint: allow-file D140, D600 -->\n";
    check(
        &format!("{CLEAN}{body}"),
        expect![[r#"
        warning D017 17:36 [D600] `D600` is not reported here | delete it
        2 suppressed
    "#]],
    );
}

#[test]
fn a_comment_in_a_value_or_in_code_is_no_comment() {
    check(
        &completed("purpose: \"Tidy. # daemon-lint: allow D113\""),
        expect![[r#"
            0 suppressed
        "#]],
    );
    check(
        &completed("purpose: |\n  Tidy up.\n  # daemon-lint: allow D113"),
        expect![[r#"
            0 suppressed
        "#]],
    );
    let body =
        "\n```md\n<!-- daemon-lint: allow D113 -->\n```\n`<!-- daemon-lint: allow D113 -->`\n";
    check(
        &format!("{CLEAN}{body}"),
        expect![[r#"
        0 suppressed
    "#]],
    );
    check(
        &format!("{CLEAN}\n# daemon-lint: allow D113\n"),
        expect![[r#"
        0 suppressed
    "#]],
    );
}

#[test]
fn a_comment_without_effect_is_reported() {
    let comments = [
        "allow D113",
        "allow-file D113",
        "allow D999",
        "alow D100",
        "allow",
        "allow everything",
        "",
        "allow D111",
        "allow D702, D017",
        // Without a support tree nothing is known about it.
        "allow D503",
    ];
    let lines = comments.map(|comment| format!("# daemon-lint: {comment}"));
    check(
        &completed(&lines.join("\n")),
        expect![[r#"
        warning D017 2:22 [D113] `D113` is not reported here | delete it
        warning D017 3:27 [D113] `D113` is not reported here | delete it
        warning D017 4:22 [D999] no rule has the code `D999` | `daemon-run rule` lists all codes
        warning D017 5:16 [alow] `alow` is neither `allow` nor `allow-file` | write `daemon-lint: allow D305`, or `allow-file`, with commas between codes
        warning D017 6:3 [daemon-lint:] the comment names no code | write `daemon-lint: allow D305`, or `allow-file`, with commas between codes
        warning D017 7:22 [everything] `everything` is not a code | write `daemon-lint: allow D305`, or `allow-file`, with commas between codes
        warning D017 8:3 [daemon-lint:] the comment allows nothing | write `daemon-lint: allow D305`, or `allow-file`, with commas between codes
        warning D017 9:22 [D111] `D111` cannot be suppressed | errors, secrets and hidden text are always reported
        warning D017 10:22 [D702] `D702` cannot be suppressed | errors, secrets and hidden text are always reported
        warning D017 10:28 [D017] `D017` cannot be suppressed | errors, secrets and hidden text are always reported
        0 suppressed
    "#]],
    );
}

#[test]
fn an_error_is_not_suppressed_and_one_of_strict_only_under_spec() {
    let text = completed("id: x # daemon-lint: allow D111");
    check(
        &text,
        expect![[r#"
        error D111 2:5 [x] `id` is `x`, the directory is `pr-helper` | rename either, so that they agree
        warning D017 2:28 [D111] `D111` cannot be suppressed | errors, secrets and hidden text are always reported
        0 suppressed
    "#]],
    );
    let text = completed("colour: red # daemon-lint: allow D100");
    let count = |profile| {
        let found = validated(&text, profile);
        (codes(&found.diagnostics), found.suppressed)
    };
    assert_eq!(count(Profile::Spec), (vec![], 1));
    assert_eq!(count(Profile::Strict), (vec!["D100".to_owned()], 0));
}

#[test]
fn words_that_were_not_understood_have_one_diagnostic_for_those_that_are_left() {
    let conditions = "watch:\n  - when a risky PR is opened\n  - when a risky issue is opened # daemon-lint: allow D305\n  - when a risky tag is created";
    check(
        &completed(conditions),
        expect![[r#"
        warning D305 3:12 [risky] not understood: `risky` (3:12), `risky` (5:12) | it wakes without these, and the model has to confirm them; reword them
        1 suppressed
    "#]],
    );
    let many = "  - when a risky PR is opened\n".repeat(12);
    check(
        &completed(&format!("watch:\n{}", many.trim_end())),
        expect![[r#"
        warning D305 3:12 [risky] not understood: `risky` (3:12), `risky` (4:12), `risky` (5:12), `risky` (6:12), `risky` (7:12), `risky` (8:12), `risky` (9:12), `risky` (10:12), 4 more | it wakes without these, and the model has to confirm them; reword them
        warning D133 4:5 [when a risky PR is opened] entry 2 of `watch` repeats entry 1 | delete it
        warning D133 5:5 [when a risky PR is opened] entry 3 of `watch` repeats entry 1 | delete it
        warning D133 6:5 [when a risky PR is opened] entry 4 of `watch` repeats entry 1 | delete it
        warning D133 7:5 [when a risky PR is opened] entry 5 of `watch` repeats entry 1 | delete it
        warning D133 8:5 [when a risky PR is opened] entry 6 of `watch` repeats entry 1 | delete it
        warning D133 9:5 [when a risky PR is opened] entry 7 of `watch` repeats entry 1 | delete it
        warning D133 10:5 [when a risky PR is opened] entry 8 of `watch` repeats entry 1 | delete it
        warning D133 11:5 [when a risky PR is opened] entry 9 of `watch` repeats entry 1 | delete it
        warning D133 12:5 [when a risky PR is opened] entry 10 of `watch` repeats entry 1 | delete it
        warning D133 13:5 [when a risky PR is opened] entry 11 of `watch` repeats entry 1 | delete it
        warning D133 14:5 [when a risky PR is opened] entry 12 of `watch` repeats entry 1 | delete it
        0 suppressed
    "#]],
    );
}

#[test]
fn suppression_comes_before_the_limit_of_a_report() {
    let many = "\nUse {{one}}. <!-- daemon-lint: allow D140 -->".repeat(2 * MAX_PER_CODE);
    let found = validated(&format!("{CLEAN}{many}\n"), Profile::Spec);
    assert_eq!(
        (found.diagnostics, found.suppressed),
        (vec![], 2 * MAX_PER_CODE)
    );
}
