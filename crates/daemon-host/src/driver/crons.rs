//! Crons as keys of the one scheduler: their coverages, their ticks, and the turns that these start.
//!
//! A `once` cron leaves the disk before its tick is recorded, and a tick is recorded before its turn starts. A crash between two of
//! these loses the turn, never starts it twice, and leaves a row for the tick.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use daemon_agent::{AgentError, Conversations, Cron, Entries, cron_id, cron_key, crons_repo};
use daemon_records::failpoint;
use daemon_schedule::{Misfire, Overlap, TickOutcome, TickPolicy, Unfinished};
use daemon_store::{
    Coverage, Overdue, Query, ScheduleText, Store, StoreError, TickCommit, TickResult,
};
use jiff::Timestamp;

/// The ticks of crons.
#[derive(Clone)]
pub(super) struct CronTicks {
    store: Arc<dyn Store>,
    conversations: Arc<Conversations>,
    /// The `once` crons that were due in their quiet hours, with the instant: they start when these end.
    waiting: Arc<Mutex<BTreeMap<u64, Timestamp>>>,
}

/// The schedule of a cron, as a coverage stores it.
pub(super) fn schedule_of(cron: &Cron) -> ScheduleText {
    ScheduleText {
        expression: cron.schedule.clone(),
        zone: cron.zone.clone(),
    }
}

