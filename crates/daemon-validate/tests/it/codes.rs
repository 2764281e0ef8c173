//! For each code an input that has it, at the right place, and a near miss that has not.

use daemon_spec::{Severity, parse};
use daemon_validate::{
    ConditionStatus, ConditionVerdict, Profile, Subject, registrable, rules, validate,
    validate_repository,
};

use super::{CLEAN, codes, completed, file, lint, read, shown};

/// A code, an input, the words its finding stands at, and a near miss. An input is a whole file,
/// or a part of a front matter that is completed with what it does not name.
type Case = (&'static str, &'static str, &'static str, &'static str);

const FRAME: &[Case] = &[
    (
        "D002",
        "deny: [[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]",
        "",
        "deny: [[[[x]]]]",
    ),
    ("D003", "# Notes\n", "", CLEAN),
    ("D004", "\n\n---\nid: a\n---\n", "\n\n", "---\nid: a\n---\n"),
    ("D005", "---\nid: a\n...\n", "---", "---\nid: a\n---\n"),
    (
        "D006",
        "\u{feff}---\nid: a\n---\n",
        "\u{feff}",
        "---\nid: a\n---\n",
    ),
    (
        "D011",
        "purpose: One goal: reviews move.",
        "One goal: reviews move.",
        "purpose: One goal:reviews move.",
    ),
    (
        "D012",
        "schedule: */5 * * * *",
        "*/5 * * * *",
        "schedule: '*/5 * * * *'",
    ),
    (
        "D013",
        "deny:\n  - post in #general",
        "#general",
        "deny:\n  - post in '#general'",
    ),
    ("D014", "id: pr-helper\nid: other", "id", "id: pr-helper"),
    (
        "D015",
        "---\n- a\n- b\n---\n",
        "- a\n- b",
        "---\na: b\n---\n",
    ),
    (
        "D016",
        "deny: &rules\n  - merge pull requests",
        "&rules",
        "deny:\n  - '&rules'",
    ),
];

const FIELDS: &[Case] = &[
    (
        "D100",
        "shedule: '0 9 * * *'",
        "shedule",
        "schedule: '0 9 * * *'",
    ),
    ("D100", "Watch: [x]", "Watch", "watch: [x]"),
    ("D100", "model: opus", "model", "tools: x\nmodel: opus"),
    (
        "D101",
        "triggers:\n  - when a pull request is opened",
        "triggers",
        "trigger: x",
    ),
    ("D102", "tools: Read\nmodel: opus", "tools", "model: opus"),
    (
        "D102",
        "allowed-tools: Read",
        "allowed-tools",
        "allowed: Read",
    ),
    (
        "D102",
        "globs: '*.rs'\nalwaysApply: true",
        "globs",
        "globs: '*.rs'",
    ),
    ("D102", "on: push\njobs: {}", "on", "on: push"),
    ("D110", "id:", "id", "id: pr-helper"),
    ("D110", "id: 1e3", "1e3", "id: pr-helper"),
    ("D110", "id: ''", "''", "id: pr-helper"),
    ("D110", "id: [pr-helper]", "[pr-helper]", "id: 'pr-helper'"),
    ("D111", "id: pr-helpers", "pr-helpers", "id: 'pr-helper'"),
    (
        "D111",
        "id: pr\u{2d}helpe\u{301}r",
        "pr-helpe\u{301}r",
        "id: pr-helper",
    ),
    ("D112", "id: PR Helper", "PR Helper", "id: pr-helper-2"),
    ("D112", "id: pr--helper", "pr--helper", "id: pr-helper"),
    ("D112", "id: -rf", "-rf", "id: rf"),
    (
        "D113",
        "id: ' pr-helper'",
        "' pr-helper'",
        "id: 'pr-helper'",
    ),
    ("D120", "purpose:", "purpose", "purpose: x"),
    ("D120", "purpose: [a]", "[a]", "purpose: '[a]'"),
    ("D120", "purpose: ' '", "' '", "purpose: '.'"),
    (
        "D121",
        "purpose: One thing. And another.",
        "One thing. And another.",
        "purpose: One thing, e.g. Ada's, v1.2 of it.",
    ),
];

