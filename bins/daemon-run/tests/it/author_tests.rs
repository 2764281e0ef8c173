//! `test`: what an author expects of events and ticks, checked without a home.

use serde_json::{Value, json};

use crate::world::{OPENED, TIDY, World};

/// A daemon with two conditions and a schedule.
const GUARD: &str = "---\nid: tidy\npurpose: Keeps the docs in order.\nwatch:\n  - when a non-draft pull request is opened\n  - \
when a pull request that touches docs/ is synchronized\nschedule: \"30 14 * * 1-5\"\nroutines:\n  - list broken links in one comment\n\
deny:\n  - merge pull requests\n---\n## Output format\nOne comment.\n\n## Limits\n- One comment.\n";

const FILE: &str = ".agents/daemon-tests/tidy/basics.yml";

/// Cases that hold for [`GUARD`].
const HOLDING: &str = "# What wakes it.
- name: opened by a person
  event:
    source: github
    kind: pull_request
    payload: opened.json
  expect: {wakes: true, condition: 0, status: mapped}

- name: an envelope says what it is
  event: {payload: deep/envelope.json}
  expect:
    wakes: true
    condition: when a pull request that touches docs/ is synchronized
- name: no documentation is touched
  event:
    payload: deep/envelope.json
    changed_files: [src/main.rs]
  expect: {wakes: false}
- name: an inline body
  event:
    source: github
    kind: issues
    payload:
      action: opened
      issue: {number: 3, title: 'A lamp', user: {login: ada, type: User}}
      repository: {full_name: acme/lamp}
      sender: {login: ada, type: User}
  expect:
    wakes: false
    condition: 1
- name: weekday afternoons
  from: 2026-11-20T12:00:00Z
  expect:
    times:
      - \"2026-11-20T14:30:00Z\"
      - 2026-11-23T15:30:00+01:00
";

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
fn cases_that_hold_pass_without_a_home() {
    let world = guarded(HOLDING);
    let before = world.tree();
    let ran = world.run(&["test", "--json"]);
    let object = ran.json();
    assert_eq!(
        (ran.code, &object["passed"], &object["failed"]),
        (0, &json!(5), &json!(0)),
        "{object:#}"
    );
    assert_eq!(
        object["cases"][0],
        json!({"file": FILE, "line": 2, "name": "opened by a person", "daemon_id": "tidy", "ok": true,
            "expected": {"wakes": true, "condition": 0, "status": "mapped"},
            "got": {"wakes": true, "condition": 0, "status": "mapped"}, "why": "watch[0] is met"})
    );
    assert_eq!(
        (
            &object["cases"][1]["expected"],
            &object["cases"][1]["got"]["condition"]
        ),
        (
            &json!({"wakes": true, "condition": "when a pull request that touches docs/ is synchronized", "status": null}),
            &json!("when a pull request that touches docs/ is synchronized")
        )
    );
    assert_eq!(
        object["cases"][4]["got"],
        json!({"times": ["2026-11-20T14:30:00Z", "2026-11-23T14:30:00Z"]})
    );
    let text = world.run(&["test", "tidy"]);
    assert_eq!(
        (text.code, text.output.as_str(), text.notes.as_str()),
        (
            0,
            "ok    tidy  opened by a person\nok    tidy  an envelope says what it is\nok    tidy  no documentation is touched\n\
             ok    tidy  an inline body\nok    tidy  weekday afternoons\n5 passed, 0 failed\n",
            ""
        )
    );
    assert_eq!(world.tree(), before, "nothing is written");
}

const FAILING: &str = "- name: drafts wake it
  event: {source: github, kind: pull_request, payload: draft.json}
  expect: {wakes: true, status: partial}   # kept
- name: the other condition
  event: {source: github, kind: pull_request, payload: opened.json}
  expect:
    condition: \"when a pull request that touches docs/ is synchronized\"
    wakes: true # and this
- name: never
  from: 2026-11-20T12:00:00Z
  expect: {times: []}
- name: at noon
  from: 2026-11-20T12:00:00Z
  expect:
    times:
      # the first
      - '2026-11-20T12:30:00Z'
      - 2026-11-23T14:30:00Z
- name: holds
  event: {source: github, kind: pull_request, payload: opened.json}
  expect: {wakes: true}
";

