//! Reset: a daemon is replaced without a moment at which no one, or two, hold its baton.
//!
//! The successor is started and has checked in before the baton moves, and the predecessor is closed after it has moved.

use jiff::Timestamp;

use crate::answer::{RosterAnswer, RosterEffect};
use crate::authority::{OnHold, Permit};
use crate::command::{HandOffGate, NewSignal};
use crate::gate::{GateEvent, RosterGate};
use crate::id::{
    Generation, HandoffRef, Nonce, Project, ReasonText, ResetId, RowId, SignalId, TokenHash,
};
use crate::principal::Principal;
use crate::refusal::{Blocker, ConflictReason, ForbiddenRule, InvalidParams, RosterRefusal};
use crate::row::{Role, RosterRow};
use crate::signal::{CoordinationSignal, SignalEvent, SignalKind};
use crate::spawn::PacketHash;
use crate::transition::machine;
use crate::wind_down::WindDownEvent;
use crate::word::words;
use crate::work::UnitOfWork;

/// How far a reset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetState {
    /// It waits for the orchestrator or the operator.
    Requested,
    /// The row of the successor exists, its process may not.
    Starting,
    /// The process of the successor was started.
    Spawned,
    /// The successor has checked in and can take over.
    Ready,
    /// The successor holds the baton.
    HandedOff,
    /// The predecessor is to be closed.
    Retiring,
    /// The predecessor is closed and retired.
    Retired,
    /// It was given up before the hand-over.
    Cancelled,
    /// The successor did not start or did not check in. A new reset may be requested.
    Failed,
}

words!(ResetState, "a state of a reset", {
    Requested => "requested",
    Starting => "starting",
    Spawned => "spawned",
    Ready => "ready",
    HandedOff => "handed_off",
    Retiring => "retiring",
    Retired => "retired",
    Cancelled => "cancelled",
    Failed => "failed",
});

machine! {
    /// The transitions of a reset.
    RESET of ResetState named "reset",
    /// What happens to a reset.
    ResetEvent {
        Start => "start",
        Spawned => "spawned",
        Fail => "fail",
        Ready => "successor ready",
        HandOff => "hand-off",
        Retire => "retire the predecessor",
        Closed => "closed",
        Cancel => "cancel",
    }
    Requested + Start => Starting;
    Starting + Spawned => Spawned;
    Spawned + Ready => Ready;
    Ready + HandOff => HandedOff;
    HandedOff + Retire => Retiring;
    // The process is closed again: the request before may have been lost in a crash.
    Retiring + Retire => Retiring;
    Retiring + Closed => Retired;
    Starting + Fail => Failed;
    Spawned + Fail => Failed;
    // Until the baton has moved the reset can be given up. A successor that dies after it was ready would otherwise block the
    // role for ever.
    Requested + Cancel => Cancelled;
    Starting + Cancel => Cancelled;
    Spawned + Cancel => Cancelled;
    Ready + Cancel => Cancelled;
}

/// The replacement of one daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Identifies it.
    pub id: ResetId,
    /// The project of the baton.
    pub project: Project,
    /// The role of the baton.
    pub role: Role,
    /// The row that is replaced.
    pub predecessor: RowId,
    /// The row that replaces it, from its start.
    pub successor: Option<RowId>,
    /// How far it is.
    pub state: ResetState,
    /// Who requested it.
    pub requested_by: Principal,
    /// Why.
    pub reason: ReasonText,
    /// When it was requested.
    pub requested_at: Timestamp,
    /// When the process of the successor was started.
    pub spawned_at: Option<Timestamp>,
    /// When the successor was ready.
    pub ready_at: Option<Timestamp>,
    /// When it was retired, cancelled or failed.
    pub ended_at: Option<Timestamp>,
}

impl ResetState {
    /// Reports whether it has not ended.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Retired | Self::Cancelled | Self::Failed)
    }
}

impl Reset {
    /// Reports whether a row takes part in it.
    pub(crate) fn has(&self, row: &RowId) -> bool {
        self.predecessor == *row || self.successor.as_ref() == Some(row)
    }
}

