//! The rows of the performance page, one module each.

mod accept;
mod agent_memory;
mod cron;
mod discovery;
mod editor;
mod fleet;
mod host;
mod lint;
mod pages;
mod parse;
mod redact;
mod roster;
mod runs;
mod schedule;
mod store;
mod store_accept;
mod watch;

use anyhow::{Result, bail};

use crate::report::Row;

/// A row that can be selected by name.
pub(crate) struct RowEntry {
    /// The name on the command line and in the page.
    pub(crate) name: &'static str,
    /// Runs the measurement.
    pub(crate) measure: fn() -> Result<Row>,
}

/// Every row, in the order of the page.
const ROWS: &[RowEntry] = &[
    RowEntry {
        name: "parse",
        measure: parse::measure,
    },
    RowEntry {
        name: "editor",
        measure: editor::measure,
    },
    RowEntry {
        name: "lint",
        measure: lint::measure,
    },
    RowEntry {
        name: "cron-next",
        measure: cron::next,
    },
    RowEntry {
        name: "cron-next-zone",
        measure: cron::next_in_zone,
    },
    RowEntry {
        name: "cron-impossible",
        measure: cron::impossible,
    },
    RowEntry {
        name: "cron-parse",
        measure: cron::parse,
    },
    RowEntry {
        name: "schedule",
        measure: schedule::measure,
    },
    RowEntry {
        name: "discovery",
        measure: discovery::measure,
    },
    RowEntry {
        name: "ticks-10k",
        measure: host::ticks,
    },
    RowEntry {
        name: "outage",
        measure: host::outage,
    },
    RowEntry {
        name: "idle-10k",
        measure: host::idle,
    },
    RowEntry {
        name: "wake-start",
        measure: host::wake,
    },
    RowEntry {
        name: "wake-500",
        measure: host::wake_500,
    },
    RowEntry {
        name: "wake-50k",
        measure: host::wake_50k,
    },
    RowEntry {
        name: "wake-200k",
        measure: host::wake_200k,
    },
    RowEntry {
        name: "trees-disk",
        measure: host::trees_disk,
    },
    RowEntry {
        name: "accept",
        measure: accept::measure,
    },
    RowEntry {
        name: "accept-match",
        measure: accept::matched,
    },
    RowEntry {
        name: "intake-rate",
        measure: host::intake_rate,
    },
    RowEntry {
        name: "intake-busy",
        measure: host::intake_busy,
    },
    RowEntry {
        name: "intake-large",
        measure: host::intake_large,
    },
    RowEntry {
        name: "intake-silent",
        measure: host::intake_silent,
    },
    RowEntry {
        name: "intake-slow",
        measure: host::intake_slow,
    },
    RowEntry {
        name: "store-accept",
        measure: store_accept::measure,
    },
    RowEntry {
        name: "store-activations",
        measure: store::measure,
    },
    RowEntry {
        name: "fleet-activations",
        measure: fleet::activations,
    },
    RowEntry {
        name: "fleet-import",
        measure: fleet::import,
    },
    RowEntry {
        name: "memory-recall",
        measure: agent_memory::recall,
    },
    RowEntry {
        name: "memory-remember",
        measure: agent_memory::remember,
    },
    RowEntry {
        name: "pages-roster",
        measure: pages::roster,
    },
    RowEntry {
        name: "pages-1m",
        measure: pages::million,
    },
    RowEntry {
        name: "roster-checkins",
        measure: roster::check_ins,
    },
    RowEntry {
        name: "run-list",
        measure: runs::list,
    },
    RowEntry {
        name: "run-spawn",
        measure: runs::spawn,
    },
    RowEntry {
        name: "noisy-runs",
        measure: runs::noisy,
    },
    RowEntry {
        name: "run-stop",
        measure: runs::stop,
    },
    RowEntry {
        name: "redact",
        measure: redact::measure,
    },
    RowEntry {
        name: "watch-interpret",
        measure: watch::interpret_one,
    },
    RowEntry {
        name: "watch-match",
        measure: watch::match_many,
    },
    RowEntry {
        name: "watch-match-one",
        measure: watch::match_one_repository,
    },
];

/// Returns the rows whose name is one of `names` or begins with one; all rows if `names` is empty.
///
/// # Errors
/// A name selects no row.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static RowEntry>> {
    let chooses = |name: &str, entry: &RowEntry| {
        entry.name == name || entry.name.starts_with(&format!("{name}-"))
    };
    if let Some(name) = names
        .iter()
        .find(|name| !ROWS.iter().any(|entry| chooses(name, entry)))
    {
        let known: Vec<&str> = ROWS.iter().map(|entry| entry.name).collect();
        bail!("no row `{name}`; there are {}", known.join(", "));
    }
    Ok(ROWS
        .iter()
        .filter(|entry| names.is_empty() || names.iter().any(|name| chooses(name, entry)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_selects_its_rows_and_an_unknown_one_is_refused() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
            chosen(&wanted)
                .map(|entries| entries.iter().map(|entry| entry.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), ROWS.len());
        assert_eq!(names(&["parse"]).unwrap(), ["parse"]);
        let refused = names(&["pars"]).unwrap_err().to_string();
        assert!(
            refused.starts_with("no row `pars`; there are parse"),
            "{refused}"
        );
    }
}
