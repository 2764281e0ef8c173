//! The registered daemons in memory: their readings, their schedules, and the index that matches events.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, RwLock};

use daemon_cron::Schedule;
use daemon_engine::Gate;
use daemon_event::{DaemonKey, Event, Need, RepoName, Source};
use daemon_repo::DaemonSource;
use daemon_store::{DaemonRow, Validity};
use daemon_watch::{Interpretation, MatchIndex, Verdict};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::explain::{Decided, indexed};
use crate::ops::{OpError, OpErrorKind};
use crate::readings::Readings;
use crate::wire::VerdictObject;
use crate::zones::Zones;

/// What the store keeps of a daemon beside its row, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The version of this form.
    pub v: u32,
    /// Its conditions, as written.
    pub watch: Vec<String>,
    /// Its support tree.
    pub support: Vec<SupportEntry>,
}

/// One file of a support tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportEntry {
    /// Its path from the daemon's directory.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

/// One registered daemon.
#[derive(Clone, Debug)]
pub struct Registered {
    /// What the store keeps of it, without the text of its definition, which is parsed in `definition`.
    pub row: DaemonRow,
    /// Its conditions and support tree.
    pub definition: Definition,
    /// How its conditions are read, in their order.
    pub readings: Vec<Arc<Interpretation>>,
    /// Its schedule, if it has a valid one.
    pub schedule: Option<Schedule>,
    /// Its file and support tree, once its repository was read.
    pub source: Option<Arc<DaemonSource>>,
}

impl Registered {
    /// Compiles a row.
    pub fn new(row: DaemonRow) -> Self {
        Self::read_with(row, &Readings::default(), &Zones::default())
    }

    /// Compiles a row whose lines and zone may have been read for other daemons.
    pub fn read_with(mut row: DaemonRow, known: &Readings, zones: &Zones) -> Self {
        let text = std::mem::take(&mut row.definition);
        let definition: Definition = serde_json::from_str(&text).unwrap_or_default();
        let lines = definition.watch.iter();
        let readings = lines.map(|line| known.of(line)).collect();
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

    /// Adds what was read of it.
    #[must_use]
    pub fn with_source(self, source: DaemonSource) -> Self {
        Self {
            source: Some(Arc::new(source)),
            ..self
        }
    }

    /// Reports whether it may wake.
    pub fn is_valid(&self) -> bool {
        self.row.validity == Validity::Valid
    }

    /// Returns its first tick after an instant.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.schedule
            .as_ref()
            .filter(|_| self.is_valid())?
            .next_after(after)
    }

    /// Returns its expression and zone.
    pub fn schedule_text(&self) -> Option<(&str, &str)> {
        self.row
            .schedule
            .as_ref()
            .map(|text| (text.expression.as_str(), text.zone.as_str()))
    }

    /// Returns how its conditions are read, for programs.
    pub fn conditions_json(&self) -> Value {
        Value::Array(indexed(&Decided::all(&self.definition.watch, None)))
    }

    /// Returns the facts without which it cannot be said whether an event wakes it; none where it does.
    pub fn lacks(&self, event: &Event) -> BTreeSet<Need> {
        let mut lacking = BTreeSet::new();
        for reading in &self.readings {
            match reading.wakes(event) {
                Verdict::Wakes => return BTreeSet::new(),
                Verdict::Missing(_) => lacking.extend(reading.missing(event)),
                Verdict::Sleeps => {}
            }
        }
        lacking
    }

    /// Names the kinds of events of which its conditions may need more than a payload says, with what they need.
    fn needing(&self) -> BTreeMap<(Source, &'static str), BTreeSet<Need>> {
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

    /// Returns the indexes of the conditions that an event meets.
    pub fn met_by(&self, event: &Event) -> Vec<u32> {
        let met = self
            .readings
            .iter()
            .enumerate()
            .filter(|(_, reading)| reading.wakes(event) == Verdict::Wakes);
        met.map(|(index, _)| u32::try_from(index).expect("a list has few entries"))
            .collect()
    }
}

/// A repository (none for sources that name none), a source and a kind.
type Place = (String, Source, &'static str);

/// All registered daemons.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    daemons: BTreeMap<DaemonKey, Arc<Registered>>,
    /// Who may need more of an event than its payload says, by repository, source and kind.
    needing: HashMap<Place, BTreeMap<DaemonKey, BTreeSet<Need>>>,
}

impl Registry {
    /// Walks all daemons by repository and id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Registered>> {
        self.daemons.values()
    }

