//! Scores of labelled conditions.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use daemon_event::Event;
use daemon_watch::corpus::{self, Labelled, Score};
use daemon_watch::{Interpretation, interpret, reader};

/// Prints the failures of the reader in shadow, both scores, and the times.
pub(crate) fn print(corpus_path: &Path, payload_dir: &Path) -> Result<(), Box<dyn Error>> {
    let conditions = corpus::conditions(&std::fs::read_to_string(corpus_path)?)?;
    let payloads = payloads(payload_dir)?;
    let unread = interpret("");
    let shadow = |line: &str| reader::interpret(line).unwrap_or_else(|| unread.clone());
    let (score, answers) = corpus::score(&conditions, &payloads, shadow);
    let mut out = std::io::stdout().lock();
    for failure in &score.failures {
        writeln!(
            out,
            "{} -> {} | {} | missed {} false {} | {}",
            failure.expected,
            failure.got,
            failure.condition,
            failure.missed.len(),
            failure.false_wakes.len(),
            failure.remainder
        )?;
    }
    let answered = answers
        .iter()
        .filter(|answer| answer.status == "mapped")
        .count();
    let wrong = (score.failures.iter())
        .filter(|failure| failure.got == "mapped")
        .count();
    let (shipped, _) = corpus::score(&conditions, &payloads, interpret);
    writeln!(
        out,
        "shadow  {}, mapped {answered}, of these wrong {wrong}",
        row(&score)
    )?;
    writeln!(out, "shipped {}", row(&shipped))?;
    writeln!(out, "shadow  {}", times(&conditions, reader::interpret))?;
    writeln!(
        out,
        "shipped {}",
        times(&conditions, |line| Some(interpret(line)))
    )?;
    Ok(())
}

fn row(score: &Score) -> String {
    format!(
        "{} of {} exact, {} false wakes, {} missed, {} silent",
        score.exact,
        score.conditions,
        score.false_wakes,
        score.missed_wakes,
        score.silent_remainders
    )
}

/// Times each line, the fastest of several rounds.
fn times(conditions: &[Labelled], read: impl Fn(&str) -> Option<Interpretation>) -> String {
    const ROUNDS: usize = 5;
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    let once = |line: &str| {
        let start = Instant::now();
        std::hint::black_box(read(std::hint::black_box(line)));
        start.elapsed()
    };
    let best = |line: &str| (0..ROUNDS).map(|_| once(line)).min().unwrap_or_default();
    let mut each: Vec<Duration> = conditions
        .iter()
        .map(|labelled| best(&labelled.condition))
        .collect();
    each.sort_unstable();
    let at = |part: usize| each.get((each.len() * part / 100).min(each.len().saturating_sub(1)));
    format!("median {:?}, p99 {:?}", at(50), at(99))
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
    let mut found = BTreeMap::new();
    for envelope in envelopes {
        found.insert(envelope.id.clone(), envelope.event()?);
    }
    Ok(found)
}