const LISTS: &[Case] = &[
    (
        "D130",
        "watch: when a pull request is opened",
        "when a pull request is opened",
        "watch: [when a pull request is opened]",
    ),
    ("D130", "deny:", "deny", "deny: [x]"),
    ("D130", "watch: {a: b}", "{a: b}", "watch: [a b]"),
    ("D131", "deny:\n  - 404", "404", "deny:\n  - '404'"),
    (
        "D131",
        "watch:\n  - when: a pull request is opened",
        "when: a pull request is opened",
        "watch:\n  - 'when: a pull request is opened'",
    ),
    ("D131", "deny:\n  - no", "no", "deny:\n  - 'no'"),
    (
        "D132",
        "deny:\n  - x y\n  - ''",
        "''",
        "deny:\n  - x y\n  - '.'",
    ),
    (
        "D132",
        "deny:\n  - ~\n  - x y",
        "~",
        "deny:\n  - '~'\n  - x y",
    ),
    (
        "D133",
        "deny:\n  - x y\n  - X  y",
        "X  y",
        "deny:\n  - x y\n  - x z",
    ),
    (
        "D134",
        "---\nid: a\npurpose: b\nroutines: [c]\n---\n",
        "",
        "---\nid: a\npurpose: b\nschedule: 0 9 * * *\nroutines: [c]\n---\n",
    ),
    (
        "D134",
        "watch: []",
        "watch",
        "watch: []\nschedule: 0 9 * * *",
    ),
    (
        "D134",
        "watch: ['']\nschedule: ''",
        "watch",
        "watch: ['']\nschedule: 0 9 * * *",
    ),
    ("D135", "deny: []", "deny", "deny: [x y]"),
    ("D135", "schedule: ''", "schedule", "schedule: 0 9 * * *"),
    (
        "D140",
        "purpose: Helps {{team}}.",
        "{{team}}",
        "purpose: Helps ${{team}}.",
    ),
    (
        "D140",
        "watch:\n  - when files matching <pattern> are changed",
        "<pattern>",
        "watch:\n  - when files matching <br> or a<b are changed",
    ),
    (
        "D140",
        "---\nid: a\n---\nUse `{{adapt.manager}}`.\n",
        "{{adapt.manager}}",
        "---\nid: a\n---\nWrite `${{ x }}`:\n\n```\n{{owner}} <owner>\n```\n",
    ),
    (
        "D140",
        "---\nid: a\n---\n- Sources: `<source_globs>`\n",
        "<source_globs>",
        "---\nid: a\n---\nWrite <owner>, `<details>` or `run --pr <pr_number>`.\n",
    ),
    (
        "D140",
        "---\nid: a\n---\n```\nrun {{adapt.command}}\n```\n",
        "{{adapt.command}}",
        "routines:\n  - run `check --pr <number>` and list what failed",
    ),
];

const SCHEDULES: &[Case] = &[
    ("D200", "schedule: 5", "5", "schedule: 0 5 * * *"),
    ("D200", "schedule:", "schedule", "schedule: 0 5 * * *"),
    (
        "D200",
        "schedule: [0 5 * * *]",
        "[0 5 * * *]",
        "schedule: 0 5 * * *",
    ),
    (
        "D201",
        "schedule: \"0 30 14 * * 1-5\"",
        "0 30 14 * * 1-5",
        "schedule: 30 14 * * 1-5",
    ),
    (
        "D201",
        "schedule: 9 * * *",
        "9 * * *",
        "schedule: 0 9 * * *",
    ),
    (
        "D202",
        "schedule: '@daily'",
        "@daily",
        "schedule: 0 0 * * *",
    ),
    ("D203", "schedule: 75 9 * * *", "75", "schedule: 59 9 * * *"),
    (
        "D203",
        "schedule: '* * 0 * *'",
        "0",
        "schedule: '* * 1 * *'",
    ),
    (
        "D203",
        "schedule: '* * * * 8'",
        "8",
        "schedule: '* * * * 7'",
    ),
    ("D204", "schedule: 0 9 L * *", "L", "schedule: 0 9 1 * *"),
    (
        "D204",
        "schedule: 0 9 * febr *",
        "febr",
        "schedule: 0 9 * feb *",
    ),
    (
        "D204",
        "schedule: 1,,2 * * * *",
        ",",
        "schedule: 1,2 * * * *",
    ),
    (
        "D205",
        "schedule: '*/0 * * * *'",
        "*/0",
        "schedule: '*/10 * * * *'",
    ),
    (
        "D205",
        "schedule: 5/15 * * * *",
        "5/15",
        "schedule: 5-59/15 * * * *",
    ),
    (
        "D206",
        "schedule: 0 22-6 * * *",
        "22-6",
        "schedule: 0 6-22 * * *",
    ),
    (
        "D207",
        "schedule: 0 9 * * MON-FRI",
        "MON-FRI",
        "schedule: 0 9 * * 1-5",
    ),
    (
        "D208",
        "schedule: TZ=Asia/Tokyo 0 9 * * *",
        "TZ=Asia/Tokyo",
        "schedule: 0 9 * * *",
    ),
    (
        "D210",
        "schedule: 0 9 30 2 *",
        "0 9 30 2 *",
        "schedule: 0 9 29 2 *",
    ),
    (
        "D211",
        "schedule: '*/4 * * * *'",
        "*/4 * * * *",
        "schedule: '*/5 * * * *'",
    ),
    (
        "D212",
        "schedule: 0 0 13 * 5",
        "0 0 13 * 5",
        "schedule: 0 0 13 * *",
    ),
    (
        "D213",
        "schedule: '*/7 * * * *'",
        "*/7",
        "schedule: '*/6 * * * *'",
    ),
];

