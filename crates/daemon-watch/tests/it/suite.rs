//! The conformance suite in `fixtures/watch`: its own scorer, which needs none of this code.

use std::process::Command;

use daemon_watch::{corpus, interpret};
use serde_json::{Value, json};

use crate::corpus::{fixtures, labelled, payloads};

/// Runs the scorer of the suite on answers to some conditions, or to all; `None` without Python.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the scorer is a program of its own, and a skipped comparison is shown"
)]
fn scored(answers: &str, conditions: Option<&str>) -> Option<(Option<i32>, String, String)> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the file can be written");
        path
    };
    let run = Command::new("python3")
        .arg(fixtures().join("score.py"))
        .arg("--json")
        .arg(file("answers.jsonl", answers))
        .args(conditions.map(|text| file("conditions.jsonl", text)))
        .output();
    match run {
        Ok(output) => Some((
            output.status.code(),
            String::from_utf8(output.stdout).expect("the score is UTF-8"),
            String::from_utf8(output.stderr).expect("an error is UTF-8"),
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: python3 is not installed");
            None
        }
        Err(error) => panic!("python3 cannot be started: {error}"),
    }
}

#[test]
fn the_scorer_of_the_suite_agrees_with_ours_on_right_and_on_wrong_answers() {
    let read = |file| std::fs::read_to_string(fixtures().join(file)).expect("it is there");
    let all = read("conditions.jsonl") + &read("open.jsonl");
    let some: Vec<&str> = all.lines().step_by(7).collect();
    let conditions = corpus::conditions(&some.join("\n")).expect("every line is labelled");
    // Every third condition is answered as if it were another one, so that each kind of failure occurs.
    let wrong: Vec<String> = conditions
        .iter()
        .map(|labelled| labelled.condition.clone())
        .collect();
    let mut at = 0;
    let answer = std::cell::RefCell::new(|line: &str| {
        at += 1;
        interpret(match at % 3 {
            0 => &wrong[(at * 7) % wrong.len()],
            _ => line,
        })
    });
    let (score, answers) =
        corpus::score(&conditions, &payloads(), |line| answer.borrow_mut()(line));
    let lines: Vec<String> = answers
        .iter()
        .map(|answer| serde_json::to_string(answer).expect("an answer is JSON"))
        .collect();
    let Some((code, printed, problem)) = scored(&lines.join("\n"), Some(&some.join("\n"))) else {
        return;
    };
    assert_eq!((code, problem.as_str()), (Some(1), ""));
    let mut theirs: Value = serde_json::from_str(&printed).expect("the score is JSON");
    let version = std::fs::read_to_string(fixtures().join("VERSION")).expect("it has a version");
    assert_eq!(theirs["version"].take(), json!(version.trim()));
    theirs.as_object_mut().expect("an object").remove("version");
    let ours = serde_json::to_value(&score).expect("a score is JSON");
    assert!(score.false_wakes > 0 && score.missed_wakes > 0 && score.silent_remainders > 0);
    assert!(
        theirs == ours,
        "the two scorers differ: {} and {} failures",
        theirs["failures"].as_array().map_or(0, Vec::len),
        score.failures.len()
    );
}

#[test]
fn the_scorer_names_the_line_that_it_cannot_read() {
    let first = labelled("conditions.jsonl").remove(0).id;
    let answer = |id: &str, status: &str| {
        json!({"id": id, "status": status, "wakes": [], "remainder": ""}).to_string()
    };
    let two = format!("{0}\n{0}", answer("x", "vague"));
    for (answers, message) in [
        ("no json", ":1: not an object with an id"),
        (
            answer("x", "maybe").as_str(),
            ":1: `status` is not one of mapped",
        ),
        (two.as_str(), ":2: a second answer for x"),
        (
            answer("x", "vague").as_str(),
            &format!("no answer for {first}"),
        ),
    ] {
        let Some((code, printed, problem)) = scored(answers, None) else {
            return;
        };
        assert_eq!((code, printed.as_str()), (Some(2), ""));
        assert!(problem.contains(message), "{problem}");
    }
}