impl UnitOfWork<'_> {
    pub(crate) fn request_reset(
        &mut self,
        id: &RowId,
        reason: &ReasonText,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let row = self.standing(id)?;
        self.permit(&row, Permit::Itself, OnHold::Held)?;
        if let Some(caller) = self.caller()?.filter(|caller| caller.id == row.id) {
            self.of_current_generation(&caller)?;
            self.on_go(&caller)?;
        }
        let (Some(project), Some(role)) = (row.project.clone(), row.role.clone()) else {
            return Err(InvalidParams::NotStanding(id.clone()).into());
        };
        let open = self.open_reset(|reset| reset.project == project && reset.role == role);
        if let Some(open) = open {
            return if open.predecessor == *id {
                Ok(open.answer())
            } else {
                Err(ConflictReason::ResetOpen.into())
            };
        }
        if self.baton(&project, &role).holder.as_ref() != Some(id) {
            return Err(ConflictReason::NotHolder(id.clone()).into());
        }
        let reset = Reset {
            id: self.fresh(ResetId::new),
            project,
            role,
            predecessor: id.clone(),
            successor: None,
            state: ResetState::Requested,
            requested_by: self.by().clone(),
            reason: reason.clone(),
            requested_at: self.now(),
            spawned_at: None,
            ready_at: None,
            ended_at: None,
        };
        let change = (None, reset.state.as_str());
        self.audit(RESET.name, Some(id.clone()), change, reason.as_str());
        let signal = CoordinationSignal::pending(
            self.fresh(SignalId::new),
            reset.project.clone(),
            self.by().clone(),
            NewSignal {
                kind: SignalKind::Reset,
                project: None,
                target: None,
                dedupe_key: None,
                priority: NewSignal::DEFAULT_PRIORITY,
                payload: reset.id.to_string(),
                reference: None,
            },
        );
        self.put_signal(signal);
        let answer = reset.answer();
        self.put_reset(reset);
        Ok(answer)
    }

    pub(crate) fn start_reset(
        &mut self,
        id: &ResetId,
        token: TokenHash,
        charter: Option<PacketHash>,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let mut reset = self.reset(id)?;
        self.orchestrator_of(&reset.project, OnHold::Held)?;
        self.advance_reset(&mut reset, ResetEvent::Start, "")?;
        let predecessor = self.active(&reset.predecessor)?;
        let mut successor = self.successor_row(&reset, &predecessor)?;
        successor.charter = charter;
        self.expect_spawn(&successor, token);
        reset.successor = Some(successor.id.clone());
        let answer = reset.answer();
        self.put_row(successor);
        self.put_reset(reset);
        Ok(answer)
    }

    /// Returns the row of a successor: on hold, under a name that is free while the predecessor lives.
    fn successor_row(
        &self,
        reset: &Reset,
        predecessor: &RosterRow,
    ) -> Result<RosterRow, RosterRefusal> {
        let next = self.baton(&reset.project, &reset.role).generation.next();
        let name = format!("{}-{}-{}", reset.project, reset.role, next.0);
        let name = name.parse().map_err(InvalidParams::from)?;
        let mut row = RosterRow::expected(self.fresh(RowId::new), name, self.now());
        row.project = Some(reset.project.clone());
        row.role = Some(reset.role.clone());
        row.harness.clone_from(&predecessor.harness);
        row.predecessor = Some(predecessor.id.clone());
        row.begin_spawn(
            self.fresh(Nonce::new),
            self.after(self.settings().heartbeat),
        );
        Ok(row)
    }

    pub(crate) fn successor_ready(&mut self, id: &ResetId) -> Result<RosterAnswer, RosterRefusal> {
        let caller = self.daemon()?;
        let mut reset = self.reset(id)?;
        if reset.successor.as_ref() != Some(&caller.id) {
            return Err(ForbiddenRule::Role.into());
        }
        if reset.state == ResetState::Ready {
            return Ok(reset.answer());
        }
        self.advance_reset(&mut reset, ResetEvent::Ready, "")?;
        if !self.is_live(&caller) {
            return Err(self.not_live(&caller).into());
        }
        reset.ready_at = Some(self.now());
        let answer = reset.answer();
        self.put_reset(reset);
        Ok(answer)
    }

    pub(crate) fn hand_off(
        &mut self,
        id: &ResetId,
        handoff_ref: Option<HandoffRef>,
        gate: HandOffGate,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let caller = self.daemon()?;
        let mut reset = self.reset(id)?;
        if !reset.has(&caller.id) {
            return Err(ForbiddenRule::Role.into());
        }
        self.advance_reset(&mut reset, ResetEvent::HandOff, "")?;
        let mut predecessor = self.active(&reset.predecessor)?;
        let is_pulled = caller.id != predecessor.id;
        let mut successor = self.active(reset.successor()?)?;
        if is_pulled {
            self.may_pull(&reset, &predecessor)?;
        }
        if !self.is_live(&successor) {
            return Err(self.not_live(&successor).into());
        }
        if gate == HandOffGate::Go {
            match (is_pulled, predecessor.gate) {
                (true, _) => return Err(ForbiddenRule::SelfGo.into()),
                (false, RosterGate::Go) => {}
                (false, _) => return Err(ForbiddenRule::Role.into()),
            }
            if successor.gate != RosterGate::Go {
                self.move_gate(&mut successor, GateEvent::Open, "opened with the hand-over")?;
            }
        }
        let generation = self.give_baton(&reset, &mut successor);
        let reason = if is_pulled {
            "taken by the successor"
        } else {
            "handed over"
        };
        self.move_wind_down(&mut predecessor, WindDownEvent::HandOver, reason)?;
        predecessor.handoff_ref = handoff_ref.or_else(|| predecessor.handoff_ref.take());
        predecessor.successor = Some(successor.id.clone());
        self.requeue_claims_of(&predecessor, "the baton moved");
        self.end_reset_signals(&reset.id, &reset.project, SignalEvent::HandOver);
        self.put_row(predecessor);
        self.put_row(successor);
        self.put_reset(reset);
        Ok(RosterAnswer::Generation(generation))
    }

    /// Refuses a successor that takes the baton while its predecessor is live and still has time.
    fn may_pull(&self, reset: &Reset, predecessor: &RosterRow) -> Result<(), RosterRefusal> {
        let waited = reset.ready_at.map(|at| self.now().duration_since(at));
        let has_waited = waited.is_some_and(|waited| waited >= self.settings().pull_after);
        if has_waited || !self.is_live(predecessor) {
            return Ok(());
        }
        Err(Blocker::PredecessorLive(predecessor.id.clone()).into())
    }

    fn give_baton(&mut self, reset: &Reset, successor: &mut RosterRow) -> Generation {
        let mut baton = self.baton(&reset.project, &reset.role);
        let from = baton.generation.0.to_string();
        baton.generation = baton.generation.next();
        baton.holder = Some(successor.id.clone());
        successor.generation = Some(baton.generation);
        let to = baton.generation.0.to_string();
        let reason = format!("{} of {}", reset.role, reset.project);
        let change = (Some(from.as_str()), to.as_str());
        self.audit("baton", Some(successor.id.clone()), change, &reason);
        let generation = baton.generation;
        self.put_baton(baton);
        generation
    }

    pub(crate) fn retire_predecessor(
        &mut self,
        id: &ResetId,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let mut reset = self.reset(id)?;
        match self.caller()? {
            Some(caller) if reset.successor.as_ref() != Some(&caller.id) => {
                return Err(ForbiddenRule::Role.into());
            }
            Some(_) => {}
            None => self.operator()?,
        }
        if reset.state == ResetState::Retired {
            return Ok(reset.answer());
        }
        self.advance_reset(&mut reset, ResetEvent::Retire, "")?;
        let mut predecessor = self.active(&reset.predecessor)?;
        predecessor.begin_closing();
        // Also without a process that the host knows: the report that it is closed ends the reset.
        self.effect(RosterEffect::Close(predecessor.id.clone()));
        let answer = reset.answer();
        self.put_row(predecessor);
        self.put_reset(reset);
        Ok(answer)
    }

    /// Ends the reset whose predecessor was closed.
    pub(crate) fn predecessor_closed(&mut self, row: &RowId) -> Result<(), RosterRefusal> {
        let is_retiring =
            |reset: &Reset| reset.state == ResetState::Retiring && reset.predecessor == *row;
        let Some(mut reset) = self.open_reset(is_retiring) else {
            return Ok(());
        };
        self.advance_reset(&mut reset, ResetEvent::Closed, "")?;
        let predecessor = self.active(row)?;
        self.retire_row(predecessor, "replaced");
        self.put_reset(reset);
        Ok(())
    }

    pub(crate) fn cancel_reset(&mut self, id: &ResetId) -> Result<RosterAnswer, RosterRefusal> {
        let reset = self.reset(id)?;
        let is_requester = match (&reset.requested_by, self.caller()?) {
            (Principal::Daemon { row, .. }, Some(caller)) => *row == caller.id,
            _ => false,
        };
        if !is_requester {
            self.operator()?;
        }
        let reset = self.end_reset(reset, ResetEvent::Cancel, "")?;
        Ok(reset.answer())
    }

    /// Ends a reset before its hand-over: the successor is closed and retired, and the baton stays.
    pub(crate) fn end_reset(
        &mut self,
        mut reset: Reset,
        event: ResetEvent,
        reason: &str,
    ) -> Result<Reset, RosterRefusal> {
        self.advance_reset(&mut reset, event, reason)?;
        self.end_reset_signals(&reset.id, &reset.project, SignalEvent::Cancel);
        if let Some(successor) = &reset.successor {
            let successor = self.active(successor)?;
            self.retire_row(successor, "the reset ended without a hand-over");
        }
        self.put_reset(reset.clone());
        Ok(reset)
    }

    pub(crate) fn advance_reset(
        &mut self,
        reset: &mut Reset,
        event: ResetEvent,
        reason: &str,
    ) -> Result<(), RosterRefusal> {
        let from = reset.state;
        reset.state = RESET.next(from, event)?;
        if !reset.state.is_open() {
            reset.ended_at = Some(self.now());
        }
        let change = (Some(from.as_str()), reset.state.as_str());
        self.audit(RESET.name, Some(reset.predecessor.clone()), change, reason);
        Ok(())
    }
}

impl Reset {
    fn answer(&self) -> RosterAnswer {
        RosterAnswer::Reset {
            reset: self.id.clone(),
            successor: self.successor.clone(),
        }
    }

    fn successor(&self) -> Result<&RowId, RosterRefusal> {
        let successor = self.successor.as_ref();
        successor.ok_or_else(|| RosterRefusal::not_found("successor of the reset", &self.id))
    }
}
