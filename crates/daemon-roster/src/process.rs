//! The processes of agents that the host starts: ordered, started, failed, closed.

use jiff::Timestamp;

use crate::answer::{RosterAnswer, RosterEffect, SpawnOrder};
use crate::id::{BridgeHandle, Nonce, RowId, TokenHash};
use crate::refusal::{Blocker, IllegalTransition, RosterRefusal};
use crate::reset::{Reset, ResetEvent, ResetState};
use crate::row::{Credential, ProcessState, RosterRow, SpawnRecord, WakeReason};
use crate::spawn::{PlanEvent, PlanStatus, SpawnPlan};
use crate::transition::AsWord as _;
use crate::work::UnitOfWork;

/// The kind of the audit entries of resumed agents, by which they are counted.
pub const RESUMED: &str = "resume";

impl RosterRow {
    /// Marks a row as one that the host starts.
    pub(crate) fn begin_spawn(&mut self, nonce: Nonce, due_at: Timestamp) {
        self.spawn = Some(SpawnRecord {
            nonce,
            handle: None,
            process: ProcessState::Open,
        });
        self.due_at = Some(due_at);
    }

    /// Returns the order of a spawn whose process was not started yet.
    pub(crate) fn spawn_order(&self, token: TokenHash) -> Option<SpawnOrder> {
        let spawn = self.spawn.as_ref()?;
        let is_waiting = spawn.handle.is_none() && spawn.process == ProcessState::Open;
        if !is_waiting || self.is_retired() {
            return None;
        }
        Some(SpawnOrder {
            row: self.id.clone(),
            nonce: spawn.nonce.clone(),
            token,
            project: self.project.clone()?,
            role: self.role.clone()?,
            harness: self.harness.clone(),
            name: self.name.clone(),
            predecessor: self.predecessor.clone(),
        })
    }
}

impl UnitOfWork<'_> {
    /// Orders the process of a new row, whose agent will have a token.
    pub(crate) fn expect_spawn(&mut self, row: &RosterRow, token: TokenHash) {
        self.put_credential(Credential {
            hash: token,
            row: row.id.clone(),
            incarnation: row.incarnation,
        });
        let change = (None, "spawning");
        self.audit("liveness", Some(row.id.clone()), change, row.name.as_str());
        if let Some(order) = row.spawn_order(token) {
            self.effect(RosterEffect::Spawn(order));
        }
    }

    /// Wakes the agent of a row if the host started it.
    pub(crate) fn wake(&mut self, row: &RosterRow, wake: WakeReason) {
        if row.can_be_woken() {
            self.effect(RosterEffect::Wake {
                row: row.id.clone(),
                wake,
            });
        }
    }

    /// Begins another incarnation of an agent whose process ended with its host, and wakes it. The gate stays.
    pub(crate) fn resume(
        &mut self,
        id: &RowId,
        token: TokenHash,
        n_lately: usize,
    ) -> Result<RosterAnswer, RosterRefusal> {
        self.host()?;
        let mut row = self.active(id)?;
        if !row.can_be_woken() {
            return Err(RosterRefusal::not_found("process of the daemon", id));
        }
        if n_lately >= self.settings().restarts_an_hour {
            return Err(Blocker::Restarts(id.clone()).into());
        }
        let from = row.incarnation.0.to_string();
        row.incarnation = row.incarnation.next();
        let to = row.incarnation.0.to_string();
        let change = (Some(from.as_str()), to.as_str());
        self.audit(RESUMED, Some(id.clone()), change, "its host ended");
        self.put_credential(Credential {
            hash: token,
            row: id.clone(),
            incarnation: row.incarnation,
        });
        row.due_at = Some(self.after(self.settings().heartbeat));
        self.wake(&row, WakeReason::Start);
        self.put_row(row);
        Ok(RosterAnswer::Done)
    }

    pub(crate) fn process_started(
        &mut self,
        id: &RowId,
        handle: BridgeHandle,
    ) -> Result<RosterAnswer, RosterRefusal> {
        self.host()?;
        let mut row = self.known_row(id)?;
        let Some(spawn) = &mut row.spawn else {
            return Err(RosterRefusal::not_found("spawn of the daemon", id));
        };
        spawn.handle = Some(handle);
        // Retired while its process was being started.
        if row.is_retired() && row.begin_closing() {
            self.effect(RosterEffect::Close(id.clone()));
        }
        let is_starting = !row.is_retired();
        self.put_row(row);
        if !is_starting {
            return Ok(RosterAnswer::Done);
        }
        if let Some(mut reset) = self.starting_reset(id) {
            self.advance_reset(&mut reset, ResetEvent::Spawned, "")?;
            reset.spawned_at = Some(self.now());
            self.put_reset(reset);
        }
        if let Some(mut plan) = self.spawning_plan(id) {
            self.advance_plan(&mut plan, PlanEvent::Spawned, "")?;
            self.put_plan(plan);
        }
        Ok(RosterAnswer::Done)
    }

    pub(crate) fn start_failed(
        &mut self,
        id: &RowId,
        error: &str,
    ) -> Result<RosterAnswer, RosterRefusal> {
        self.host()?;
        let row = self.active(id)?;
        if row.first_checkin_at.is_some() {
            // Its process exists although the bridge did not see it, and it may hold a baton.
            return Err(RosterRefusal::IllegalTransition(IllegalTransition {
                machine: "spawn",
                from: "checked-in",
                event: PlanEvent::Fail.word(),
            }));
        }
        if let Some(reset) = self.starting_reset(id) {
            self.end_reset(reset, ResetEvent::Fail, error)?;
        } else if let Some(mut plan) = self.spawning_plan(id) {
            self.advance_plan(&mut plan, PlanEvent::Fail, error)?;
            self.put_plan(plan);
            // A process with its nonce may exist all the same.
            self.retire_row(row, error);
        } else {
            return Err(RosterRefusal::not_found("spawn of the daemon", id));
        }
        Ok(RosterAnswer::Done)
    }

    pub(crate) fn process_closed(&mut self, id: &RowId) -> Result<RosterAnswer, RosterRefusal> {
        self.host()?;
        let mut row = self.known_row(id)?;
        if let Some(spawn) = &mut row.spawn {
            spawn.process = ProcessState::Closed;
        }
        self.put_row(row);
        self.predecessor_closed(id)?;
        Ok(RosterAnswer::Done)
    }

    /// Returns a row that exists, also a retired one: its process may outlive it for a moment.
    fn known_row(&self, id: &RowId) -> Result<RosterRow, RosterRefusal> {
        let row = self.find_row(id).cloned();
        row.ok_or_else(|| RosterRefusal::not_found("daemon", id))
    }

    fn starting_reset(&self, row: &RowId) -> Option<Reset> {
        self.open_reset(|reset| {
            reset.state == ResetState::Starting && reset.successor.as_ref() == Some(row)
        })
    }

    fn spawning_plan(&self, row: &RowId) -> Option<SpawnPlan> {
        let mut plans = self.roster().tables.plans.values();
        let plan = plans
            .find(|plan| plan.status == PlanStatus::Spawning && plan.row.as_ref() == Some(row));
        plan.cloned()
    }
}