fn failing() -> World {
    let world = guarded(FAILING);
    let draft = OPENED.replace("\"draft\":false", "\"draft\":true");
    world.write(".agents/daemon-tests/tidy/draft.json", &draft);
    world
}

#[test]
fn a_failing_case_says_what_differs_and_what_decided_it() {
    let ran = failing().run(&["test", "tidy"]);
    assert_eq!(
        (ran.code, ran.output.as_str()),
        (
            1,
            "FAIL  tidy  drafts wake it\n      \
             .agents/daemon-tests/tidy/basics.yml:1\n      \
             wakes     expected true, got false\n      \
             status    expected \"partial\", got \"mapped\"\n      \
             because   watch[0] asks `draft is false` (\"non-draft\"): got true\n\
             FAIL  tidy  the other condition\n      \
             .agents/daemon-tests/tidy/basics.yml:4\n      \
             wakes     expected true, got false\n      \
             because   watch[1] does not name github pull_request.opened; watch[0] is met\n\
             FAIL  tidy  never\n      \
             .agents/daemon-tests/tidy/basics.yml:9\n      \
             times[0]  expected none, got 2026-11-20T14:30:00Z\n      \
             because   `30 14 * * 1-5` is due at 14:30 on Monday through Friday, in UTC\n\
             FAIL  tidy  at noon\n      \
             .agents/daemon-tests/tidy/basics.yml:12\n      \
             times[0]  expected 2026-11-20T12:30:00Z, got 2026-11-20T14:30:00Z\n      \
             because   `30 14 * * 1-5` is due at 14:30 on Monday through Friday, in UTC\n\
             ok    tidy  holds\n1 passed, 4 failed\n"
        )
    );
}

#[test]
fn an_update_rewrites_what_failing_cases_expect_and_nothing_else() {
    let world = failing();
    let ran = world.run(&["test", "--update", "--json"]);
    let object = ran.json();
    assert_eq!(
        (
            ran.code,
            &object["passed"],
            &object["failed"],
            &object["updated"]
        ),
        (0, &json!(5), &json!(0), &json!(4)),
        "{object:#}"
    );
    let written = world.tree()[&world.repository().join(FILE)].clone();
    let expected = FAILING
        .replace(
            "{wakes: true, status: partial}",
            "{wakes: false, status: mapped}",
        )
        .replace("wakes: true # and", "wakes: false # and")
        .replace("{times: []}", "{times: [2026-11-20T14:30:00Z]}")
        .replace("'2026-11-20T12:30:00Z'", "'2026-11-20T14:30:00Z'");
    assert_eq!(String::from_utf8(written).unwrap(), expected);
    assert_eq!(
        world.run(&["test", "--update", "--json"]).json()["updated"],
        0
    );
}

#[test]
fn what_cannot_be_rewritten_is_said_and_left_alone() {
    let world = guarded(
        "- name: a leap day\n  from: 2026-11-20T12:00:00Z\n  expect:\n    times:\n      - 2026-11-20T12:30:00Z\n",
    );
    world.write(
        ".agents/daemons/tidy/DAEMON.md",
        &GUARD.replace("30 14 * * 1-5", "0 0 30 2 *"),
    );
    let before = world.tree();
    let ran = world.run(&["test", "--update"]);
    assert_eq!(
        (ran.code, ran.notes.as_str()),
        (
            1,
            ".agents/daemon-tests/tidy/basics.yml: not rewritten: `a leap day` expects more ticks than the schedule has: remove the last ones\n"
        )
    );
    assert_eq!(world.tree(), before);
}

