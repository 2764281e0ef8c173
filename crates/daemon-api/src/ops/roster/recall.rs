//! What the roster holds, for those who only read.

use std::collections::BTreeSet;

use daemon_records::HeldRoster;
use daemon_records::error::OpError;
use daemon_roster::{
    CoordinationSignal, DaemonName, Liveness, Principal, Project, Role, Roster, RosterRow, RowId,
    RowKind, SignalStatus,
};
use daemon_store::AuditQuery;
use serde_json::{Map, Value, json};

use super::request::word;
use super::{invalid, known, maybe_row, row, warnings};
use crate::ops::{Operation, Operations, Params, UnknownMethod, object, value};
use crate::wire::{
    AuditObject, BatonObject, CheckInObject, ListedRowObject, ResetObject, RosterRowObject,
    SignalObject, WindDownObject,
};

/// The most check-ins of a detail.
const CHECK_INS: u32 = 50;

/// Which rows are listed.
struct RowFilter {
    project: Option<Project>,
    role: Option<Role>,
    kind: Option<RowKind>,
    liveness: Option<Liveness>,
}

impl Operations {
    pub(super) async fn recall(
        &self,
        operation: Operation,
        params: Params,
        held: &HeldRoster,
    ) -> Result<Map<String, Value>, OpError> {
        let roster = held.view();
        match operation {
            Operation::RosterList => self.recall_roster(params, &roster, &held.drifted()),
            Operation::RosterGet => self.recall_daemon(params, &roster).await,
            Operation::RosterSignals => self.recall_signals(params, &roster),
            Operation::RosterCompaction => self.recall_compaction(params, &roster),
            Operation::RosterResets => recall_resets(params, &roster),
            Operation::RosterCharters => self.recall_charters(params, &roster).await,
            Operation::RosterAudit => self.recall_audit(params, &roster).await,
            other => Err(UnknownMethod(other.method().to_owned()).into()),
        }
    }

    fn recall_roster(
        &self,
        mut params: Params,
        roster: &Roster,
        drifted: &BTreeSet<Project>,
    ) -> Result<Map<String, Value>, OpError> {
        let filter = RowFilter {
            project: word(&mut params, "project")?,
            role: word(&mut params, "role")?,
            kind: word(&mut params, "kind")?,
            liveness: word(&mut params, "liveness")?,
        };
        let page = Page::of(&mut params)?;
        params.finish()?;
        let now = self.live.now();
        let rows = sorted(roster).into_iter().filter_map(|row| {
            let report = daemon_roster::liveness(row, now, roster.settings());
            filter
                .includes(row, report.state)
                .then(|| ListedRowObject::new(row, &report))
        });
        let (rows, next) = page.cut(rows, |row| &row.id)?;
        let batons = roster.tables().batons.values();
        let of_project = |project: &Project| filter.project.as_ref().is_none_or(|it| it == project);
        let batons: Vec<_> = batons
            .filter(|baton| of_project(&baton.project))
            .map(BatonObject::from)
            .collect();
        let warnings = warnings::of(roster, drifted, filter.project.as_ref());
        object(json!({
            "rows": value(&rows)?, "batons": value(&batons)?, "warnings": value(&warnings)?, "next": next,
        }))
    }

    async fn recall_daemon(
        &self,
        mut params: Params,
        roster: &Roster,
    ) -> Result<Map<String, Value>, OpError> {
        let id = row(&mut params, roster)?;
        params.finish()?;
        let row = known(roster, &id)?;
        let report = daemon_roster::liveness(row, self.live.now(), roster.settings());
        let mut resets = roster.tables().resets.values().rev();
        let reset = resets
            .find(|reset| reset.predecessor == id || reset.successor.as_ref() == Some(&id))
            .map(ResetObject::from);
        let signals = self.signals(roster, |signal| {
            let by = matches!(&signal.requested_by, Principal::Daemon { row, .. } if *row == id);
            let claimed = signal.claim.as_ref().is_some_and(|claim| claim.by == id);
            by || claimed || signal.target.as_ref() == Some(&id)
        });
        let records = self.store.check_ins_of(&id, CHECK_INS).await?;
        let records: Vec<_> = records.iter().map(CheckInObject::from).collect();
        let winddown = WindDownObject {
            state: row.wind_down.as_str(),
            handoff_ref: row.handoff_ref.as_ref().map(ToString::to_string),
        };
        let charter = self.charter_of(row).await?;
        object(json!({
            "row": value(&RosterRowObject::new(row, &report))?,
            "reason": row.trouble.clone().unwrap_or_else(|| report.reason.to_string()),
            "reset": value(&reset)?,
            "winddown": value(&winddown)?,
            "signals": value(&signals)?,
            "charter": value(&charter)?,
            "checkins": value(&records)?,
        }))
    }

