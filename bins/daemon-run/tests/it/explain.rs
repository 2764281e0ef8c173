//! `explain`: conditions, daemons, events.

use serde_json::{Value, json};

use crate::world::{OPENED, PULL_REQUEST, TIDY, World};

const CONDITION: &str = "when a non-draft pull request is opened";

#[test]
fn a_condition_is_read_into_the_contracts_fields() {
    let ran = World::new().run(&["explain", "--condition", CONDITION, "--json"]);
    let expected = json!({"schema_version": 1, "status": "mapped", "wakes": false, "remainder": [], "notes": [],
        "nearest": [], "corrections": [], "instruction": null, "suggestion": null, "time": null, "beyond_the_format": [],
        "facts": null,
        "filters": [{"field": "draft", "op": "is", "value": "false", "text": "non-draft", "start": 7, "end": 16,
            "reading": "exact", "verdict": null, "got": null, "needs": null}],
        "clauses": [{"events": [{"source": "github", "kind": "pull_request", "action": "opened"}], "filters": [0],
            "text": "a non-draft pull request is opened", "start": 5, "end": 39, "reading": "exact", "verdict": null}]});
    assert_eq!(
        (ran.code, ran.json(), ran.notes.as_str()),
        (0, expected, "")
    );
}

#[test]
fn an_event_gives_every_filter_its_verdict() {
    let world = World::new();
    let explain = |body: &str| {
        let arguments = [
            &[
                "explain",
                "--condition",
                CONDITION,
                "--json",
                "--event",
                "-",
            ],
            &PULL_REQUEST[..],
        ];
        world.run_with_input(&arguments.concat(), body).json()
    };
    let woken = explain(OPENED);
    assert_eq!(
        (
            &woken["wakes"],
            &woken["clauses"][0]["verdict"],
            &woken["filters"][0]["verdict"],
            &woken["filters"][0]["got"]
        ),
        (
            &json!(true),
            &json!("pass"),
            &json!("pass"),
            &json!("false")
        )
    );
    let draft = explain(&OPENED.replace("\"draft\":false", "\"draft\":true"));
    assert_eq!(
        (
            &draft["wakes"],
            &draft["clauses"][0]["verdict"],
            &draft["filters"][0]["verdict"],
            &draft["nearest"]
        ),
        (&json!(false), &json!("fail"), &json!("fail"), &json!([0]))
    );
}

#[test]
fn a_fact_that_the_payload_lacks_is_named_until_it_is_given() {
    let world = World::new();
    let condition = "when a pull request changes files in docs/";
    let explain = |more: &[&str]| {
        let start = [
            "explain",
            "--json",
            "--condition",
            condition,
            "--event",
            "-",
        ];
        let ran = world.run_with_input(&[&start, &PULL_REQUEST[..], more].concat(), OPENED);
        let object = ran.json();
        let filter = object["filters"]
            .as_array()
            .and_then(|filters| {
                filters
                    .iter()
                    .find(|filter| filter["field"] == "changed_files")
            })
            .cloned()
            .unwrap_or_default();
        (
            object["wakes"].clone(),
            filter["verdict"].clone(),
            filter["needs"].clone(),
        )
    };
    assert_eq!(
        explain(&[]),
        (json!(false), json!("missing"), json!("changed_files"))
    );
    assert_eq!(
        explain(&["--changed-file", "docs/a.md"]),
        (json!(true), json!("pass"), Value::Null)
    );
    assert_eq!(
        explain(&["--changed-file", "src/a.rs"]),
        (json!(false), json!("fail"), Value::Null)
    );
}

#[test]
fn words_not_understood_are_the_remainder_in_bytes() {
    let world = World::new();
    let condition = "when a pull request is opened ünd the moon is full";
    let object = world
        .run(&["explain", "--json", "--condition", condition])
        .json();
    assert_eq!(object["status"], "partial");
    let words = object["remainder"].as_array().unwrap();
    assert!(!words.is_empty());
    for span in words {
        let place = |name: &str| usize::try_from(span[name].as_u64().unwrap()).unwrap();
        assert_eq!(span["text"], condition[place("start")..place("end")]);
    }
}

#[test]
fn every_status_is_told() {
    let world = World::new();
    for (condition, status) in [
        ("when a pull request is opened", "mapped"),
        ("when code quality is low", "vague"),
        ("every morning", "time-based"),
        ("when a Jira ticket moves", "unmapped"),
    ] {
        let object = world
            .run(&["explain", "--json", "--condition", condition])
            .json();
        assert_eq!(object["status"], status, "{condition}");
    }
}

