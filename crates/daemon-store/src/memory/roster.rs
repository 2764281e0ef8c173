//! The records of the roster.

use daemon_roster::{
    AuditEntry, CheckInRecord, CoordinationSignal, REPLY_RETENTION, RosterChanges, RosterTables,
    RowId,
};
use jiff::{SignedDuration, Timestamp};

use super::model::StoreModel;
use crate::error::StoreError;
use crate::roster::{
    AUDIT_RETENTION, AuditQuery, CHECK_IN_RETENTION, LoadedRoster, RosterVersion, SIGNAL_RETENTION,
    StoredAudit,
};

/// What the store keeps of the roster.
#[derive(Clone, Debug, Default)]
pub(super) struct RosterModel {
    stored: LoadedRoster,
    check_ins: Vec<CheckInRecord>,
    /// Oldest first.
    audit: Vec<StoredAudit>,
    last_audit: u64,
}

impl StoreModel {
    pub(super) fn load_roster(&self, now: Timestamp) -> LoadedRoster {
        let mut loaded = self.roster.stored.clone();
        loaded
            .tables
            .signals
            .retain(|_, signal| !ended_before(signal, now, REPLY_RETENTION));
        let is_kept = |at| !is_before(at, now, REPLY_RETENTION);
        loaded.tables.replies.retain(|_, reply| is_kept(reply.at));
        loaded.tables.rows.retain(|_, row| !row.has_left(now));
        loaded
    }

    pub(super) fn commit_roster(
        &mut self,
        expected: RosterVersion,
        changes: RosterChanges,
    ) -> Result<RosterVersion, StoreError> {
        let roster = &mut self.roster;
        let version = roster.stored.version;
        if version != expected {
            let state = format!("at version {}", version.0);
            return Err(StoreError::conflict("roster", expected.0, state));
        }
        let RosterTables {
            rows,
            signals,
            batons,
            resets,
            plans,
            credentials,
            replies,
        } = changes.tables;
        let tables = &mut roster.stored.tables;
        tables.rows.extend(rows);
        tables.signals.extend(signals);
        tables.batons.extend(batons);
        tables.resets.extend(resets);
        tables.plans.extend(plans);
        tables.credentials.extend(credentials);
        tables.replies.extend(replies);
        roster.check_ins.extend(changes.check_ins);
        for entry in changes.audit {
            roster.last_audit += 1;
            roster.audit.push(numbered(roster.last_audit, entry));
        }
        roster.stored.version = RosterVersion(version.0 + 1);
        Ok(roster.stored.version)
    }

    pub(super) fn check_ins_of(&self, row: &RowId, limit: u32) -> Vec<CheckInRecord> {
        let newest = self.roster.check_ins.iter().rev();
        let of_row = newest.filter(|record| record.row == *row);
        of_row.take(size(limit)).cloned().collect()
    }

    pub(super) fn roster_audit(&self, query: &AuditQuery) -> Vec<StoredAudit> {
        let newest = self.roster.audit.iter().rev();
        let asked = newest.filter(|entry| {
            let is_before = query.before.is_none_or(|before| entry.number < before);
            let is_of_row = query.row.is_none() || entry.row == query.row;
            is_before && is_of_row
        });
        asked.take(size(query.limit)).cloned().collect()
    }

    pub(super) fn prune_roster(&mut self, now: Timestamp) {
        let roster = &mut self.roster;
        roster
            .check_ins
            .retain(|record| !is_before(record.at, now, CHECK_IN_RETENTION));
        let signals = &mut roster.stored.tables.signals;
        signals.retain(|_, signal| !ended_before(signal, now, SIGNAL_RETENTION));
        let replies = &mut roster.stored.tables.replies;
        replies.retain(|_, reply| !is_before(reply.at, now, REPLY_RETENTION));
        let rows = &mut roster.stored.tables.rows;
        rows.retain(|_, row| !row.has_left(now));
        let newest = roster.audit.iter().map(|entry| entry.at).max();
        let now = newest.map_or(now, |newest| newest.min(now));
        let audit = &mut roster.audit;
        audit.retain(|entry| !is_before(entry.at, now, AUDIT_RETENTION));
    }
}

fn ended_before(signal: &CoordinationSignal, now: Timestamp, retention: SignedDuration) -> bool {
    let ended = signal.ended_at;
    ended.is_some_and(|ended| is_before(ended, now, retention))
}

fn is_before(at: Timestamp, now: Timestamp, retention: SignedDuration) -> bool {
    now.duration_since(at) > retention
}

fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn numbered(number: u64, entry: AuditEntry) -> StoredAudit {
    StoredAudit {
        number,
        at: entry.at,
        actor: entry.actor,
        kind: entry.kind.to_owned(),
        row: entry.row,
        from: entry.from,
        to: entry.to,
        rule: entry.rule.map(str::to_owned),
        reason: entry.reason,
        request: entry.request,
        count: entry.count,
    }
}
