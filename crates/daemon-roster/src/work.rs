//! One request under way: the rows that it changes, over those of the roster.

use jiff::{SignedDuration, Timestamp};

use crate::answer::{RosterAnswer, RosterEffect};
use crate::audit::AuditEntry;
use crate::command::{RosterCommand, RosterRequest};
use crate::id::{Generation, PlanId, Project, RequestKey, ResetId, RowId, SignalId};
use crate::liveness::{Liveness, LivenessReport, liveness};
use crate::principal::Principal;
use crate::refusal::{ForbiddenRule, RosterRefusal};
use crate::reset::Reset;
use crate::roster::{Roster, RosterChanges, StoredReply};
use crate::row::{Baton, CheckInRecord, Credential, Role, RosterRow};
use crate::settings::RosterSettings;
use crate::signal::CoordinationSignal;
use crate::spawn::SpawnPlan;
use crate::wind_down;

/// A request under way. A refused one is dropped with everything that it changed.
#[derive(Debug)]
pub(crate) struct UnitOfWork<'a> {
    roster: &'a Roster,
    by: Principal,
    request: Option<RequestKey>,
    random: [u8; 10],
    now: Timestamp,
    changes: RosterChanges,
    effects: Vec<RosterEffect>,
}

impl<'a> UnitOfWork<'a> {
    pub(crate) fn new(roster: &'a Roster, request: &RosterRequest, now: Timestamp) -> Self {
        Self {
            roster,
            by: request.by.clone(),
            request: request.idempotency.as_ref().map(|it| it.request.clone()),
            random: request.random,
            now,
            changes: RosterChanges::default(),
            effects: Vec::new(),
        }
    }

    pub(crate) fn into_parts(self) -> (RosterChanges, Vec<RosterEffect>) {
        (self.changes, self.effects)
    }

    pub(crate) fn perform(
        &mut self,
        command: RosterCommand,
    ) -> Result<RosterAnswer, RosterRefusal> {
        use RosterCommand as C;
        let is_check_in = matches!(command, C::CheckIn(_));
        if self.settings().is_read_only && self.by != Principal::Host && !is_check_in {
            return Err(ForbiddenRule::ReadOnly.into());
        }
        match command {
            C::CheckIn(params) => self.check_in(params),
            C::Activity { row, incarnation } => self.activity(&row, incarnation),
            C::Evaluate(evaluation) => self.evaluate(evaluation),
            C::Depart { row, reason } => self.depart(&row, &reason),
            C::SetGate {
                row,
                change,
                reason,
            } => self.set_gate(&row, change, &reason),
            C::Enqueue(signal) => self.enqueue(signal),
            C::Poke { row, line } => self.poke(&row, line),
            C::Claim(signal) => self.claim(&signal),
            C::Complete {
                signal,
                token,
                result,
            } => self.complete(&signal, &token, result),
            C::Fail {
                signal,
                token,
                error,
            } => self.fail(&signal, &token, error),
            C::CancelSignal(signal) => self.cancel_signal(&signal),
            C::ReportBlocked { tool, error } => self.report_blocked(&tool, &error),
            C::Authorize(action) => self.authorize(action),
            C::Widen { .. } => Err(ForbiddenRule::SelfWidening.into()),
            C::SendForeignForm { .. } => Err(ForbiddenRule::ForeignForm.into()),
            C::RequestCompaction(row) => self.request_compaction(&row),
            C::CompactionDone(row) => self.compaction_done(row.as_ref()),
            C::Interject(interjection) => self.interject(interjection),
            C::Lapse => self.lapse(),
            other => self.perform_lifecycle(other),
        }
    }

    fn perform_lifecycle(&mut self, command: RosterCommand) -> Result<RosterAnswer, RosterRefusal> {
        use RosterCommand as C;
        match command {
            C::RequestReset { row, reason } => self.request_reset(&row, &reason),
            C::StartReset {
                reset,
                token,
                charter,
            } => self.start_reset(&reset, token, charter),
            C::SuccessorReady(reset) => self.successor_ready(&reset),
            C::HandOff {
                reset,
                handoff_ref,
                gate,
            } => self.hand_off(&reset, handoff_ref, gate),
            C::RetirePredecessor(reset) => self.retire_predecessor(&reset),
            C::CancelReset(reset) => self.cancel_reset(&reset),
            C::RequestWindDown { row, reason } => {
                self.change_wind_down(&row, wind_down::REQUEST, &reason)
            }
            C::WindDownReady(handoff_ref) => self.wind_down_ready(handoff_ref),
            C::CancelWindDown { row, reason } => {
                self.change_wind_down(&row, wind_down::CANCEL, &reason)
            }
            C::SubordinatesReady(project) => self.subordinates_ready(&project),
            C::Retire { row, reason } => self.retire(&row, &reason),
            other => self.perform_spawn(other),
        }
    }

