//! Runs the benchmarks and writes the performance page.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::shell;

const PAGE: &str = "docs/PERFORMANCE.md";
/// The rows of the page as data, so that a row can be measured again without the others.
const DATA: &str = "docs/performance.json";

/// The output of `daemon-bench --json`.
#[derive(Debug, Deserialize)]
struct Report {
    date: String,
    machine: Machine,
    rows: Vec<Row>,
}

/// The content of the page.
#[derive(Debug, Deserialize, Serialize)]
struct Measurements {
    machine: Machine,
    rows: Vec<DatedRow>,
}

/// A row, and the day on which it was measured.
#[derive(Debug, Deserialize, Serialize)]
struct DatedRow {
    date: String,
    #[serde(flatten)]
    row: Row,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Machine {
    cpu: String,
    cores: usize,
    memory: String,
    kernel: String,
}

#[derive(Debug, Deserialize, Serialize)]
struct Row {
    name: String,
    what: String,
    ours: Measured,
    peers: Vec<Peer>,
    limit: Option<Peer>,
    must: Vec<Must>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Peer {
    name: String,
    measured: Measured,
    ratio: String,
}

#[derive(Debug, Deserialize, Serialize)]
struct Measured {
    median: String,
    spread: String,
}

#[derive(Debug, Deserialize, Serialize)]
struct Must {
    text: String,
    got: String,
    is_met: bool,
}

/// Runs the benchmark, prints the table, and writes the page: the rows that were measured take the place of those that it had.
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
    println!("{}", table(&report.rows.iter().collect::<Vec<_>>()));
    if !status.success() {
        // The benchmark has printed which row failed. A page with some rows missing would look like a full one.
        return Ok(ExitCode::FAILURE);
    }
    let known = match std::fs::read_to_string(root.join(DATA)) {
        Ok(text) if !names.is_empty() => {
            serde_json::from_str(&text).with_context(|| format!("failed to read `{DATA}`"))?
        }
        _ => None,
    };
    let Some(merged) = merged(known, report) else {
        println!(
            "{PAGE} is of another machine and was left as it is; measure every row to write it"
        );
        return Ok(ExitCode::SUCCESS);
    };
    let mut data = serde_json::to_string_pretty(&merged)?;
    data.push('\n');
    for (path, text) in [(DATA, data), (PAGE, page(&merged))] {
        std::fs::write(root.join(path), text)
            .with_context(|| format!("failed to write `{path}`"))?;
        println!("wrote {path}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Puts measured rows in the place of those known before; `None` if those are of another machine.
fn merged(known: Option<Measurements>, report: Report) -> Option<Measurements> {
    let Report {
        date,
        machine,
        rows,
    } = report;
    let mut merged = known.unwrap_or(Measurements {
        machine: machine.clone(),
        rows: Vec::new(),
    });
    (merged.machine.is_like(&machine)).then_some(())?;
    merged.machine = machine;
    for row in rows {
        let date = date.clone();
        let dated = DatedRow { date, row };
        match (merged.rows.iter_mut()).find(|known| known.row.name == dated.row.name) {
            Some(known) => *known = dated,
            None => merged.rows.push(dated),
        }
    }
    Some(merged)
}

impl Machine {
    /// Whether times of both can be compared.
    fn is_like(&self, other: &Self) -> bool {
        (&self.cpu, self.cores) == (&other.cpu, other.cores)
    }
}

fn page(measured: &Measurements) -> String {
    let mut dates: Vec<&str> = measured.rows.iter().map(|row| row.date.as_str()).collect();
    dates.sort_unstable();
    dates.dedup();
    let Machine {
        cpu,
        cores,
        memory,
        kernel,
    } = &measured.machine;
    let mut acc = format!(
        "# Performance\n\n\
         Ours compared with the alternatives that a user has and with the limit of the machine, measured in turns in the same\n\
         process on the same input. `cargo xtask bench` writes this page, and `cargo xtask bench ROW` measures one row again. The\n\
         times are of this machine; the ratios hold on others, too. Medians of repeated batches, in the processor time of the\n\
         thread where it waits for nothing; the spread is half of the interquartile range of the batches.\n\
         Everything is built with cargo's default release settings, as for a program that embeds a library.\n\n\
         {cpu}, {cores} cores, {memory}, {kernel}.\n"
    );
    for date in dates {
        let rows = measured.rows.iter().filter(|row| row.date == date);
        let rows: Vec<&Row> = rows.map(|row| &row.row).collect();
        line(&mut acc, &format!("\n## Measured on {date}\n"));
        acc.push_str(&table(&rows));
    }
    acc
}

fn table(rows: &[&Row]) -> String {
    let mut acc = String::from(
        "| row | ours | compared with | ratio | must | |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
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
    for row in rows {
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
            table(&report.rows.iter().collect::<Vec<_>>()),
            "| row | ours | compared with | ratio | must | |\n|---|---|---|---|---|---|\n\
             | `next` | 10 ns ± 1 ns | cron 400 ns | 40 x | 35 x cron<br>5 ns | met (40 x)<br>**missed** (10 ns) |\n\n\
             - `next`: next occurrence.\n  Twelve expressions.\n"
        );
        let page = page(&merged(None, report).unwrap());
        assert!(page.contains("\nC, 2 cores, 4 GiB, Linux 6.\n\n## Measured on 2026-11-20\n"));
    }

    fn report(date: &str, cores: usize, rows: &[(&str, &str)]) -> Report {
        let row = |(name, median): &(&str, &str)| Row {
            name: (*name).to_owned(),
            what: "it".to_owned(),
            ours: Measured {
                median: (*median).to_owned(),
                spread: "0 ns".to_owned(),
            },
            peers: Vec::new(),
            limit: None,
            must: Vec::new(),
            notes: Vec::new(),
        };
        Report {
            date: date.to_owned(),
            machine: Machine {
                cpu: "C".to_owned(),
                cores,
                memory: "4 GiB".to_owned(),
                kernel: "Linux 6".to_owned(),
            },
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn a_row_that_is_measured_again_takes_the_place_of_the_earlier_one() {
        let all = merged(
            None,
            report("2026-11-20", 2, &[("a", "1 ns"), ("b", "2 ns")]),
        );
        let again = report("2026-11-21", 2, &[("c", "4 ns"), ("a", "3 ns")]);
        let page = page(&merged(all, again).unwrap());
        let (before, after) = page.split_once("## Measured on 2026-11-21").unwrap();
        assert!(
            before.contains("| `b` | 2 ns ") && !before.contains("`a`"),
            "{page}"
        );
        assert!(
            after.contains("| `a` | 3 ns ") && after.contains("| `c` | 4 ns "),
            "{page}"
        );
    }

    #[test]
    fn rows_of_two_machines_are_not_mixed() {
        let all = merged(None, report("2026-11-20", 2, &[("a", "1 ns")]));
        assert!(merged(all, report("2026-11-21", 8, &[("a", "1 ns")])).is_none());
    }
}
