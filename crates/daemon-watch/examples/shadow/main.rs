//! Compares the reader in shadow with the shipped one.
//!
//! - `shadow read LINE…` prints both readings and the parse.
//! - `shadow score CORPUS.jsonl PAYLOADS` scores both on labelled conditions, and times them.
//! - `shadow pairs` compares both on generated lines: each pair of guards with each noun, each value, each negation.

mod generated;
mod scored;

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use daemon_watch::{Interpretation, interpret, reader};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["read", ..] => arguments[1..].iter().try_for_each(|line| read(line)),
        ["score", corpus, payloads] => scored::print(Path::new(corpus), Path::new(payloads)),
        ["pairs"] => generated::print(),
        _ => Err("usage: shadow read LINE… | score CORPUS.jsonl PAYLOADS | pairs".into()),
    }
}

fn read(line: &str) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let shipped = interpret(line);
    writeln!(out, "{line}\n  shipped {}", described(&shipped, line))?;
    let meaning = reader::interpret(line);
    writeln!(out, "  shadow  {}", described(&meaning, line))?;
    if let Some(suggestion) = &meaning.suggestion {
        writeln!(out, "  nearest {suggestion}")?;
    }
    write!(out, "{}", reader::trace(line))?;
    Ok(())
}

/// Returns a reading as text: the status, each event with its filters, and what is left over.
fn described(meaning: &Interpretation, line: &str) -> String {
    let mut clauses: Vec<String> = Vec::new();
    for clause in &meaning.clauses {
        let mut filters: Vec<String> = (clause.filters.iter())
            .map(|at| meaning.filters[*at].test.to_string())
            .collect();
        filters.sort();
        for event in &clause.events {
            clauses.push(format!("{event} [{}]", filters.join("; ")));
        }
    }
    clauses.sort();
    let left: Vec<&str> = meaning.remainder.iter().map(|span| span.of(line)).collect();
    format!(
        "{}: {} left {left:?}",
        meaning.status.as_str(),
        clauses.join(", ")
    )
}
