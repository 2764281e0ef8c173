//! Check-ins: how a row upgrades, registers, and what it learns.

use jiff::Timestamp;

use crate::answer::{CheckedIn, RosterAnswer};
use crate::command::{CheckInParams, Evaluation};
use crate::id::{DaemonName, Incarnation, ReasonText, RowId};
use crate::principal::Principal;
use crate::refusal::{ForbiddenRule, InvalidParams, RosterRefusal};
use crate::row::{
    Cadence, CheckInRecord, Credential, LastActivity, Role, RosterRow, RowKind, WakeReason,
};
use crate::signal::{CoordinationSignal, SignalStatus};
use crate::wind_down::WindDownEvent;
use crate::work::UnitOfWork;

impl UnitOfWork<'_> {
    pub(crate) fn check_in(
        &mut self,
        params: CheckInParams,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let mut row = self.checked_in_row(&params)?;
        let cadence = match &params.cadence {
            Some(word) => Some(word.parse::<Cadence>().map_err(InvalidParams::from)?),
            None => None,
        };
        self.begin_incarnation(&mut row, &params)?;
        if let (Principal::Unregistered, Some(hash)) = (self.by(), params.token) {
            self.put_credential(Credential {
                hash,
                row: row.id.clone(),
                incarnation: row.incarnation,
            });
        }
        self.note_cadence(&mut row, cadence);
        row.context_tokens = params.context_tokens.or(row.context_tokens);
        row.context_limit = params.context_limit.or(row.context_limit);
        self.stamp(&mut row);
        if row.wind_down.is_requested() {
            self.move_wind_down(&mut row, WindDownEvent::CheckIn, "")?;
        }
        let next_due_at = self.after(self.settings().heartbeat);
        row.due_at = Some(next_due_at);
        if *self.by() == Principal::Operator {
            let change = (None, params.wake.as_str());
            self.audit(
                "check-in",
                Some(row.id.clone()),
                change,
                "on behalf of the daemon",
            );
        }
        self.renew_claims_of(&row);
        self.put_check_in(CheckInRecord {
            row: row.id.clone(),
            incarnation: row.incarnation,
            at: self.now(),
            wake: params.wake,
            cadence,
            context_tokens: params.context_tokens,
        });
        let answer = self.checked_in(&row, next_due_at);
        self.put_row(row);
        Ok(RosterAnswer::CheckedIn(Box::new(answer)))
    }

    fn checked_in(&self, row: &RosterRow, next_due_at: Timestamp) -> CheckedIn {
        let baton = match (&row.project, &row.role) {
            (Some(project), Some(role)) => Some(self.baton(project, role)),
            _ => None,
        };
        let held = baton.filter(|baton| baton.holder.as_ref() == Some(&row.id));
        let is_orchestrator = held.is_some() && row.role == Some(Role::Orchestrator);
        let may_claim = |signal: &CoordinationSignal| {
            let is_target = signal.target.as_ref() == Some(&row.id);
            signal.status == SignalStatus::Pending && (is_orchestrator || is_target)
        };
        let project = row.project.as_ref();
        let reset = self.open_reset(|reset| reset.has(&row.id));
        CheckedIn {
            row: row.id.clone(),
            incarnation: row.incarnation,
            gate: row.gate,
            generation: held.map(|baton| baton.generation),
            wind_down: row.wind_down,
            reset: reset.map(|reset| reset.state),
            needs_compaction: row.needs_compaction,
            pending_signals: project.map_or(0, |it| self.roster().count_open(it, may_claim)),
            next_due_at,
        }
    }

    /// Returns the row that checks in, which is a new one for an agent that registers itself.
    fn checked_in_row(&self, params: &CheckInParams) -> Result<RosterRow, RosterRefusal> {
        match self.by() {
            Principal::Host => return Err(ForbiddenRule::Role.into()),
            Principal::Daemon { .. } => return self.daemon(),
            Principal::Operator | Principal::Unregistered => {}
        }
        if let Some(nonce) = &params.nonce {
            let has_nonce = |row: &&RosterRow| {
                let spawn = row.spawn.as_ref();
                spawn.is_some_and(|spawn| spawn.nonce == *nonce)
            };
            let id = self.rows().find(has_nonce).map(|row| row.id.clone());
            let id = id.ok_or_else(|| RosterRefusal::not_found("nonce", nonce))?;
            return self.active(&id);
        }
        let actor_ref = required(params.actor_ref.as_ref(), "actor_ref")?;
        let project = required(params.project.as_ref(), "project")?;
        let known = self.rows().find(|row| {
            row.kind == RowKind::Standing
                && !row.is_retired()
                && row.actor_ref == *actor_ref
                && row.project.as_ref() == Some(project)
        });
        let is_operator = *self.by() == Principal::Operator;
        match known {
            // Its name can be guessed, its token and its nonce cannot.
            Some(row) if row.spawn.is_some() && !is_operator => Err(ForbiddenRule::Role.into()),
            Some(row) => Ok(row.clone()),
            None if is_operator => Err(RosterRefusal::not_found("daemon", actor_ref)),
            None => self.registered(params),
        }
    }

    /// Returns the row of an agent that registers itself: on hold, and without a baton.
    fn registered(&self, params: &CheckInParams) -> Result<RosterRow, RosterRefusal> {
        let actor_ref = required(params.actor_ref.as_ref(), "actor_ref")?;
        let project = required(params.project.as_ref(), "project")?;
        if !self.settings().projects.contains(project) {
            return Err(RosterRefusal::not_found("project", project));
        }
        let name: DaemonName = actor_ref.as_str().parse().map_err(InvalidParams::from)?;
        let mut row = RosterRow::expected(self.fresh(RowId::new), name, self.now());
        row.actor_ref = actor_ref.clone();
        row.project = Some(project.clone());
        row.role.clone_from(&params.role);
        Ok(row)
    }

    /// Takes over the ids of a check-in. A start in a new process or session is a new incarnation; a check-in with other ids
    /// that is no start comes from an older one.
    fn begin_incarnation(
        &mut self,
        row: &mut RosterRow,
        params: &CheckInParams,
    ) -> Result<(), RosterRefusal> {
        let is_new = differs(row.process.as_ref(), params.process.as_ref())
            || differs(row.session.as_ref(), params.session.as_ref());
        if is_new && params.wake != WakeReason::Start {
            return Err(RosterRefusal::Fenced {
                row: row.id.clone(),
            });
        }
        if is_new {
            let from = row.incarnation.0.to_string();
            row.incarnation = row.incarnation.next();
            let to = row.incarnation.0.to_string();
            let change = (Some(from.as_str()), to.as_str());
            self.audit("incarnation", Some(row.id.clone()), change, "");
            self.rebind_token(row);
        }
        row.process = params.process.clone().or_else(|| row.process.take());
        row.session = params.session.clone().or_else(|| row.session.take());
        Ok(())
    }

    /// The agent that raised the incarnation keeps its token; tokens of older agents stay with their incarnation.
    fn rebind_token(&mut self, row: &RosterRow) {
        let Principal::Daemon { incarnation, .. } = self.by() else {
            return;
        };
        let credentials = self.roster().tables.credentials.values();
        let own = credentials
            .filter(|it| it.row == row.id && it.incarnation == *incarnation)
            .cloned()
            .collect::<Vec<_>>();
        for credential in own {
            self.put_credential(Credential {
                incarnation: row.incarnation,
                ..credential
            });
        }
    }

    fn note_cadence(&mut self, row: &mut RosterRow, cadence: Option<Cadence>) {
        if cadence.is_none() || cadence == row.cadence {
            return;
        }
        let from = row.cadence.map(Cadence::as_str);
        let to = cadence.map_or("", Cadence::as_str);
        self.audit("cadence", Some(row.id.clone()), (from, to), "");
        row.cadence = cadence;
    }

    /// Stamps a check-in. At the first one an expected row gets the baton of its role, if it has no holder.
    fn stamp(&mut self, row: &mut RosterRow) {
        let now = self.now();
        row.last_checkin_at = Some(now);
        row.trouble = None;
        row.notified = None;
        if row.first_checkin_at.is_some() {
            return;
        }
        row.first_checkin_at = Some(now);
        let change = (Some("spawning"), "live");
        self.audit(
            "liveness",
            Some(row.id.clone()),
            change,
            "the first check-in",
        );
        let (Some(project), Some(role), Some(_)) = (&row.project, &row.role, &row.spawn) else {
            return;
        };
        let mut baton = self.baton(project, role);
        if baton.holder.is_none() {
            baton.generation = baton.generation.next();
            baton.holder = Some(row.id.clone());
            row.generation = Some(baton.generation);
            let to = baton.generation.0.to_string();
            let reason = format!("{role} of {project}");
            self.audit("baton", Some(row.id.clone()), (None, &to), &reason);
            self.put_baton(baton);
        }
    }

    pub(crate) fn activity(
        &mut self,
        id: &RowId,
        incarnation: Incarnation,
    ) -> Result<RosterAnswer, RosterRefusal> {
        self.host()?;
        let mut row = self.active(id)?;
        let is_older = |known: LastActivity| known.incarnation > incarnation;
        if !row.last_activity.is_some_and(is_older) {
            let at = self.now();
            row.last_activity = Some(LastActivity { at, incarnation });
            if self.is_live(&row) {
                row.notified = None;
            }
            self.put_row(row);
        }
        Ok(RosterAnswer::Done)
    }

    pub(crate) fn evaluate(&mut self, found: Evaluation) -> Result<RosterAnswer, RosterRefusal> {
        self.host()?;
        let known = self.rows().find(|row| {
            row.kind == found.kind
                && !row.is_retired()
                && row.actor_ref == found.actor_ref
                && row.project == found.project
        });
        let mut row = match known {
            Some(row) => row.clone(),
            None => RosterRow {
                kind: found.kind,
                project: found.project,
                actor_ref: found.actor_ref,
                gate: found.gate,
                ..RosterRow::expected(self.fresh(RowId::new), found.name.clone(), self.now())
            },
        };
        if row.kind == RowKind::Standing {
            // A standing daemon checks in itself.
            return Err(ForbiddenRule::Role.into());
        }
        row.name = found.name;
        if row.gate != found.gate {
            // It was moved otherwise than through the roster, or tripped.
            let change = (Some(row.gate.as_str()), found.gate.as_str());
            self.audit(
                "gate",
                Some(row.id.clone()),
                change,
                "the gate of the daemon",
            );
            row.gate = found.gate;
        }
        if found.trouble.is_some() {
            row.trouble = found.trouble;
        } else {
            self.stamp(&mut row);
        }
        self.put_row(row);
        Ok(RosterAnswer::Done)
    }

    /// Retires a row for which the host checks in.
    pub(crate) fn depart(
        &mut self,
        id: &RowId,
        reason: &ReasonText,
    ) -> Result<RosterAnswer, RosterRefusal> {
        self.host()?;
        let row = self.active(id)?;
        if row.kind == RowKind::Standing {
            return Err(ForbiddenRule::Role.into());
        }
        self.retire_row(row, reason.as_str());
        Ok(RosterAnswer::Retired(id.clone()))
    }
}

fn required<'a, T>(value: Option<&'a T>, name: &'static str) -> Result<&'a T, RosterRefusal> {
    value.ok_or_else(|| InvalidParams::Missing(name).into())
}

/// Absent ids are not different ones.
fn differs<T: PartialEq>(known: Option<&T>, named: Option<&T>) -> bool {
    matches!((known, named), (Some(known), Some(named)) if known != named)
}