    fn perform_spawn(&mut self, command: RosterCommand) -> Result<RosterAnswer, RosterRefusal> {
        use RosterCommand as C;
        match command {
            C::PlanSpawn { wanted, facts } => self.plan_spawn(wanted, &facts),
            C::ConfirmSpawn {
                plan,
                packet,
                confirmation,
                token,
                facts,
            } => self.confirm_spawn(&plan, packet, confirmation, token, &facts),
            C::ProcessStarted { row, handle } => self.process_started(&row, handle),
            C::StartFailed { row, error } => self.start_failed(&row, &error),
            C::ProcessClosed(row) => self.process_closed(&row),
            C::NoteAllowlist {
                project,
                before,
                state,
            } => self.note_allowlist(&project, before, state),
            C::Resume {
                row,
                token,
                n_lately,
            } => self.resume(&row, token, n_lately),
            C::CheckIn(_)
            | C::Activity { .. }
            | C::Evaluate(_)
            | C::Depart { .. }
            | C::SetGate { .. }
            | C::Enqueue(_)
            | C::Poke { .. }
            | C::Claim(_)
            | C::Complete { .. }
            | C::Fail { .. }
            | C::CancelSignal(_)
            | C::ReportBlocked { .. }
            | C::Authorize(_)
            | C::Widen { .. }
            | C::SendForeignForm { .. }
            | C::RequestCompaction(_)
            | C::CompactionDone(_)
            | C::Interject(_)
            | C::RequestReset { .. }
            | C::StartReset { .. }
            | C::SuccessorReady(_)
            | C::HandOff { .. }
            | C::RetirePredecessor(_)
            | C::CancelReset(_)
            | C::RequestWindDown { .. }
            | C::WindDownReady(_)
            | C::CancelWindDown { .. }
            | C::SubordinatesReady(_)
            | C::Retire { .. }
            | C::Lapse => unreachable!("`perform` and `perform_lifecycle` handle these"),
        }
    }

    pub(crate) fn by(&self) -> &Principal {
        &self.by
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn settings(&self) -> &'a RosterSettings {
        &self.roster.settings
    }

