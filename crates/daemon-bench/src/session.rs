//! One run of the program: measures the requested rows and prints their report.

use std::time::Instant;

use anyhow::{Result, bail, ensure};

use crate::report::BenchReport;
use crate::rows;

/// Measures the rows that the arguments name, and prints the report.
pub(crate) fn run() -> Result<()> {
    let (flags, names): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|arg| arg.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| *flag != "--json") {
        bail!("no flag `{flag}`; usage: daemon-bench [--json] [NAME...]");
    }
    let mut report = BenchReport::new();
    let chosen = rows::chosen(&names)?;
    let mut failed = Vec::new();
    for (n, row) in chosen.iter().enumerate() {
        eprintln!("{} of {}: {}", n + 1, chosen.len(), row.name);
        let began = Instant::now();
        match (row.measure)() {
            Ok(measured) => report.rows.push(measured),
            // The results of the other rows are printed, too: a session takes many minutes.
            Err(error) => {
                eprintln!("  {error:#}");
                failed.push(row.name);
            }
        }
        eprintln!("  {:.0} s", began.elapsed().as_secs_f64());
    }
    if flags.is_empty() {
        print!("{}", report.text());
    } else {
        println!("{}", serde_json::to_string(&report)?);
    }
    ensure!(failed.is_empty(), "not measured: {}", failed.join(", "));
    Ok(())
}
