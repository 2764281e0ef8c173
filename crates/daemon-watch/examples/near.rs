//! Prints the conditions of the corpus with a second parse that costs little more and means something else: `near [CORPUS.jsonl]`.
//!
//! A condition whose meaning hangs on a few points of cost is a place to look at, and seldom wrong.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use daemon_watch::{corpus, parse};

fn main() -> Result<(), Box<dyn Error>> {
    let ours =
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/watch/conditions.jsonl");
    let path = std::env::args_os().nth(1).map_or_else(ours, PathBuf::from);
    let conditions = corpus::conditions(&std::fs::read_to_string(path)?)?;
    let mut out = std::io::stdout().lock();
    let mut n_near = 0;
    for condition in &conditions {
        let Some(parse) = parse(&condition.condition) else {
            continue;
        };
        let Some(other) = &parse.runner_up else {
            continue;
        };
        n_near += 1;
        let reading = serde_json::to_value(&other.reading)?;
        let (status, clauses) = (&reading["status"], reading["clauses"].as_array());
        let n_clauses = clauses.map_or(0, Vec::len);
        writeln!(
            out,
            "{}: {}, or {}: {status}, {n_clauses} clauses",
            condition.condition, parse.cost, other.cost
        )?;
    }
    writeln!(
        out,
        "{n_near} of {} conditions have a near parse of another meaning",
        conditions.len()
    )?;
    Ok(())
}