    pub(crate) fn roster(&self) -> &'a Roster {
        self.roster
    }

    /// Returns the instant after a span of the settings.
    pub(crate) fn after(&self, span: SignedDuration) -> Timestamp {
        self.now.checked_add(span).unwrap_or(Timestamp::MAX)
    }

    /// Makes an id of the request's random bits. A request makes at most one id of each type.
    pub(crate) fn fresh<T>(&self, make: impl FnOnce(Timestamp, [u8; 10]) -> T) -> T {
        make(self.now, self.random)
    }

    pub(crate) fn find_row(&self, id: &RowId) -> Option<&RosterRow> {
        let changed = self.changes.tables.rows.get(id);
        changed.or_else(|| self.roster.tables.rows.get(id))
    }

    /// Returns a row that exists and is not retired.
    pub(crate) fn active(&self, id: &RowId) -> Result<RosterRow, RosterRefusal> {
        let row = self
            .find_row(id)
            .ok_or_else(|| RosterRefusal::not_found("daemon", id))?;
        if row.is_retired() {
            return Err(RosterRefusal::Retired { row: id.clone() });
        }
        Ok(row.clone())
    }

    /// Returns all rows, with the values that this request gave them.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &RosterRow> {
        let changed = &self.changes.tables.rows;
        let unchanged = self.roster.tables.rows.values();
        unchanged
            .filter(|row| !changed.contains_key(&row.id))
            .chain(changed.values())
    }

    pub(crate) fn put_row(&mut self, row: RosterRow) {
        self.changes.tables.rows.insert(row.id.clone(), row);
    }

    pub(crate) fn signal(&self, id: &SignalId) -> Result<CoordinationSignal, RosterRefusal> {
        let changed = self.changes.tables.signals.get(id);
        let found = changed.or_else(|| self.roster.tables.signals.get(id));
        found
            .cloned()
            .ok_or_else(|| RosterRefusal::not_found("signal", id))
    }

    /// Returns the open signals of a project for which a condition holds, with the values that this request gave them.
    pub(crate) fn open_signals_where(
        &self,
        project: &Project,
        is_wanted: impl Fn(&CoordinationSignal) -> bool,
    ) -> Vec<CoordinationSignal> {
        let changed = &self.changes.tables.signals;
        let is_unchanged = |signal: &CoordinationSignal| !changed.contains_key(&signal.id);
        let mut open = self
            .roster
            .open_signals_where(project, |signal| is_unchanged(signal) && is_wanted(signal));
        let changed = changed
            .values()
            .filter(|signal| signal.is_open() && signal.project == *project && is_wanted(signal));
        open.extend(changed.cloned());
        open
    }

    pub(crate) fn put_signal(&mut self, signal: CoordinationSignal) {
        let signals = &mut self.changes.tables.signals;
        signals.insert(signal.id.clone(), signal);
    }

    /// Returns a baton; one that was never given has no holder and the generation 0.
    pub(crate) fn baton(&self, project: &Project, role: &Role) -> Baton {
        let key = (project.clone(), role.clone());
        let changed = self.changes.tables.batons.get(&key);
        let found = changed.or_else(|| self.roster.tables.batons.get(&key));
        found.cloned().unwrap_or_else(|| Baton {
            project: key.0,
            role: key.1,
            holder: None,
            generation: Generation::default(),
        })
    }

    pub(crate) fn put_baton(&mut self, baton: Baton) {
        let key = (baton.project.clone(), baton.role.clone());
        self.changes.tables.batons.insert(key, baton);
    }

    pub(crate) fn reset(&self, id: &ResetId) -> Result<Reset, RosterRefusal> {
        let changed = self.changes.tables.resets.get(id);
        let found = changed.or_else(|| self.roster.tables.resets.get(id));
        found
            .cloned()
            .ok_or_else(|| RosterRefusal::not_found("reset", id))
    }

    /// Returns the open reset for which a condition holds.
    pub(crate) fn open_reset(&self, is_wanted: impl Fn(&Reset) -> bool) -> Option<Reset> {
        let resets = self.roster.tables.resets.values();
        let changed = &self.changes.tables.resets;
        let unchanged = resets.filter(|reset| !changed.contains_key(&reset.id));
        let mut open = unchanged
            .chain(changed.values())
            .filter(|reset| reset.state.is_open());
        open.find(|reset| is_wanted(reset)).cloned()
    }

    pub(crate) fn put_reset(&mut self, reset: Reset) {
        self.changes.tables.resets.insert(reset.id.clone(), reset);
    }

    pub(crate) fn plan(&self, id: &PlanId) -> Result<SpawnPlan, RosterRefusal> {
        let changed = self.changes.tables.plans.get(id);
        let found = changed.or_else(|| self.roster.tables.plans.get(id));
        found
            .cloned()
            .ok_or_else(|| RosterRefusal::not_found("plan", id))
    }

    pub(crate) fn put_plan(&mut self, plan: SpawnPlan) {
        self.changes.tables.plans.insert(plan.id.clone(), plan);
    }

    pub(crate) fn put_credential(&mut self, credential: Credential) {
        let credentials = &mut self.changes.tables.credentials;
        credentials.insert(credential.hash, credential);
    }

    pub(crate) fn put_check_in(&mut self, record: CheckInRecord) {
        self.changes.check_ins.push(record);
    }

    pub(crate) fn effect(&mut self, effect: RosterEffect) {
        self.effects.push(effect);
    }

    pub(crate) fn liveness(&self, row: &RosterRow) -> LivenessReport {
        liveness(row, self.now, self.settings())
    }

    pub(crate) fn is_live(&self, row: &RosterRow) -> bool {
        self.liveness(row).state == Liveness::Live
    }

    /// Records a transition.
    pub(crate) fn audit(
        &mut self,
        kind: &'static str,
        row: Option<RowId>,
        (from, to): (Option<&str>, &str),
        reason: &str,
    ) {
        self.changes.audit.push(AuditEntry {
            at: self.now,
            actor: self.by.clone(),
            kind,
            row,
            from: from.map(str::to_owned),
            to: Some(to.to_owned()),
            rule: None,
            reason: reason.to_owned(),
            request: self.request.clone(),
            count: 1,
        });
    }

    /// Appends entries that were made elsewhere.
    pub(crate) fn append_audit(&mut self, entries: Vec<AuditEntry>) {
        self.changes.audit.extend(entries);
    }

    /// Keeps the answer for repetitions of the request.
    pub(crate) fn keep_reply(&mut self, request: &RosterRequest, answer: &RosterAnswer) {
        let Some((key, idempotency)) = request.reply_key().zip(request.idempotency.as_ref()) else {
            return;
        };
        let reply = StoredReply {
            params: idempotency.params,
            answer: answer.clone(),
            at: self.now,
        };
        self.changes.tables.replies.insert(key, reply);
    }
}
