//! Scores the interpreter on a labelled corpus: `score [CORPUS.jsonl PAYLOADS [ANSWERS.jsonl]]`, without arguments on ours.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use daemon_watch::corpus;

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        let ours = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/watch"));
        paths = vec![ours.join("conditions.jsonl"), ours.join("payloads")];
    }
    let [corpus_path, payload_dir, rest @ ..] = paths.as_slice() else {
        return Err("usage: score [CORPUS.jsonl PAYLOADS [ANSWERS.jsonl]]".into());
    };
    let conditions = corpus::conditions(&std::fs::read_to_string(corpus_path)?)?;
    let mut envelopes = Vec::new();
    for path in paths_of(payload_dir)? {
        envelopes.push(corpus::envelope(&std::fs::read_to_string(&path)?)?);
    }
    corpus::learn_label_names(&mut envelopes);
    let mut payloads = BTreeMap::new();
    for envelope in envelopes {
        payloads.insert(envelope.id.clone(), envelope.event()?);
    }
    let (score, answers) = corpus::score(&conditions, &payloads, daemon_watch::interpret);
    if let Some(path) = rest.first() {
        let mut out = std::fs::File::create(path)?;
        for answer in &answers {
            writeln!(out, "{}", serde_json::to_string(answer)?)?;
        }
    }
    let mut out = std::io::stdout().lock();
    for failure in &score.failures {
        writeln!(
            out,
            "{} -> {} | {} | missed {:?} false {:?} | {}",
            failure.expected,
            failure.got,
            failure.condition,
            failure.missed,
            failure.false_wakes,
            failure.remainder
        )?;
    }
    writeln!(
        out,
        "conditions {} status_correct {} false_wakes {} missed_wakes {} silent_remainders {} exact {}",
        score.conditions,
        score.status_correct,
        score.false_wakes,
        score.missed_wakes,
        score.silent_remainders,
        score.exact
    )?;
    Ok(())
}

fn paths_of(dir: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let derived = dir.join("derived");
    let dir = if derived.is_dir() {
        derived
    } else {
        dir.to_owned()
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            paths.push(path);
        }
    }
    Ok(paths)
}