#[test]
fn a_raw_body_needs_its_source_and_kind_and_an_envelope_brings_them() {
    let world = World::of_daemon(TIDY);
    let envelope = json!({"id": "e1", "source": "github", "event": "pull_request", "headers": {},
        "enrichment": {"changed_files": ["docs/a.md"]}, "body": serde_json::from_str::<Value>(OPENED).unwrap()});
    world.write("raw.json", OPENED);
    world.write("envelope.json", &envelope.to_string());
    let failed = |arguments: &[&str]| {
        world
            .run(&[&["explain", "tidy", "--json"], arguments].concat())
            .failure()
    };
    let usage = (64, "usage".to_owned());
    assert_eq!(failed(&["--event", "raw.json"]), usage);
    assert_eq!(
        failed(&["--event", "raw.json", "--source", "github"]),
        usage
    );
    assert_eq!(
        failed(&[
            "--event", "raw.json", "--source", "gitlab", "--kind", "push"
        ]),
        usage
    );
    assert_eq!(failed(&["--source", "github"]), usage);
    assert_eq!(
        failed(&[
            "--event",
            "nowhere.json",
            PULL_REQUEST[0],
            PULL_REQUEST[1],
            PULL_REQUEST[2],
            PULL_REQUEST[3]
        ]),
        (66, "unreadable".to_owned())
    );
    let wakes = |arguments: &[&str]| {
        let ran = world.run(&[&["explain", "tidy", "--json"], arguments].concat());
        (ran.code, ran.json()["daemons"][0]["wakes"].clone())
    };
    assert_eq!(wakes(&["--event", "envelope.json"]), (0, json!(true)));
    world.write(
        "mistaken.json",
        &envelope
            .to_string()
            .replace("pull_request\",\"headers", "issues\",\"headers"),
    );
    let mistaken = ["--event", "mistaken.json"];
    assert_eq!(failed(&mistaken), (65, "invalid-event".to_owned()));
    assert_eq!(
        wakes(&[&mistaken[..], &["--kind", "pull_request"]].concat()),
        (0, json!(true)),
        "flags win"
    );
    assert_eq!(
        wakes(&[
            "--event",
            "raw.json",
            "--source",
            "github",
            "--kind",
            "pull_request"
        ]),
        (0, json!(true))
    );
}

#[test]
fn a_body_that_is_none_is_an_invalid_event() {
    let world = World::of_daemon(TIDY);
    for body in ["", "{", "[]", "{\"action\":\"opened\"} x"] {
        let start = ["explain", "tidy", "--json", "--event", "-"];
        let ran = world.run_with_input(&[&start, &PULL_REQUEST[..]].concat(), body);
        assert_eq!(ran.failure(), (65, "invalid-event".to_owned()), "{body}");
    }
}

