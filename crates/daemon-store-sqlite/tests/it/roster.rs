//! What the tables of the roster refuse, from any writer.

use daemon_roster::{
    CheckInParams, Principal, Roster, RosterChanges, RosterCommand, RosterRequest, RosterSettings,
    RosterTables, WakeReason,
};
use daemon_store::{AuditQuery, RosterRecords as _, RosterVersion};
use daemon_store_sqlite::SqliteStore;
use jiff::Timestamp;
use rusqlite::Connection;

use crate::conformance::runtime;

/// Returns the changes by which an agent registers itself.
fn registered(actor_ref: &str, random: u8) -> RosterChanges {
    let settings = RosterSettings {
        projects: ["garden".parse().unwrap()].into(),
        ..RosterSettings::default()
    };
    let request = RosterRequest {
        by: Principal::Unregistered,
        command: RosterCommand::CheckIn(CheckInParams {
            project: Some("garden".parse().unwrap()),
            actor_ref: Some(actor_ref.parse().unwrap()),
            ..CheckInParams::new(WakeReason::Start)
        }),
        idempotency: None,
        random: [random; 10],
    };
    let roster = Roster::new(settings, RosterTables::default());
    roster.decide(request, Timestamp::UNIX_EPOCH).changes
}

async fn n_entries(store: &SqliteStore) -> usize {
    let query = AuditQuery {
        row: None,
        before: None,
        limit: 100,
    };
    store.roster_audit(&query).await.unwrap().len()
}

#[test]
fn no_statement_changes_an_audit_entry_or_removes_a_recent_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    runtime().block_on(async {
        let store = SqliteStore::open(&path).unwrap();
        let changes = registered("digger", 1);
        store
            .commit_roster(RosterVersion(0), changes)
            .await
            .unwrap();
        assert_eq!(n_entries(&store).await, 1);
    });
    let conn = Connection::open(&path).unwrap();
    let refused = |sql: &str| conn.execute(sql, []).unwrap_err().to_string();
    assert_eq!(
        refused("UPDATE roster_audit SET reason = ''"),
        "an audit entry is never changed"
    );
    let kept = "an audit entry is kept for 400 days";
    assert_eq!(refused("DELETE FROM roster_audit"), kept);
    // The age is that of an entry at the time of the newest one, to the microsecond.
    let newer = |micros: i64| {
        let sql = "INSERT INTO roster_audit (at, actor, kind, reason, count) VALUES (?1, 'host', 'clock', '', 1)";
        conn.execute(sql, [micros]).unwrap();
    };
    let retention = 400 * 24 * 3_600 * 1_000_000;
    newer(retention);
    assert_eq!(refused("DELETE FROM roster_audit WHERE at = 0"), kept);
    newer(retention + 1);
    let removed = conn.execute("DELETE FROM roster_audit WHERE at = 0", []);
    assert_eq!(removed.unwrap(), 1);
}

#[test]
fn a_change_that_the_tables_refuse_leaves_no_audit_entry() {
    runtime().block_on(async {
        let store = SqliteStore::in_memory().unwrap();
        let first = registered("digger", 1);
        store.commit_roster(RosterVersion(0), first).await.unwrap();
        let before = store.load_roster(Timestamp::UNIX_EPOCH).await.unwrap();
        // A second row with the reference of one that is not retired.
        let second = registered("digger", 2);
        let refused = store.commit_roster(RosterVersion(1), second).await;
        refused.unwrap_err();
        let after = store.load_roster(Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!((after, n_entries(&store).await), (before, 1));
        let other = registered("poet", 3);
        store.commit_roster(RosterVersion(1), other).await.unwrap();
        assert_eq!(n_entries(&store).await, 2);
    });
}

#[test]
fn a_committed_roster_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let load = async |store: &SqliteStore| store.load_roster(Timestamp::UNIX_EPOCH).await.unwrap();
    runtime().block_on(async {
        let store = SqliteStore::open(&path).unwrap();
        let changes = registered("digger", 1);
        store
            .commit_roster(RosterVersion(0), changes)
            .await
            .unwrap();
        let before = load(&store).await;
        drop(store);
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(load(&store).await, before);
        assert_eq!(before.tables.rows.len(), 1);
    });
}
