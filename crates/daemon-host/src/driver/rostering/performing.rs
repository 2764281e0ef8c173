//! The effects of the roster: after their commit, and again after a restart.

use std::time::Duration;

use daemon_records::{RosterError, random};
use daemon_roster::{
    AgentActivity, BridgeError, BridgeHandle, RESUMED, RosterCommand, RosterEffect, RowId,
    SpawnOrder, WakeReason,
};
use daemon_store::AuditQuery;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::RosterRounds;

/// How long an agent has to end by itself when it is closed.
const GRACE: Duration = Duration::from_secs(8);
/// How long the host waits before it closes an agent again whose processes did not end.
const CLOSE_AGAIN: SignedDuration = SignedDuration::from_secs(5);
/// Within which time resumptions are counted.
const COUNTED: SignedDuration = SignedDuration::from_hours(1);
/// The most entries of the audit log that are read to count them.
const ENTRIES: u32 = 200;

/// Effects that wait for their time. They are not stored: those that matter are found again after a restart.
#[derive(Debug, Default)]
pub(super) struct Delayed(Vec<(Timestamp, RosterEffect)>);

impl Delayed {
    fn add(&mut self, at: Timestamp, effect: RosterEffect) {
        self.0.push((at, effect));
    }

    /// Removes and returns the effects whose time has come.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Vec<RosterEffect> {
        let (due, later) = self.0.drain(..).partition(|(at, _)| *at <= now);
        self.0 = later;
        due.into_iter().map(|(_, effect)| effect).collect()
    }

    /// Returns when the next one is due.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.0.iter().map(|(at, _)| *at).min()
    }
}

impl RosterRounds {
    pub(super) async fn perform(
        &self,
        effect: RosterEffect,
        delayed: &mut Delayed,
    ) -> Result<(), RosterError> {
        match effect {
            RosterEffect::Notify { row, liveness } => {
                let view = self.spawning.roster.view();
                let name = view.tables().rows.get(&row).map(|row| row.name.to_string());
                let payload =
                    json!({"daemon": row.as_str(), "name": name, "liveness": liveness.as_str()});
                let source = format!("roster:{liveness}");
                if let Err(error) = self.conversations.announce(&source, payload).await {
                    tracing::warn!(source, %error, "a change of liveness was not published");
                }
                Ok(())
            }
            RosterEffect::Spawn(order) => self.spawn(order).await,
            RosterEffect::Close(row) => self.close(row, delayed).await,
            RosterEffect::Say { row, line, at } if at > self.now() => {
                delayed.add(at, RosterEffect::Say { row, line, at });
                Ok(())
            }
            RosterEffect::Say { row, line, .. } => {
                self.say(&row, &line).await;
                Ok(())
            }
            RosterEffect::Wake { row, wake } => {
                self.say(&row, wake_line(wake)).await;
                Ok(())
            }
            other => {
                tracing::error!(?other, "an effect of the roster is unknown");
                Ok(())
            }
        }
    }

    /// Starts the process of an order, unless one with its nonce exists.
    async fn spawn(&self, order: SpawnOrder) -> Result<(), RosterError> {
        let row = order.row.clone();
        let command = match self.started(&order).await {
            Ok(handle) => RosterCommand::ProcessStarted { row, handle },
            Err(error) => {
                tracing::warn!(daemon = %order.name, %error, "an agent could not be started");
                let error = error.to_string();
                RosterCommand::StartFailed { row, error }
            }
        };
        self.ask(command).await
    }

    async fn started(&self, order: &SpawnOrder) -> Result<BridgeHandle, BridgeError> {
        if let Some(handle) = self.bridge.find(&order.nonce).await? {
            return Ok(handle);
        }
        let packet = {
            let (spawning, order) = (self.spawning.clone(), order.clone());
            let rendered = tokio::task::spawn_blocking(move || spawning.packet(&order)).await;
            rendered.unwrap_or_else(|error| {
                Err(BridgeError::Failed {
                    action: "render the packet",
                    reason: error.to_string(),
                })
            })?
        };
        self.bridge.spawn(order, &packet).await
    }

    /// Closes the process of a row. A row without a process of this host is closed: its agent was started by hand.
    async fn close(&self, row: RowId, delayed: &mut Delayed) -> Result<(), RosterError> {
        let handle = match self.handle(&row).await {
            Ok(handle) => handle,
            Err(error) => return self.close_later(row, &error, delayed),
        };
        if let Some(handle) = handle
            && let Err(error) = self.bridge.close(&handle, GRACE).await
        {
            return self.close_later(row, &error, delayed);
        }
        self.ask(RosterCommand::ProcessClosed(row)).await
    }

