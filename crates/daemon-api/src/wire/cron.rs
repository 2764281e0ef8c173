//! The objects of crons.

use daemon_agent::{Cron, RecoveredEntry};
use daemon_store::StoredTick;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::instant;

/// A cron. A member is null if the entry has no such key.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CronObject {
    /// The id, which no other cron ever had.
    pub id: u64,
    /// The expression.
    pub schedule: Option<String>,
    /// The skill that the message names.
    pub skill: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The sender of the message.
    pub sender: Option<String>,
    /// The zone of the schedule and of the quiet hours.
    pub zone: Option<String>,
    /// When no turn starts any more.
    pub quiet_start: Option<String>,
    /// When turns start again.
    pub quiet_end: Option<String>,
    /// Whether the first turn ends it.
    pub once: bool,
    /// The next instant of its schedule, quiet or not; null if it is invalid.
    pub next_at: Option<String>,
    /// Its newest recorded tick; null if it has none.
    pub last: Option<CronTickObject>,
    /// What is wrong with the entry; null if nothing is.
    pub problem: Option<String>,
}

/// A recorded tick of a cron.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CronTickObject {
    /// The instant.
    pub scheduled_at: String,
    /// The outcome, as in `tick/list`.
    pub outcome: &'static str,
}

impl CronObject {
    /// Makes the object of a valid cron.
    pub(crate) fn new(id: u64, cron: &Cron, now: Timestamp) -> Self {
        Self {
            id,
            schedule: Some(cron.schedule.clone()),
            skill: Some(cron.skill.clone()),
            agent: Some(cron.agent.to_string()),
            sender: Some(cron.sender.clone()),
            zone: Some(cron.zone.clone()),
            quiet_start: cron.quiet_start.clone(),
            quiet_end: cron.quiet_end.clone(),
            once: cron.once,
            next_at: cron.next_after(now).map(instant),
            last: None,
            problem: None,
        }
    }

    /// Makes the object of an entry with its newest tick.
    pub(crate) fn of(
        (id, entry): (u64, &RecoveredEntry<Cron>),
        last: Option<StoredTick>,
        now: Timestamp,
    ) -> Self {
        let last = last.map(|tick| CronTickObject {
            scheduled_at: instant(tick.scheduled_at),
            outcome: tick.outcome.as_str(),
        });
        match entry {
            RecoveredEntry::Valid(cron) => Self {
                last,
                ..Self::new(id, cron, now)
            },
            RecoveredEntry::Invalid { table, problem } => {
                let text = |key: &str| table.get(key)?.as_str().map(str::to_owned);
                Self {
                    id,
                    schedule: text("schedule"),
                    skill: text("skill"),
                    agent: text("agent"),
                    sender: text("sender"),
                    zone: text("zone"),
                    quiet_start: text("quiet_start"),
                    quiet_end: text("quiet_end"),
                    once: table
                        .get("once")
                        .is_some_and(|once| once.as_bool() == Some(true)),
                    next_at: None,
                    last,
                    problem: Some(problem.clone()),
                }
            }
        }
    }
}
