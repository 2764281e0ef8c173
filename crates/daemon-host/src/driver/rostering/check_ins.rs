//! What the host checks in: itself, the daemons of repositories that it evaluates, and runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daemon_engine::Gate;
use daemon_records::{RecordedRun, RosterError, folder_of};
use daemon_roster::{
    ActorRef, Evaluation, Liveness, Project, ReasonText, RosterCommand, RosterGate, RosterRow,
    RosterSettings, RowKind, liveness,
};
use daemon_runner::emanation::standing;
use daemon_store::{Query, StoreError};
use jiff::{SignedDuration, Timestamp};

use super::{RosterRounds, project};

/// How often the host checks in for itself. Its row is stale after a minute.
const HEARTBEAT: SignedDuration = SignedDuration::from_secs(10);
/// The row of a host that is gone for longer is retired.
const GONE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The most characters of the reason that a row is not checked in.
const LONGEST_TROUBLE: usize = 200;
/// The most runs that are checked in; a host runs fewer at a time.
const MOST_RUNS: u32 = 500;

/// What identifies a row for which the host checks in.
type EvaluatedKey = (RowKind, Option<Project>, ActorRef);

/// A row as it should be, and when there was a sign of it; `None` for what is evaluated now.
struct Found {
    evaluation: Evaluation,
    sign: Option<Timestamp>,
}

impl RosterRounds {
    /// Checks in for everything that is due or has changed, and retires the rows of what is gone.
    pub(super) async fn check_in(&self) -> Result<(), RosterError> {
        let mut wanted: Vec<_> = self.host().into_iter().chain(self.daemons()).collect();
        wanted.extend(self.running().await?);
        let view = self.spawning.roster.view();
        let rows = view.tables().rows.values();
        let known = rows.filter(|row| row.kind != RowKind::Standing && !row.is_retired());
        let known: BTreeMap<_, _> = known.map(|row| (key(row), row)).collect();
        let now = self.now();
        for found in &wanted {
            let row = known.get(&evaluated(&found.evaluation));
            if row.is_none_or(|row| is_due(row, found, view.settings(), now)) {
                let evaluation = found.evaluation.clone();
                self.ask(RosterCommand::Evaluate(evaluation)).await?;
            }
        }
        let kept: BTreeSet<_> = wanted
            .iter()
            .map(|found| evaluated(&found.evaluation))
            .collect();
        for (key, row) in known {
            let reason = departure(row, view.settings(), now);
            if let Some(reason) = reason.filter(|_| !kept.contains(&key)) {
                let row = row.id.clone();
                self.ask(RosterCommand::Depart { row, reason }).await?;
            }
        }
        self.note_work().await
    }

    /// Records that agents work whose runs had events since their last sign: long work must not make a row stale.
    async fn note_work(&self) -> Result<(), RosterError> {
        let view = self.spawning.roster.view();
        let rows = view.tables().rows.values().filter(|row| !row.is_retired());
        let started: Vec<_> = rows
            .filter_map(|row| Some((row.clone(), row.handle()?.as_str().parse().ok()?)))
            .collect();
        let runs = Arc::clone(&self.spawning.runs);
        let seen = tokio::task::spawn_blocking(move || {
            let seen = started.into_iter();
            let seen = seen.map(|(row, run)| (row, standing::last_event(&runs, run)));
            seen.collect::<Vec<_>>()
        });
        for (row, at) in seen.await.unwrap_or_default() {
            let activity = row.last_activity.map(|activity| activity.at);
            let last = row.last_checkin_at.max(activity);
            let is_new = at.is_some() && at > last;
            let is_time = activity.is_none_or(|at| self.now().duration_since(at) >= HEARTBEAT);
            if is_new && is_time {
                let incarnation = row.incarnation;
                let row = row.id;
                self.ask(RosterCommand::Activity { row, incarnation })
                    .await?;
            }
        }
        Ok(())
    }

    /// Returns the registered daemons.
    fn daemons(&self) -> Vec<Found> {
        let unread: BTreeMap<_, _> = self
            .spawning
            .registrations
            .states
            .unread()
            .into_iter()
            .collect();
        let registry = self.spawning.registrations.registry.get();
        let unscheduled = self.spawning.registrations.schedules.trouble();
        let daemons = registry.iter().filter_map(|daemon| {
            let key = &daemon.row.key;
            let trouble = match unread.get(&key.repo) {
                Some(why) => Some(format!("the repository is not read: {why}")),
                None if !daemon.is_valid() => Some("the daemon file has errors".to_owned()),
                None if daemon.row.schedule.is_some() => unscheduled.map(str::to_owned),
                None => None,
            };
            let evaluation = Evaluation {
                kind: RowKind::Repository,
                project: Some(project(&key.repo)?),
                actor_ref: key.id.as_str().parse().ok()?,
                name: key.id.as_str().parse().ok()?,
                gate: match daemon.row.gate {
                    Gate::Open => RosterGate::Go,
                    Gate::Held => RosterGate::Hold,
                    Gate::Tripped => RosterGate::Tripped,
                },
                trouble: trouble.map(|text| text.chars().take(LONGEST_TROUBLE).collect()),
            };
            let sign = None;
            Some(Found { evaluation, sign })
        });
        daemons.collect()
    }