    fn close_later(
        &self,
        row: RowId,
        error: &BridgeError,
        delayed: &mut Delayed,
    ) -> Result<(), RosterError> {
        tracing::warn!(%error, "an agent could not be closed; the host tries again");
        let again = self.now().checked_add(CLOSE_AGAIN);
        delayed.add(again.unwrap_or(Timestamp::MAX), RosterEffect::Close(row));
        Ok(())
    }

    /// Returns the handle of the process of a row, which may not have been reported before a host died.
    async fn handle(&self, row: &RowId) -> Result<Option<BridgeHandle>, BridgeError> {
        let spawn = {
            let view = self.spawning.roster.view();
            let row = view.tables().rows.get(row);
            row.and_then(|row| row.spawn.clone())
        };
        match spawn {
            Some(spawn) if spawn.handle.is_some() => Ok(spawn.handle),
            Some(spawn) => self.bridge.find(&spawn.nonce).await,
            None => Ok(None),
        }
    }

    /// Delivers a line. It is not stored: a line that cannot be delivered is dropped, and the next heartbeat wakes the agent.
    async fn say(&self, row: &RowId, line: &str) {
        let said = match self.handle(row).await {
            Ok(Some(handle)) => self.bridge.say(&handle, line).await,
            Ok(None) => return,
            Err(error) => Err(error),
        };
        match said {
            Ok(()) => {}
            // What waits wakes the agent as well.
            Err(BridgeError::Busy(_)) => tracing::debug!(%row, "the agent has a line to read"),
            Err(error) => tracing::warn!(%row, %error, "a line was not delivered"),
        }
    }

    /// Resumes the agents whose processes ended with an earlier host, each at most a few times an hour.
    pub(super) async fn resume_cut_off(&self) -> Result<(), RosterError> {
        let projects = self.spawning.roster.view().settings().projects.clone();
        for project in projects {
            let existing = match self.bridge.existing(&project).await {
                Ok(existing) => existing,
                Err(error) => {
                    tracing::warn!(%project, %error, "the agents of a project could not be read");
                    continue;
                }
            };
            let cut_off = existing.into_iter();
            let cut_off = cut_off.filter(|agent| agent.activity == AgentActivity::CutOff);
            for agent in cut_off {
                if let Some(row) = self.open_row(&agent.handle) {
                    self.resume(row).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns the row of an agent that is neither retired nor to be closed.
    fn open_row(&self, handle: &BridgeHandle) -> Option<RowId> {
        let view = self.spawning.roster.view();
        let mut rows = view.tables().rows.values();
        let own = rows.find(|row| row.handle() == Some(handle))?;
        view.order_again(&own.id).map(|order| order.row)
    }

    async fn resume(&self, row: RowId) -> Result<(), RosterError> {
        let resume = RosterCommand::Resume {
            n_lately: self.n_resumed_lately(&row).await?,
            token: random::agent_token(),
            row: row.clone(),
        };
        self.ask(resume).await?;
        // One that died before it had a session cannot be woken: it is started again, under the same nonce.
        let view = self.spawning.roster.view();
        let Some(order) = view.order_again(&row) else {
            return Ok(());
        };
        match self.bridge.find(&order.nonce).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => self.spawn(order).await,
            Err(error) => {
                tracing::warn!(%row, %error, "an agent was not resumed");
                Ok(())
            }
        }
    }

    async fn n_resumed_lately(&self, row: &RowId) -> Result<usize, RosterError> {
        let query = AuditQuery {
            row: Some(row.clone()),
            before: None,
            limit: ENTRIES,
        };
        let entries = self
            .spawning
            .registrations
            .store
            .roster_audit(&query)
            .await?;
        let now = self.now();
        let lately = entries.iter().filter(|entry| {
            entry.kind == RESUMED && entry.rule.is_none() && now.duration_since(entry.at) < COUNTED
        });
        Ok(lately.count())
    }
}

/// Returns the line that wakes an agent.
fn wake_line(wake: WakeReason) -> &'static str {
    match wake {
        WakeReason::Start => {
            "The host was restarted. Call `daemon_checkin` with the wake `start`, then continue."
        }
        WakeReason::Tick => {
            "Your heartbeat is due. Call `daemon_checkin` with the wake `tick`, then act on what it returns."
        }
        WakeReason::Poke => {
            "You were poked. Call `daemon_checkin` with the wake `poke`, then read the signals for you."
        }
        WakeReason::Go => {
            "Your gate was opened. Call `daemon_checkin` with the wake `go`, then begin your work."
        }
    }
}
