//! Runs the benchmarks and writes the performance page.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::shell;

const PAGE: &str = "docs/PERFORMANCE.md";

/// The output of `daemon-bench --json`.
#[derive(Debug, Deserialize)]
struct Report {
    date: String,
    machine: Machine,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Machine {
    cpu: String,
    cores: usize,
    memory: String,
    kernel: String,
}

#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    what: String,
    ours: Measured,
    peers: Vec<Peer>,
    limit: Option<Peer>,
    must: Vec<Must>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Peer {
    name: String,
    measured: Measured,
    ratio: String,
}

#[derive(Debug, Deserialize)]
struct Measured {
    median: String,
    spread: String,
}

#[derive(Debug, Deserialize)]
struct Must {
    text: String,
    got: String,
    is_met: bool,
}

/// Runs the benchmark, prints the table, and writes the page when every row was measured.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<ExitCode> {
    // The rows start these programs, which `cargo run` alone would not build.
    let build = [
        "build",
        "--profile",
        "measure",
        "--locked",
        "-p",
        "daemon-lint",
        "-p",
        "daemon-run",
        "-p",
        "daemon-bench",
    ];
    shell::run(&mut shell::cargo(root, &build))?;
    let measure = [
        "run",
        "--profile",
        "measure",
        "--quiet",
        "--locked",
        "-p",
        "daemon-bench",
        "--",
        "--json",
    ];
    let mut command = shell::cargo(root, &measure);
    command.args(names);
    let (status, json) = shell::output(&mut command)?;
    let report: Report =
        serde_json::from_str(&json).context("failed to read the report of `daemon-bench`")?;
    let table = table(&report);
    println!("{table}");
    if !status.success() {
        // The benchmark has printed which row failed. A page with some rows missing would look like a full one.
        return Ok(ExitCode::FAILURE);
    }
    if names.is_empty() {
        std::fs::write(root.join(PAGE), page(&report, &table))
            .with_context(|| format!("failed to write `{PAGE}`"))?;
        println!("wrote {PAGE}");
    }
    Ok(ExitCode::SUCCESS)
}

fn page(report: &Report, table: &str) -> String {
    format!(
        "# Performance\n\n\
         Ours compared with the alternatives that a user has and with the limit of the machine, measured in turns in the same\n\
         process on the same input. `cargo xtask bench` writes this page. The times are of this machine; the ratios\n\
         hold on others, too. Medians of repeated batches, in the processor time of the thread where it waits for\n\
         nothing; the spread is half of the interquartile range of the batches.\n\
         Everything is built with cargo's default release settings, as for a program that embeds a library.\n\n\
         {}, {} cores, {}, {}; {}.\n\n{table}",
        report.machine.cpu,
        report.machine.cores,
        report.machine.memory,
        report.machine.kernel,
        report.date
    )
}

fn table(report: &Report) -> String {
    let mut acc = String::from(
        "| row | ours | compared with | ratio | must | |\n|---|---|---|---|---|---|\n",
    );
    for row in &report.rows {
        let peers = row.peers.iter().chain(&row.limit);
        let compared = join(
            peers
                .clone()
                .map(|peer| format!("{} {}", peer.name, peer.measured.median)),
        );
        let ratios = join(peers.map(|peer| peer.ratio.clone()));
        let musts = join(row.must.iter().map(|must| must.text.clone()));
        let marks = join(row.must.iter().map(Must::mark));
        let Row { name, ours, .. } = row;
        line(
            &mut acc,
            &format!(
                "| `{name}` | {} ± {} | {compared} | {ratios} | {musts} | {marks} |",
                ours.median, ours.spread
            ),
        );
    }
    acc.push('\n');
    for row in &report.rows {
        line(&mut acc, &format!("- `{}`: {}.", row.name, row.what));
        for note in &row.notes {
            line(&mut acc, &format!("  {note}"));
        }
    }
    acc
}

impl Must {
    fn mark(&self) -> String {
        let word = if self.is_met { "met" } else { "**missed**" };
        format!("{word} ({})", self.got)
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        "–".to_owned()
    } else {
        parts.join("<br>")
    }
}

fn line(acc: &mut String, text: &str) {
    writeln!(acc, "{text}").expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_ours_its_peers_and_whether_each_number_is_met() {
        let json = r#"{"date":"2026-11-20","machine":{"cpu":"C","cores":2,"memory":"4 GiB","kernel":"Linux 6"},
            "rows":[{"name":"next","what":"next occurrence","ours":{"median":"10 ns","spread":"1 ns"},
            "peers":[{"name":"cron","measured":{"median":"400 ns","spread":"9 ns"},"ratio":"40 x"}],"limit":null,
            "must":[{"text":"35 x cron","got":"40 x","is_met":true},{"text":"5 ns","got":"10 ns","is_met":false}],
            "notes":["Twelve expressions."]}]}"#;
        let report: Report = serde_json::from_str(json).unwrap();
        assert_eq!(
            table(&report),
            "| row | ours | compared with | ratio | must | |\n|---|---|---|---|---|---|\n\
             | `next` | 10 ns ± 1 ns | cron 400 ns | 40 x | 35 x cron<br>5 ns | met (40 x)<br>**missed** (10 ns) |\n\n\
             - `next`: next occurrence.\n  Twelve expressions.\n"
        );
        assert!(page(&report, "").contains("C, 2 cores, 4 GiB, Linux 6; 2026-11-20."));
    }
}
