//! One registered daemon, compiled from its row.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daemon_cron::Schedule;
use daemon_event::{Event, Need, Source};
use daemon_repo::DaemonSource;
use daemon_store::{DaemonRow, Validity};
use daemon_watch::{Interpretation, WakeVerdict};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::condition_cache::ConditionCache;
use crate::zone_cache::ZoneCache;

/// The `definition` column of a daemon's row, which the store keeps as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The version of this format; 1.
    pub v: u32,
    /// The `watch` lines, as the author wrote them.
    pub watch: Vec<String>,
    /// The files of the support tree, without their content.
    pub support: Vec<RegisteredFile>,
}

/// One file of a support tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredFile {
    /// The path, relative to the daemon's directory.
    pub path: String,
    /// The size in bytes.
    pub bytes: u64,
    /// Whether git records it as executable.
    pub executable: bool,
}

/// One registered daemon.
#[derive(Clone, Debug)]
pub struct Registered {
    /// The row of the store with an empty `definition` column, since `definition` holds it parsed.
    pub row: DaemonRow,
    /// The conditions and the support tree.
    pub definition: Definition,
    /// The interpretation of each condition, in the order of `definition.watch`.
    pub readings: Vec<Arc<Interpretation>>,
    /// The schedule; `None` without one, or if its expression or zone is invalid.
    pub schedule: Option<Schedule>,
    /// The file and its support tree; `None` until this process has read the repository.
    pub source: Option<Arc<DaemonSource>>,
}

impl Registered {
    /// Compiles a row on its own, without sharing interpretations or zones with other daemons.
    pub fn new(row: DaemonRow) -> Self {
        Self::compile(row, &ConditionCache::default(), &ZoneCache::default())
    }

    /// Compiles a row, reusing the interpretations and zones of other daemons.
    pub(crate) fn compile(
        mut row: DaemonRow,
        conditions: &ConditionCache,
        zones: &ZoneCache,
    ) -> Self {
        let text = std::mem::take(&mut row.definition);
        // A row of a version that cannot be parsed leaves a daemon without conditions: it wakes on its schedule only, and the
        // next reading of its repository writes the row again.
        let definition: Definition = serde_json::from_str(&text).unwrap_or_default();
        let lines = definition.watch.iter();
        let readings = lines.map(|line| conditions.get(line)).collect();
        let schedule = row.schedule.as_ref().and_then(|text| {
            let zone = zones.get(&text.zone)?;
            Some(Schedule::new(text.expression.parse().ok()?, zone))
        });
        Self {
            row,
            definition,
            readings,
            schedule,
            source: None,
        }
    }

    /// Adds the file and support tree that were read from the repository.
    #[must_use]
    pub fn with_source(self, source: DaemonSource) -> Self {
        Self {
            source: Some(Arc::new(source)),
            ..self
        }
    }

    /// Reports whether the daemon file is valid, so that triggers may wake the daemon.
    pub fn is_valid(&self) -> bool {
        self.row.validity == Validity::Valid
    }

    /// Returns the first tick strictly after an instant; `None` for an invalid daemon or one without a schedule.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.schedule
            .as_ref()
            .filter(|_| self.is_valid())?
            .next_after(after)
    }

    /// Returns the expression and the zone name of the schedule as the row has them, valid or not.
    pub fn schedule_text(&self) -> Option<(&str, &str)> {
        self.row
            .schedule
            .as_ref()
            .map(|text| (text.expression.as_str(), text.zone.as_str()))
    }

    /// Returns the facts that must be fetched before it is decided whether an event wakes the daemon; empty if it is decided.
    pub fn missing_facts(&self, event: &Event) -> BTreeSet<Need> {
        let mut missing = BTreeSet::new();
        for reading in &self.readings {
            match reading.wakes(event) {
                WakeVerdict::Wakes => return BTreeSet::new(),
                WakeVerdict::Missing(_) => missing.extend(reading.missing(event)),
                WakeVerdict::Sleeps => {}
            }
        }
        missing
    }

    /// Returns, for each kind of event the conditions name, the facts that its payload may not contain.
    pub(crate) fn needs_by_kind(&self) -> BTreeMap<(Source, &'static str), BTreeSet<Need>> {
        let mut kinds: BTreeMap<_, BTreeSet<Need>> = BTreeMap::new();
        for reading in &self.readings {
            for clause in &reading.clauses {
                for event in &clause.events {
                    let fields = clause.filters.iter();
                    let fields = fields.map(|index| reading.filters[*index].test.field());
                    let needs: BTreeSet<Need> = fields
                        .filter_map(|field| Need::of(field, event.kind))
                        .collect();
                    if !needs.is_empty() {
                        kinds
                            .entry((event.source, event.kind))
                            .or_default()
                            .extend(needs);
                    }
                }
            }
        }
        kinds
    }

    /// Returns the indexes of the conditions that an event meets, in ascending order.
    pub fn met_by(&self, event: &Event) -> Vec<u32> {
        let met = self
            .readings
            .iter()
            .enumerate()
            .filter(|(_, reading)| reading.wakes(event) == WakeVerdict::Wakes);
        met.map(|(index, _)| u32::try_from(index).expect("a list has few entries"))
            .collect()
    }
}