    fn recall_signals(
        &self,
        mut params: Params,
        roster: &Roster,
    ) -> Result<Map<String, Value>, OpError> {
        let project: Option<Project> = word(&mut params, "project")?;
        let status: Option<SignalStatus> = word(&mut params, "status")?;
        let is_mine = params.flag("mine")?;
        params.finish()?;
        let own = match self.principal(roster) {
            Principal::Daemon { row, .. } => Some(row),
            _ => None,
        };
        if is_mine && own.is_none() {
            return Err(invalid("mine", &"the caller is no daemon of the roster"));
        }
        let signals = self.signals(roster, |signal| {
            let is_of_status = match status {
                Some(status) => signal.status == status,
                None => signal.is_open(),
            };
            let claimer = signal.claim.as_ref().map(|claim| &claim.by);
            let is_own = signal.target == own || claimer == own.as_ref();
            is_of_status
                && project.as_ref().is_none_or(|it| signal.project == *it)
                && (!is_mine || is_own)
        });
        object(json!({"signals": value(&signals)?}))
    }

    /// Returns signals in the order in which they are drained.
    fn signals(
        &self,
        roster: &Roster,
        is_wanted: impl Fn(&CoordinationSignal) -> bool,
    ) -> Vec<SignalObject> {
        let signals = roster.tables().signals.values();
        let mut wanted: Vec<_> = signals.filter(|signal| is_wanted(signal)).collect();
        wanted.sort_by_key(|signal| signal.drain_order());
        wanted.into_iter().map(SignalObject::from).collect()
    }

    fn recall_compaction(
        &self,
        mut params: Params,
        roster: &Roster,
    ) -> Result<Map<String, Value>, OpError> {
        let only = maybe_row(&mut params, "daemon", roster)?;
        let page = Page::of(&mut params)?;
        params.finish()?;
        let rows = sorted(roster).into_iter();
        let rows = rows.filter(|row| match &only {
            Some(only) => row.id == *only,
            None => row.kind == RowKind::Standing && !row.is_retired(),
        });
        let (rows, next) = page.cut(rows, |row| row.id.as_str())?;
        let daemons: Vec<_> = rows
            .into_iter()
            .map(|row| {
                json!({
                    "daemon": row.id.as_str(), "name": row.name.as_str(),
                    "needs_compaction": row.needs_compaction,
                    "context_tokens": row.context_tokens, "context_limit": row.context_limit,
                })
            })
            .collect();
        object(json!({"daemons": daemons, "next": next}))
    }

    /// Lists the charters in force, then earlier versions; with a daemon only that of its role.
    async fn recall_charters(
        &self,
        mut params: Params,
        roster: &Roster,
    ) -> Result<Map<String, Value>, OpError> {
        let only = maybe_row(&mut params, "daemon", roster)?;
        let page = Page::of(&mut params)?;
        params.finish()?;
        let role = match &only {
            Some(row) => Some(known(roster, row)?.role.clone()),
            None => None,
        };
        let charters = self.live.charters().await?.into_iter();
        let charters = charters.filter(|charter| match &role {
            Some(role) => charter.role.is_some() && charter.role == *role,
            None => true,
        });
        let (charters, next) = page.cut(charters, |charter| &charter.version)?;
        let charters: Vec<_> = charters
            .iter()
            .map(|charter| {
                json!({
                    "role": charter.role.as_ref().map(Role::as_str), "version": charter.version, "body": charter.body,
                })
            })
            .collect();
        object(json!({"charters": charters, "next": next}))
    }