    /// Finds a daemon.
    pub fn find_key(&self, key: &DaemonKey) -> Option<&Arc<Registered>> {
        self.daemons.get(key)
    }

    /// Finds a daemon by its id, and by its repository where two share it.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn find(&self, id: &str, repo: Option<&RepoName>) -> Result<&Arc<Registered>, OpError> {
        let mut found = self.daemons.values().filter(|daemon| {
            daemon.row.key.id.as_str() == id
                && repo.is_none_or(|repo| daemon.row.key.repo.folded() == repo.folded())
        });
        match (found.next(), found.next()) {
            (None, _) => Err(OpError::not_found("daemon", id)),
            (Some(daemon), None) => Ok(daemon),
            (Some(one), Some(other)) => {
                let repos = format!("`{}` and `{}`", one.row.key.repo, other.row.key.repo);
                let error = OpError::new(
                    OpErrorKind::InvalidParams,
                    "ambiguous-daemon",
                    format!("{repos} both have a daemon `{id}`"),
                );
                Err(error.with_help(
                    "name the repository too: `--repo DIR` for a command, `?repo=NAME` for a route",
                ))
            }
        }
    }

    /// Returns whom a fact that an event lacks keeps from being decided, with the facts.
    ///
    /// An event of a repository that does not name it lacks nothing: nobody could be asked.
    pub fn lacking(&self, event: &Event) -> Vec<(&Arc<Registered>, BTreeSet<Need>)> {
        if self.needing.is_empty() {
            return Vec::new();
        }
        let repo = event.repo.as_ref().map(RepoName::folded);
        let kind = daemon_event::vocabulary::kinds()
            .iter()
            .find(|kind| kind.source == event.source && kind.name == event.kind);
        let Some(kind) = kind else { return Vec::new() };
        let place = (repo.unwrap_or_default(), event.source, kind.name);
        // Of a push the files are known: nobody's conditions are decided a second time.
        let may_lack = |need: &Need| match need {
            Need::ChangedFiles | Need::ChannelName | Need::LabelName => {
                event.facts.get(need.field()).is_none()
            }
            Need::PullRequests => true,
        };
        let keys = self.needing.get(&place).into_iter().flatten();
        let keys = keys.filter(|(_, needs)| needs.iter().any(may_lack));
        let daemons = keys.filter_map(|(key, _)| self.daemons.get(key));
        daemons
            .map(|daemon| (daemon, daemon.lacks(event)))
            .filter(|(_, needs)| !needs.is_empty())
            .collect()
    }

    /// Reports whether a valid daemon may need more of events of a source than their payloads say.
    pub fn needs_of(&self, source: Source) -> bool {
        self.needing
            .keys()
            .any(|(_, needing, _)| *needing == source)
    }

    fn put(&mut self, daemon: Registered) {
        let key = daemon.row.key.clone();
        if daemon.is_valid() {
            for ((source, kind), needs) in daemon.needing() {
                let repo = match source {
                    Source::Github | Source::Git => key.repo.folded(),
                    Source::Linear | Source::Slack | Source::Sentry => String::new(),
                };
                let keys = self.needing.entry((repo, source, kind)).or_default();
                keys.insert(key.clone(), needs);
            }
        }
        self.daemons.insert(key, Arc::new(daemon));
    }

    fn remove(&mut self, key: &DaemonKey) {
        self.daemons.remove(key);
        self.needing.retain(|_, keys| {
            keys.remove(key);
            !keys.is_empty()
        });
    }

    /// Adds to an event's verdicts those of every condition that did not wake its daemon.
    pub fn complete_verdicts(&self, event: &Event, verdicts: &mut Vec<VerdictObject>) {
        for daemon in self.daemons.values() {
            let concerns = match &event.repo {
                None => true,
                Some(repo) => repo.folded() == daemon.row.key.repo.folded(),
            };
            if !concerns {
                continue;
            }
            for index in 0..daemon.readings.len() {
                let condition = u32::try_from(index).expect("a list has few entries");
                let id = daemon.row.key.id.as_str();
                if !verdicts
                    .iter()
                    .any(|known| known.daemon_id == id && known.condition == condition)
                {
                    let daemon_id = id.to_owned();
                    verdicts.push(VerdictObject {
                        daemon_id,
                        condition,
                        wakes: false,
                        activation_id: None,
                    });
                }
            }
        }
    }
}