#[test]
fn a_file_that_makes_no_sense_is_told_with_its_places() {
    let rows = [
        ("x", "1:1: a test file is a list of cases"),
        ("", "1:1: a test file is a list of cases"),
        ("- a: [b", "1:6: "),
        ("- nome: x\n", "1:3: `nome` is not a key of a case"),
        ("- name: x\n", "1:3: a case has no `expect`"),
        (
            "- name: x\n  expect: {wakes: true}\n",
            "1:3: a case has an `event`, or a `from` for a schedule",
        ),
        (
            "- name: x\n  from: 2026-11-20T12:00:00Z\n  event: {}\n  expect: {times: []}\n",
            "2:9: a case has an `event` or a `from`, not both",
        ),
        (
            "- name: x\n  from: noon\n  expect: {times: []}\n",
            "2:9: `noon` is not an instant",
        ),
        (
            "- name: x\n  from: 2026-11-20T12:00:00Z\n  expect: {wakes: true}\n",
            "3:12: `wakes` is not a key of `expect` of a schedule",
        ),
        (
            "- name: x\n  event: {payload: opened.json}\n  expect: {wakes: true}\n",
            "2:10: a raw payload needs `source` and `kind`",
        ),
        (
            "- name: x\n  event: {payload: opened.json, source: gitlab, kind: push}\n  expect: {wakes: true}\n",
            "2:41: ",
        ),
        (
            "- name: x\n  event: {payload: opened.json, source: github, kind: issues}\n  expect: {wakes: true}\n",
            "2:20: a `issues` event has no `issue`",
        ),
        (
            "- name: x\n  event: {payload: {a: on}, source: github, kind: ping}\n  expect: {wakes: true}\n",
            "2:24: `on` is a boolean to some readers of YAML and text to others",
        ),
        (
            "- name: x\n  event: {payload: ../basics.yml, source: github, kind: ping}\n  expect: {wakes: true}\n",
            "2:20: `../basics.yml` leaves the tests directory",
        ),
        (
            "- name: x\n  event: {payload: /etc/passwd, source: github, kind: ping}\n  expect: {wakes: true}\n",
            "2:20: `/etc/passwd` leaves the tests directory",
        ),
        (
            "- name: x\n  event: {payload: out/x.json, source: github, kind: ping}\n  expect: {wakes: true}\n",
            "2:20: a symbolic link in `out/x.json` leaves the tests directory",
        ),
        (
            "- name: x\n  event: {payload: opened.json, source: github, kind: pull_request}\n  expect: {wakes: yes}\n",
            "3:19: `wakes` is `true` or `false`, not `yes`",
        ),
        (
            "- name: x\n  event: {payload: opened.json, source: github, kind: pull_request}\n  expect: {status: fine}\n",
            "3:20: `fine` is not a status",
        ),
        (
            "- name: x\n  event: {payload: opened.json, source: github, kind: pull_request}\n  expect: {condition: -1}\n",
            "3:23: `-1` is not an index in `watch`",
        ),
        (
            "- name: x\n  name: y\n  event: {payload: opened.json, source: github, kind: pull_request}\n  expect: {}\n",
            "2:3: `name` is given twice",
        ),
    ];
    let world = guarded("");
    world.write("elsewhere/x.json", "{}");
    let link = world.repository().join(".agents/daemon-tests/tidy/out");
    std::os::unix::fs::symlink(world.repository().join("elsewhere"), link).unwrap();
    for (text, expected) in rows {
        world.write(FILE, text);
        let ran = world.run(&["test", "--json"]);
        assert_eq!(ran.failure(), (65, "invalid-test".to_owned()), "{text}");
        let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with(&format!("{FILE}:{expected}")),
            "{text}: {message}"
        );
    }
    world.write(
        FILE,
        "- name: x\n  event: {payload: gone.json, source: github, kind: ping}\n  expect: {wakes: true}\n",
    );
    let ran = world.run(&["test", "--json"]);
    assert_eq!(ran.failure(), (66, "unreadable".to_owned()));
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with(&format!("{FILE}:2:20: cannot read `gone.json`: ")),
        "{message}"
    );
}

#[test]
fn every_problem_of_every_file_is_told_at_once() {
    let world = guarded("- nome: x\n- name: y\n");
    world.write(".agents/daemon-tests/tidy/other.yml", "nothing\n");
    let ran = world.run(&["test", "--json"]);
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    let lines: Vec<&str> = message
        .lines()
        .map(|line| line.rsplit_once(": ").expect("a place").1)
        .collect();
    assert_eq!(
        lines,
        [
            "`nome` is not a key of a case",
            "a case has no `name`",
            "a case has no `expect`",
            "a test file is a list of cases"
        ]
    );
}

#[test]
fn tests_of_a_daemon_that_is_not_there_are_an_error() {
    let world = guarded(HOLDING);
    assert_eq!(
        world.run(&["test", "nobody", "--json"]).failure(),
        (66, "unknown-daemon".to_owned())
    );
    // Payloads that several daemons share are no tests.
    world.write(".agents/daemon-tests/shared/opened.json", OPENED);
    assert_eq!(world.run(&["test", "--json"]).code, 0);
    world.write(".agents/daemon-tests/gone/basics.yml", HOLDING);
    let ran = world.run(&["test", "--json"]);
    assert_eq!(ran.failure(), (66, "unknown-daemon".to_owned()));
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with(".agents/daemon-tests/gone tests a daemon that does not exist"),
        "{message}"
    );
}

