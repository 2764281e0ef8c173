//! The roster: its rows in memory, and how requests become decisions.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::answer::{RosterAnswer, RosterEffect, SpawnOrder};
use crate::audit::{AuditEntry, RecentRefusals};
use crate::command::{RosterCommand, RosterRequest};
use crate::id::{PlanId, Project, RequestKey, ResetId, RowId, SignalId, TokenHash};
use crate::lapse;
use crate::liveness::{LivenessReport, liveness};
use crate::principal::Principal;
use crate::refusal::{ConflictReason, RosterRefusal};
use crate::reset::{Reset, ResetState};
use crate::row::{Baton, CheckInRecord, Credential, Role, RosterRow};
use crate::settings::RosterSettings;
use crate::signal::CoordinationSignal;
use crate::spawn::SpawnPlan;
use crate::work::UnitOfWork;

/// How long the answer to a request with an id is kept.
pub const REPLY_RETENTION: SignedDuration = SignedDuration::from_hours(24);

/// The roster of a host.
///
/// [`decide`](Self::decide) turns a request into a [`RosterDecision`] and changes nothing. The driver commits the changes of the
/// decision in one transaction, calls [`apply`](Self::apply), and performs the effects. If the commit fails, it drops the
/// decision.
#[derive(Clone, Debug)]
pub struct Roster {
    pub(crate) settings: RosterSettings,
    pub(crate) tables: RosterTables,
    open_signals: BTreeMap<Project, BTreeSet<SignalId>>,
    pub(crate) refusals: RecentRefusals,
    /// The latest time of a decision, by which a step back of the clock is noticed.
    pub(crate) latest: Timestamp,
}

/// Rows by their keys: all of a roster, or those that one decision changes, with their new values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RosterTables {
    /// The rows of the roster.
    pub rows: BTreeMap<RowId, RosterRow>,
    /// The signals.
    pub signals: BTreeMap<SignalId, CoordinationSignal>,
    /// The batons.
    pub batons: BTreeMap<(Project, Role), Baton>,
    /// The resets.
    pub resets: BTreeMap<ResetId, Reset>,
    /// The spawn plans.
    pub plans: BTreeMap<PlanId, SpawnPlan>,
    /// The tokens of agents.
    pub credentials: BTreeMap<TokenHash, Credential>,
    /// The answers to requests with an id, by caller (`None` for the operator) and id.
    pub replies: BTreeMap<(Option<RowId>, RequestKey), StoredReply>,
}

/// The answer to a request with an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReply {
    /// The SHA-256 of the parameters of the request.
    pub params: [u8; 32],
    /// The answer.
    pub answer: RosterAnswer,
    /// When it was given; it is kept for [`REPLY_RETENTION`].
    pub at: Timestamp,
}

/// What a transaction writes: the new values of rows, and what is only appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RosterChanges {
    /// The new values.
    pub tables: RosterTables,
    /// The check-ins to append.
    pub check_ins: Vec<CheckInRecord>,
    /// The audit entries to append.
    pub audit: Vec<AuditEntry>,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterDecision {
    /// The answer, or why the request was refused.
    pub answer: Result<RosterAnswer, RosterRefusal>,
    /// What to commit in one transaction. A refusal changes no row: it has at most audit entries.
    pub changes: RosterChanges,
    /// What to do after the commit.
    pub effects: Vec<RosterEffect>,
    /// The refusal that is counted when the decision is applied.
    refused: Option<AuditEntry>,
    at: Timestamp,
    cause: DecisionCause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecisionCause {
    Request,
    Lapse,
}

impl RosterTables {
    fn extend(&mut self, changed: Self) {
        self.rows.extend(changed.rows);
        self.signals.extend(changed.signals);
        self.batons.extend(changed.batons);
        self.resets.extend(changed.resets);
        self.plans.extend(changed.plans);
        self.credentials.extend(changed.credentials);
        self.replies.extend(changed.replies);
    }

    /// Reports whether there are no rows of any kind.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl RosterChanges {
    /// Adds what a later decision changes: its values replace those of the same rows.
    pub fn append(&mut self, later: Self) {
        self.tables.extend(later.tables);
        self.check_ins.extend(later.check_ins);
        self.audit.extend(later.audit);
    }

    /// Reports whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.check_ins.is_empty() && self.audit.is_empty()
    }
}

