//! The report: rows with their peers, their limit and the numbers they must reach.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde::Serialize;

use crate::kit::Sample;
use crate::machine::Machine;

/// All rows of one session on one machine.
#[derive(Debug, Serialize)]
pub(crate) struct BenchReport {
    schema_version: u32,
    date: String,
    machine: Machine,
    /// The rows in the order of the page.
    pub(crate) rows: Vec<Row>,
}

/// One measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    name: &'static str,
    what: &'static str,
    ours: Measured,
    peers: Vec<Peer>,
    limit: Option<Peer>,
    must: Vec<Must>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Peer {
    name: String,
    measured: Measured,
    ratio: String,
}

#[derive(Debug, Serialize)]
struct Measured {
    median: String,
    spread: String,
}

#[derive(Debug, Serialize)]
struct Must {
    text: String,
    got: String,
    is_met: bool,
}

impl BenchReport {
    /// Creates an empty report of this machine at this time.
    pub(crate) fn new() -> Self {
        let date = Timestamp::now().strftime("%Y-%m-%d").to_string();
        Self {
            schema_version: 1,
            date,
            machine: Machine::read(),
            rows: Vec::new(),
        }
    }

    /// Renders the report for a terminal.
    pub(crate) fn text(&self) -> String {
        let mut acc = String::new();
        for row in &self.rows {
            line(&mut acc, &format!("{}: {}", row.name, row.what));
            line(
                &mut acc,
                &format!("  ours   {:>10} ± {}", row.ours.median, row.ours.spread),
            );
            for peer in row.peers.iter().chain(&row.limit) {
                let Peer {
                    name,
                    measured,
                    ratio,
                } = peer;
                line(
                    &mut acc,
                    &format!(
                        "         {:>10} ± {}  {name}, {ratio}",
                        measured.median, measured.spread
                    ),
                );
            }
            for must in &row.must {
                let mark = if must.is_met { "met" } else { "MISSED" };
                line(
                    &mut acc,
                    &format!("  {mark:<6} {}: {}", must.text, must.got),
                );
            }
            for note in &row.notes {
                line(&mut acc, &format!("  {note}"));
            }
        }
        acc
    }
}

fn line(acc: &mut String, text: &str) {
    writeln!(acc, "{text}").expect("writing to a string cannot fail");
}

impl Row {
    /// Creates a row. `what` is printed after the name and a colon.
    pub(crate) fn new(name: &'static str, what: &'static str, ours: &Sample) -> Self {
        Self {
            name,
            what,
            ours: Measured::of(ours),
            peers: Vec::new(),
            limit: None,
            must: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Creates a row about space on disk in bytes, with that of an alternative.
    pub(crate) fn of_space(
        name: &'static str,
        what: &'static str,
        ours: u64,
        (peer, other): (&str, u64),
    ) -> Self {
        Self {
            name,
            what,
            ours: Measured::of_space(ours),
            peers: vec![Peer {
                name: peer.to_owned(),
                measured: Measured::of_space(other),
                ratio: times(other as f64 / ours as f64),
            }],
            limit: None,
            must: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds an alternative that a user has.
    pub(crate) fn compared_with(mut self, ours: &Sample, peer: &Sample) -> Self {
        self.peers.push(Peer::of(ours, peer));
        self
    }

    /// Sets the lower limit: the work that any implementation has to do.
    pub(crate) fn limited_by(mut self, ours: &Sample, limit: &Sample) -> Self {
        self.limit = Some(Peer::of(ours, limit));
        self
    }

    /// Requires at least `factor` times the speed of `peer`.
    pub(crate) fn must_beat(self, ours: &Sample, peer: &Sample, factor: f64) -> Self {
        let got = peer.over(ours);
        self.must(
            format!("≥ {factor} × {}", peer.name),
            times(got),
            got >= factor,
        )
    }

    /// Requires at most `limit` nanoseconds.
    pub(crate) fn must_take_at_most(self, ours: &Sample, limit: f64) -> Self {
        self.must(
            format!("≤ {}", duration(limit)),
            duration(ours.median),
            ours.median <= limit,
        )
    }

    /// Adds a requirement, described by `text`.
    pub(crate) fn must(
        mut self,
        text: impl Into<String>,
        got: impl Into<String>,
        is_met: bool,
    ) -> Self {
        self.must.push(Must {
            text: text.into(),
            got: got.into(),
            is_met,
        });
        self
    }

    /// Adds a note below the table.
    pub(crate) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }
}

impl Peer {
    fn of(ours: &Sample, peer: &Sample) -> Self {
        Self {
            name: peer.name.to_owned(),
            measured: Measured::of(peer),
            ratio: times(peer.over(ours)),
        }
    }
}

impl Measured {
    fn of(sample: &Sample) -> Self {
        Self {
            median: duration(sample.median),
            spread: duration(sample.spread),
        }
    }
}

impl Measured {
    fn of_space(bytes: u64) -> Self {
        Self {
            median: format!("{:.1} MB", bytes as f64 / 1e6),
            spread: "measured once".to_owned(),
        }
    }
}

/// Formats how many times faster ours is.
pub(crate) fn times(ratio: f64) -> String {
    let digits = if ratio < 10.0 { 2 } else { 0 };
    format!("{ratio:.digits$} ×")
}

/// Formats nanoseconds with three digits, in the unit that fits.
pub(crate) fn duration(nanoseconds: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (size, unit) = units
        .into_iter()
        .find(|(size, _)| nanoseconds >= *size)
        .unwrap_or((1.0, "ns"));
    let shown = nanoseconds / size;
    let digits = if shown < 10.0 {
        2
    } else {
        usize::from(shown < 100.0)
    };
    format!("{shown:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &'static str, median: f64) -> Sample {
        Sample {
            name,
            median,
            spread: 1.0,
        }
    }

    #[test]
    fn times_are_shown_with_three_digits_in_a_fitting_unit() {
        let shown = [0.5, 12.34, 999.0, 1_000.0, 43_210.0, 2.5e8, 3e9].map(duration);
        assert_eq!(
            shown,
            [
                "0.50 ns", "12.3 ns", "999 ns", "1.00 µs", "43.2 µs", "250 ms", "3.00 s"
            ]
        );
    }

    #[test]
    fn a_row_marks_what_is_met_and_what_is_missed() {
        let (ours, peer) = (sample("ours", 10.0), sample("peer", 400.0));
        let row = Row::new("row", "a thing", &ours)
            .must_beat(&ours, &peer, 35.0)
            .must_beat(&ours, &peer, 60.0)
            .must_take_at_most(&ours, 10.0);
        let marks: Vec<(&str, &str, bool)> = row
            .must
            .iter()
            .map(|must| (must.text.as_str(), must.got.as_str(), must.is_met))
            .collect();
        assert_eq!(
            marks,
            [
                ("≥ 35 × peer", "40 ×", true),
                ("≥ 60 × peer", "40 ×", false),
                ("≤ 10.0 ns", "10.0 ns", true)
            ]
        );
    }
}
