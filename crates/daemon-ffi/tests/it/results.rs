//! The JSON of each call.

use daemon_ffi::{LintPlace, interpret_json, lint_json, next_json, parse_json};
use daemon_validate::Profile;
use expect_test::{Expect, expect};
use serde_json::Value;

fn check(json: &str, expected: &Expect) {
    let value: Value = serde_json::from_str(json).expect("JSON");
    expected.assert_eq(&serde_json::to_string(&value).expect("JSON"));
}

fn place<'a>(path: Option<&'a str>, zone: &'a str) -> LintPlace<'a> {
    LintPlace {
        path,
        profile: Profile::Spec,
        zone,
        now: "2026-11-20T09:00:00Z".parse().expect("an instant"),
    }
}

#[test]
fn a_parsed_file_has_fields_with_places_and_what_is_wrong() {
    let text =
        "---\nid: t\nwatch: [when an issue is opened, 7]\ndeny: none\nowner: me\n---\n\u{e9}\n";
    check(
        &parse_json(text.as_bytes()),
        &expect![[
            r#"{"schema_version":1,"ok":true,"completeness":"whole","fields":{"id":{"start":{"line":2,"column":5,"byte":8},"end":{"line":2,"column":6,"byte":9},"value":"t","shape":"text"},"purpose":null,"watch":[{"start":{"line":3,"column":9,"byte":18},"end":{"line":3,"column":32,"byte":41},"value":"when an issue is opened","shape":"text"},{"start":{"line":3,"column":34,"byte":43},"end":{"line":3,"column":35,"byte":44},"value":null,"shape":"number"}],"routines":null,"deny":{"start":{"line":4,"column":7,"byte":52},"end":{"line":4,"column":11,"byte":56},"value":null,"shape":"text"},"schedule":null},"unknown":["owner"],"body":{"start":{"line":7,"column":1,"byte":71},"end":{"line":8,"column":1,"byte":74}},"diagnostics":[]}"#
        ]],
    );
    check(
        &parse_json(b"---\nid: a: b\n---\n"),
        &expect![[
            r#"{"schema_version":1,"ok":false,"completeness":"parts","fields":{"id":{"start":{"line":2,"column":5,"byte":8},"end":{"line":2,"column":9,"byte":12},"value":"a: b","shape":"text"},"purpose":null,"watch":null,"routines":null,"deny":null,"schedule":null},"unknown":[],"body":{"start":{"line":4,"column":1,"byte":17},"end":{"line":4,"column":1,"byte":17}},"diagnostics":[{"code":"D011","severity":"error","message":"`: ` splits this text","start":{"line":2,"column":5,"byte":8},"end":{"line":2,"column":9,"byte":12},"help":"quote the value","fix":{"title":"quote the value","edits":[{"start":8,"end":12,"text":"\"a: b\""}]}}]}"#
        ]],
    );
    check(
        &parse_json(b"\xff"),
        &expect![[
            r#"{"schema_version":1,"ok":false,"completeness":"nothing","fields":{"id":null,"purpose":null,"watch":null,"routines":null,"deny":null,"schedule":null},"unknown":[],"body":{"start":{"line":1,"column":1,"byte":0},"end":{"line":1,"column":1,"byte":0}},"diagnostics":[{"code":"D001","severity":"error","message":"the file is not UTF-8","start":{"line":1,"column":1,"byte":0},"end":{"line":1,"column":2,"byte":1},"help":"save the file as UTF-8","fix":null}]}"#
        ]],
    );
}

#[test]
fn a_lint_is_the_report_of_the_linter() {
    let text = "---\nid: tidy\npurpose: Tidies.\nschedule: 0 9 * * *\nroutines:\n  - label it\ndeny:\n  - close it\n---\nBe brief.\n";
    let lint = |path, zone| lint_json(text.as_bytes(), &place(path, zone));
    check(
        &lint(None, "UTC").unwrap(),
        &expect![[
            r#"{"schema_version":1,"ok":true,"files":[{"path":"<text>","daemon_id":"tidy","ok":true,"diagnostics":[]}],"summary":{"files":1,"daemons":1,"errors":0,"warnings":0,"advice":0,"fixable":0,"fixed":0,"suppressed":0}}"#
        ]],
    );
    let elsewhere = Some(".agents/daemons/other/DAEMON.md");
    check(
        &lint(elsewhere, "Europe/Berlin").unwrap(),
        &expect![[
            r#"{"schema_version":1,"ok":false,"files":[{"path":".agents/daemons/other/DAEMON.md","daemon_id":"tidy","ok":false,"diagnostics":[{"code":"D111","severity":"error","message":"`id` is `tidy`, the directory is `other`","start":{"line":2,"column":5,"byte":8},"end":{"line":2,"column":9,"byte":12},"help":"rename either, so that they agree","fix":null}]}],"summary":{"files":1,"daemons":1,"errors":1,"warnings":0,"advice":0,"fixable":0,"fixed":0,"suppressed":0}}"#
        ]],
    );
    let refusal = lint(None, "Mars/Olympus").unwrap_err();
    assert_eq!(refusal.code, "usage");
    assert_eq!(
        refusal.help.as_deref(),
        Some("name a zone of the IANA database, such as `Europe/Berlin`")
    );
}

#[test]
fn an_interpretation_is_the_object_of_explain() {
    check(
        &interpret_json("when a pull request is opened by a bot"),
        &expect![[
            r#"{"schema_version":1,"status":"mapped","wakes":false,"remainder":[],"filters":[{"field":"author_kind","op":"is","value":"bot","text":"bot","start":35,"end":38,"reading":"exact","verdict":null,"got":null,"needs":null}],"clauses":[{"events":[{"source":"github","kind":"pull_request","action":"opened"}],"filters":[0],"text":"a pull request is opened by a bot","start":5,"end":38,"reading":"exact","verdict":null}],"notes":[],"nearest":[],"corrections":[],"instruction":null,"suggestion":null,"time":null,"beyond_the_format":[]}"#
        ]],
    );
}

#[test]
fn the_next_times_are_strictly_later_and_limited() {
    let next = |expression, zone, count| {
        let from = "2026-11-23T14:30:00Z".parse().unwrap();
        next_json(expression, zone, from, count)
    };
    check(
        &next(" 30 14 * * 1-5 ", "UTC", 2).unwrap(),
        &expect![[
            r#"{"schema_version":1,"expression":"30 14 * * 1-5","zone":"UTC","times":["2026-11-24T14:30:00Z","2026-11-25T14:30:00Z"],"never":false}"#
        ]],
    );
    check(
        &next("0 0 30 2 *", "UTC", 2).unwrap(),
        &expect![[
            r#"{"schema_version":1,"expression":"0 0 30 2 *","zone":"UTC","times":[],"never":true}"#
        ]],
    );
    assert_eq!(next("* * * * *", "UTC", 10_001).unwrap_err().code, "usage");
    let refusal = next("61 9 * * 8", "UTC", 1).unwrap_err();
    check(
        &refusal.to_json(),
        &expect![[
            r#"{"schema_version":1,"ok":false,"error":{"code":"D203","message":"minute 61 is out of range; day-of-week 8 is out of range","help":"0–59","start":0,"end":2}}"#
        ]],
    );
}
