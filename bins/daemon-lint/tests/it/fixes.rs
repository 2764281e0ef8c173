//! `--fix`: its changes, and a second run that changes nothing.

use crate::world::{CLEAN, World};

const PATH: &str = ".agents/daemons/tidy/DAEMON.md";

const BROKEN: &str = "\n---\nname: tidy\npurpose: Keeps the docs: in order\nwatch:\n  - when a pull request is opened\n  - ''\n\
routines: list broken links in one comment\ndeny:\n  - merge pull requests\nschedule: */20 * * * *\n---\n\
## Output format\nname: a body: is never touched\r\n\n## Limits\n- One comment.\n";

const MENDED: &str = "---\nid: tidy\npurpose: \"Keeps the docs: in order\"\nwatch:\n  - when a pull request is opened\n\
routines:\n  - \"list broken links in one comment\"\ndeny:\n  - merge pull requests\nschedule: \"*/20 * * * *\"\n---\n\
## Output format\nname: a body: is never touched\r\n\n## Limits\n- One comment.\n";

#[test]
fn fixes_are_applied_until_none_remains_and_the_body_is_unchanged() {
    let world = World::of_daemon(BROKEN);
    let ran = world.run(&["--fix", "--json"]);
    assert_eq!(world.read(PATH), MENDED);
    let summary = &ran.json()["summary"];
    assert_eq!(
        (ran.code, &summary["errors"], &summary["fixable"]),
        (0, &0.into(), &0.into())
    );
    assert!(
        summary["fixed"].as_u64().is_some_and(|fixed| fixed >= 6),
        "{summary}"
    );
}

#[test]
fn fixing_a_second_time_changes_nothing() {
    let world = World::of_daemon(BROKEN);
    world.run(&["--fix"]);
    let once = world.read(PATH);
    let again = world.run(&["--fix", "--json"]);
    assert_eq!(
        (world.read(PATH), &again.json()["summary"]["fixed"]),
        (once, &0.into())
    );
}

#[test]
fn a_file_without_fixes_is_not_written() {
    let world = World::of_daemon(CLEAN);
    let file = world.root().join(PATH);
    let written = |path: &std::path::Path| {
        path.metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
    };
    let before = written(&file);
    assert_eq!(world.run(&["--fix"]).code, 0);
    assert_eq!(written(&file), before);
}

#[test]
fn diagnostics_without_a_fix_are_reported_after_fixing() {
    let world = World::of_daemon(
        &BROKEN
            .replace("deny:", "owner: me\ndeny:")
            .replace("*/20 *", "*/20 75"),
    );
    let ran = world.run(&["--fix", "--json"]);
    let codes: Vec<_> = ran
        .findings()
        .iter()
        .filter_map(|found| found.split(' ').nth(1).map(str::to_owned))
        .collect();
    assert_eq!(
        (ran.code, codes),
        (1, vec!["D100".to_owned(), "D203".to_owned()])
    );
}

#[test]
fn the_fixed_file_is_printed_on_standard_output_and_the_report_on_standard_error() {
    let world = World::new("");
    let text = BROKEN.replace("name: tidy", "id: tidy");
    let ran = world.run_with_input(&["--stdin", "--fix", "--format", "json"], text.as_bytes());
    assert_eq!((ran.code, ran.output.as_str()), (0, MENDED));
    let report: serde_json::Value = serde_json::from_str(&ran.notes).unwrap();
    assert_eq!(
        (&report["ok"], &report["files"][0]["path"]),
        (&true.into(), &"<stdin>".into())
    );
}

#[test]
fn a_fix_after_which_the_file_is_invalid_is_neither_offered_nor_applied() {
    // Quotes make the first error a second one: lines of quoted text are indented deeper than the dash.
    let text = CLEAN.replace(
        "list broken links in one comment",
        "post one comment that lists: broken\n links",
    );
    let world = World::of_daemon(&text);
    let ran = world.run(&["--fix", "--json"]);
    let summary = &ran.json()["summary"];
    assert_eq!(world.read(PATH), text);
    assert_eq!(ran.findings(), [format!("{PATH} D010 8:2")]);
    assert_eq!(
        (ran.code, &summary["fixed"], &summary["fixable"]),
        (1, &0.into(), &0.into())
    );
    let ran = world.run_with_input(&["--stdin", "--fix"], text.as_bytes());
    assert_eq!((ran.code, ran.output), (1, text));
}

#[test]
fn a_fix_that_would_add_errors_is_not_offered() {
    // As `watch`, the entries would be conditions, and none of them names an event.
    let text = CLEAN
        .replace("deny:", "schedule: 0 9 * * *\ndeny:")
        .replace(
            "watch:\n  - when a pull request is opened\n",
            "triggers:\n  - stay calm\n  - be kind\n",
        );
    let world = World::of_daemon(&text);
    let ran = world.run(&["--fix", "--json"]);
    assert_eq!((world.read(PATH), ran.code), (text, 0));
    assert_eq!(ran.findings(), [format!("{PATH} D101 4:1")]);
}

#[test]
fn a_fix_that_reveals_absent_fields_is_applied() {
    let world = World::of_daemon("---\nid: tidy\nschedule: */20 * * * *\n---\nBe brief.\n");
    let ran = world.run(&["--fix", "--json"]);
    assert_eq!(
        world.read(PATH),
        "---\nid: tidy\nschedule: \"*/20 * * * *\"\n---\nBe brief.\n"
    );
    assert_eq!(
        ran.findings(),
        [format!("{PATH} D120 1:1"), format!("{PATH} D400 1:1")]
    );
}

#[test]
fn fixes_that_are_bad_together_are_applied_one_after_the_other() {
    let text = CLEAN.replace("  - merge pull requests\n", "  - ''\n  -\n");
    let world = World::of_daemon(&text);
    let ran = world.run(&["--fix", "--json"]);
    assert_eq!(ran.json()["summary"]["fixable"], 0);
    assert_eq!(
        world.read(PATH),
        CLEAN.replace("deny:\n  - merge pull requests\n", "")
    );
}

#[test]
fn standard_input_without_fixes_is_printed_unchanged() {
    let world = World::new("");
    for bytes in [
        b"---\nid: caf\xE9\n---\n".to_vec(),
        vec![b'a'; 300_000],
        b"no front matter".to_vec(),
    ] {
        let ran_code = {
            let mut output = Vec::new();
            let surroundings = daemon_lint::Surroundings {
                directory: world.root().to_owned(),
                now: "2026-11-20T09:00:00Z".parse().unwrap(),
                auto_colour: daemon_lint::AutoColour::Plain,
            };
            let mut streams = daemon_lint::StandardStreams {
                input: &mut bytes.as_slice(),
                output: &mut output,
                notes: &mut Vec::new(),
            };
            let code = daemon_lint::run(
                ["daemon-lint", "--stdin", "--fix"].map(Into::into),
                &surroundings,
                &mut streams,
            );
            assert_eq!(output, bytes);
            code
        };
        assert_eq!(ran_code, 1);
    }
}

#[cfg(unix)]
#[test]
fn a_fixed_file_keeps_its_mode_and_no_other_file_is_created() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::of_daemon(BROKEN);
    let file = world.root().join(PATH);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    world.run(&["--fix"]);
    assert_eq!(
        file.metadata().unwrap().permissions().mode() & 0o7777,
        0o640
    );
    let names: Vec<_> = std::fs::read_dir(file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["DAEMON.md"]);
}
