//! The project's own labelled corpus, in `fixtures/watch`.

use std::collections::BTreeMap;
use std::path::Path;

use daemon_watch::{corpus, interpret};

/// What the chart reached when it became the only reader: more misreadings are a step back.
const MISREAD_PERCENT: usize = 4;
const FALSE_WAKES_PER_MYRIAD: usize = 1;

pub(crate) fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/watch")
}

pub(crate) fn payloads() -> BTreeMap<String, daemon_event::Event> {
    let dir = std::fs::read_dir(fixtures().join("payloads")).expect("the fixtures hold payloads");
    let read = dir.map(|entry| {
        let path = entry.expect("the folder can be read").path();
        let text = std::fs::read_to_string(&path).expect("a payload is UTF-8");
        let envelope = corpus::envelope(&text).expect("a payload is an envelope");
        assert_eq!(
            path.file_stem().and_then(|stem| stem.to_str()),
            Some(envelope.id.as_str())
        );
        envelope
    });
    let mut envelopes: Vec<corpus::Envelope> = read.collect();
    corpus::learn_label_names(&mut envelopes);
    let events = envelopes.into_iter().map(|envelope| {
        let event = envelope
            .event()
            .unwrap_or_else(|error| panic!("{}: {error:?}", envelope.id));
        (envelope.id, event)
    });
    events.collect()
}

/// The labelled conditions of one file.
pub(crate) fn labelled(file: &str) -> Vec<corpus::Labelled> {
    let text = std::fs::read_to_string(fixtures().join(file)).expect("it is there");
    corpus::conditions(&text).expect("every line is a labelled condition")
}

#[test]
fn every_condition_of_our_corpus_is_read_as_it_is_labelled() {
    let conditions = labelled("conditions.jsonl");
    let payloads = payloads();
    let (score, answers) = corpus::score(&conditions, &payloads, interpret);
    let failures: Vec<String> = score
        .failures
        .iter()
        .map(|failure| format!("{failure:?}"))
        .collect();
    assert_eq!(failures, Vec::<String>::new());
    assert_eq!(
        (
            score.conditions,
            score.exact,
            score.false_wakes,
            score.missed_wakes,
            score.silent_remainders
        ),
        (conditions.len(), conditions.len(), 0, 0, 0)
    );
    assert_eq!(answers.len(), conditions.len());
}

#[test]
fn the_rows_that_are_still_misread_stay_few_and_wake_little() {
    let open = labelled("open.jsonl");
    let payloads = payloads();
    let (score, _) = corpus::score(&open, &payloads, interpret);
    let n_rows = labelled("conditions.jsonl").len() + open.len();
    let n_misread = open.len() - score.exact;
    assert!(
        n_misread * 100 <= n_rows * MISREAD_PERCENT,
        "{n_misread} of {n_rows} are misread"
    );
    let n_pairs = n_rows * payloads.len();
    assert!(
        score.false_wakes * 10_000 <= n_pairs * FALSE_WAKES_PER_MYRIAD,
        "{} of {n_pairs} pairs wake that must not",
        score.false_wakes
    );
}

#[test]
fn a_wrong_answer_is_counted_where_the_command_line_says() {
    let line = r#"{"id":"x","condition":"c","expect":{"status":"partial","matches":["pr-opened"],"rejects":["issue-opened"],"exhaustive":false,"remainder":["large"]}}"#;
    let other = r#"{"id":"y","condition":"c","expect":{"status":"vague","accept":["mapped"],"matches":[],"exhaustive":true}}"#;
    let conditions =
        corpus::conditions(&format!("{line}\n\n{other}\n")).expect("both are labelled");
    let (score, _) = corpus::score(&conditions, &payloads(), |_| {
        interpret("when an issue is opened")
    });
    let counts = serde_json::to_value(&score).expect("a score is JSON");
    assert_eq!(
        counts,
        serde_json::json!({
            "conditions": 2, "status_correct": 1, "false_wakes": 1, "missed_wakes": 1,
            "silent_remainders": 1, "exact": 1,
            "failures": [{"id": "x", "condition": "c", "expected": "partial", "got": "mapped",
                "missed": ["pr-opened"], "false": ["issue-opened"], "remainder": ""}],
        })
    );
}
