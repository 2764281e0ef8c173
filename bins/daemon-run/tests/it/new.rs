//! `new`, and `lint` over what it wrote.

use std::fs;

use serde_json::json;

use crate::world::World;

#[test]
fn every_template_is_clean_even_under_the_strict_profile() {
    let world = World::new();
    for template in ["plain", "pr-helper", "librarian", "bug-triage"] {
        let ran = world.run(&["new", &format!("my-{template}"), "--template", template]);
        let path = format!(".agents/daemons/my-{template}/DAEMON.md");
        assert_eq!(
            (ran.code, ran.output.as_str(), ran.notes.as_str()),
            (
                0,
                format!("wrote {path}\n").as_str(),
                format!(
                    "next: edit the file, then run: daemon-run lint {path}\nput tests into \
                     .agents/daemon-tests/my-{template}/*.yml, and run them with: daemon-run test my-{template}\n"
                )
                .as_str()
            )
        );
    }
    let strict = ["--profile", "strict", "--deny-warnings"];
    for program in [&["lint", "--json"][..], &["lint"]] {
        let ran = world.run(&[program, &strict[..]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let report = world.run(&["lint", "--json"]).json();
    let summary = &report["summary"];
    assert_eq!(
        (
            &summary["daemons"],
            &summary["errors"],
            &summary["warnings"]
        ),
        (&json!(4), &json!(0), &json!(0)),
        "{report:#}"
    );
}

#[test]
fn conditions_and_a_schedule_given_are_what_the_file_holds() {
    let world = World::new();
    let ran = world.run(&[
        "--json",
        "new",
        "tidy",
        "--watch",
        "when a comment says \"/tidy: now\"",
        "--watch",
        "when a release is published",
        "--schedule",
        "30 14 * * 1-5",
    ]);
    let path = ".agents/daemons/tidy/DAEMON.md";
    assert_eq!(
        (ran.code, ran.json(), ran.notes.as_str()),
        (
            0,
            json!({"schema_version": 1, "ok": true, "id": "tidy", "path": path}),
            ""
        )
    );
    let text = fs::read_to_string(world.repository().join(path)).unwrap();
    let front = text.split("---").nth(1).unwrap();
    assert!(
        front.contains(
            "watch:\n  - \"when a comment says \\\"/tidy: now\\\"\"\n  - when a release is published\nschedule: \"30 14 * * 1-5\"\n"
        ),
        "{front}"
    );
    assert_eq!(world.run(&["lint", "--json"]).json()["ok"], true);
}

#[test]
fn nothing_is_overwritten() {
    let world = World::new();
    world.write(".agents/daemons/tidy/DAEMON.md", "mine");
    let ran = world.run(&["new", "tidy", "--json"]);
    assert_eq!(ran.failure(), (73, "exists".to_owned()));
    let kept = fs::read_to_string(world.repository().join(".agents/daemons/tidy/DAEMON.md"));
    assert_eq!(kept.unwrap(), "mine");
}

#[test]
fn what_cannot_be_an_id_is_a_usage_error_and_writes_nothing() {
    let world = World::new();
    let before = world.tree();
    for id in ["../x", "Tidy", "a--b", "a-", "", "a b", &"a".repeat(65)] {
        let ran = world.run(&["new", "--json", "--", id]);
        assert_eq!(ran.failure(), (64, "usage".to_owned()), "{id}");
    }
    assert_eq!(world.tree(), before);
}

#[test]
fn a_schedule_that_is_none_is_refused_before_anything_is_written() {
    let world = World::new();
    let before = world.tree();
    let ran = world.run(&["new", "tidy", "--schedule", "0 30 14 * * 1-5", "--json"]);
    assert_eq!(ran.failure(), (65, "D201".to_owned()));
    assert_eq!(world.tree(), before);
}

#[test]
fn errors_fail_the_linter_in_every_format() {
    let world = World::of_daemon(&crate::world::TIDY.replace("30 14 * * 1-5", "0 30 14 * * 1-5"));
    let ran = world.run(&["lint", "--json"]);
    let object = ran.json();
    assert_eq!((ran.code, &object["ok"]), (1, &json!(false)));
    assert_eq!(object["files"][0]["diagnostics"][0]["code"], "D201");
    for (format, fragment) in [
        (
            "human",
            "error[D201]: `schedule` must have five fields, found six",
        ),
        ("github", "::error file=.agents/daemons/tidy/DAEMON.md"),
        ("sarif", "\"version\":\"2.1.0\""),
    ] {
        let ran = world.run(&["lint", "--format", format]);
        assert_eq!(ran.code, 1, "{format}");
        let squeezed = ran.output.replace(' ', "");
        assert!(
            squeezed.contains(&fragment.replace(' ', "")),
            "{}",
            ran.output
        );
    }
    let fixed = world.run(&["lint", "--fix", "--json"]).json();
    assert_eq!(
        (&fixed["ok"], &fixed["summary"]["fixed"]),
        (&json!(true), &json!(1))
    );
}
