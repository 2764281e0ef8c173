//! The rows of the performance page, one module each.

mod cron;
mod discovery;
mod host;
mod lint;
mod parse;
mod redact;
mod runs;
mod schedule;
mod store;
mod watch;

use anyhow::{Result, bail};

use crate::report::Row;

/// A row that can be chosen by name.
pub(crate) struct Entry {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Measures it.
    pub(crate) measure: fn() -> Result<Row>,
}

/// Every row, in the order of the page.
const ROWS: &[Entry] = &[
    Entry {
        name: "parse",
        measure: parse::measure,
    },
    Entry {
        name: "lint",
        measure: lint::measure,
    },
    Entry {
        name: "cron-next",
        measure: cron::next,
    },
    Entry {
        name: "cron-next-zone",
        measure: cron::next_in_zone,
    },
    Entry {
        name: "cron-impossible",
        measure: cron::impossible,
    },
    Entry {
        name: "cron-parse",
        measure: cron::parse,
    },
    Entry {
        name: "schedule",
        measure: schedule::measure,
    },
    Entry {
        name: "discovery",
        measure: discovery::measure,
    },
    Entry {
        name: "ticks-10k",
        measure: host::ticks,
    },
    Entry {
        name: "outage",
        measure: host::outage,
    },
    Entry {
        name: "idle-10k",
        measure: host::idle,
    },
    Entry {
        name: "wake-start",
        measure: host::wake,
    },
    Entry {
        name: "intake-large",
        measure: host::intake_large,
    },
    Entry {
        name: "intake-silent",
        measure: host::intake_silent,
    },
    Entry {
        name: "intake-slow",
        measure: host::intake_slow,
    },
    Entry {
        name: "store-activations",
        measure: store::measure,
    },
    Entry {
        name: "run-list",
        measure: runs::list,
    },
    Entry {
        name: "run-spawn",
        measure: runs::spawn,
    },
    Entry {
        name: "noisy-runs",
        measure: runs::noisy,
    },
    Entry {
        name: "run-stop",
        measure: runs::stop,
    },
    Entry {
        name: "redact",
        measure: redact::measure,
    },
    Entry {
        name: "watch-interpret",
        measure: watch::interpret_one,
    },
    Entry {
        name: "watch-match",
        measure: watch::match_many,
    },
    Entry {
        name: "watch-match-one",
        measure: watch::match_one_repository,
    },
];

/// Returns the rows whose name is, or begins with, one of `names`; all of them when there is none.
///
/// # Errors
/// When a name chooses nothing.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Entry>> {
    let chooses = |name: &str, entry: &Entry| {
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
    fn a_name_chooses_its_rows_and_an_unknown_one_is_refused() {
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
