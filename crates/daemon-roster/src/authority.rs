//! Who may do what: the operator, the orchestrator of a project, and each daemon for itself.

use crate::answer::RosterAnswer;
use crate::gate::RosterGate;
use crate::id::{Generation, Project};
use crate::principal::Principal;
use crate::refusal::{ForbiddenRule, RosterRefusal};
use crate::row::{Role, RosterRow};
use crate::word::words;
use crate::work::UnitOfWork;

/// What a gate on hold refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GatedAction {
    /// To dispatch work.
    Dispatch,
    /// To start a daemon.
    Spawn,
    /// To merge.
    Merge,
    /// To act on what was triaged.
    TriageAction,
    /// To request its own replacement.
    SelfReset,
}

words!(GatedAction, "an action", {
    Dispatch => "dispatch",
    Spawn => "spawn",
    Merge => "merge",
    TriageAction => "triage_action",
    SelfReset => "self_reset",
});

impl GatedAction {
    /// Reports whether only the orchestrator may do it.
    fn is_orchestrators(self) -> bool {
        match self {
            Self::Dispatch | Self::Spawn | Self::Merge => true,
            Self::TriageAction | Self::SelfReset => false,
        }
    }
}

/// Who may make a request about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// The operator alone.
    Operator,
    /// The operator, and the orchestrator of the row's project.
    Orchestrator,
    /// The same, but the orchestrator not for itself: [`ForbiddenRule::SelfGo`].
    OrchestratorOfOthers,
    /// The same, and the daemon for itself.
    Itself,
}

/// What an orchestrator on hold is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnHold {
    /// [`RosterRefusal::Held`].
    Held,
    /// [`ForbiddenRule::Role`]: it is not the orchestrator until its gate is open.
    NotOrchestrator,
}

impl UnitOfWork<'_> {
    /// Returns the row of the calling daemon; `None` for the operator and the host.
    pub(crate) fn caller(&self) -> Result<Option<RosterRow>, RosterRefusal> {
        match self.by() {
            Principal::Operator | Principal::Host => Ok(None),
            Principal::Unregistered => Err(ForbiddenRule::Role.into()),
            Principal::Daemon { row, incarnation } => {
                let caller = self.active(row)?;
                if caller.incarnation != *incarnation {
                    return Err(RosterRefusal::Fenced { row: row.clone() });
                }
                Ok(Some(caller))
            }
        }
    }

    /// Returns the row of the caller, which has to be a daemon.
    pub(crate) fn daemon(&self) -> Result<RosterRow, RosterRefusal> {
        self.caller()?.ok_or_else(|| ForbiddenRule::Role.into())
    }

    /// Refuses everyone but the operator.
    pub(crate) fn operator(&self) -> Result<(), RosterRefusal> {
        match self.caller()? {
            None if *self.by() == Principal::Operator => Ok(()),
            _ => Err(ForbiddenRule::Role.into()),
        }
    }

    /// Refuses everyone but the host.
    pub(crate) fn host(&self) -> Result<(), RosterRefusal> {
        match self.caller()? {
            None if *self.by() == Principal::Host => Ok(()),
            _ => Err(ForbiddenRule::Role.into()),
        }
    }

    /// Refuses a caller that may not make a request about a row.
    pub(crate) fn permit(
        &self,
        target: &RosterRow,
        permit: Permit,
        on_hold: OnHold,
    ) -> Result<(), RosterRefusal> {
        let caller = match self.caller()? {
            Some(caller) => caller,
            None if *self.by() == Principal::Operator => return Ok(()),
            None => return Err(ForbiddenRule::Role.into()),
        };
        let is_itself = caller.id == target.id;
        if is_itself && permit == Permit::Itself {
            return Ok(());
        }
        if caller.project.is_none() || caller.project != target.project {
            return Err(ForbiddenRule::OtherProject.into());
        }
        if is_itself && permit == Permit::OrchestratorOfOthers {
            return Err(ForbiddenRule::SelfGo.into());
        }
        if permit == Permit::Operator {
            return Err(ForbiddenRule::Role.into());
        }
        self.orchestrator(&caller, on_hold)
    }

    /// Refuses a daemon that is not the orchestrator of its project: holder of the baton, live, on `go`.
    pub(crate) fn orchestrator(
        &self,
        caller: &RosterRow,
        on_hold: OnHold,
    ) -> Result<(), RosterRefusal> {
        self.of_current_generation(caller)?;
        let holder = caller
            .project
            .as_ref()
            .and_then(|project| self.baton(project, &Role::Orchestrator).holder);
        if holder.as_ref() != Some(&caller.id) || !self.is_live(caller) {
            return Err(ForbiddenRule::Role.into());
        }
        match (self.on_go(caller), on_hold) {
            (Err(_), OnHold::NotOrchestrator) => Err(ForbiddenRule::Role.into()),
            (on_go, _) => on_go,
        }
    }

    /// Refuses a daemon of another project, and one that is not its orchestrator.
    pub(crate) fn orchestrator_of(
        &self,
        project: &Project,
        on_hold: OnHold,
    ) -> Result<(), RosterRefusal> {
        let Some(caller) = self.caller()? else {
            return match self.by() {
                Principal::Operator => Ok(()),
                _ => Err(ForbiddenRule::Role.into()),
            };
        };
        if caller.project.as_ref() != Some(project) {
            return Err(ForbiddenRule::OtherProject.into());
        }
        self.orchestrator(&caller, on_hold)
    }

    /// Refuses a daemon that held the baton of its role and no longer does.
    pub(crate) fn of_current_generation(&self, caller: &RosterRow) -> Result<(), RosterRefusal> {
        let Some(held) = caller.generation else {
            return Ok(());
        };
        match (&caller.project, &caller.role) {
            (Some(project), Some(role)) => {
                let baton = self.baton(project, role);
                let is_current =
                    baton.holder.as_ref() == Some(&caller.id) && baton.generation == held;
                if is_current {
                    Ok(())
                } else {
                    Err(RosterRefusal::Fenced {
                        row: caller.id.clone(),
                    })
                }
            }
            _ => Ok(()),
        }
    }

    /// Refuses a daemon whose gate is not open.
    pub(crate) fn on_go(&self, caller: &RosterRow) -> Result<(), RosterRefusal> {
        if caller.gate == RosterGate::Go {
            return Ok(());
        }
        Err(RosterRefusal::Held {
            row: caller.id.clone(),
        })
    }

    /// Answers whether the caller may act, with the generation of its baton; 0 if it holds none.
    pub(crate) fn authorize(&mut self, action: GatedAction) -> Result<RosterAnswer, RosterRefusal> {
        let caller = self.daemon()?;
        self.of_current_generation(&caller)?;
        // The gate is checked first: it refuses each of the five actions for every role.
        self.on_go(&caller)?;
        if action.is_orchestrators() {
            self.orchestrator(&caller, OnHold::Held)?;
        }
        let generation = caller.generation.unwrap_or(Generation(0));
        Ok(RosterAnswer::Generation(generation))
    }
}
