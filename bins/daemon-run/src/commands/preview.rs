//! Previews of activations: what would happen if a daemon of the working tree woke.

use std::path::Path;

use daemon_api::fire::{FireTrigger, FiredEvent, has_schedule};
use daemon_engine::{Activation, ActivationState, Chain, DaemonState, RunLease, Trigger};
use daemon_event::{Event, RepoName, TriggerKey};
use daemon_host::config::Config;
use daemon_host::policy::run_policy;
use daemon_host::registration::{self, FileOrigin};
use daemon_records::clock;
use daemon_records::error::chain;
use daemon_records::random;
use daemon_registry::Registered;
use daemon_repo::{DaemonContent, Git, GitError, GitProblem, Instructions, ObjectId, Repository};
use daemon_runner::attempt::checkout::{NamedCommits, RunSource, present};
use daemon_runner::attempt::proposal_rules;
use daemon_runner::context::{Built, Ingredients, Tallies, build, remaining_budget};
use daemon_runner::policy::{RunPolicy, micros};
use daemon_store::{EventRow, Matching};
use jiff::Timestamp;

use crate::cli::OccasionArgs;
use crate::event_input;
use crate::failure::{CommandFailure, ExitKind};
use crate::known::KnownEvent;
use crate::local;
use crate::place::Place;

/// WakeCause a daemon would wake, as given on the command line.
pub(crate) enum WakeCause {
    /// A person fires it.
    Person,
    /// Its schedule is due.
    Tick(Timestamp),
    /// An event arrived.
    Event(Box<FiredEvent>),
}

impl WakeCause {
    /// Reads the flags of the cause.
    ///
    /// If the body of an event does not list the changed files, the repository at `root` is asked for them.
    pub(crate) async fn read(
        occasion: &OccasionArgs,
        root: &Path,
        place: &Place,
    ) -> Result<Self, CommandFailure> {
        let event = match super::stored_event(&occasion.event, place).await? {
            Some(stored) => Some(stored.fired),
            None => event_input::read(&occasion.event, place)?,
        };
        match (event, occasion.tick.as_deref()) {
            (Some(mut event), _) => {
                KnownEvent::read(&mut event, Some(root), place)?;
                Ok(Self::Event(Box::new(event)))
            }
            (None, Some(tick)) => {
                let at = super::next::instant(tick)?;
                FireTrigger::tick(at)?;
                Ok(Self::Tick(at))
            }
            (None, None) => Ok(Self::Person),
        }
    }
}

/// A daemon of the working tree, registered as a host would, and the configuration of its runs.
pub(crate) struct PreviewDaemon<'a> {
    daemon: Registered,
    config: &'a Config,
    /// The repository; `None` if the directory is in none.
    repository: Option<Repository>,
    /// The branch with the daemon files, as configured.
    branch: Option<&'a str>,
}

/// The preview of an activation.
pub(crate) struct Preview {
    pub(crate) policy: RunPolicy,
    pub(crate) activation: Activation,
    /// The context that the provider would receive.
    pub(crate) built: Built,
    /// Whether the event meets a condition; true without an event.
    pub(crate) wakes: bool,
}

impl<'a> PreviewDaemon<'a> {
    /// Reads a daemon of a working tree.
    ///
    /// # Errors
    /// The daemon is unknown, or a host would not register it.
    pub(crate) fn read(
        root: &Path,
        id: &str,
        config: &'a Config,
        place: &Place,
    ) -> Result<Self, CommandFailure> {
        let known = local::configured(root, config, place);
        let (repo, zone) = named(root, config, place);
        let zone_of = |id: &str| config.zone_of(&repo, id, zone).to_owned();
        let all = local::judged(root, &zone_of)?;
        let (daemon, checked) = local::find(root, &all, id)?;
        local::refuse_invalid(daemon, checked)?;
        let source = &daemon.source;
        let origin = FileOrigin {
            zone: zone_of(source.dir.as_str()),
            repo: repo.clone(),
            commit: String::new(),
            at: clock::now(),
        };
        let row = registration::row(source, checked.clone(), origin).ok_or_else(|| {
            let message = format!("`{}` cannot be a daemon's id", source.dir.as_str());
            CommandFailure::new(ExitKind::Invalid, "invalid-daemon", message)
        })?;
        let daemon = Registered::new(row).with_source(source.clone());
        let git = Git::find(&place.path).ok();
        Ok(Self {
            daemon,
            config,
            repository: git.and_then(|git| Repository::enclosing(&git, root).ok()),
            branch: known.and_then(|repo| repo.branch.as_deref()),
        })
    }

    /// Creates an activation and its context in memory; writes nothing.
    pub(crate) fn preview(
        &self,
        cause: &WakeCause,
        provider: Option<&str>,
        now: Timestamp,
    ) -> Result<Preview, CommandFailure> {
        let mut events = Vec::new();
        let mut conditions = Vec::new();
        let key = match cause {
            WakeCause::Person => TriggerKey::Person("dry-run".into()),
            WakeCause::Tick(at) => {
                has_schedule(&self.daemon)?;
                TriggerKey::Tick(*at)
            }
            WakeCause::Event(fired) => {
                let event = fired.event(now)?;
                conditions = self.daemon.met_by(&event);
                let key = TriggerKey::Event(event.id.clone());
                events.push(EventRow {
                    // The event is not stored, so it has no sequence number.
                    seq: 1,
                    event,
                    later_reports: Vec::new(),
                    duplicates: 0,
                    matching: Matching::Done,
                    triggers: Vec::new(),
                    wanted: Vec::new(),
                });
                key
            }
        };
        let wakes = events.is_empty() || !conditions.is_empty();
        let trigger = Trigger {
            key,
            conditions,
            by: None,
            occasion: None,
            recorded_at: now,
        };
        let activation = self.activation(trigger, &events, now);
        let policy = run_policy(self.config, Some(&self.daemon.row.key), provider);
        let built = self.build(&activation, &events, &policy, now)?;
        Ok(Preview {
            policy,
            activation,
            built,
            wakes,
        })
    }