/// The registry as the tasks of a host share it.
#[derive(Clone, Debug, Default)]
pub struct SharedRegistry {
    current: Arc<RwLock<Arc<Registry>>>,
    index: Arc<RwLock<MatchIndex<DaemonKey>>>,
    readings: Arc<Readings>,
    zones: Arc<Zones>,
}

impl SharedRegistry {
    /// Makes a registry of rows that a store holds.
    pub fn of(rows: Vec<DaemonRow>) -> Self {
        let shared = Self::default();
        let daemons = rows.into_iter().map(|row| shared.compile(row)).collect();
        shared.replace_all(daemons);
        shared
    }

    /// Compiles a row; a line that a registered daemon has is not read again.
    pub fn compile(&self, row: DaemonRow) -> Registered {
        Registered::read_with(row, &self.readings, &self.zones)
    }

    /// Compiles a row, or takes over what is known of it where it wakes as before.
    pub(crate) fn renew(&self, known: &Registry, row: DaemonRow) -> Registered {
        match known.find_key(&row.key) {
            Some(old) if old.row.rev == row.rev && old.row.schedule == row.schedule => Registered {
                row: DaemonRow {
                    definition: String::new(),
                    ..row
                },
                ..Registered::clone(old)
            },
            _ => self.compile(row),
        }
    }

    /// Returns the daemons as they are.
    pub fn get(&self) -> Arc<Registry> {
        Arc::clone(&self.current.read().expect("no holder panics"))
    }

    /// Makes the daemons of one repository what they are now.
    pub fn replace(&self, repo: &RepoName, daemons: Vec<Registered>) {
        self.change(|key| key.repo == *repo, daemons);
    }

    /// Makes the daemons of all repositories what they are now.
    pub(crate) fn replace_all(&self, daemons: Vec<Registered>) {
        self.change(|_| true, daemons);
    }

    fn change(&self, is_replaced: impl Fn(&DaemonKey) -> bool, daemons: Vec<Registered>) {
        let mut next = Registry::clone(&self.get());
        let mut index = self.index.write().expect("no holder panics");
        let kept: BTreeSet<DaemonKey> = daemons
            .iter()
            .filter(|new| {
                next.find_key(&new.row.key)
                    .is_some_and(|old| reads_alike(old, new))
            })
            .map(|new| new.row.key.clone())
            .collect();
        let gone: Vec<DaemonKey> = next
            .daemons
            .keys()
            .filter(|key| is_replaced(key))
            .cloned()
            .collect();
        for key in gone {
            next.remove(&key);
            if !kept.contains(&key) {
                index.remove(&key);
            }
        }
        for daemon in daemons {
            let key = daemon.row.key.clone();
            if daemon.is_valid() && !kept.contains(&key) {
                for (condition, reading) in daemon.readings.iter().enumerate() {
                    index.insert(&key.repo, &key, condition, reading);
                }
            }
            next.put(daemon);
        }
        *self.current.write().expect("no holder panics") = Arc::new(next);
    }

    /// Notes a gate that changed.
    pub fn set_gate(&self, key: &DaemonKey, gate: Gate) {
        let mut current = self.current.write().expect("no holder panics");
        let next = Arc::make_mut(&mut current);
        if let Some(daemon) = next.daemons.get_mut(key) {
            Arc::make_mut(daemon).row.gate = gate;
        }
    }

    /// Returns whom an event wakes, with the conditions that it meets.
    pub fn matches(&self, event: &Event) -> BTreeMap<DaemonKey, Vec<u32>> {
        let mut found = Vec::new();
        self.index
            .read()
            .expect("no holder panics")
            .matches(event, &mut found);
        let mut woken: BTreeMap<DaemonKey, Vec<u32>> = BTreeMap::new();
        for (key, condition) in found {
            woken
                .entry(key)
                .or_default()
                .push(u32::try_from(condition).expect("a list has few entries"));
        }
        for conditions in woken.values_mut() {
            conditions.sort_unstable();
            conditions.dedup();
        }
        woken
    }
}

/// Reports whether two states of a daemon match the same events.
fn reads_alike(old: &Registered, new: &Registered) -> bool {
    old.row.validity == new.row.validity && old.definition.watch == new.definition.watch
}