impl Roster {
    /// Creates a roster with the rows of a store.
    pub fn new(settings: RosterSettings, tables: RosterTables) -> Self {
        let latest = lapse::latest_stamp(&tables).unwrap_or(Timestamp::MIN);
        let mut open_signals: BTreeMap<Project, BTreeSet<SignalId>> = BTreeMap::new();
        for signal in tables.signals.values().filter(|signal| signal.is_open()) {
            let of_project = open_signals.entry(signal.project.clone()).or_default();
            of_project.insert(signal.id.clone());
        }
        Self {
            settings,
            tables,
            open_signals,
            refusals: RecentRefusals::default(),
            latest,
        }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &RosterSettings {
        &self.settings
    }

    /// Replaces the settings.
    pub fn configure(&mut self, settings: RosterSettings) {
        self.settings = settings;
    }

    /// Returns all rows.
    pub fn tables(&self) -> &RosterTables {
        &self.tables
    }

    /// Returns the liveness of a row, or `None` if it does not exist.
    pub fn liveness(&self, row: &RowId, now: Timestamp) -> Option<LivenessReport> {
        let row = self.tables.rows.get(row)?;
        Some(liveness(row, now, &self.settings))
    }

    /// Returns the agent that has a token, or `None` if no agent was ever given it.
    ///
    /// The agent may be retired or fenced: its requests are then refused as such.
    pub fn principal(&self, token: &TokenHash) -> Option<Principal> {
        let credential = self.tables.credentials.get(token)?;
        Some(Principal::Daemon {
            row: credential.row.clone(),
            incarnation: credential.incarnation,
        })
    }

    /// Returns the open signals of a project in the order in which they are drained.
    pub fn open_signals<'a>(
        &'a self,
        project: &Project,
    ) -> impl Iterator<Item = &'a CoordinationSignal> + use<'a> {
        let ids = self.open_signals.get(project);
        let open = ids.into_iter().flatten();
        let mut open: Vec<_> = open.filter_map(|id| self.tables.signals.get(id)).collect();
        open.sort_by_key(|signal| signal.drain_order());
        open.into_iter()
    }

    pub(crate) fn all_open_signals(&self) -> impl Iterator<Item = &CoordinationSignal> {
        let ids = self.open_signals.values().flatten();
        ids.filter_map(|id| self.tables.signals.get(id))
    }

    pub(crate) fn open_signals_where(
        &self,
        project: &Project,
        is_wanted: impl Fn(&CoordinationSignal) -> bool,
    ) -> Vec<CoordinationSignal> {
        let ids = self.open_signals.get(project).into_iter().flatten();
        let open = ids.filter_map(|id| self.tables.signals.get(id));
        open.filter(|signal| is_wanted(signal)).cloned().collect()
    }

    /// Counts open signals without copying them.
    pub(crate) fn count_open(
        &self,
        project: &Project,
        is_wanted: impl Fn(&CoordinationSignal) -> bool,
    ) -> usize {
        let ids = self.open_signals.get(project).into_iter().flatten();
        let open = ids.filter_map(|id| self.tables.signals.get(id));
        open.filter(|signal| is_wanted(signal)).count()
    }

    /// Decides a request. Nothing changes until the decision is [applied](Self::apply).
    pub fn decide(&self, request: RosterRequest, now: Timestamp) -> RosterDecision {
        let cause = match request.command {
            RosterCommand::Lapse => DecisionCause::Lapse,
            _ => DecisionCause::Request,
        };
        let decided = |answer, changes, effects, refused| RosterDecision {
            answer,
            changes,
            effects,
            refused,
            at: now,
            cause,
        };
        match self.replayed(&request) {
            Some(Ok(answer)) => decided(Ok(answer), RosterChanges::default(), Vec::new(), None),
            Some(Err(refusal)) => {
                let entry = refused(&request, &refusal, now);
                let changes = self.audited(&entry);
                decided(Err(refusal), changes, Vec::new(), Some(entry))
            }
            None => {
                let mut work = UnitOfWork::new(self, &request, now);
                match work.perform(request.command.clone()) {
                    Ok(answer) => {
                        work.keep_reply(&request, &answer);
                        let (changes, effects) = work.into_parts();
                        decided(Ok(answer), changes, effects, None)
                    }
                    Err(refusal) => {
                        let entry = refused(&request, &refusal, now);
                        let changes = self.audited(&entry);
                        decided(Err(refusal), changes, Vec::new(), Some(entry))
                    }
                }
            }
        }
    }

    /// Applies a decision whose changes were committed.
    pub fn apply(&mut self, decision: RosterDecision) {
        for signal in decision.changes.tables.signals.values() {
            let of_project = self.open_signals.entry(signal.project.clone()).or_default();
            if signal.is_open() {
                of_project.insert(signal.id.clone());
            } else {
                of_project.remove(&signal.id);
            }
        }
        self.tables.extend(decision.changes.tables);
        if let Some(refused) = decision.refused {
            self.refusals.record(refused);
        }
        match decision.cause {
            DecisionCause::Request => self.latest = self.latest.max(decision.at),
            DecisionCause::Lapse => {
                self.latest = decision.at;
                self.refusals.remove_folded(decision.at);
                self.forget_old(decision.at);
            }
        }
    }

