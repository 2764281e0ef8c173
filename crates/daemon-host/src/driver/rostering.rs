//! The loop of the roster: what is due is done, effects are performed, and the host checks in for itself and for the daemons of
//! repositories.

mod allowlist;
mod bridge;
mod check_ins;
mod performing;
mod spawning;

use std::sync::Arc;
use std::time::Duration;

use daemon_agent::Conversations;
use daemon_event::RepoName;
use daemon_records::RosterError;
use daemon_records::error::chain;
use daemon_roster::{Bridge, Principal, Project, RosterCommand, RosterSettings};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::Parts;
use crate::config::Config;
use crate::home::Home;
use allowlist::Comparisons;
pub(crate) use bridge::{BuiltInBridge, MakeTools};
use performing::Delayed;
pub(crate) use spawning::Spawning;

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
    pub(super) spawning: Spawning,
    pub(super) bridge: Arc<dyn Bridge>,
    pub(super) home: Home,
    pub(super) conversations: Arc<Conversations>,
    pub(super) stop: CancellationToken,
}

/// What the loop keeps from one round to the next.
struct BetweenRounds {
    /// When the host looks next. Agents check in much more often, and each of that begins a round.
    due: Timestamp,
    delayed: Delayed,
    comparisons: Comparisons,
}

/// Runs rounds until the host stops.
pub(super) async fn run(rounds: RosterRounds) {
    let mut between = BetweenRounds {
        due: Timestamp::MIN,
        delayed: Delayed::default(),
        comparisons: Comparisons::default(),
    };
    // The processes of an earlier host end first: until then a run looks as if it worked.
    tokio::select! {
        () = rounds.stop.cancelled() => return,
        () = rounds.spawning.runs.emanations.recovered() => {}
    }
    let mut is_resumed = false;
    while !rounds.stop.is_cancelled() {
        if !is_resumed {
            // Before the first round: a heartbeat that is overdue would wake an agent that was cut off, as if it had waited.
            is_resumed = rounds.recover(&mut between.delayed).await;
        }
        let done = rounds.round(&mut between).await;
        let pause = match done {
            Ok(next) => rounds.until(next),
            Err(error) => {
                tracing::warn!(error = chain(&error), "a round of the roster failed");
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = rounds.stop.cancelled() => return,
            () = rounds.spawning.roster.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

impl RosterRounds {
    /// Does what is due, and returns when the next round is.
    async fn round(&self, between: &mut BetweenRounds) -> Result<Timestamp, RosterError> {
        let BetweenRounds {
            due,
            delayed,
            comparisons,
        } = between;
        let now = self.now();
        let next = now.checked_add(INTERVAL).unwrap_or(Timestamp::MAX);
        // Far ahead only after the clock was set back.
        if *due <= now || *due > next {
            self.check_in().await?;
            self.compare_allowlists(comparisons).await?;
            *due = next;
        }
        let is_due = |at: Timestamp| at <= now;
        if self
            .spawning
            .roster
            .view()
            .deadline(now)
            .is_some_and(is_due)
        {
            self.ask(RosterCommand::Lapse).await?;
        }
        let mut effects = self.spawning.roster.take_effects();
        effects.extend(delayed.take_due(now));
        for effect in effects {
            self.perform(effect, delayed).await?;
        }
        let deadline = self.spawning.roster.view().deadline(now);
        let next = deadline.into_iter().chain(delayed.next());
        Ok(next.fold(*due, Timestamp::min))
    }

    /// Performs the effects that an earlier host had not performed, then resumes the agents that it cut off: one that it had just
    /// started is found by its effect. Returns whether that succeeded.
    async fn recover(&self, delayed: &mut Delayed) -> bool {
        let performed = async {
            for effect in self.spawning.roster.take_effects() {
                self.perform(effect, delayed).await?;
            }
            self.resume_cut_off().await
        };
        match performed.await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(error = chain(&error), "agents were not resumed");
                false
            }
        }
    }

    async fn ask(&self, command: RosterCommand) -> Result<(), RosterError> {
        let done = self
            .spawning
            .roster
            .perform(Principal::Host, command, None)
            .await;
        match done {
            // What the row is about ended in the meantime; the refusal is recorded.
            Ok(_) | Err(RosterError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn now(&self) -> Timestamp {
        self.spawning.registrations.clock.now()
    }

    fn until(&self, next: Timestamp) -> Duration {
        let wait = next.duration_since(self.now());
        let wait = Duration::try_from(wait).unwrap_or_default();
        self.spawning.registrations.clock.timer(wait).max(SHORTEST)
    }
}
