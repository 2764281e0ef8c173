//! Wind-down: a daemon parks its work, writes a handoff and stops; then it is retired.

use crate::answer::{RosterAnswer, RosterEffect};
use crate::authority::{OnHold, Permit};
use crate::id::{HandoffRef, Project, ReasonText, RowId};
use crate::principal::Principal;
use crate::refusal::{Blocker, ForbiddenRule, InvalidParams, RosterRefusal};
use crate::row::{Role, RosterRow, RowKind};
use crate::transition::machine;
use crate::word::words;
use crate::work::UnitOfWork;

/// How far the wind-down of a daemon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindDownState {
    /// It was not requested.
    None,
    /// It was requested since the last check-in.
    Requested,
    /// The daemon knows of it.
    Preparing,
    /// The daemon has written its handoff and stopped.
    Ready,
    /// The daemon was closed and retired.
    Closed,
}

words!(WindDownState, "a state of a wind-down", {
    None => "none",
    Requested => "requested",
    Preparing => "preparing",
    Ready => "ready",
    Closed => "closed",
});

machine! {
    /// The transitions of a wind-down.
    WIND_DOWN of WindDownState named "wind-down",
    /// What happens to a wind-down.
    WindDownEvent {
        Request => "request",
        CheckIn => "check-in",
        Finish => "ready",
        HandOver => "hand-over",
        Close => "close",
        Cancel => "cancel",
    }
    None + Request => Requested;
    Requested + CheckIn => Preparing;
    Requested + Finish => Ready;
    Preparing + Finish => Ready;
    Ready + Close => Closed;
    Requested + Cancel => None;
    Preparing + Cancel => None;
    Ready + Cancel => None;
    // A predecessor that handed its baton over has nothing left to wind down.
    None + HandOver => Ready;
    Requested + HandOver => Ready;
    Preparing + HandOver => Ready;
    Ready + HandOver => Ready;
}

/// Who may request a wind-down.
pub(crate) const REQUEST: (WindDownEvent, Permit) = (WindDownEvent::Request, Permit::Orchestrator);
/// Who may withdraw one.
pub(crate) const CANCEL: (WindDownEvent, Permit) = (WindDownEvent::Cancel, Permit::Operator);

impl WindDownState {
    pub(crate) fn is_requested(self) -> bool {
        self == Self::Requested
    }
}

