//! Operations on the roster: each is a request that its owner decides, or reads what it holds.

mod answer;
mod charter;
mod recall;
mod request;
mod spawn;
mod warnings;

use daemon_engine::Gate;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_roster::{
    GateChange, Idempotency, Principal, RequestKey, Roster, RosterCommand, RosterRow, RowId,
    RowKind, TokenHash,
};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::table::Scope;
use super::{Operation, Operations, Params};

/// The fewest characters by which a row is found.
const SHORTEST_BEGINNING: usize = 6;

/// Who calls the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RosterCaller {
    /// The owner of the home, or who has a token of the host.
    Operator,
    /// An agent, by its token. One whose token is not known yet may check in, which registers it.
    Agent(TokenHash),
}

impl Operations {
    /// Returns the same operations for another caller.
    #[must_use]
    pub fn of_caller(&self, caller: RosterCaller) -> Self {
        Self {
            caller,
            ..self.clone()
        }
    }

    /// Refuses an agent that calls what could widen its permissions: everything that changes something outside of the roster.
    ///
    /// # Errors
    /// If the caller is an agent and the operation is not for agents. The refusal is recorded.
    pub(super) async fn check_not_widening(&self, operation: Operation) -> Result<(), OpError> {
        let is_allowed = operation.roster_tool().is_some() || operation.scope() == Scope::Read;
        if self.caller == RosterCaller::Operator || is_allowed {
            return Ok(());
        }
        let held = self.live.roster().await?;
        let by = self.principal(&held.view());
        let what = operation.method().to_owned();
        held.perform(by, RosterCommand::Widen { what }, None)
            .await?;
        Ok(())
    }

    /// Performs an operation on the roster.
    pub(super) async fn roster(
        &self,
        operation: Operation,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let held = self.live.roster().await?;
        if operation.scope() == Scope::Read {
            return self.recall(operation, params, &held).await;
        }
        let idempotency = idempotency(operation, &mut params)?;
        let view = held.view();
        let by = self.principal(&view);
        let command = match operation {
            Operation::RosterCancel => cancellation(params, &view)?,
            Operation::RosterPlan => self.spawn_planned(params).await?,
            Operation::RosterConfirm => self.spawn_confirmed(params, &view).await?,
            Operation::RosterStartReset => self.reset_started(params, &view).await?,
            other => request::command(other, params, &view, self.registering(&by))?,
        };
        let daemon = gated_daemon(&command, &view);
        drop(view);
        let answer = held.perform(by, command, idempotency).await?;
        if let Some((daemon, gate)) = daemon {
            // Last: the roster decides who may. If the host dies in between, it puts the gate of the row right again.
            Box::pin(self.daemon_gate(daemon, gate)).await?;
        }
        answer::members(answer, &held.view(), self.live.now())
    }

    /// Returns who the caller is for the roster.
    fn principal(&self, roster: &Roster) -> Principal {
        match self.caller {
            RosterCaller::Operator => Principal::Operator,
            RosterCaller::Agent(token) => {
                roster.principal(&token).unwrap_or(Principal::Unregistered)
            }
        }
    }

    /// Returns the token by which an agent that registers is to be known.
    fn registering(&self, by: &Principal) -> Option<TokenHash> {
        match self.caller {
            RosterCaller::Agent(token) if *by == Principal::Unregistered => Some(token),
            _ => None,
        }
    }
}

/// Returns the parameters of the operation on the gate of the daemon that a row is about, if a request moves it.
fn gated_daemon(command: &RosterCommand, roster: &Roster) -> Option<(Params, Gate)> {
    let RosterCommand::SetGate { row, change, .. } = command else {
        return None;
    };
    let gate = match change {
        GateChange::Go => Gate::Open,
        GateChange::Hold => Gate::Held,
        GateChange::Trip | GateChange::NewRevision => return None,
    };
    let row = roster.tables().rows.get(row)?;
    let project = row.project.as_ref()?;
    if row.kind != RowKind::Repository {
        return None;
    }
    let mut params = Params::default();
    params.set("id", row.actor_ref.to_string());
    params.set("repo", project.to_string());
    Some((params, gate))
}

