//! The JSON form of an interpretation: versioned, valid by its schema, read back as it was.

use daemon_watch::{Interpretation, InterpretationWire, InvalidWire, Span, Test};
use daemon_watch::{interpret, phrasings};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::corpus::fixtures;

/// Every condition of the corpora, and every phrase of the vocabulary.
fn lines() -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(fixtures().join(name)).expect("it is there");
    let corpus = daemon_watch::corpus::conditions(&read("conditions.jsonl"));
    let corpus = corpus.expect("every line is a labelled condition");
    let mut lines: Vec<String> = corpus
        .into_iter()
        .map(|labelled| labelled.condition)
        .collect();
    lines.extend(read("phrases.txt").lines().map(str::to_owned));
    lines.extend(phrasings().iter().flat_map(|row| row.phrases.clone()));
    lines
}

/// Says the same in characters that take several bytes, and in places that shift every offset.
fn in_many_bytes(line: &str) -> String {
    let curly = line
        .replacen('"', "\u{201c}", 1)
        .replacen('"', "\u{201d}", 1);
    format!("\u{2003}{}\u{a0}\u{2026}", curly.replace(' ', "\u{a0}"))
}

/// Collects every place that an interpretation names.
fn spans(meaning: &Interpretation) -> Vec<Span> {
    let mut spans: Vec<Span> = meaning.remainder.clone();
    spans.extend(meaning.filters.iter().map(|filter| filter.span));
    spans.extend(meaning.clauses.iter().map(|clause| clause.span));
    spans.extend(meaning.corrections.iter().map(|correction| correction.span));
    spans.extend(meaning.instruction);
    spans
}

fn check_spans(line: &str) {
    let meaning = interpret(line);
    for span in spans(&meaning) {
        let words = line.get(span.start..span.end);
        let words = words.unwrap_or_else(|| panic!("{span:?} is no part of {line:?}"));
        assert!(
            !words.trim().is_empty(),
            "{span:?} of {line:?} holds nothing"
        );
        assert_eq!(
            words.trim(),
            words,
            "{span:?} of {line:?} begins or ends between words"
        );
        let is_inside_a_word = |at: usize| {
            let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            letter(line[..at].chars().next_back()) && letter(line[at..].chars().next())
        };
        assert!(
            !is_inside_a_word(span.start) && !is_inside_a_word(span.end),
            "{words:?} cuts a word of {line:?}"
        );
    }
    for index in meaning.clauses.iter().flat_map(|clause| &clause.filters) {
        assert!(*index < meaning.filters.len(), "{line:?}");
    }
}

#[test]
fn spans_are_whole_words_of_the_line_in_bytes() {
    for line in lines() {
        check_spans(&line);
        check_spans(&in_many_bytes(&line));
    }
}

#[test]
fn filters_printed_and_read_back_are_equal() {
    let mut n_filters = 0;
    for line in lines() {
        for filter in interpret(&line).filters {
            let printed = filter.test.to_string();
            assert_eq!(printed.parse(), Ok(filter.test), "{printed}");
            n_filters += 1;
        }
    }
    assert!(n_filters > 500, "only {n_filters} filters");
}

#[test]
fn the_form_is_valid_by_its_schema_and_is_read_back_as_it_was() {
    let schema = InterpretationWire::schema();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    for line in lines() {
        for line in [in_many_bytes(&line), line] {
            let meaning = interpret(&line);
            let wire = InterpretationWire::new(&line, &meaning, None);
            let written = serde_json::to_value(&wire).expect("it is plain JSON");
            let errors: Vec<String> = validator
                .iter_errors(&written)
                .map(|error| error.to_string())
                .collect();
            assert_eq!(errors, Vec::<String>::new(), "{line}");
            let read: InterpretationWire = serde_json::from_value(written).expect("it was written");
            assert_eq!(read, wire, "{line}");
            assert_eq!(read.interpretation().as_ref(), Ok(&meaning), "{line}");
        }
    }
}

