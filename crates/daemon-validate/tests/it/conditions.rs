//! Diagnostics of conditions, from constructed verdicts.

use std::ops::Range;

use daemon_validate::{
    ConditionStatus, ConditionVerdict, Profile, SpellingCorrection, Subject, validate,
};
use expect_test::{Expect, expect};

use super::{codes, completed, read, shown};

use ConditionStatus::{Elapsed, Mapped, Partial, Time, Unmapped, Unread, Vague};

fn check(part: &str, verdicts: &[ConditionVerdict], expected: Expect) {
    let text = completed(part);
    let parse = read(&text);
    let subject = Subject::new(&parse)
        .in_directory("pr-helper")
        .with_conditions(verdicts);
    expected.assert_eq(&shown(&text, &validate(&subject, Profile::Spec)));
}

fn range(start: usize, end: usize) -> Range<usize> {
    Range { start, end }
}

fn status(status: ConditionStatus) -> ConditionVerdict {
    ConditionVerdict::new(status)
}

fn suggesting(status: ConditionStatus, suggestion: &str) -> ConditionVerdict {
    ConditionVerdict {
        suggestion: Some(suggestion.to_owned()),
        ..ConditionVerdict::new(status)
    }
}

#[test]
fn each_status_that_cannot_wake_has_a_code_and_help() {
    check(
        "watch:\n  - when the repo needs attention\n  - when CI is red\n  - every morning\n  - idle for 3 days\n  - when a Jira ticket moves\n  - when a pull request is opened\n  - when a PR is yodeled",
        &[
            suggesting(Vague, "when an issue is created"),
            suggesting(Vague, "when a check run fails"),
            suggesting(Time, "0 9 * * *"),
            status(Elapsed),
            status(Unmapped),
            status(Mapped),
            suggesting(Unread, "when a PR is opened"),
        ],
        expect![[r#"
            error D300 3:5 [when the repo needs attention] `when the repo needs attention` names no event | name an event, such as `when an issue is created`
            error D301 4:5 [when CI is red] `when CI is red` is a state, not an event | watch the event that changes it, such as `when a check run fails`, or use `schedule`
            warning D302 5:5 [every morning] `every morning` is a time, not an event | write it as `schedule: "0 9 * * *"`
            warning D303 6:5 [idle for 3 days] `idle for 3 days` is elapsed time, not an event | wake on `schedule: "0 9 * * *"` and let a routine check for it
            warning D304 7:5 [when a Jira ticket moves] no known source emits `when a Jira ticket moves` | the sources are GitHub, Linear, Slack, Sentry and git
            warning D304 9:5 [when a PR is yodeled] `when a PR is yodeled` was not understood | reword it; nearest is `when a PR is opened`
        "#]],
    );
}

#[test]
fn a_daemon_that_nothing_can_wake_is_inert() {
    check(
        "watch:\n  - when life is good",
        &[status(Vague)],
        expect![[r#"
            warning D310 2:1 [watch] nothing can wake this daemon here | see the diagnostics of its conditions
            error D301 3:5 [when life is good] `when life is good` is a state, not an event | watch the event that changes it, or check it on a `schedule`
        "#]],
    );
    check(
        "watch:\n  - when life is good\nschedule: 0 9 * * *",
        &[status(Vague)],
        expect![[r#"
            error D301 3:5 [when life is good] `when life is good` is a state, not an event | watch the event that changes it, or check it on a `schedule`
        "#]],
    );
    check(
        "watch:\n  - when life is good\nschedule: 0 9 31 2 *",
        &[status(Vague)],
        expect![[r#"
            warning D310 2:1 [watch] nothing can wake this daemon here | see the diagnostics of its conditions
            error D301 3:5 [when life is good] `when life is good` is a state, not an event | watch the event that changes it, or check it on a `schedule`
            warning D210 4:11 [0 9 31 2 *] no such date: 31 February | the nearest day that exists is 29: `0 9 29 2 *`
        "#]],
    );
}

#[test]
fn a_state_is_distinguished_from_other_lines_without_an_event() {
    for (condition, code) in [
        ("when code quality is low", "D301"),
        ("when main has been broken for more than 30 minutes", "D301"),
        ("when tests aren't reliable", "D301"),
        ("when the docs are outdated", "D301"),
        ("when a pull request looks risky", "D301"),
        ("when code changes", "D300"),
        ("when the code is changed", "D300"),
        ("when the repo needs attention", "D300"),
        ("pull requests", "D300"),
        ("is", "D300"),
    ] {
        let parse = read(&completed(&format!(
            "watch:\n  - {condition}\nschedule: 0 9 * * *"
        )));
        let verdicts = [status(Vague)];
        let found = validate(
            &Subject::new(&parse).with_conditions(&verdicts),
            Profile::Spec,
        );
        assert_eq!(codes(&found), [code], "{condition}");
    }
}

#[test]
fn words_that_were_not_understood_are_reported_at_their_span() {
    let verdict = ConditionVerdict {
        remainder: vec![20..33, 44..51],
        ..status(Partial)
    };
    check(
        "watch:\n  - \"when a pull request risky-look\\u0069ng is opened tonight\"",
        &[verdict],
        expect![[r#"
            warning D305 3:26 [risky-look\u0069ng] not understood: `risky-looking` (3:26), `tonight` (3:55) | it wakes without these, and the model has to confirm them; reword them
        "#]],
    );
}

#[test]
fn contradictions_overlaps_instructions_and_loops_are_reported() {
    check(
        "watch:\n  - 5\n  - when a draft that is no draft is opened\n  - when a PR is opened\n  - when a pull request is opened, greet",
        &[
            ConditionVerdict {
                contradiction: vec![7..12, 18..29],
                ..status(Mapped)
            },
            ConditionVerdict {
                may_match_own_output: true,
                beyond_the_format: vec!["slack message".to_owned(), "git delete".to_owned()],
                ..status(Mapped)
            },
            ConditionVerdict {
                same_as: Some(1),
                instruction: Some(31..36),
                ..status(Mapped)
            },
        ],
        expect![[r#"
            error D131 3:5 [5] entry 1 of `watch` is a number, not text | quote it
            warning D306 4:12 [draft] no event can satisfy this condition | these exclude each other: `draft`, `is no draft`
            advice D311 5:5 [when a PR is opened] its own output could match `when a PR is opened` | here a daemon never wakes on its own marked output; narrow it for other runtimes
            advice D601 5:5 [when a PR is opened] the format gives no example of what `when a PR is opened` names | other runtimes may not know `slack message`, `git delete`; a `schedule` wakes it there, see docs/portability.md
            warning D307 6:5 [when a pull request is opened, greet] this means the same as entry 3 of `watch` | delete one
            advice D308 6:36 [greet] `greet` is an instruction inside a condition | move it to `routines`
        "#]],
    );
}

#[test]
fn the_spelling_of_a_misspelt_word_can_be_fixed() {
    let condition = "when a pull request is sychronized";
    let start = condition.find("sychronized").unwrap();
    let correction = SpellingCorrection {
        range: start..condition.len(),
        spelling: "synchronized".to_owned(),
    };
    let verdict = ConditionVerdict {
        corrections: vec![correction],
        ..status(Mapped)
    };
    let text = completed(&format!("watch:\n  - {condition}"));
    let range = text.find("sychronized").unwrap();
    let parse = read(&text);
    let verdicts = [verdict];
    let found = validate(
        &Subject::new(&parse).with_conditions(&verdicts),
        Profile::Spec,
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "read `sychronized` as `synchronized`");
    assert_eq!(found[0].span.start, range);
    let fixed = daemon_spec::apply_fixes(text.as_bytes(), found[0].fix.as_ref());
    assert_eq!(
        String::from_utf8(fixed.bytes).unwrap(),
        text.replace("sychronized", "synchronized")
    );
}

#[test]
fn hostile_verdicts_and_conditions_do_not_panic() {
    let long = "x".repeat(8_000);
    let wild = ConditionVerdict {
        remainder: vec![range(5, 2), range(0, usize::MAX), range(1, 2)],
        contradiction: vec![range(9_999, 10_000)],
        instruction: Some(range(3, 1)),
        same_as: Some(77),
        corrections: vec![SpellingCorrection {
            range: 1..3,
            spelling: "\n".to_owned(),
        }],
        ..status(Partial)
    };
    let text = completed(&format!("watch:\n  - ü{long}\n  - ''"));
    let parse = read(&text);
    let verdicts = [wild.clone(), wild.clone(), wild];
    let found = validate(
        &Subject::new(&parse).with_conditions(&verdicts),
        Profile::Strict,
    );
    assert!(
        found.iter().all(|one| one.message.len() < 600),
        "{found:#?}"
    );
}
