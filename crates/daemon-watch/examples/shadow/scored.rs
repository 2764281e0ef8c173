//! Scores of labelled conditions, by source and status, for the lines that the grammar was written on and for others.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use daemon_event::Event;
use daemon_watch::corpus::{self, Labelled, Score};
use daemon_watch::{Interpretation, interpret, reader};

/// Prints the failures of the reader in shadow on the tuned lines, the scores of both readers, and the times.
pub(crate) fn print(corpus_path: &Path, payload_dir: &Path) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(corpus_path)?;
    let conditions = corpus::conditions(&text)?;
    let sources = sources(&text)?;
    let payloads = payloads(payload_dir)?;
    let mut groups: BTreeMap<Group, Vec<Labelled>> = BTreeMap::new();
    for condition in &conditions {
        let group = Group {
            is_held_out: HELD_OUT.contains(condition.id.as_str()),
            source: sources.get(&condition.id).copied().unwrap_or("none"),
            status: condition.expect.status.clone(),
        };
        groups.entry(group).or_default().push(condition.clone());
    }
    let mut out = std::io::stdout().lock();
    let mut totals: BTreeMap<(bool, &str), Counts> = BTreeMap::new();
    let mut table = String::new();
    for (group, lines) in &groups {
        for (name, read) in READERS {
            let (score, answers) = corpus::score(lines, &payloads, read);
            let mapped = answers.iter().filter(|answer| answer.status == "mapped");
            let counts = Counts::of(&score, mapped.count());
            totals
                .entry((group.is_held_out, *name))
                .or_default()
                .add(&counts);
            writeln!(table, "{group} | {name:7} | {counts}")?;
            if *name == "shadow" && !group.is_held_out {
                failures(&mut out, group, &score)?;
            }
        }
    }
    write!(out, "{table}")?;
    for ((is_held_out, name), counts) in totals {
        writeln!(out, "{} | {name:7} | {counts}", part(is_held_out))?;
    }
    for (name, read) in READERS {
        writeln!(out, "{name:7} {}", times(&conditions, read))?;
    }
    Ok(())
}

type Read = fn(&str) -> Interpretation;
const READERS: &[(&str, Read)] = &[("shadow", reader::interpret), ("shipped", interpret)];

/// Lines that are counted together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    is_held_out: bool,
    source: &'static str,
    status: String,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, status) = (self.source, &self.status);
        write!(f, "{} | {source:7} | {status:10}", part(self.is_held_out))
    }
}

fn part(is_held_out: bool) -> &'static str {
    if is_held_out { "held-out" } else { "tuned   " }
}

#[derive(Default)]
struct Counts {
    exact: usize,
    lines: usize,
    mapped: usize,
    wrong_mapped: usize,
    silent: usize,
    false_wakes: usize,
    negated_false_wakes: usize,
}

impl Counts {
    fn of(score: &Score, mapped: usize) -> Self {
        let failures = || score.failures.iter();
        let negated = failures().filter(|failure| is_negated(&failure.condition));
        Self {
            exact: score.exact,
            lines: score.conditions,
            mapped,
            wrong_mapped: failures().filter(|failure| failure.got == "mapped").count(),
            silent: score.silent_remainders,
            false_wakes: score.false_wakes,
            negated_false_wakes: negated.map(|failure| failure.false_wakes.len()).sum(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.exact += other.exact;
        self.lines += other.lines;
        self.mapped += other.mapped;
        self.wrong_mapped += other.wrong_mapped;
        self.silent += other.silent;
        self.false_wakes += other.false_wakes;
        self.negated_false_wakes += other.negated_false_wakes;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:4} of {:4} exact, mapped {}, of these wrong {}, silent {}, false wakes {}, of these negated {}",
            self.exact,
            self.lines,
            self.mapped,
            self.wrong_mapped,
            self.silent,
            self.false_wakes,
            self.negated_false_wakes
        )
    }
}

/// Prints each failure of the reader in shadow, and whether the shipped reader differs.
fn failures(out: &mut impl std::io::Write, group: &Group, score: &Score) -> std::io::Result<()> {
    for failure in &score.failures {
        let shipped = interpret(&failure.condition);
        let mark = match reader::interpret(&failure.condition) {
            shadow if shadow.means_the_same_as(&shipped) => "as shipped",
            _ => "differs",
        };
        writeln!(
            out,
            "{} | {} -> {} | {} | missed {} false {} | {} | {mark}",
            group.source,
            failure.expected,
            failure.got,
            failure.condition,
            failure.missed.len(),
            failure.false_wakes.len(),
            failure.remainder
        )?;
    }
    Ok(())
}

/// The ids of the quarter of the corpus that nothing is written on, drawn once by hash: its failures are counted and
/// never shown.
static HELD_OUT: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| include_str!("held-out.txt").lines().collect());

fn is_negated(line: &str) -> bool {
    const NEGATORS: &[&str] = &[
        "not",
        "no",
        "without",
        "except",
        "unless",
        "other",
        "neither",
        "nor",
        "but",
        "excluding",
        "never",
        "outside",
        "only",
    ];
    line.to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .any(|word| NEGATORS.contains(&word) || word.ends_with("n't"))
}

/// The source of each line whose labels name one: `several` if there is more than one.
fn sources(text: &str) -> Result<BTreeMap<String, &'static str>, Box<dyn Error>> {
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: serde_json::Value = serde_json::from_str(line)?;
        let gold = row["expect"]["gold"].as_str().unwrap_or_default();
        let named = ["github", "linear", "slack", "sentry"];
        let named = named.into_iter().filter(|source| {
            gold.split(|c: char| !c.is_ascii_alphabetic() && c != ':')
                .any(|word| {
                    word.split_once(':')
                        .is_some_and(|(name, _)| name == *source)
                })
        });
        let named: BTreeSet<&str> = named.collect();
        let source = match named.len() {
            0 => "none",
            1 => named.first().copied().unwrap_or("none"),
            _ => "several",
        };
        found.insert(row["id"].as_str().unwrap_or_default().to_owned(), source);
    }
    Ok(found)
}

/// Times each line, the fastest of several rounds.
fn times(conditions: &[Labelled], read: &Read) -> String {
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
