//! The gate of a row: whether its work loop may run. It never stops check-ins.

use crate::answer::RosterAnswer;
use crate::authority::{OnHold, Permit};
use crate::command::GateChange;
use crate::id::{ReasonText, RowId};
use crate::refusal::{ForbiddenRule, RosterRefusal};
use crate::row::{RosterRow, RowKind, WakeReason};
use crate::transition::machine;
use crate::word::words;
use crate::work::UnitOfWork;

/// Whether a daemon may dispatch, spawn, merge, act on triage, request its own reset and claim signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RosterGate {
    /// It may not. New standing daemons and successors start so.
    Hold,
    /// It may. Repository daemons start so.
    Go,
    /// It may not, after failures. Only repository daemons are tripped.
    Tripped,
}

words!(RosterGate, "a gate", {
    Hold => "hold",
    Go => "go",
    Tripped => "tripped",
});

machine! {
    /// The transitions of a gate.
    GATE of RosterGate named "gate",
    /// What moves a gate.
    GateEvent {
        Open => "go",
        Hold => "hold",
        Trip => "trip",
        // Opening a tripped gate is another event than opening a held one, because the orchestrator may not do it.
        Reopen => "go after failures",
        Renew => "a new revision",
    }
    Hold + Open => Go;
    Go + Hold => Hold;
    Go + Trip => Tripped;
    Tripped + Reopen => Go;
    Tripped + Renew => Go;
}

impl UnitOfWork<'_> {
    pub(crate) fn set_gate(
        &mut self,
        id: &RowId,
        change: GateChange,
        reason: &ReasonText,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let mut row = self.active(id)?;
        let is_tripped = row.gate == RosterGate::Tripped;
        let (event, permit) = match change {
            GateChange::Go if is_tripped => (GateEvent::Reopen, Some(Permit::Operator)),
            GateChange::Go => (GateEvent::Open, Some(Permit::OrchestratorOfOthers)),
            GateChange::Hold => (GateEvent::Hold, Some(Permit::Orchestrator)),
            GateChange::Trip => (GateEvent::Trip, None),
            GateChange::NewRevision => (GateEvent::Renew, None),
        };
        match permit {
            Some(permit) => self.permit(&row, permit, OnHold::NotOrchestrator)?,
            None => self.host()?,
        }
        if change == GateChange::Trip && row.kind != RowKind::Repository {
            return Err(ForbiddenRule::Role.into());
        }
        self.move_gate(&mut row, event, reason.as_str())?;
        let gate = row.gate;
        if change == GateChange::Go {
            self.wake(&row, WakeReason::Go);
        }
        self.put_row(row);
        Ok(RosterAnswer::Gate(gate))
    }

    /// Moves the gate of a row that is then to be stored.
    pub(crate) fn move_gate(
        &mut self,
        row: &mut RosterRow,
        event: GateEvent,
        reason: &str,
    ) -> Result<(), RosterRefusal> {
        let from = row.gate;
        row.gate = GATE.next(from, event)?;
        let change = (Some(from.as_str()), row.gate.as_str());
        self.audit(GATE.name, Some(row.id.clone()), change, reason);
        Ok(())
    }
}
