//! Arguments, exit codes and the JSON object of a failure.

use serde_json::json;

use crate::world::{CLEAN, World};

const SIX_FIELDS: &str = "---\nid: tidy\npurpose: Keeps the docs in order.\nschedule: \"0 30 14 * * 1-5\"\nroutines:\n\
  - list broken links in one comment\ndeny:\n  - merge pull requests\n---\n## Output format\nOne comment.\n\n## Limits\n- One.\n";

#[test]
fn a_valid_repository_exits_with_zero_and_a_summary() {
    let ran = World::of_daemon(CLEAN).run(&[]);
    assert_eq!(
        (ran.code, ran.output.as_str(), ran.notes.as_str()),
        (0, "", "1 file, clean\n")
    );
    assert_eq!(World::of_daemon(CLEAN).run(&["-q"]).notes, "");
}

#[test]
fn the_json_report_has_all_fields() {
    let ran = World::of_daemon(SIX_FIELDS).run(&["--json"]);
    let expected = json!({"schema_version": 1, "ok": false, "files": [
        {"path": ".agents/daemons/tidy/DAEMON.md", "daemon_id": "tidy", "ok": false, "diagnostics": [
            {"code": "D201", "severity": "error", "message": "`schedule` must have five fields, found six",
             "start": {"line": 4, "column": 12, "byte": 58}, "end": {"line": 4, "column": 27, "byte": 73},
             "help": "remove the seconds field",
             "fix": {"title": "remove the seconds", "edits": [{"start": 58, "end": 60, "text": ""}]}}]}],
        "summary": {"files": 1, "daemons": 1, "errors": 1, "warnings": 0, "advice": 0, "fixable": 1, "fixed": 0, "suppressed": 0}});
    assert_eq!(
        (ran.code, ran.json(), ran.notes.as_str()),
        (1, expected, "")
    );
    assert!(
        ran.output
            .starts_with("{\"schema_version\":1,\"ok\":false,\"files\":[{\"path\":")
    );
    assert!(ran.output.ends_with("}\n") && ran.output.lines().count() == 1);
}

#[test]
fn a_valid_file_is_in_the_json_report_without_diagnostics() {
    let ran = World::of_daemon(CLEAN).run(&["--format", "json"]);
    let expected = json!({"schema_version": 1, "ok": true, "files": [
        {"path": ".agents/daemons/tidy/DAEMON.md", "daemon_id": "tidy", "ok": true, "diagnostics": []}],
        "summary": {"files": 1, "daemons": 1, "errors": 0, "warnings": 0, "advice": 0, "fixable": 0, "fixed": 0, "suppressed": 0}});
    assert_eq!((ran.code, ran.json()), (0, expected));
}

#[test]
fn warnings_fail_only_with_deny_warnings() {
    let world = World::of_daemon(&CLEAN.replace("deny:", "deny:\n  - merge pull requests"));
    let allowed = world.run(&["--json"]);
    let denied = world.run(&["--json", "--deny-warnings"]);
    assert_eq!(
        (
            allowed.code,
            &allowed.json()["ok"],
            &allowed.json()["files"][0]["ok"]
        ),
        (0, &json!(true), &json!(true))
    );
    assert_eq!(
        (
            denied.code,
            &denied.json()["ok"],
            &denied.json()["files"][0]["ok"]
        ),
        (1, &json!(false), &json!(false))
    );
    assert_eq!(
        denied.json()["files"][0]["diagnostics"][0]["severity"],
        "warning"
    );
}

#[test]
fn the_strict_profile_raises_severities() {
    let world = World::of_daemon(&CLEAN.replace("deny:", "owner: me\ndeny:"));
    assert_eq!(world.run(&["--profile", "spec"]).code, 0);
    assert_eq!(world.run(&["--profile", "strict"]).code, 1);
}

#[test]
fn a_path_that_cannot_be_read_is_reported_and_the_rest_is_linted() {
    let world = World::of_daemon(SIX_FIELDS);
    let ran = world.run(&["--json", "nowhere/DAEMON.md", "."]);
    let nowhere = json!({"path": "nowhere/DAEMON.md", "daemon_id": null, "ok": false, "diagnostics": [
        {"code": "D000", "severity": "error", "message": "cannot read the file",
         "start": {"line": 1, "column": 1, "byte": 0}, "end": {"line": 1, "column": 1, "byte": 0},
         "help": "no such file or directory", "fix": null}]});
    assert_eq!((ran.code, &ran.json()["files"][0]), (66, &nowhere));
    assert_eq!(
        ran.findings()[1],
        ".agents/daemons/tidy/DAEMON.md D201 4:12"
    );
    assert_eq!(ran.json()["summary"]["daemons"], 1);
}