/// Removes the id of a request and hashes the other parameters, by which a repetition is recognised.
fn idempotency(operation: Operation, params: &mut Params) -> Result<Option<Idempotency>, OpError> {
    let Some(id) = params.text("request_id")? else {
        return Ok(None);
    };
    let request: RequestKey = id.parse().map_err(|error| invalid("request_id", &error))?;
    let mut hash = Sha256::new();
    hash.update(operation.method());
    for (name, value) in params.sorted() {
        // The lengths keep one list of parameters from being read as another.
        let value = value.to_string();
        hash.update(format!("\n{}:{}:{name}{value}", name.len(), value.len()));
    }
    Ok(Some(Idempotency {
        request,
        params: hash.finalize().into(),
    }))
}

/// Returns the request that withdraws what is open for a row: its reset, or else its wind-down.
fn cancellation(mut params: Params, roster: &Roster) -> Result<RosterCommand, OpError> {
    let row = row(&mut params, roster)?;
    let reason = request::reason(&mut params)?;
    params.finish()?;
    let mut resets = roster.tables().resets.values();
    let open = resets.find(|reset| {
        let is_concerned = reset.predecessor == row || reset.successor.as_ref() == Some(&row);
        is_concerned && reset.state.is_open()
    });
    Ok(match open {
        Some(reset) => RosterCommand::CancelReset(reset.id.clone()),
        None => RosterCommand::CancelWindDown { row, reason },
    })
}

/// Removes and returns the row that a request names, by its id or by its name.
fn row(params: &mut Params, roster: &Roster) -> Result<RowId, OpError> {
    maybe_row(params, "daemon", roster)?.ok_or_else(|| OpError::invalid("`daemon` is missing"))
}

/// Removes and returns a row that a request may name; in a path it is the `id`.
fn maybe_row(params: &mut Params, name: &str, roster: &Roster) -> Result<Option<RowId>, OpError> {
    let named = match params.text(name)? {
        None if name == "daemon" => params.text("id")?,
        named => named,
    };
    named.map(|named| find(roster, &named)).transpose()
}

/// Returns the row with an id or a beginning of one, or the one row that is not retired and has a name.
fn find(roster: &Roster, named: &str) -> Result<RowId, OpError> {
    if let Ok(id) = named.parse::<RowId>() {
        return Ok(id);
    }
    let rows = roster.tables().rows.values();
    let mut of_name = rows.filter(|row| !row.is_retired() && row.name.as_str() == named);
    match (of_name.next(), of_name.next()) {
        (Some(row), None) => Ok(row.id.clone()),
        (Some(_), Some(_)) => {
            let message = format!(
                "several rows have the name `{}`",
                super::params::shown(named)
            );
            Err(OpError::invalid(message).with_help("give the id of one"))
        }
        (None, _) => of_beginning(roster, named).ok_or_else(|| unknown(named)),
    }
}

/// Returns the one row whose id begins as listings print it.
fn of_beginning(roster: &Roster, beginning: &str) -> Option<RowId> {
    if beginning.len() < SHORTEST_BEGINNING {
        return None;
    }
    let ids = roster.tables().rows.keys();
    let mut ids = ids.filter(|id| id.as_str().starts_with(beginning));
    match (ids.next(), ids.next()) {
        (Some(id), None) => Some(id.clone()),
        _ => None,
    }
}

fn known<'a>(roster: &'a Roster, id: &RowId) -> Result<&'a RosterRow, OpError> {
    let row = roster.tables().rows.get(id);
    row.ok_or_else(|| unknown(id.as_str()))
}

fn unknown(named: &str) -> OpError {
    let message = format!("there is no daemon `{}`", super::params::shown(named));
    OpError::new(OpErrorKind::NotFound, "not-found", message)
}

fn invalid(name: &str, error: &dyn std::fmt::Display) -> OpError {
    OpError::new(
        OpErrorKind::InvalidParams,
        "invalid-params",
        format!("`{name}`: {error}"),
    )
}