    fn activation(&self, trigger: Trigger, events: &[EventRow], now: Timestamp) -> Activation {
        let id = random::activation_id(now);
        Activation {
            chain: Chain::begin(id.clone()),
            id,
            daemon: self.daemon.row.key.clone(),
            rev: self.daemon.row.rev.clone(),
            subject: events.first().and_then(|row| row.event.subject.clone()),
            triggers: vec![trigger],
            state: ActivationState::Pending,
            reason: None,
            attempts: 0,
            blame: daemon_engine::Blame::default(),
            run_lease: RunLease(0),
            owner: None,
            lease_until: None,
            not_before: now,
            created_at: now,
            started_at: None,
            finished_at: None,
            tokens: None,
            cost_usd: None,
            summary: None,
        }
    }

    fn build(
        &self,
        activation: &Activation,
        events: &[EventRow],
        policy: &RunPolicy,
        now: Timestamp,
    ) -> Result<Built, CommandFailure> {
        let source = self.daemon.source.as_ref().map(|source| &source.content);
        let Some(DaemonContent::Text(file)) = source else {
            return Err(CommandFailure::bug("the previewed daemon has no file"));
        };
        let day = self.config.budget.day_usd.map(micros);
        let run_source = self.source(events, policy)?;
        let commit = run_source.as_ref().map(|source| &source.checkout.commit);
        let known = (Vec::new(), self.config.surfaces.served());
        let rules = proposal_rules(activation, events, commit, policy, known);
        build(&Ingredients {
            daemon: &self.daemon,
            file,
            activation,
            events,
            source: run_source.as_ref(),
            state: &DaemonState::default(),
            tallies: &Tallies::default(),
            permissions: policy.permissions,
            rules: &rules,
            wall: policy.limits.wall,
            budget: remaining_budget(policy.limits.budget, day),
            servers: &policy.mcp,
            cap: policy.context_bytes,
            now,
        })
        .map_err(|error| {
            CommandFailure::new(ExitKind::Refused, "context-too-large", error.to_string())
        })
    }
}

impl PreviewDaemon<'_> {
    /// Reads the commit, branches and instructions of a run; `None` without a commit.
    fn source(
        &self,
        events: &[EventRow],
        policy: &RunPolicy,
    ) -> Result<Option<RunSource>, CommandFailure> {
        let Some(repository) = &self.repository else {
            return Ok(None);
        };
        let events: Vec<Event> = events.iter().map(|row| row.event.clone()).collect();
        let read = || -> Result<Option<RunSource>, GitError> {
            let Some(tip) = tip(repository, self.branch)? else {
                return Ok(None);
            };
            let commit = match NamedCommits::of(&events) {
                // A run waits until the repository has the first of them.
                Some(NamedCommits::Commits(named)) => {
                    present(repository, &named)?.or_else(|| named.first().cloned())
                }
                // No run starts.
                Some(NamedCommits::Unclear(_)) => None,
                None => Some(tip.clone()),
            };
            let Some(commit) = commit else {
                return Ok(None);
            };
            let daemon = &self.daemon.row.key.id;
            let instructions = match policy.is_instructed {
                true => repository.instructions(&tip)?,
                false => Instructions::default(),
            };
            RunSource::read(repository, &events, daemon, commit, instructions).map(Some)
        };
        read().map_err(|error| CommandFailure::new(ExitKind::NoInput, "repository", chain(&error)))
    }
}

/// Returns the commit at which a host would register daemons; `None` without one.
fn tip(repository: &Repository, branch: Option<&str>) -> Result<Option<ObjectId>, GitError> {
    let refs = repository.refs()?;
    let branch = match branch {
        Some(name) => repository.find_ref(name, &refs),
        None => repository.default_branch(&refs),
    };
    match branch {
        Ok(branch) => {
            let tip = refs.get(&branch);
            tip.map(|tip| repository.commit_of(tip)).transpose()
        }
        Err(error) => match error.problem() {
            GitProblem::MissingRef { .. } | GitProblem::Unborn => Ok(None),
            _ => Err(error),
        },
    }
}

/// Returns the name that a host would give the repository of a working tree, and its configured zone.
pub(super) fn named<'a>(
    root: &Path,
    config: &'a Config,
    place: &Place,
) -> (RepoName, Option<&'a str>) {
    let known = local::configured(root, config, place);
    let chosen = known.and_then(|repo| repo.name.as_deref()?.parse().ok());
    let name = chosen.or_else(|| {
        let git = Git::find(&place.path).ok()?;
        Some(Repository::enclosing(&git, root).ok()?.name().clone())
    });
    // A directory outside of a repository has no name.
    let unnamed = || {
        "local"
            .parse()
            .expect("a plain word is a repository's name")
    };
    (
        name.unwrap_or_else(unnamed),
        known.and_then(|repo| repo.zone.as_deref()),
    )
}