impl UnitOfWork<'_> {
    /// Requests or withdraws a wind-down.
    pub(crate) fn change_wind_down(
        &mut self,
        id: &RowId,
        (event, permit): (WindDownEvent, Permit),
        reason: &ReasonText,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let row = self.standing(id)?;
        self.permit(&row, permit, OnHold::NotOrchestrator)?;
        self.wind_down(row, event, reason.as_str())
    }

    pub(crate) fn wind_down_ready(
        &mut self,
        handoff_ref: HandoffRef,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let mut row = self.daemon()?;
        WIND_DOWN.next(row.wind_down, WindDownEvent::Finish)?;
        if let (Some(Role::Orchestrator), Some(project)) = (&row.role, &row.project) {
            let blockers = self.not_wound_down(project, Some(&row.id));
            if !blockers.is_empty() {
                return Err(RosterRefusal::NotReady { blockers });
            }
        }
        let reason = format!("handoff: {handoff_ref}");
        row.handoff_ref = Some(handoff_ref);
        self.wind_down(row, WindDownEvent::Finish, &reason)
    }

    pub(crate) fn subordinates_ready(
        &self,
        project: &Project,
    ) -> Result<RosterAnswer, RosterRefusal> {
        match self.caller()? {
            Some(caller) if caller.project.as_ref() != Some(project) => {
                return Err(ForbiddenRule::OtherProject.into());
            }
            None if *self.by() != Principal::Operator => return Err(ForbiddenRule::Role.into()),
            _ => {}
        }
        let orchestrator = self.baton(project, &Role::Orchestrator).holder;
        let blockers = self.not_wound_down(project, orchestrator.as_ref());
        Ok(RosterAnswer::Subordinates { blockers })
    }

    pub(crate) fn retire(
        &mut self,
        id: &RowId,
        reason: &ReasonText,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let row = self.standing(id)?;
        self.permit(&row, Permit::Orchestrator, OnHold::NotOrchestrator)?;
        let is_ready = row.wind_down == WindDownState::Ready;
        if !is_ready && *self.by() != Principal::Operator {
            return Err(self.still_up(&row).into());
        }
        // The baton moves by the reset alone, so that it has one holder throughout.
        if self.open_reset(|reset| reset.has(id)).is_some() {
            return Err(Blocker::ResetOpen.into());
        }
        self.retire_row(row, reason.as_str());
        Ok(RosterAnswer::Retired(id.clone()))
    }

    /// Retires a row: its process is closed, its baton is free, its signals end.
    pub(crate) fn retire_row(&mut self, mut row: RosterRow, reason: &str) {
        if row.wind_down == WindDownState::Ready {
            self.move_wind_down(&mut row, WindDownEvent::Close, reason)
                .expect("a wind-down that is ready can be closed");
        }
        if let (Some(project), Some(role)) = (&row.project, &row.role) {
            let mut baton = self.baton(project, role);
            if baton.holder.as_ref() == Some(&row.id) {
                baton.holder = None;
                let from = baton.generation.0.to_string();
                let change = (Some(from.as_str()), "unheld");
                self.audit("baton", Some(row.id.clone()), change, reason);
                self.put_baton(baton);
            }
        }
        self.clear_signals_of(&row);
        let from = self.liveness(&row).state;
        let change = (Some(from.as_str()), "retired");
        self.audit("liveness", Some(row.id.clone()), change, reason);
        row.retire(self.now());
        if row.begin_closing() {
            self.effect(RosterEffect::Close(row.id.clone()));
        }
        self.put_row(row);
    }

    /// Returns a standing row that is not retired.
    pub(crate) fn standing(&self, id: &RowId) -> Result<RosterRow, RosterRefusal> {
        let row = self.active(id)?;
        if row.kind == RowKind::Standing {
            return Ok(row);
        }
        Err(InvalidParams::NotStanding(id.clone()).into())
    }

    /// Moves the wind-down of a row that is then to be stored.
    pub(crate) fn move_wind_down(
        &mut self,
        row: &mut RosterRow,
        event: WindDownEvent,
        reason: &str,
    ) -> Result<(), RosterRefusal> {
        let from = row.wind_down;
        row.wind_down = WIND_DOWN.next(from, event)?;
        let change = (Some(from.as_str()), row.wind_down.as_str());
        self.audit(WIND_DOWN.name, Some(row.id.clone()), change, reason);
        Ok(())
    }

    fn wind_down(
        &mut self,
        mut row: RosterRow,
        event: WindDownEvent,
        reason: &str,
    ) -> Result<RosterAnswer, RosterRefusal> {
        self.move_wind_down(&mut row, event, reason)?;
        let state = row.wind_down;
        self.put_row(row);
        Ok(RosterAnswer::WindDown(state))
    }

    /// Lists the standing daemons of a project, except its orchestrator, that have not wound down. One that is dead may have
    /// left work, so it is listed as well until it is retired.
    fn not_wound_down(&self, project: &Project, except: Option<&RowId>) -> Vec<Blocker> {
        let others = self.rows().filter(|row| {
            row.kind == RowKind::Standing
                && !row.is_retired()
                && row.project.as_ref() == Some(project)
                && Some(&row.id) != except
                && row.wind_down != WindDownState::Ready
        });
        let mut blockers: Vec<_> = others
            .map(|row| (row.id.clone(), self.still_up(row)))
            .collect();
        blockers.sort_by(|(a, _), (b, _)| a.cmp(b));
        blockers.into_iter().map(|(_, blocker)| blocker).collect()
    }

    fn still_up(&self, row: &RosterRow) -> Blocker {
        Blocker::NotWoundDown {
            row: row.id.clone(),
            liveness: self.liveness(row).state,
        }
    }
}