#[test]
fn an_invalid_command_line_exits_with_64() {
    let world = World::of_daemon(CLEAN);
    let wrong: [&[&str]; 7] = [
        &["--nonsense"],
        &["--format", "xml"],
        &["--profile", "lax"],
        &["--stdin-path", "x"],
        &["--stdin", "x"],
        &["--tz", "Mars/Base"],
        &["--color", "sometimes"],
    ];
    for arguments in wrong {
        let ran = world.run(arguments);
        assert_eq!((ran.code, ran.output.as_str()), (64, ""), "{arguments:?}");
        assert!(
            ran.notes.starts_with("error: "),
            "{arguments:?}: {}",
            ran.notes
        );
    }
}

#[test]
fn with_json_a_failure_is_an_object_on_standard_output() {
    let world = World::of_daemon(CLEAN);
    let zone = world.run(&["--json", "--tz", "Mars/Base"]);
    let zone_error = zone.json();
    assert_eq!(
        (zone.code, &zone_error["ok"], &zone_error["schema_version"]),
        (64, &json!(false), &json!(1))
    );
    assert_eq!(zone_error["error"]["code"], "usage");
    assert_eq!(
        zone_error["error"]["help"],
        "name a zone of the IANA database, such as `Europe/Berlin`"
    );

    let usage = world.run(&["--format=json", "--nonsense"]);
    let expected = json!({"schema_version": 1, "ok": false, "error": {
        "code": "usage", "message": "unexpected argument '--nonsense' found", "help": "see `daemon-lint --help`"}});
    assert_eq!(
        (usage.code, usage.json(), usage.notes.as_str()),
        (64, expected, "")
    );

    let directory = world.run(&["--json", "-C", "nowhere"]);
    let expected = json!({"schema_version": 1, "ok": false, "error": {
        "code": "cannot-read", "message": "cannot read the directory `nowhere`", "help": "no such file or directory"}});
    assert_eq!((directory.code, directory.json()), (66, expected));
}

#[test]
fn help_and_version_are_printed_on_standard_output() {
    let world = World::of_daemon(CLEAN);
    let help = world.run(&["--help"]);
    assert_eq!((help.code, help.notes.as_str()), (0, ""));
    for flag in [
        "--format",
        "--profile",
        "--deny-warnings",
        "--fix",
        "--stdin",
        "--stdin-path",
        "--tz",
        "--json",
        "-C",
    ] {
        assert!(help.output.contains(flag), "{flag}");
    }
    assert_eq!(
        world.run(&["-V"]).output,
        concat!("daemon-lint ", env!("CARGO_PKG_VERSION"), "\n")
    );
    daemon_lint::command().debug_assert();
}

#[test]
fn daylight_saving_is_reported_for_the_given_zone() {
    let nightly = SIX_FIELDS.replace("0 30 14 * * 1-5", "30 2 * * *");
    let world = World::of_daemon(&nightly);
    assert_eq!(world.run(&["--json"]).findings(), Vec::<String>::new());
    let berlin = world.run(&["--json", "--tz", "Europe/Berlin"]);
    assert_eq!(
        berlin.findings(),
        [
            ".agents/daemons/tidy/DAEMON.md D214 4:12",
            ".agents/daemons/tidy/DAEMON.md D214 4:12"
        ],
        "one hour is skipped, another comes twice"
    );
}

#[test]
fn standard_input_is_linted_with_and_without_a_path() {
    let world = World::new("");
    let nowhere = world.run_with_input(&["--stdin", "--json"], SIX_FIELDS.as_bytes());
    assert_eq!(
        (nowhere.code, nowhere.findings()),
        (1, vec!["<stdin> D201 4:12".to_owned()])
    );
    let dash = world.run_with_input(&["-", "--json"], SIX_FIELDS.as_bytes());
    assert_eq!(dash, nowhere);

    let path = ".agents/daemons/other/DAEMON.md";
    let placed = world.run_with_input(
        &["--stdin", "--stdin-path", path, "--json"],
        CLEAN.as_bytes(),
    );
    assert_eq!(
        (placed.code, placed.findings()),
        (1, vec![format!("{path} D111 2:5")])
    );
    let elsewhere = world.run_with_input(
        &["--stdin", "--stdin-path", "tidy/DAEMON.md", "--json"],
        CLEAN.as_bytes(),
    );
    assert_eq!(
        (elsewhere.code, elsewhere.findings()),
        (0, vec!["tidy/DAEMON.md D115 1:1".to_owned()])
    );
}

#[test]
fn the_flag_selects_another_working_directory() {
    let world = World::new("");
    world.write(
        "deep/er/.agents/daemons/tidy/DAEMON.md",
        SIX_FIELDS.as_bytes(),
    );
    let ran = world.run(&["-C", "deep/er", "--json"]);
    assert_eq!(ran.findings(), [".agents/daemons/tidy/DAEMON.md D201 4:12"]);
}
