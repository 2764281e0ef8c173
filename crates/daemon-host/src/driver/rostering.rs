//! The loop of the roster: what is due is done, effects are performed, and the host checks in for itself and for the daemons of
//! repositories.

mod check_ins;

use std::sync::Arc;
use std::time::Duration;

use daemon_agent::Conversations;
use daemon_event::RepoName;
use daemon_records::error::chain;
use daemon_records::{HeldRoster, RosterError};
use daemon_roster::{Principal, Project, RosterCommand, RosterEffect, RosterSettings};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Parts;
use super::registrations::Registrations;
use crate::config::Config;
use crate::home::Home;

/// How often the host looks for what it has to check in.
const INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// The shortest pause between two rounds: a deadline that nothing moves must not keep the processor busy.
const SHORTEST: Duration = Duration::from_millis(20);
/// How long the loop waits after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Returns the settings of the roster. Each configured repository is a project.
pub(crate) fn settings(config: &Config, parts: &Parts) -> RosterSettings {
    let projects = parts.names().filter_map(project);
    config.roster.settings(projects.collect())
}

/// Returns the project of a repository; `None` for a name that is longer than projects may have.
fn project(repo: &RepoName) -> Option<Project> {
    repo.as_str().parse().ok()
}

/// What the loop of the roster uses; a clone shares it.
#[derive(Clone)]
pub(crate) struct RosterRounds {
    pub(super) roster: Arc<HeldRoster>,
    pub(super) home: Home,
    pub(super) registrations: Registrations,
    pub(super) conversations: Arc<Conversations>,
    pub(super) stop: CancellationToken,
}

/// Runs rounds until the host stops.
pub(super) async fn run(rounds: RosterRounds) {
    // When the host looks next. Agents check in much more often, and each of that begins a round.
    let mut due = Timestamp::MIN;
    while !rounds.stop.is_cancelled() {
        let pause = match rounds.round(&mut due).await {
            Ok(next) => rounds.until(next),
            Err(error) => {
                tracing::warn!(error = chain(&error), "a round of the roster failed");
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = rounds.stop.cancelled() => return,
            () = rounds.roster.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

impl RosterRounds {
    /// Does what is due, and returns when the next round is.
    async fn round(&self, due: &mut Timestamp) -> Result<Timestamp, RosterError> {
        let now = self.now();
        let next = now.checked_add(INTERVAL).unwrap_or(Timestamp::MAX);
        // Far ahead only after the clock was set back.
        if *due <= now || *due > next {
            self.check_in().await?;
            *due = next;
        }
        let is_due = |at: Timestamp| at <= now;
        if self.roster.view().deadline(now).is_some_and(is_due) {
            self.ask(RosterCommand::Lapse).await?;
        }
        for effect in self.roster.take_effects() {
            self.perform(effect).await?;
        }
        let deadline = self.roster.view().deadline(now);
        Ok(deadline.map_or(*due, |at| at.min(*due)))
    }

    async fn perform(&self, effect: RosterEffect) -> Result<(), RosterError> {
        match effect {
            RosterEffect::Notify { row, liveness } => {
                let view = self.roster.view();
                let name = view.tables().rows.get(&row).map(|row| row.name.to_string());
                let payload =
                    json!({"daemon": row.as_str(), "name": name, "liveness": liveness.as_str()});
                let source = format!("roster:{liveness}");
                if let Err(error) = self.conversations.announce(&source, payload).await {
                    tracing::warn!(source, %error, "a change of liveness was not published");
                }
            }
            // A process that this host did not start counts as gone: its agent was started by hand.
            RosterEffect::Close(row) => {
                self.ask(RosterCommand::ProcessClosed(row)).await?;
            }
            RosterEffect::Spawn(order) => {
                let error = "this host starts no agents".to_owned();
                let row = order.row;
                self.ask(RosterCommand::StartFailed { row, error }).await?;
            }
            other => tracing::debug!(?other, "no process of this host is concerned"),
        }
        Ok(())
    }

    async fn ask(&self, command: RosterCommand) -> Result<(), RosterError> {
        let done = self.roster.perform(Principal::Host, command, None).await;
        match done {
            // What the row is about ended in the meantime; the refusal is recorded.
            Ok(_) | Err(RosterError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn now(&self) -> Timestamp {
        self.registrations.clock.now()
    }

    fn until(&self, next: Timestamp) -> Duration {
        let wait = next.duration_since(self.now());
        let wait = Duration::try_from(wait).unwrap_or_default();
        self.registrations.clock.timer(wait).max(SHORTEST)
    }
}