    /// Returns the host, by the name that it has in a store that hosts share.
    fn host(&self) -> Option<Found> {
        let machine = rustix::system::uname();
        let machine = machine.nodename().to_string_lossy();
        let config = self.spawning.registrations.runtime.config();
        let actor_ref = self.home.host_name(&config.host);
        let evaluation = Evaluation {
            kind: RowKind::Host,
            project: None,
            actor_ref: actor_ref.parse().ok()?,
            name: machine.parse().ok()?,
            gate: RosterGate::Go,
            trouble: None,
        };
        let sign = None;
        Some(Found { evaluation, sign })
    }

    /// Returns the runs under way, with the newest sign of each.
    async fn running(&self) -> Result<Vec<Found>, StoreError> {
        let query = Query {
            limit: MOST_RUNS,
            state: Some("running".to_owned()),
            ..Query::default()
        };
        let runs = self.spawning.registrations.store.runs(&query).await?.rows;
        let (folders, now) = (self.home.runs(), self.now());
        let found = tokio::task::spawn_blocking(move || {
            let found = runs.into_iter().filter_map(|run| {
                let recorded =
                    folder_of(&folders, &run.id).and_then(|folder| RecordedRun::read(&folder, now));
                let newest = recorded.and_then(|recorded| recorded.document().last_output_at);
                let project = run.daemon.as_ref().and_then(|daemon| project(&daemon.repo));
                let evaluation = Evaluation {
                    kind: RowKind::Run,
                    project,
                    actor_ref: run.id.parse().ok()?,
                    name: run.id.parse().ok()?,
                    gate: RosterGate::Go,
                    trouble: None,
                };
                let sign = Some(newest.unwrap_or(run.started_at));
                Some(Found { evaluation, sign })
            });
            found.collect::<Vec<_>>()
        });
        Ok(found.await.unwrap_or_default())
    }
}

fn key(row: &RosterRow) -> EvaluatedKey {
    (row.kind, row.project.clone(), row.actor_ref.clone())
}

fn evaluated(evaluation: &Evaluation) -> EvaluatedKey {
    let Evaluation {
        kind,
        project,
        actor_ref,
        ..
    } = evaluation;
    (*kind, project.clone(), actor_ref.clone())
}

/// Reports whether a row is to be checked in, or to say why it is not.
fn is_due(row: &RosterRow, found: &Found, settings: &RosterSettings, now: Timestamp) -> bool {
    let trouble = &found.evaluation.trouble;
    if row.gate != found.evaluation.gate {
        return true;
    }
    if trouble.is_some() || row.trouble.is_some() {
        return row.trouble != *trouble;
    }
    let Some(last) = row.last_checkin_at else {
        return true;
    };
    let since = now.duration_since(last);
    let interval = match row.kind {
        RowKind::Host | RowKind::Run => HEARTBEAT,
        RowKind::Standing | RowKind::Repository => settings.heartbeat,
    };
    // A check-in in the future is one from before the clock was set back.
    let is_time = since >= interval || since < SignedDuration::ZERO;
    is_time && found.sign.is_none_or(|sign| sign > last)
}

/// Returns why a row of which nothing is known any more is retired. Other hosts of the store check in for themselves and for the
/// daemons of their repositories.
fn departure(row: &RosterRow, settings: &RosterSettings, now: Timestamp) -> Option<ReasonText> {
    let reason = match row.kind {
        RowKind::Standing => return None,
        RowKind::Repository => {
            let project = row.project.as_ref();
            let is_watched = project.is_some_and(|project| settings.projects.contains(project));
            if !is_watched && liveness(row, now, settings).state != Liveness::Dead {
                return None;
            }
            "its file was removed, or its repository is not watched any more"
        }
        RowKind::Run => "it ended",
        RowKind::Host => {
            let seen = row.last_checkin_at.unwrap_or(row.expected_at);
            if now.duration_since(seen) <= GONE {
                return None;
            }
            "it was gone for 7 days"
        }
    };
    Some(reason.parse().expect("it is short"))
}