#[test]
fn no_case_of_a_daemon_whose_file_has_errors_passes() {
    let world = guarded(
        "- name: sleeps\n  event: {source: github, kind: issues, payload: {action: opened, issue: {number: 1}}}\n  expect: {wakes: false}\n",
    );
    world.write(
        ".agents/daemons/tidy/DAEMON.md",
        &GUARD.replace("purpose: Keeps", "purpose: 1\nx: Keeps"),
    );
    let ran = world.run(&["test", "--json"]);
    let object = ran.json();
    assert_eq!(
        (
            ran.code,
            &object["cases"][0]["ok"],
            &object["cases"][0]["got"],
            &object["cases"][0]["why"]
        ),
        (
            1,
            &json!(false),
            &Value::Null,
            &json!("its file has errors: daemon-run lint .agents/daemons/tidy/DAEMON.md")
        )
    );
}

#[test]
fn a_repository_without_tests_has_none_that_fail() {
    let world = World::of_daemon(TIDY);
    let ran = world.run(&["test", "--json"]);
    assert_eq!(
        (ran.code, ran.json()),
        (
            0,
            json!({"schema_version": 1, "passed": 0, "failed": 0, "updated": 0, "cases": []})
        )
    );
    assert_eq!(
        world.run(&["test"]).notes,
        "no tests: write them to .agents/daemon-tests/<id>/<name>.yml; `daemon-run schema fixture` prints the format\n"
    );
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

#[test]
fn the_schema_of_fixtures_takes_what_the_command_takes() {
    let world = guarded(HOLDING);
    let schema = world.run(&["schema", "fixture"]);
    let schema: Value = serde_json::from_str(&schema.output).unwrap();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let event = json!({"source": "github", "kind": "pull_request", "payload": "opened.json"});
    let rows = [
        (
            json!([{"name": "a", "event": event, "expect": {"wakes": true, "condition": 0, "status": "mapped"}}]),
            true,
        ),
        (
            json!([{"name": "a", "event": {"payload": "deep/envelope.json"}, "expect": {"condition": "when x"}}]),
            true,
        ),
        (
            json!([{"name": "a", "from": "2026-11-20T12:00:00Z", "expect": {"times": ["2026-11-20T14:30:00Z"]}}]),
            true,
        ),
        (json!([]), true),
        (json!({}), false),
        (json!([{"name": "a", "event": event}]), false),
        (json!([{"name": "a", "event": event, "expect": {}}]), false),
        (
            json!([{"name": "a", "event": event, "expect": {"times": []}}]),
            false,
        ),
        (
            json!([{"name": "a", "from": "2026-11-20T12:00:00Z", "expect": {"wakes": true}}]),
            false,
        ),
        (
            json!([{"name": "a", "event": event, "from": "2026-11-20T12:00:00Z", "expect": {"wakes": true}}]),
            false,
        ),
        (
            json!([{"name": " ", "event": event, "expect": {"wakes": true}}]),
            false,
        ),
        (
            json!([{"name": "a", "event": {"payload": {"a": 1}}, "expect": {"wakes": true}}]),
            false,
        ),
        (
            json!([{"name": "a", "event": event, "expect": {"wakes": true, "when": 1}}]),
            false,
        ),
        (
            json!([{"name": "a", "event": event, "expect": {"condition": -1}}]),
            false,
        ),
        (
            json!([{"name": "a", "event": event, "expect": {"status": "fine"}}]),
            false,
        ),
    ];
    for (value, is_good) in rows {
        assert_eq!(schema.is_valid(&value), is_good, "{value}");
        // JSON is YAML: the command agrees, but for what only it can know.
        world.write(FILE, &value.to_string());
        let ran = world.run(&["test", "--json"]);
        assert_eq!(ran.code != 65, is_good, "{value}: {ran:?}");
    }
    let envelope: Value = serde_json::from_str(&envelope()).unwrap();
    assert!(schema.is_valid(&envelope));
    let mut nameless = envelope.clone();
    nameless.as_object_mut().unwrap().remove("source");
    assert!(!schema.is_valid(&nameless));
}