const PROSE: &[Case] = &[
    (
        "D400",
        "routines: []",
        "routines",
        "routines: [count lines]",
    ),
    (
        "D400",
        "---\nid: a\n---\n",
        "",
        "---\nid: a\nroutines: [count lines]\n---\n",
    ),
    (
        "D401",
        "routines:\n  - improve code quality",
        "improve code quality",
        "routines:\n  - improve the title of the pull request",
    ),
    (
        "D401",
        "routines:\n  - help the team",
        "help the team",
        "routines:\n  - help the team by listing flaky tests",
    ),
    (
        "D402",
        "routines:\n  - continuously review new code",
        "continuously review new code",
        "routines:\n  - review the code of the pull request",
    ),
    (
        "D402",
        "routines:\n  - monitor the deployment",
        "monitor the deployment",
        "routines:\n  - report what the monitor shows",
    ),
    (
        "D410",
        "routines:\n  - push a fix\ndeny: []",
        "deny",
        "routines:\n  - propose a fix\ndeny: []",
    ),
    (
        "D411",
        "routines:\n  - merge green pull requests\ndeny:\n  - merge pull requests",
        "merge pull requests",
        "routines:\n  - resolve merge conflicts of pull requests\ndeny:\n  - merge pull requests",
    ),
    (
        "D420",
        "---\nid: a\n---\n\n<!-- later -->\n",
        "",
        "---\nid: a\n---\n<!-- later -->\nNow.\n",
    ),
    (
        "D421",
        "---\nroutines:\n  - post a comment\n---\nBe kind.\n",
        "post a comment",
        "---\nroutines:\n  - post a comment\n---\nAt most one.\n",
    ),
];