    /// Decides a request and applies the decision, for callers that store nothing.
    pub fn handle(
        &mut self,
        request: RosterRequest,
        now: Timestamp,
    ) -> (Result<RosterAnswer, RosterRefusal>, Vec<RosterEffect>) {
        let mut decision = self.decide(request, now);
        let answer = decision.answer.clone();
        let effects = std::mem::take(&mut decision.effects);
        self.apply(decision);
        (answer, effects)
    }

    /// Returns the time at which to request [`RosterCommand::Lapse`] next.
    pub fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        lapse::deadline(self, now)
    }

    /// Returns the effects that may not have been performed before a crash.
    ///
    /// Call it once after a start. The driver searches for the nonce before it spawns, and a process that is gone counts as closed, so
    /// performing an effect again does no harm.
    pub fn unfinished(&self) -> Vec<RosterEffect> {
        let rows = self.tables.rows.values();
        let closing = rows
            .clone()
            .filter(|row| row.is_closing())
            .map(|row| RosterEffect::Close(row.id.clone()));
        let starting = rows.filter_map(|row| {
            let order = row.spawn_order(self.token_of(row)?)?;
            Some(RosterEffect::Spawn(order))
        });
        let retiring = self.tables.resets.values();
        let retiring = retiring
            .filter(|reset| reset.state == ResetState::Retiring)
            .map(|reset| RosterEffect::Close(reset.predecessor.clone()));
        let mut effects: Vec<_> = starting.chain(closing).collect();
        for effect in retiring {
            if !effects.contains(&effect) {
                effects.push(effect);
            }
        }
        effects
    }

    /// Returns the order by which the process of a row is started again, with the token of its incarnation; `None` for a row whose
    /// process the host does not start.
    pub fn order_again(&self, row: &RowId) -> Option<SpawnOrder> {
        let row = self.tables.rows.get(row)?;
        let mut unstarted = row.clone();
        unstarted.spawn.as_mut()?.handle = None;
        unstarted.spawn_order(self.token_of(row)?)
    }

    /// Returns the token of the agent of a row.
    fn token_of(&self, row: &RosterRow) -> Option<TokenHash> {
        let mut credentials = self.tables.credentials.values();
        let own = credentials.find(|it| it.row == row.id && it.incarnation == row.incarnation);
        own.map(|credential| credential.hash)
    }

    fn replayed(&self, request: &RosterRequest) -> Option<Result<RosterAnswer, RosterRefusal>> {
        let key = request.reply_key()?;
        let reply = self.tables.replies.get(&key)?;
        let idempotency = request.idempotency.as_ref()?;
        Some(if reply.params == idempotency.params {
            Ok(reply.answer.clone())
        } else {
            Err(ConflictReason::RequestReused.into())
        })
    }

    fn audited(&self, refusal: &AuditEntry) -> RosterChanges {
        RosterChanges {
            audit: self.refusals.entries(refusal),
            ..RosterChanges::default()
        }
    }

    /// Removes from memory what can no longer be referred to; the store keeps it for as long as it is configured.
    fn forget_old(&mut self, now: Timestamp) {
        let is_recent = |at: Timestamp| now.duration_since(at) <= REPLY_RETENTION;
        self.tables.replies.retain(|_, reply| is_recent(reply.at));
        let is_kept = |signal: &CoordinationSignal| signal.ended_at.is_none_or(is_recent);
        self.tables.signals.retain(|_, signal| is_kept(signal));
        self.tables.rows.retain(|_, row| !row.has_left(now));
    }
}

impl RosterRequest {
    pub(crate) fn reply_key(&self) -> Option<(Option<RowId>, RequestKey)> {
        let request = self.idempotency.as_ref()?.request.clone();
        match &self.by {
            Principal::Operator => Some((None, request)),
            Principal::Daemon { row, .. } => Some((Some(row.clone()), request)),
            Principal::Host | Principal::Unregistered => None,
        }
    }
}

fn refused(request: &RosterRequest, refusal: &RosterRefusal, now: Timestamp) -> AuditEntry {
    let own = match &request.by {
        Principal::Daemon { row, .. } => Some(row),
        Principal::Operator | Principal::Host | Principal::Unregistered => None,
    };
    AuditEntry {
        at: now,
        actor: request.by.clone(),
        kind: request.command.name(),
        row: request.command.row().or(own).cloned(),
        from: None,
        to: None,
        rule: Some(refusal.rule()),
        reason: match request.command.refused_subject() {
            Some(subject) => format!("{refusal}: {subject}"),
            None => refusal.to_string(),
        },
        request: request.idempotency.as_ref().map(|it| it.request.clone()),
        count: 1,
    }
}
