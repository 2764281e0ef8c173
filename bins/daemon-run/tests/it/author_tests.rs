//! `test`: what an author expects of events and ticks, checked without a home.

use serde_json::{Value, json};

use crate::world::{OPENED, TIDY, World};

/// A daemon with two conditions and a schedule.
const GUARD: &str = "---\nid: tidy\npurpose: Keeps the docs in order.\nwatch:\n  - when a non-draft pull request is opened\n  - \
when a pull request that touches docs/ is synchronized\nschedule: \"30 14 * * 1-5\"\nroutines:\n  - list broken links in one comment\n\
deny:\n  - merge pull requests\n---\n## Output format\nOne comment.\n\n## Limits\n- One comment.\n";

const FILE: &str = ".agents/daemon-tests/tidy/basics.yml";

fn envelope() -> String {
    let body = OPENED.replace("\"action\":\"opened\"", "\"action\":\"synchronize\"");
    let body: Value = serde_json::from_str(&body).expect("the body is JSON");
    json!({"id": "e1", "source": "github", "event": "pull_request", "headers": {},
        "enrichment": {"changed_files": ["docs/a.md"]}, "body": body})
    .to_string()
}

fn guarded(cases: &str) -> World {
    let world = World::of_daemon(GUARD);
    world.write(".agents/daemon-tests/tidy/opened.json", OPENED);
    world.write(".agents/daemon-tests/tidy/deep/envelope.json", &envelope());
    world.write(FILE, cases);
    world
}

#[test]
fn the_cases_of_the_page_about_tests_hold() {
    let page = include_str!("../../../../docs/testing.md");
    let (_, block) = page.split_once("```yaml\n").expect("an example");
    let (cases, _) = block.split_once("```").expect("its end");
    let world = World::of_daemon(&TIDY.replace("30 14 * * 1-5", "0 9 * * 1-5"));
    world.write(".agents/daemon-tests/tidy/opened.json", OPENED);
    world.write(FILE, cases);
    let ran = world.run(&["test", "tidy"]);
    assert_eq!(
        (ran.code, ran.output.lines().last()),
        (0, Some("3 passed, 0 failed")),
        "{ran:?}"
    );
}

/// The event of most cases.
const EVENT: &str = r#"{"source": "github", "kind": "pull_request", "payload": "opened.json"}"#;

/// Files of cases that the schema and the command accept.
const GOOD_CASES: [&str; 4] = [
    r#"[{"name": "a", "event": EVENT, "expect": {"wakes": true, "condition": 0, "status": "mapped"}}]"#,
    r#"[{"name": "a", "event": {"payload": "deep/envelope.json"}, "expect": {"condition": "when x"}}]"#,
    r#"[{"name": "a", "from": "2026-11-20T12:00:00Z", "expect": {"times": ["2026-11-20T14:30:00Z"]}}]"#,
    "[]",
];

/// Files of cases that both refuse.
const BAD_CASES: [&str; 11] = [
    "{}",
    r#"[{"name": "a", "event": EVENT}]"#,
    r#"[{"name": "a", "event": EVENT, "expect": {}}]"#,
    r#"[{"name": "a", "event": EVENT, "expect": {"times": []}}]"#,
    r#"[{"name": "a", "from": "2026-11-20T12:00:00Z", "expect": {"wakes": true}}]"#,
    r#"[{"name": "a", "event": EVENT, "from": "2026-11-20T12:00:00Z", "expect": {"wakes": true}}]"#,
    r#"[{"name": " ", "event": EVENT, "expect": {"wakes": true}}]"#,
    r#"[{"name": "a", "event": {"payload": {"a": 1}}, "expect": {"wakes": true}}]"#,
    r#"[{"name": "a", "event": EVENT, "expect": {"wakes": true, "when": 1}}]"#,
    r#"[{"name": "a", "event": EVENT, "expect": {"condition": -1}}]"#,
    r#"[{"name": "a", "event": EVENT, "expect": {"status": "fine"}}]"#,
];

#[test]
fn the_schema_of_fixtures_takes_what_the_command_takes() {
    let world = guarded("[]");
    let schema = world.run(&["schema", "fixture"]);
    let schema: Value = serde_json::from_str(&schema.output).unwrap();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let good = GOOD_CASES.map(|case| (case, true));
    let bad = BAD_CASES.map(|case| (case, false));
    for (case, is_good) in good.into_iter().chain(bad) {
        let case = case.replace("EVENT", EVENT);
        let value = serde_json::from_str(&case).unwrap();
        assert_eq!(schema.is_valid(&value), is_good, "{case}");
        // JSON is YAML: the command agrees, but for what only it can know.
        world.write(FILE, &case);
        let ran = world.run(&["test", "--json"]);
        assert_eq!(ran.code != 65, is_good, "{case}: {ran:?}");
    }
    let envelope: Value = serde_json::from_str(&envelope()).unwrap();
    assert!(schema.is_valid(&envelope));
    let mut nameless = envelope.clone();
    nameless.as_object_mut().unwrap().remove("source");
    assert!(!schema.is_valid(&nameless));

    let recorded = World::of_daemon(TIDY);
    assert_eq!(recorded.run_opened(&["fire", "tidy", "-q"]).code, 0);
    assert_eq!(
        recorded
            .run(&["events", "record", "--out", "kept", "-q"])
            .code,
        0
    );
    let kept = std::fs::read_dir(recorded.repository().join("kept")).unwrap();
    for file in kept {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(
            schema.is_valid(&serde_json::from_str(&text).unwrap()),
            "{text}"
        );
    }
}
