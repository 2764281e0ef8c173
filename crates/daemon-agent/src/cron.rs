//! Crons: schedules that start turns.

mod quiet;

use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard};

use daemon_cron::{CronExpr, Zone};
use daemon_event::{DaemonKey, RepoName};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::conversations::{Conversations, NewMessage};
use crate::error::AgentError;
use crate::line::TurnChain;
use crate::live::TurnConclusion;
use crate::name::{AgentName, Pair, Sender};
use crate::recovery::{Entries, RecoveredEntry, RecoveryEntry};
use quiet::QuietHours;

/// Lets a schedule start turns of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cron {
    /// The expression, of five fields.
    pub schedule: String,
    /// The skill that the message names.
    pub skill: String,
    /// The agent.
    #[serde(with = "crate::name::as_text")]
    pub agent: AgentName,
    /// The sender of the message.
    pub sender: String,
    /// The name of the time zone of the schedule and of the quiet hours.
    #[serde(default = "utc")]
    pub zone: String,
    /// When no turn starts any more, as `23:00`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_start: Option<String>,
    /// When turns start again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_end: Option<String>,
    /// Whether the first turn ends it.
    #[serde(default)]
    pub once: bool,
}

/// Returns the repository in the keys of crons. No watched repository has this name: it is neither `owner/name` nor a directory's.
pub fn crons_repo() -> RepoName {
    "/cron".parse().expect("it is short text")
}

/// Returns the key of a cron in the scheduler and in the rows of ticks.
pub fn cron_key(id: u64) -> DaemonKey {
    DaemonKey {
        repo: crons_repo(),
        id: id.to_string().parse().expect("it is short text"),
    }
}

/// Returns the id of the cron that a key names.
pub fn cron_id(key: &DaemonKey) -> Option<u64> {
    let id = key.id.as_str().parse().ok();
    id.filter(|_| key.repo == crons_repo())
}

/// Returns the zone of a cron that names none.
pub fn utc() -> String {
    "UTC".to_owned()
}

impl RecoveryEntry for Cron {
    const KEY: &'static str = "cron";

    fn check(&self) -> Result<(), String> {
        if let Err(problems) = self.schedule.parse::<CronExpr>() {
            return Err(format!("`schedule`: {problems}"));
        }
        // The message is `/<skill>`; a skill is named as an agent is.
        let skill: Result<AgentName, _> = self.skill.parse();
        if skill.is_err() {
            return Err("`skill` is no name of a skill".to_owned());
        }
        if let Err(error) = self.sender.parse::<Sender>() {
            return Err(format!("`sender`: {error}"));
        }
        if let Err(error) = TimeZone::get(&self.zone) {
            return Err(format!("`zone`: {error}"));
        }
        QuietHours::parse(self.quiet_start.as_deref(), self.quiet_end.as_deref()).map(drop)
    }
}

impl Cron {
    /// Returns the next instant of its schedule, quiet or not.
    pub fn next_after(&self, now: Timestamp) -> Option<Timestamp> {
        let zone = Zone::new(TimeZone::get(&self.zone).ok()?);
        self.schedule
            .parse::<CronExpr>()
            .ok()?
            .next_after_in(&zone, now)
    }

    /// Reports whether an instant is in its quiet hours.
    pub fn is_quiet(&self, at: Timestamp) -> bool {
        let (start, end) = (self.quiet_start.as_deref(), self.quiet_end.as_deref());
        let (Ok(Some(hours)), Ok(zone)) =
            (QuietHours::parse(start, end), TimeZone::get(&self.zone))
        else {
            return false;
        };
        hours.has(zone.to_datetime(at).time())
    }
}

impl Conversations {
    /// Returns the crons.
    ///
    /// # Errors
    /// If their file could not be read.
    pub async fn crons(&self) -> Result<Arc<Entries<Cron>>, AgentError> {
        self.crons.entries().await
    }

    /// Adds a cron, and returns its id once it is on disk and its schedule runs.
    ///
    /// # Errors
    /// If there is no such agent, the cron is invalid, or it could not be stored.
    pub async fn create_cron(&self, cron: Cron) -> Result<u64, AgentError> {
        cron.check().map_err(AgentError::Argument)?;
        self.agents.get(&cron.agent)?;
        let id = self.crons.change(|crons| crons.add(cron.clone())).await?;
        if let Err(failure) = self.host.schedule_cron(id, Some(&cron)).await {
            // Without a schedule it would never run, and the caller is not given its id.
            self.crons.change(|crons| crons.remove(id)).await?;
            return Err(AgentError::of_store(failure));
        }
        Ok(id)
    }

    /// Removes a cron. A turn that it started continues.
    ///
    /// # Errors
    /// If there is no such cron, or its end could not be stored.
    pub async fn delete_cron(&self, id: u64) -> Result<(), AgentError> {
        self.take_cron(id).await?.ok_or(AgentError::NotFound {
            what: "cron",
            id: id.to_string(),
        })?;
        let unscheduled = self.host.schedule_cron(id, None).await;
        unscheduled.map_err(AgentError::of_store)
    }

    /// Removes a cron from disk, and returns it; `None` if it is gone.
    ///
    /// # Errors
    /// If the file could not be read before, or cannot be written.
    pub async fn take_cron(&self, id: u64) -> Result<Option<RecoveredEntry<Cron>>, AgentError> {
        self.crons.change(|crons| crons.remove(id)).await
    }

    /// Starts the turn of a cron that was due at an instant. An instant starts one turn at most.
    pub fn start_cron(self: &Arc<Self>, id: u64, cron: Cron, due: Timestamp) {
        self.running_crons().insert(id);
        let this = Arc::clone(self);
        self.drivers.spawn(async move {
            if let Err(error) = this.run_cron(id, &cron, due).await {
                tracing::warn!(cron = id, agent = %cron.agent, %error, "the turn of a cron failed");
            }
            this.running_crons().remove(&id);
        });
    }

    /// Reports whether a turn of a cron runs or waits.
    pub fn is_cron_running(&self, id: u64) -> bool {
        self.running_crons().contains(&id)
    }

    fn running_crons(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.running_crons.lock().expect("no holder panics")
    }

    async fn run_cron(self: &Arc<Self>, id: u64, cron: &Cron, due: Timestamp) -> TurnConclusion {
        let pair = Pair {
            agent: cron.agent.clone(),
            sender: cron.sender.parse()?,
        };
        let message = NewMessage {
            content: format!("/{}", cron.skill),
            via: "cron".to_owned(),
            key: Some(format!("cron:{id}:{due}")),
            cwd: None,
            tool_choice: None,
            chain: TurnChain::default(),
        };
        self.send(pair, message)?.end().await
    }

    /// Returns the number of valid crons; 0 if their file could not be read.
    pub async fn n_crons(&self) -> usize {
        let entries = self.crons().await.unwrap_or_default();
        entries.valid().count()
    }

    /// Reads the recovery files again that could not be read before.
    pub async fn reopen_files(&self) {
        self.crons.reopen().await;
        self.bus.reopen().await;
        self.reminders.reopen().await;
    }
}

#[cfg(test)]
mod tests;