impl CronTicks {
    pub(super) fn new(store: &Arc<dyn Store>, conversations: &Arc<Conversations>) -> Self {
        Self {
            store: Arc::clone(store),
            conversations: Arc::clone(conversations),
            waiting: Arc::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, Timestamp>> {
        self.waiting.lock().expect("no holder panics")
    }

    /// Returns the crons; `None` if their file cannot be read, so that nothing is known of them.
    async fn crons(&self) -> Option<Arc<Entries<Cron>>> {
        match self.conversations.crons().await {
            Ok(crons) => Some(crons),
            Err(error) => {
                tracing::debug!(%error, "no cron runs");
                None
            }
        }
    }

    /// Makes the stored coverages those of the crons: a crash can have left them apart.
    pub(super) async fn sync(&self, now: Timestamp) -> Result<(), StoreError> {
        let Some(crons) = self.crons().await else {
            return Ok(());
        };
        let mut open: BTreeMap<u64, Coverage> = BTreeMap::new();
        for coverage in self.store.coverages().await? {
            open.extend(cron_id(&coverage.daemon).map(|id| (id, coverage)));
        }
        for (id, cron) in crons.valid() {
            let schedule = schedule_of(cron);
            if open.remove(&id).map(|known| known.schedule) != Some(schedule.clone()) {
                self.store.cover(cron_key(id), Some(schedule), now).await?;
            }
            if cron.once
                && let Some(at) = self.last_quiet(id).await?
            {
                self.waiting().insert(id, at);
            }
        }
        for id in open.into_keys() {
            self.store.cover(cron_key(id), None, now).await?;
        }
        Ok(())
    }

    /// Returns the instant of the last tick of a cron, if it came in quiet hours.
    async fn last_quiet(&self, id: u64) -> Result<Option<Timestamp>, StoreError> {
        let query = Query {
            limit: 1,
            daemon: Some(id.to_string()),
            repo: Some(crons_repo()),
            ..Query::default()
        };
        let last = self.store.ticks(&query).await?.rows.pop();
        let quiet = last.filter(|tick| tick.outcome == TickOutcome::SkippedQuiet);
        Ok(quiet.map(|tick| tick.scheduled_at))
    }

    /// Records the ticks of crons that are due, and starts their turns. Returns what the store answered.
    pub(super) async fn record<'d>(
        &self,
        due: impl Iterator<Item = &'d Overdue>,
        now: Timestamp,
    ) -> Result<Vec<(&'d Overdue, TickResult)>, StoreError> {
        let Some(crons) = self.crons().await else {
            return Ok(Vec::new());
        };
        let mut recorded = Vec::new();
        for due in due {
            let cron = cron_id(&due.daemon).and_then(|id| {
                let mut valid = crons.valid();
                valid.find(|(known, _)| *known == id)
            });
            if let Some((id, cron)) = cron {
                let results = self.record_one(due, (id, cron), now).await?;
                recorded.extend(results.into_iter().map(|result| (due, result)));
            }
        }
        Ok(recorded)
    }

    async fn record_one(
        &self,
        due: &Overdue,
        (id, cron): (u64, &Cron),
        now: Timestamp,
    ) -> Result<Vec<TickResult>, StoreError> {
        let unfinished = Unfinished {
            running: u64::from(self.conversations.is_cron_running(id)),
            pending: 0,
        };
        let mut commits = due.commits(&POLICY, unfinished, now, || None);
        let starts = quieten(&mut commits, cron, now);
        if cron.once && starts.is_some() && !self.take(id).await {
            return Ok(Vec::new());
        }
        let results = self.store.commit_ticks(commits.clone()).await?;
        failpoint::hit("C2");
        let is_recorded = |result: &TickResult| matches!(result, TickResult::Recorded(_));
        if !results.iter().all(is_recorded) {
            // Another host has recorded the tick, and starts the turn.
            return Ok(results);
        }
        match starts {
            Some(at) => self.start(id, cron, at, now).await?,
            None if cron.once => {
                let rows = commits.iter().flat_map(|commit| &commit.rows);
                let quiet = rows.filter(|row| row.outcome == TickOutcome::SkippedQuiet);
                let last = quiet.map(|row| row.scheduled_at).max();
                self.waiting().extend(last.map(|at| (id, at)));
            }
            None => {}
        }
        Ok(results)
    }

    /// Removes a `once` cron from disk; reports whether its turn may start.
    async fn take(&self, id: u64) -> bool {
        let taken: Result<_, AgentError> = self.conversations.take_cron(id).await;
        failpoint::hit("C1");
        match taken {
            Ok(taken) => taken.is_some(),
            Err(error) => {
                tracing::error!(cron = id, %error, "a cron could not leave the disk and does not run");
                false
            }
        }
    }

    async fn start(
        &self,
        id: u64,
        cron: &Cron,
        at: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.conversations.start_cron(id, cron.clone(), at);
        if cron.once {
            self.store.cover(cron_key(id), None, now).await?;
        }
        Ok(())
    }

    /// Starts the `once` crons whose quiet hours have ended.
    pub(super) async fn release(&self, now: Timestamp) -> Result<(), StoreError> {
        let waiting = self.waiting().clone();
        if waiting.is_empty() {
            return Ok(());
        }
        let Some(crons) = self.crons().await else {
            return Ok(());
        };
        for (id, at) in waiting {
            let cron = crons.valid().find(|(known, _)| *known == id);
            match cron {
                Some((_, cron)) if cron.is_quiet(now) => continue,
                Some((_, cron)) if self.take(id).await => self.start(id, cron, at, now).await?,
                _ => {}
            }
            self.waiting().remove(&id);
        }
        Ok(())
    }
}

/// A tick that is late is missed, and one that finds the turn of the one before is skipped.
const POLICY: TickPolicy = TickPolicy {
    misfire: Misfire::Skip,
    window: std::time::Duration::from_secs(60),
    overlap: Overlap::Skip,
};

/// Records as quiet the ticks whose turn would start in quiet hours, and returns the instant whose turn starts.
fn quieten(commits: &mut [TickCommit], cron: &Cron, now: Timestamp) -> Option<Timestamp> {
    let mut starts = None;
    for row in commits.iter_mut().flat_map(|commit| &mut commit.rows) {
        if row.outcome != TickOutcome::Enqueued {
            continue;
        }
        if cron.is_quiet(row.scheduled_at) || cron.is_quiet(now) {
            row.outcome = TickOutcome::SkippedQuiet;
        } else {
            starts = Some(row.scheduled_at);
        }
    }
    starts
}