const TEXT: &[Case] = &[
    (
        "D600",
        "routines:\n  - run /home/ana/bin/check",
        "/home/ana/bin/check",
        "routines:\n  - run src/home/ana/check or https://x.org/home/ana",
    ),
    (
        "D600",
        "routines:\n  - read C:\\Users\\ana\\notes.txt",
        "C:\\Users\\ana\\notes.txt",
        "routines:\n  - read docs/Users/notes.txt",
    ),
    (
        "D600",
        "routines:\n  - read (/Users/ana/notes).",
        "/Users/ana/notes",
        "routines:\n  - read /Users/** and ~/notes",
    ),
    (
        "D700",
        "routines:\n  - use ghp_0123456789abcdefghijABCDEFGHIJ456789",
        "ghp_0123456789abcdefghijABCDEFGHIJ456789",
        "routines:\n  - use ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx or ghp_short",
    ),
    (
        "D700",
        "routines:\n  - use AKIAIOSFODNN7EXAMPLE now",
        "AKIAIOSFODNN7EXAMPLE",
        "routines:\n  - use AKIAIOSFODNN7EXAMPLE0 or XAKIAIOSFODNN7EXAMPLE",
    ),
    (
        "D700",
        "routines:\n  - use sk-ant-api03-abcDEF123456789xyz",
        "sk-ant-api03-abcDEF123456789xyz",
        "routines:\n  - ask-ant-api03-abcDEF123456789xyz",
    ),
    (
        "D700",
        "routines:\n  - use xoxb-123456789012-abcdef",
        "xoxb-123456789012-abcdef",
        "routines:\n  - use xoxb-",
    ),
    (
        "D700",
        "routines:\n  - use lin_api_0123456789abcdefABCDEF",
        "lin_api_0123456789abcdefABCDEF",
        "routines:\n  - read lin_api_docs",
    ),
    (
        "D700",
        "---\nid: a\n---\n-----BEGIN RSA PRIVATE KEY-----\nabc\n",
        "-----BEGIN RSA PRIVATE KEY-----",
        "---\nid: a\n---\n-----BEGIN CERTIFICATE-----\nabc\n",
    ),
    (
        "D700",
        "---\nid: a\n---\neyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP_mB92K27u\n",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP_mB92K27u",
        "---\nid: a\n---\neyJhbGciOiJIUzI1NiJ9 alone\n",
    ),
    (
        "D701",
        "routines:\n  - log in with password = hunter2",
        "password = hunter2",
        "routines:\n  - log in with password = $PASSWORD",
    ),
    (
        "D701",
        "---\nid: a\n---\nAPI_KEY: \"ab12cd34\"\n",
        "API_KEY: \"ab12cd34",
        "---\nid: a\n---\nToken: the operator's. Secret: never print it.\n",
    ),
    (
        "D701",
        "routines:\n  - fetch https://ana:sesame@example.org/x",
        "ana:sesame",
        "routines:\n  - fetch https://ana:$PASSWORD@example.org/x or https://example.org:80/@ana",
    ),
    (
        "D702",
        "deny:\n  - merge\u{200b} pull requests",
        "\u{200b}",
        "deny:\n  - merge 👩\u{200d}💻 and نامه\u{200c}ای",
    ),
    (
        "D702",
        "deny:\n  - merge \u{202e}pull requests",
        "\u{202e}",
        "deny:\n  - merge größere ‘pull’ requests…",
    ),
];

#[test]
fn a_finding_stands_at_the_words_it_is_about_and_near_misses_have_none() {
    let mut wrong = Vec::new();
    for (code, bad, words, miss) in [FRAME, FIELDS, LISTS, SCHEDULES, PROSE, TEXT].concat() {
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
fn findings_come_by_place_all_at_once_with_messages_and_help() {
    let text = "---\nid: Reviews\npurpose:\nwatch: when a pull request is opened\nschedule: \"61 5/2 * * MON\"\nroutines:\n  - 7\ncolour: red\n---\n";
    expect_test::expect![[r##"
        error D111 2:5 [Reviews] `id` is `Reviews`, the directory is `pr-helper` | rename either, so that they agree
        advice D112 2:5 [Reviews] `Reviews` is not lower-case kebab of at most 64 characters | for example `reviews`
        error D120 3:1 [purpose] `purpose` is empty, not a string | say in one sentence which outcome the daemon exists for
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
fn bytes_that_are_no_text_have_one_finding_and_a_place() {
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
fn a_token_and_an_assigned_secret_are_not_repeated_in_the_message() {
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
fn the_profile_decides_how_much_a_finding_weighs() {
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
    // Registration goes by the format's own text, whatever profile was asked for.
    assert!(registrable(&validate(
        &Subject::new(&parse),
        Profile::Strict
    )));
}

#[test]
fn a_condition_that_cannot_wake_does_not_stop_registration() {
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
fn a_clock_change_is_noted_in_the_zone_of_the_schedule_only() {
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
fn either_day_prints_the_next_ticks_when_the_instant_is_known() {
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
fn a_file_where_no_runtime_looks_is_misplaced() {
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
fn two_daemons_of_one_name_are_reported_at_both_and_case_does_not_tell_them_apart() {
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
fn a_flood_of_one_finding_is_counted_instead_of_listed() {
    let text = format!("{CLEAN}{}", "/home/ana \n".repeat(1_000));
    let found = lint(&text);
    assert_eq!(found.len(), daemon_validate::MAX_PER_CODE);
    assert_eq!(
        found.last().unwrap().message,
        "`/home/ana` is a path of one machine (and 900 more)"
    );
}

#[test]
fn every_code_is_met_by_some_test() {
    let by_table = [FRAME, FIELDS, LISTS, SCHEDULES, PROSE, TEXT].concat();
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
