//! Each code with an input that has it, at the right span, and a similar input that does not.

use daemon_spec::{Severity, parse};
use daemon_validate::{
    ConditionStatus, ConditionVerdict, Profile, Subject, registrable, rules, validate,
    validate_repository,
};

use super::{CLEAN, cases, codes, completed, file, lint, read, shown};

#[test]
fn each_code_is_reported_at_its_words_and_not_for_a_similar_input() {
    let mut wrong = Vec::new();
    for (code, bad, words, miss) in cases::all() {
        let bad = file(bad);
        let found = lint(&bad);
        let source = read(&bad).file.into_source();
        let mut of_code = found.iter().filter(|one| one.code.to_string() == code);
        if !of_code.any(|one| source.slice(one.span) == words) {
            wrong.push(format!(
                "no {code} at [{words}] of\n{bad}{}\n",
                shown(&bad, &found)
            ));
        }
        let miss = file(miss);
        let found = lint(&miss);
        if codes(&found).contains(&code.to_owned()) {
            wrong.push(format!(
                "{code} in the near miss\n{miss}{}\n",
                shown(&miss, &found)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn all_diagnostics_are_reported_in_order_with_messages_and_help() {
    let text = "---\nid: Reviews\npurpose:\nwatch: when a pull request is opened\nschedule: \"61 5/2 * * MON\"\nroutines:\n  - 7\ncolour: red\n---\n";
    expect_test::expect![[r##"
        error D111 2:5 [Reviews] `id` is `Reviews`, the directory is `pr-helper` | rename either, so that they agree
        advice D112 2:5 [Reviews] `Reviews` is not lower-case kebab of at most 64 characters | for example `reviews`
        error D120 3:1 [purpose] `purpose` is empty, not a string | write one sentence that names the outcome of the daemon
        error D130 4:8 [when a pull request is opened] `watch` is text, not a list | write one entry a line, each after `- `
        error D203 5:12 [61] minute 61 is out of range | 0–59
        error D205 5:15 [5/2] `5/2` has a step on a single value; a step needs `*` or a range | `5-23/2`
        error D131 7:5 [7] entry 1 of `routines` is a number, not text | quote it
        warning D100 8:1 [colour] `colour` is not a field | the fields are `id`, `purpose`, `watch`, `routines`, `deny` and `schedule`; move what is meant for the model to the body
        advice D420 10:1 [] no text below the front matter | add sections such as Policy, Limits and Output format
    "##]]
    .assert_eq(&shown(text, &lint(text)));
}

#[test]
fn a_file_that_is_not_utf8_has_one_diagnostic_with_a_span() {
    for bytes in [
        &b"---\nid: \xff\n---\n"[..],
        b"---\nid: \xc0\xaf\n---\n",
        b"---\nid: \0\n---\n",
    ] {
        let found = validate(&Subject::new(&parse(bytes.to_vec())), Profile::Spec);
        let first: Vec<(String, usize)> = found
            .iter()
            .map(|one| (one.code.to_string(), one.span.start))
            .take(1)
            .collect();
        assert_eq!(first, [("D001".to_owned(), 8)], "{found:#?}");
    }
}

#[test]
fn messages_do_not_contain_a_token_or_an_assigned_secret() {
    let text = completed(
        "routines:\n  - use ghp_0123456789abcdefghijABCDEFGHIJ456789\n  - use password = hunter2",
    );
    for one in lint(&text) {
        assert!(
            !one.message.contains("0123456789") && !one.message.contains("hunter2"),
            "{one:?}"
        );
    }
}

#[test]
fn the_profile_determines_the_severity() {
    let text = completed("id: PR Helper\ncolour: red\nwatch:\n  - x");
    let parse = read(&text);
    let weights = |profile| -> Vec<(String, Severity)> {
        let found = validate(&Subject::new(&parse), profile);
        found
            .iter()
            .map(|one| (one.code.to_string(), one.severity))
            .collect()
    };
    let named = |code: &str, severity| (code.to_owned(), severity);
    assert_eq!(
        weights(Profile::Spec),
        [
            named("D112", Severity::Advice),
            named("D100", Severity::Warning)
        ]
    );
    assert_eq!(
        weights(Profile::Strict),
        [
            named("D112", Severity::Error),
            named("D100", Severity::Error)
        ]
    );
    // Registration uses the severities of `spec`, independently of the selected profile.
    assert!(registrable(&validate(
        &Subject::new(&parse),
        Profile::Strict
    )));
}

#[test]
fn a_condition_that_cannot_wake_does_not_prevent_registration() {
    let parse = read(CLEAN);
    let verdicts = [ConditionVerdict::new(ConditionStatus::Vague)];
    let found = validate(
        &Subject::new(&parse).with_conditions(&verdicts),
        Profile::Spec,
    );
    assert_eq!(codes(&found), ["D310", "D300"]);
    assert!(registrable(&found));
    let missing = lint("---\nid: a\n---\n");
    assert!(!registrable(&missing));
}

#[test]
fn a_clock_change_is_noted_only_in_the_zone_of_the_schedule() {
    let text = completed("schedule: 30 2 * * *");
    let parse = read(&text);
    let zone = daemon_cron::Zone::new(jiff::tz::TimeZone::get("America/New_York").unwrap());
    let now = "2026-11-20T00:00:00Z".parse().unwrap();
    let found = validate(
        &Subject::new(&parse).in_zone(&zone).seen_at(now),
        Profile::Spec,
    );
    expect_test::expect![[r#"
        advice D214 2:11 [30 2 * * *] 02:30 is skipped on 2027-03-14 in America/New_York | it fires once as the gap ends, at 03:00 EDT
    "#]]
    .assert_eq(&shown(&text, &found));
    assert_eq!(
        codes(&validate(&Subject::new(&parse).seen_at(now), Profile::Spec)),
        [""; 0]
    );
}

#[test]
fn two_restricted_day_fields_print_the_next_ticks_if_the_time_is_known() {
    let text = completed("schedule: 0 0 13 * 5");
    let parse = read(&text);
    let now = "2026-11-20T00:00:00Z".parse().unwrap();
    let found = validate(&Subject::new(&parse).seen_at(now), Profile::Spec);
    let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
    assert_eq!(
        helps,
        [
            "the next three are Fri 2026-11-27 00:00, Fri 2026-12-04 00:00, Fri 2026-12-11 00:00 (UTC)"
        ]
    );
}

#[test]
fn a_file_at_a_path_that_no_runtime_reads_is_misplaced() {
    let parse = read(CLEAN);
    for (path, is_misplaced) in [
        (".agents/daemons/pr-helper/DAEMON.md", false),
        (".agents/daemons/pr-helper/daemon.md", true),
        (".agents/daemons/DAEMON.md", true),
        (".agents/daemons/team/pr-helper/DAEMON.md", true),
        ("docs/DAEMON.md", true),
        ("/tmp/draft/DAEMON.md", false),
    ] {
        let found = validate(&Subject::new(&parse).at_path(path), Profile::Spec);
        assert_eq!(
            codes(&found),
            if is_misplaced { vec!["D115"] } else { vec![] },
            "{path}"
        );
    }
}

#[test]
fn daemons_with_equal_ids_are_reported_for_both_files_ignoring_case() {
    let files = [
        "id: triage\n",
        "id: other\n",
        "id: Triage\n",
        "purpose: x\n",
    ]
    .map(|id| read(&format!("---\n{id}---\n")));
    let files: Vec<(&str, &daemon_spec::DaemonFile)> = ["a", "b", "c", "d"]
        .into_iter()
        .zip(files.iter().map(|parse| &parse.file))
        .collect();
    let found: Vec<String> = validate_repository(&files)
        .iter()
        .map(|(index, one)| format!("{index} {} {}", one.code, one.message))
        .collect();
    assert_eq!(
        found,
        [
            "0 D114 `triage` is also the id of `c`",
            "2 D114 `Triage` is also the id of `a`"
        ]
    );
}

#[test]
fn diagnostics_of_a_code_above_the_limit_are_counted() {
    let text = format!("{CLEAN}{}", "/home/ana \n".repeat(1_000));
    let found = lint(&text);
    assert_eq!(found.len(), daemon_validate::MAX_PER_CODE);
    assert_eq!(
        found.last().unwrap().message,
        "`/home/ana` is a path of one machine (and 900 more)"
    );
}

#[test]
fn every_code_has_a_test() {
    let by_table = cases::all();
    let elsewhere = [
        "D000", // the caller's, who opens files
        "D001", "D010", "D114", "D115", "D214", // here and in the catalogue
        "D300", "D301", "D302", "D303", "D304", "D305", "D306", "D307", "D308", "D309", "D310",
        "D311", "D601", // conditions
        "D500", "D501", "D502", "D503", "D504", // support
    ];
    for rule in rules() {
        let code = rule.code().to_string();
        let is_met = by_table.iter().any(|case| case.0 == code) || elsewhere.contains(&&*code);
        assert!(is_met, "{code} has no case");
    }
}
