//! `explain --corpus`.

use std::fs;

use serde_json::{Value, json};

use crate::world::{OPENED, World};

fn corpus(world: &World) {
    let lines = [
        json!({"id": "a", "family": "f", "condition": "when a pull request is opened",
            "expect": {"status": "mapped", "matches": ["p.opened"], "rejects": ["p.closed"], "exhaustive": true}}),
        json!({"id": "b", "family": "f", "condition": "when a pull request is opened",
            "expect": {"status": "mapped", "matches": ["p.closed"], "rejects": [], "exhaustive": true}}),
        json!({"id": "c", "family": "f", "condition": "when code quality is low",
            "expect": {"status": "mapped", "accept": ["vague"], "matches": ["p.opened"], "rejects": [], "exhaustive": true}}),
        json!({"id": "d", "family": "f", "condition": "when a pull request is opened and the moon is full",
            "expect": {"status": "partial", "matches": ["p.opened"], "rejects": [], "exhaustive": true,
                "remainder": ["moon is full"]}}),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    world.write("corpus.jsonl", &text.join("\n"));
    for (id, action) in [("p.opened", "opened"), ("p.closed", "closed")] {
        let body: Value = serde_json::from_str(
            &OPENED.replace("\"action\":\"opened\"", &format!("\"action\":\"{action}\"")),
        )
        .expect("the body is JSON");
        let envelope = json!({"id": id, "source": "github", "event": "pull_request", "headers": {}, "enrichment": {}, "body": body});
        world.write(
            &format!("payloads/derived/{id}.json"),
            &envelope.to_string(),
        );
    }
}

#[test]
fn every_condition_meets_every_payload_and_the_score_is_the_contracts() {
    let world = World::new();
    corpus(&world);
    let ran = world.run(&[
        "explain",
        "--corpus",
        "corpus.jsonl",
        "--payloads",
        "payloads",
        "--answers",
        "answers.jsonl",
        "--json",
    ]);
    assert_eq!(
        (ran.code, ran.json()),
        (
            0,
            json!({"schema_version": 1, "conditions": 4, "status_correct": 4, "false_wakes": 1, "missed_wakes": 1,
                "silent_remainders": 0, "exact": 3,
                "failures": [{"id": "b", "condition": "when a pull request is opened", "expected": "mapped",
                    "got": "mapped", "missed": ["p.closed"], "false": ["p.opened"], "remainder": ""}]})
        )
    );
    let answers = fs::read_to_string(world.repository().join("answers.jsonl")).unwrap();
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        answers[..3],
        [
            json!({"id": "a", "status": "mapped", "wakes": ["p.opened"], "remainder": ""}),
            json!({"id": "b", "status": "mapped", "wakes": ["p.opened"], "remainder": ""}),
            json!({"id": "c", "status": "vague", "wakes": [], "remainder": "when code quality is low"}),
        ]
    );
    assert!(
        answers[3]["remainder"]
            .as_str()
            .unwrap()
            .contains("moon is full"),
        "{answers:?}"
    );
    let direct = world.run(&[
        "explain",
        "--corpus",
        "corpus.jsonl",
        "--payloads",
        "payloads/derived",
        "--json",
    ]);
    assert_eq!(direct.json(), ran.json());
}

#[test]
fn what_is_no_corpus_says_where() {
    let world = World::new();
    corpus(&world);
    world.write("broken.jsonl", "{\"id\":\"a\"}\n");
    world.write("empty/x.txt", "");
    world.write("bad/x.json", "{}");
    let failed = |corpus: &str, payloads: &str| {
        world
            .run(&[
                "explain",
                "--json",
                "--corpus",
                corpus,
                "--payloads",
                payloads,
            ])
            .failure()
    };
    assert_eq!(
        failed("nowhere.jsonl", "payloads"),
        (66, "unreadable".to_owned())
    );
    assert_eq!(
        failed("corpus.jsonl", "nowhere"),
        (66, "unreadable".to_owned())
    );
    assert_eq!(
        failed("corpus.jsonl", "empty"),
        (66, "no-payloads".to_owned())
    );
    assert_eq!(
        failed("broken.jsonl", "payloads"),
        (65, "invalid-corpus".to_owned())
    );
    assert_eq!(
        failed("corpus.jsonl", "bad"),
        (65, "invalid-payload".to_owned())
    );
    let ran = world.run(&[
        "explain",
        "--json",
        "--corpus",
        "corpus.jsonl",
        "--payloads",
        "payloads",
        "--answers",
        "no/where/a.jsonl",
    ]);
    assert_eq!(ran.failure(), (73, "unwritable".to_owned()));
}