    async fn recall_audit(
        &self,
        mut params: Params,
        roster: &Roster,
    ) -> Result<Map<String, Value>, OpError> {
        let row = maybe_row(&mut params, "daemon", roster)?;
        let page = Page::of(&mut params)?;
        params.finish()?;
        let before = page.after.as_ref().map(|after| after.parse::<u64>());
        let before = before
            .transpose()
            .map_err(|error| invalid("after", &error))?;
        let query = AuditQuery {
            row,
            before,
            limit: page.limit,
        };
        let entries = self.store.roster_audit(&query).await?;
        let is_full = entries.len() >= usize::try_from(page.limit).unwrap_or(usize::MAX);
        let last = entries.last().map(|entry| entry.number);
        let next = last.filter(|number| is_full && *number > 1);
        let entries: Vec<_> = entries.into_iter().map(AuditObject::from).collect();
        let next = next.map(|number| number.to_string());
        object(json!({"audit": value(&entries)?, "next": next}))
    }
}

fn recall_resets(mut params: Params, roster: &Roster) -> Result<Map<String, Value>, OpError> {
    let only = maybe_row(&mut params, "daemon", roster)?;
    let page = Page::of(&mut params)?;
    params.finish()?;
    let resets = roster.tables().resets.values().rev();
    let resets = resets.filter(|reset| {
        only.as_ref()
            .is_none_or(|row| reset.predecessor == *row || reset.successor.as_ref() == Some(row))
    });
    let (resets, next) = page.cut(resets.map(ResetObject::from), |reset| &reset.id)?;
    object(json!({"resets": value(&resets)?, "next": next}))
}

impl RowFilter {
    /// Rows that are retired are listed only with those that are dead.
    fn includes(&self, row: &RosterRow, state: Liveness) -> bool {
        let is_shown = !row.is_retired() || self.liveness == Some(Liveness::Dead);
        is_shown
            && self.project.is_none_or_is(row.project.as_ref())
            && self.role.is_none_or_is(row.role.as_ref())
            && self.kind.is_none_or_is(Some(&row.kind))
            && self.liveness.is_none_or_is(Some(&state))
    }
}

/// A filter that accepts everything while it is not set.
trait Wanted<T> {
    fn is_none_or_is(&self, found: Option<&T>) -> bool;
}

impl<T: PartialEq> Wanted<T> for Option<T> {
    fn is_none_or_is(&self, found: Option<&T>) -> bool {
        self.is_none() || self.as_ref() == found
    }
}

/// Returns all rows by project, kind and name.
pub(crate) fn sorted(roster: &Roster) -> Vec<&RosterRow> {
    fn key(row: &RosterRow) -> (Option<&Project>, RowKind, &DaemonName, &RowId) {
        (row.project.as_ref(), row.kind, &row.name, &row.id)
    }
    let mut rows: Vec<_> = roster.tables().rows.values().collect();
    rows.sort_by(|a, b| key(a).cmp(&key(b)));
    rows
}

/// One page of a listing.
struct Page {
    limit: u32,
    after: Option<String>,
}

impl Page {
    fn of(params: &mut Params) -> Result<Self, OpError> {
        Ok(Self {
            limit: params.limit()?,
            after: params.text("after")?,
        })
    }

    /// Returns the rows after the cursor, and the cursor of the next page if more follow.
    fn cut<T>(
        &self,
        rows: impl Iterator<Item = T>,
        id: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, Option<String>), OpError> {
        let mut rows = rows.peekable();
        if let Some(after) = &self.after {
            let found = rows.find(|row| id(row) == after);
            if found.is_none() {
                return Err(invalid("after", &"it is no row of this listing"));
            }
        }
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let page: Vec<T> = rows.by_ref().take(limit).collect();
        let last = page.last().filter(|_| rows.peek().is_some());
        let next = last.map(|row| id(row).to_owned());
        Ok((page, next))
    }
}
