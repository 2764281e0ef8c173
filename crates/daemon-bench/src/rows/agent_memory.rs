//! The memory of an agent with 100,000 entries, compared with an index that ranks every match.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use daemon_store::agent_memory::{AgentMemory as _, MemoryEntry, RecallWords};
use daemon_store_sqlite::SqliteMemory;
use jiff::Timestamp;
use rusqlite::{Connection, params};
use tokio::runtime::Runtime;

use crate::kit::Sample;
use crate::report::{Row, duration};

const N_ENTRIES: u64 = 100_000;
const N_QUERIES: u64 = 2_000;
/// The peer gets fewer, since each takes much longer.
const N_PEER_QUERIES: u64 = 100;
const N_KEPT: u64 = 500;
const MOST_WORDS: u64 = 6;
const LIMIT: usize = 5;
const MUST_RECALL: f64 = 5e6;
const MUST_KEEP: f64 = 2e6;
/// Memory, where there is such a file system: 100,000 synced commits would take minutes, and a recall reads no disk in either case.
const QUICK: &str = "/dev/shm";

pub(super) fn recall() -> Result<Row> {
    let quick = Path::new(QUICK);
    let scratch = match quick.is_dir() {
        true => tempfile::tempdir_in(quick)?,
        false => tempfile::tempdir()?,
    };
    let runtime = runtime()?;
    let path = scratch.path().join("memory.db");
    let memory = filled(&runtime, &path)?;
    let mut times = Vec::new();
    for n in 0..N_QUERIES {
        let query = query(n);
        let begun = Instant::now();
        let words = RecallWords::parse(&query);
        black_box(runtime.block_on(memory.recall(&words, LIMIT))?);
        times.push(nanoseconds(begun));
    }
    let p99 = percentile(&times, 99);
    let peer = Sample::of("FTS5, every match ranked", unbounded(scratch.path())?);
    let ours = Sample::of("recall", times);
    Ok(Row::new(
        "memory-recall",
        "five entries for up to six words, of 100,000 entries of an agent",
        &ours,
    )
    .compared_with(&ours, &peer)
    .must(
        format!("p99 ≤ {}", duration(MUST_RECALL)),
        duration(p99),
        p99 <= MUST_RECALL,
    )
    .note("Words of entries and queries have the frequencies of a natural language (Zipf)."))
}

pub(super) fn remember() -> Result<Row> {
    let scratch = tempfile::tempdir()?;
    let runtime = runtime()?;
    let memory = SqliteMemory::new(scratch.path().join("memory.db"));
    let plain = plain(&scratch.path().join("plain.db"))?;
    let mut times: [Vec<f64>; 2] = [const { Vec::new() }; 2];
    // In turns, since disks drift.
    for n in 0..N_KEPT {
        let entry = entry(n)?;
        let begun = Instant::now();
        plain.execute(
            "INSERT INTO entry VALUES (?1, ?2)",
            params![entry.name(), entry.content()],
        )?;
        times[1].push(nanoseconds(begun));
        let begun = Instant::now();
        runtime.block_on(memory.remember(entry, Timestamp::UNIX_EPOCH))?;
        times[0].push(nanoseconds(begun));
    }
    let [ours, plain] = times;
    let ours = Sample::of("remember", ours);
    let plain = Sample::of("one synced row without an index of words", plain);
    Ok(Row::new(
        "memory-remember",
        "one durable entry in the memory of an agent",
        &ours,
    )
    .limited_by(&ours, &plain)
    .must_take_at_most(&ours, MUST_KEEP)
    .note("Every commit with `synchronous=FULL`, on the disk of the temporary directory."))
}

fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

fn nanoseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e9
}

fn percentile(times: &[f64], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) * percent / 100]
}

fn filled(runtime: &Runtime, path: &Path) -> Result<SqliteMemory> {
    let memory = SqliteMemory::new(path.to_owned());
    for n in 0..N_ENTRIES {
        runtime.block_on(memory.remember(entry(n)?, Timestamp::UNIX_EPOCH))?;
    }
    Ok(memory)
}

/// Ranks all entries that have a word of the query, as an index without a bound does.
fn unbounded(folder: &Path) -> Result<Vec<f64>> {
    let conn = Connection::open(folder.join("peer.db"))?;
    conn.execute_batch("CREATE VIRTUAL TABLE word USING fts5 (name, content); BEGIN")?;
    for n in 0..N_ENTRIES {
        let entry = entry(n)?;
        conn.prepare_cached("INSERT INTO word VALUES (?1, ?2)")?
            .execute(params![entry.name(), entry.content()])?;
    }
    conn.execute_batch("COMMIT")?;
    let mut find =
        conn.prepare("SELECT name, content FROM word WHERE word MATCH ?1 ORDER BY rank LIMIT ?2")?;
    let mut times = Vec::new();
    for n in 0..N_PEER_QUERIES {
        let words = query(n).split(' ').collect::<Vec<_>>().join(" OR ");
        let begun = Instant::now();
        let found = find.query_map(params![words, LIMIT as i64], |row| row.get::<_, String>(1))?;
        black_box(found.collect::<Result<Vec<_>, _>>()?);
        times.push(nanoseconds(begun));
    }
    Ok(times)
}

fn plain(path: &Path) -> Result<Connection> {
    let conn = Connection::open(path)?;
    conn.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = full; CREATE TABLE entry (name, content)",
    )?;
    Ok(conn)
}

fn entry(n: u64) -> Result<MemoryEntry> {
    let mut dice = n;
    let content: Vec<String> = (0..30).map(|_| word(&mut dice)).collect();
    let alias = word(&mut dice);
    let name = format!("entry {n}");
    Ok(MemoryEntry::new(
        "note",
        &name,
        &content.join(" "),
        &[alias],
    )?)
}

fn query(n: u64) -> String {
    let mut dice = u64::MAX - n;
    let n_words = 1 + roll(&mut dice) % MOST_WORDS;
    let words = (0..n_words).map(|_| word(&mut dice));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns a word whose rank is distributed as by Zipf, of about 60,000.
fn word(dice: &mut u64) -> String {
    let uniform = (roll(dice) >> 11) as f64 / (1_u64 << 53) as f64;
    format!("w{}", (uniform * 11.0).exp() as u64)
}

/// SplitMix64.
fn roll(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
