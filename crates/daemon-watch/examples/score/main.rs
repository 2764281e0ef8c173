//! Scores the interpreter on a labelled corpus and times it: `score [CORPUS.jsonl PAYLOADS [ANSWERS.jsonl]]`, without arguments
//! on ours.

mod counts;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use counts::Counts;
use daemon_event::Event;
use daemon_watch::corpus::{self, Labelled};
use daemon_watch::interpret;

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
    let (score, answers) = corpus::score(&conditions, &payloads(payload_dir)?, interpret);
    if let Some(path) = rest.first() {
        let mut out = std::fs::File::create(path)?;
        for answer in &answers {
            writeln!(out, "{}", serde_json::to_string(answer)?)?;
        }
    }
    let mut out = std::io::stdout().lock();
    for failure in &score.failures {
        let (missed, woken) = (failure.missed.len(), failure.false_wakes.len());
        let (expected, got) = (&failure.expected, &failure.got);
        let (line, left) = (&failure.condition, &failure.remainder);
        writeln!(
            out,
            "{expected} -> {got} | {line} | missed {missed} false {woken} | {left}"
        )?;
    }
    let mapped = answers.iter().filter(|answer| answer.status == "mapped");
    writeln!(out, "{}", Counts::of(&score, mapped.count()))?;
    writeln!(out, "{}", times(&conditions))?;
    Ok(())
}

/// Times each line, the fastest of several rounds.
fn times(conditions: &[Labelled]) -> String {
    const ROUNDS: usize = 5;
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    let once = |line: &str| {
        let start = Instant::now();
        std::hint::black_box(interpret(std::hint::black_box(line)));
        start.elapsed()
    };
    let best = |line: &str| (0..ROUNDS).map(|_| once(line)).min().unwrap_or_default();
    let mut each: Vec<Duration> = conditions
        .iter()
        .map(|labelled| best(&labelled.condition))
        .collect();
    each.sort_unstable();
    let at = |part: usize| {
        let at = (each.len() * part / 100).min(each.len().saturating_sub(1));
        each.get(at).copied().unwrap_or_default()
    };
    format!("one line: median {:?}, p99 {:?}", at(50), at(99))
}

fn payloads(dir: &Path) -> Result<BTreeMap<String, Event>, Box<dyn Error>> {
    let derived = dir.join("derived");
    let dir = if derived.is_dir() { &derived } else { dir };
    let mut envelopes = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            envelopes.push(corpus::envelope(&std::fs::read_to_string(&path)?)?);
        }
    }
    corpus::learn_label_names(&mut envelopes);
    let events = envelopes.into_iter().map(|envelope| {
        let event = envelope.event()?;
        Ok((envelope.id, event))
    });
    events.collect()
}