fn check(line: &str, expected: &Expect) {
    let wire = InterpretationWire::new(line, &interpret(line), None);
    let written = serde_json::to_string_pretty(&wire).expect("it is plain JSON");
    expected.assert_eq(&written);
}

#[test]
fn offsets_are_bytes_where_characters_are_longer() {
    check(
        "when a large PR labelled “größe” is opned by José",
        &expect![[r#"
            {
              "schema_version": 1,
              "status": "partial",
              "wakes": false,
              "remainder": [
                {
                  "text": "large PR",
                  "start": 7,
                  "end": 15
                },
                {
                  "text": "by José",
                  "start": 48,
                  "end": 56
                }
              ],
              "filters": [
                {
                  "field": "labels",
                  "op": "is",
                  "value": "größe",
                  "text": "“größe”",
                  "start": 25,
                  "end": 38,
                  "reading": "exact",
                  "verdict": null,
                  "got": null,
                  "needs": null
                }
              ],
              "clauses": [
                {
                  "events": [
                    {
                      "source": "github",
                      "kind": "pull_request",
                      "action": "opened"
                    }
                  ],
                  "filters": [
                    0
                  ],
                  "text": "a large PR labelled “größe” is opned",
                  "start": 5,
                  "end": 47,
                  "reading": "corrected",
                  "verdict": null
                }
              ],
              "notes": [
                "read `opned` as `opened`"
              ],
              "nearest": [],
              "corrections": [
                {
                  "text": "opned",
                  "start": 42,
                  "end": 47,
                  "replacement": "opened"
                }
              ],
              "instruction": null,
              "suggestion": null,
              "time": null,
              "beyond_the_format": []
            }"#]],
    );
}

#[test]
fn a_time_has_its_schedule() {
    let line = "every weekday at 9:00";
    let wire = InterpretationWire::new(line, &interpret(line), None);
    let written = serde_json::to_value(&wire).expect("it is plain JSON");
    assert_eq!(
        written["time"],
        json!({"kind": "schedule", "schedule": "0 9 * * 1-5"})
    );
}

#[test]
fn what_this_version_does_not_know_is_refused() {
    let line = "when a draft pull request is opened";
    let wire = InterpretationWire::new(line, &interpret(line), None);
    let good = serde_json::to_value(&wire).expect("it is plain JSON");
    let refused = |pointer: &str, value: Value| {
        let mut other = good.clone();
        *other.pointer_mut(pointer).expect("the form has it") = value;
        let read: InterpretationWire = serde_json::from_value(other).expect("the types are right");
        read.interpretation().expect_err("it is not known")
    };
    assert_eq!(
        refused("/schema_version", json!(2)),
        InvalidWire::Version(2)
    );
    assert_eq!(
        refused("/filters/0/field", json!("mood")),
        InvalidWire::Field("mood".to_owned())
    );
    assert_eq!(
        refused("/filters/0/op", json!("resembles")),
        InvalidWire::Op("resembles".to_owned())
    );
    assert_eq!(
        refused("/clauses/0/events/0/action", json!("yodeled")),
        InvalidWire::Event("github pull_request.yodeled".to_owned())
    );
    assert_eq!(
        refused("/clauses/0/filters", json!([7])),
        InvalidWire::Filter(7)
    );
}

proptest! {
    #[test]
    fn spans_are_within_any_line(line in "\\PC{0,80}") {
        for span in spans(&interpret(&line)) {
            prop_assert!(line.get(span.start..span.end).is_some(), "{span:?} of {line:?}");
        }
    }

    #[test]
    fn any_label_is_read_back_from_a_printed_filter(label in "[^\"`“”„«»‘’'\\r\\n]{1,30}") {
        let line = format!("when a pull request with the label \"{label}\" is opened");
        for filter in interpret(&line).filters {
            let printed = filter.test.to_string();
            prop_assert_eq!(printed.parse::<Test>().ok(), Some(filter.test));
        }
    }
}