#[test]
fn daemons_are_explained_with_their_conditions_and_the_event() {
    let world = World::of_daemon(TIDY);
    world.write(
        ".agents/daemons/nightly/DAEMON.md",
        &TIDY
            .replace("id: tidy", "id: nightly")
            .replace("watch:\n  - when a pull request is opened\n", ""),
    );
    world.write(
        ".agents/daemons/broken/DAEMON.md",
        &TIDY
            .replace("id: tidy", "id: broken")
            .replace("purpose: Keeps the docs in order.\n", ""),
    );
    let ran = world.run_opened(&["explain", "--json"]);
    let object = ran.masked();
    assert_eq!(
        object["event"],
        json!({"source": "github", "kind": "pull_request", "action": "opened", "subject": "github:acme/lamp#7",
            "actor": "ada", "repo": "acme/lamp", "time": "[TIME]", "delivery_id": "sha256:[SHA256]"})
    );
    let condition = json!({"index": 0, "condition": "when a pull request is opened", "schema_version": 1, "status": "mapped", "wakes": true,
        "remainder": [], "filters": [], "notes": [], "nearest": [],
        "corrections": [], "instruction": null, "suggestion": null, "time": null, "beyond_the_format": [],
        "clauses": [{"events": [{"source": "github", "kind": "pull_request", "action": "opened"}], "filters": [],
            "text": "a pull request is opened", "start": 5, "end": 29, "reading": "exact", "verdict": "pass"}]});
    assert_eq!(
        object["daemons"],
        json!([
            {"daemon_id": "broken", "wakes": false, "conditions": [condition],
             "why": "its file has errors: daemon-run lint .agents/daemons/broken/DAEMON.md"},
            {"daemon_id": "nightly", "wakes": false, "conditions": [],
             "why": "it has no conditions; its schedule wakes it"},
            {"daemon_id": "tidy", "wakes": true, "conditions": [condition], "why": "watch[0] is met"}])
    );
    let one = world.run(&["explain", "tidy", "--json"]).json();
    assert_eq!(
        (
            &one["event"],
            one["daemons"].as_array().map(Vec::len),
            &one["daemons"][0]["why"]
        ),
        (&Value::Null, Some(1), &json!("no event was given"))
    );
    let all = world
        .run(&["explain", "tidy", "--all-daemons", "--json"])
        .json();
    assert_eq!(all["daemons"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        world.run(&["explain", "nobody", "--json"]).failure(),
        (66, "unknown-daemon".to_owned())
    );
}

#[test]
fn the_exit_code_says_whether_something_wakes_only_when_asked() {
    let world = World::of_daemon(TIDY);
    let closed = OPENED.replace("\"action\":\"opened\"", "\"action\":\"closed\"");
    let code = |body: &str, arguments: &[&str]| {
        let start = ["explain", "tidy", "--event", "-"];
        world
            .run_with_input(&[&start, &PULL_REQUEST[..], arguments].concat(), body)
            .code
    };
    assert_eq!(
        (
            code(OPENED, &["--exit-code"]),
            code(&closed, &["--exit-code"]),
            code(&closed, &[])
        ),
        (0, 1, 0)
    );
}

#[test]
fn text_names_the_next_step_on_the_other_stream() {
    let world = World::of_daemon(TIDY);
    let ran = world.run_opened(&["explain", "tidy"]);
    assert_eq!(
        (ran.code, ran.output.as_str(), ran.notes.as_str()),
        (
            0,
            "tidy  wakes on github pull_request.opened by ada\n  watch[0]  pass  github pull_request.opened  \"when a pull request is opened\"\n",
            "next: daemon-run fire tidy --dry-run\n"
        )
    );
}

const GUARDED: &str = "---\nid: guarded\npurpose: Reviews.\nwatch:\n  - when a non-draft pull request is opened\n  - \
when an issue is labelled bug\nroutines:\n  - comment once\ndeny:\n  - merge pull requests\n---\n## Output format\nOne comment.\n";

#[test]
fn every_other_daemon_says_why_it_does_not_wake() {
    let world = World::of_daemon(TIDY);
    world.write(".agents/daemons/guarded/DAEMON.md", GUARDED);
    let asleep = GUARDED
        .replace("id: guarded", "id: asleep")
        .replace(
            "when a non-draft pull request is opened",
            "when a commit is pushed to main",
        )
        .replace("when an issue is labelled bug", "when code quality is low");
    world.write(".agents/daemons/asleep/DAEMON.md", &asleep);
    let draft = OPENED.replace("\"draft\":false", "\"draft\":true");
    let start = ["explain", "tidy", "--all-daemons", "--event", "-"];
    let ask =
        |more: &[&str]| world.run_with_input(&[&start[..], &PULL_REQUEST, more].concat(), &draft);
    let object = ask(&["--json"]).json();
    let told: Vec<(&str, bool, &str)> = object["daemons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|daemon| {
            (
                daemon["daemon_id"].as_str().unwrap(),
                daemon["wakes"] == true,
                daemon["why"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                "asleep",
                false,
                "no condition names github pull_request.opened"
            ),
            (
                "guarded",
                false,
                "watch[0] asks `draft is false` (\"non-draft\"): got true"
            ),
            ("tidy", true, "watch[0] is met"),
        ]
    );
    assert_eq!(object["daemons"][1]["conditions"][0]["nearest"], json!([0]));
    let text = ask(&["-q"]);
    assert_eq!(
        text.output,
        "asleep  does not wake on github pull_request.opened by ada: no condition names github pull_request.opened\n  \
         watch[0]  fail  github push or git push  \"when a commit is pushed to main\"  got github pull_request.opened\n  \
         watch[1]  fail  vague  \"when code quality is low\"  got github pull_request.opened\n            \
         not understood: \"when code quality is low\"\n\
         guarded  does not wake on github pull_request.opened by ada: watch[0] asks `draft is false` (\"non-draft\"): got true\n  \
         watch[0]  pass  github pull_request.opened  \"when a non-draft pull request is opened\"\n            \
         fail  draft = false               \"non-draft\"                                got true\n  \
         watch[1]  fail  github issues.labeled or linear Issue.update  \"when an issue is labelled bug\"  got github pull_request.opened\n            \
         note: `issue` is read as an issue of GitHub or Linear\n\
         tidy  wakes on github pull_request.opened by ada\n  \
         watch[0]  pass  github pull_request.opened  \"when a pull request is opened\"\n"
    );
}

#[test]
fn what_excludes_each_other_is_refused() {
    let world = World::of_daemon(TIDY);
    for arguments in [
        &["tidy", "--condition", "x"][..],
        &["--condition", "x", "--corpus", "c", "--payloads", "p"],
        &["--corpus", "c"],
        &["--answers", "a"],
    ] {
        let ran = world.run(&[&["explain", "--json"], arguments].concat());
        assert_eq!(ran.failure(), (64, "usage".to_owned()), "{arguments:?}");
    }
}
