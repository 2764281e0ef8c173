//! What the store keeps of the roster in addition to its rows: versions, the audit log, check-ins and answers.

use daemon_roster::{
    CheckInParams, CheckInRecord, GateChange, GatedAction, Incarnation, Interjection,
    InterjectionTarget, Principal, Role, RosterAnswer, RosterChanges, RosterCommand, RosterRequest,
    RowId, SpawnFacts, WakeReason, WantedSpawn,
};
use jiff::{SignedDuration, Timestamp};

use super::roster::{StoredRoster, facts, registration};
use super::scene::at;
use crate::error::StoreError;
use crate::roster::{AUDIT_RETENTION, AuditQuery, RosterVersion};
use crate::traits::Store;

pub(super) async fn every_kind_of_answer_comes_back(store: &dyn Store) {
    let mut stored = StoredRoster::new(store);
    let by = stored.spawn(Role::Orchestrator, 1).await;
    let row = stored.row_of("garden-d1");
    let reason = || "a case".parse().expect("a reason");
    let project = || "garden".parse().expect("a project");
    let other = stored.ask(&Principal::Unregistered, registration("poet"));
    assert!(matches!(other.await, RosterAnswer::CheckedIn(_)));
    let requests = [
        RosterCommand::Authorize(GatedAction::Merge),
        RosterCommand::RequestCompaction(row.clone()),
        RosterCommand::SubordinatesReady(project()),
        RosterCommand::Interject(Interjection {
            target: InterjectionTarget::Row(row.clone()),
            line: "stop".to_owned(),
            delay_ms: None,
        }),
    ];
    for request in requests {
        stored.ask(&by, request).await;
    }
    // Three kinds of checks have another outcome.
    let blocked = SpawnFacts {
        n_destinations: 2,
        charter: Some("{{moon}}".to_owned()),
        ..facts()
    };
    let plan = RosterCommand::PlanSpawn {
        wanted: WantedSpawn {
            project: project(),
            role: Role::Ops,
            harness: "claude".parse().expect("a harness"),
            name: None,
        },
        facts: Box::new(blocked),
    };
    stored.ask(&Principal::Operator, plan).await;
    let wind_down = RosterCommand::RequestWindDown {
        row: row.clone(),
        reason: reason(),
    };
    stored.ask(&Principal::Operator, wind_down).await;
    let reason = reason();
    stored
        .ask(&Principal::Operator, RosterCommand::Retire { row, reason })
        .await;
    let loaded = store.load_roster(stored.now).await.expect("loads");
    // The host's requests have no answers that are kept: the start of the process.
    assert_eq!(
        loaded.tables.replies.len(),
        usize::from(stored.n_requests) - 2
    );
    stored.minutes(24 * 60 + 1);
    stored.check("a day").await;
    store.prune_roster(stored.now).await.expect("prunes");
    stored.check("pruning").await;
}

pub(super) async fn a_commit_after_another_one_changes_nothing(store: &dyn Store) {
    let mut stored = StoredRoster::new(store);
    stored
        .ask(&Principal::Unregistered, registration("digger"))
        .await;
    let entries = audit(store, None, None, 100).await;
    let request = RosterRequest {
        by: Principal::Unregistered,
        command: registration("poet"),
        idempotency: None,
        random: [99; 10],
    };
    let changes = stored.roster.decide(request, at(1)).changes;
    assert!(!changes.audit.is_empty() && !changes.check_ins.is_empty());
    for version in [0, 2] {
        let refused = store
            .commit_roster(RosterVersion(version), changes.clone())
            .await;
        assert!(
            matches!(refused, Err(StoreError::Conflict { .. })),
            "{refused:?}"
        );
        stored.check("a refused commit").await;
        assert_eq!(audit(store, None, None, 100).await, entries);
        let row = changes.check_ins[0].row.clone();
        let records = store.check_ins_of(&row, 10).await.expect("reads");
        assert_eq!(records, []);
    }
    let committed = store.commit_roster(RosterVersion(1), changes).await;
    assert_eq!(committed.expect("commits"), RosterVersion(2));
}

/// Returns the numbers and reasons of audit entries.
async fn audit(
    store: &dyn Store,
    row: Option<&RowId>,
    before: Option<u64>,
    limit: u32,
) -> Vec<(u64, String)> {
    let query = AuditQuery {
        row: row.cloned(),
        before,
        limit,
    };
    let entries = store.roster_audit(&query).await.expect("lists");
    let entries = entries.into_iter();
    entries.map(|entry| (entry.number, entry.reason)).collect()
}

pub(super) async fn audit_entries_are_listed_from_the_newest(store: &dyn Store) {
    let mut stored = StoredRoster::new(store);
    let by = stored.spawn(Role::Ops, 1).await;
    let row = stored.row_of("garden-d1");
    let all = audit(store, None, None, 100).await;
    let n_entries = u64::try_from(stored.n_entries).expect("few");
    let numbers: Vec<_> = all.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=n_entries).rev().collect::<Vec<_>>());
    let page = audit(store, None, Some(n_entries), 2).await;
    assert_eq!(page, all[1..3]);
    let of_row = audit(store, Some(&row), None, 100).await;
    let of_others = all.iter().filter(|entry| !of_row.contains(entry));
    let of_others: Vec<_> = of_others.map(|(_, reason)| reason.as_str()).collect();
    assert_eq!(
        of_others,
        ["garden-d1 confirmed", "garden-d1 in garden"],
        "{of_row:?}"
    );
    // A refusal is an entry with its rule; nothing else changes.
    let request = RosterRequest {
        by: by.clone(),
        command: RosterCommand::SetGate {
            row: row.clone(),
            change: GateChange::Go,
            reason: "a case".parse().expect("a reason"),
        },
        idempotency: None,
        random: [0; 10],
    };
    let changes = stored.roster.decide(request, at(9)).changes;
    store
        .commit_roster(stored.version, changes)
        .await
        .expect("commits");
    let query = AuditQuery {
        row: Some(row.clone()),
        before: None,
        limit: 1,
    };
    let entries = store.roster_audit(&query).await.expect("lists");
    let expected = crate::roster::StoredAudit {
        number: n_entries + 1,
        at: at(9),
        actor: by,
        kind: "daemon_go".to_owned(),
        row: Some(row),
        from: None,
        to: None,
        rule: Some("self-go".to_owned()),
        reason: "forbidden by the rule `self-go`".to_owned(),
        request: None,
        count: 1,
    };
    assert_eq!(entries, [expected]);
}

pub(super) async fn check_ins_are_listed_from_the_newest(store: &dyn Store) {
    let mut stored = StoredRoster::new(store);
    let by = stored.spawn(Role::Ops, 1).await;
    stored.spawn(Role::Refine, 2).await;
    stored.minutes(1);
    let poke = CheckInParams::new(WakeReason::Poke);
    stored.ask(&by, RosterCommand::CheckIn(poke)).await;
    let row = stored.row_of("garden-d1");
    let record = |at, wake, cadence: Option<&str>, context_tokens| CheckInRecord {
        row: row.clone(),
        incarnation: Incarnation::FIRST,
        at,
        wake,
        cadence: cadence.map(|word| word.parse().expect("a cadence")),
        context_tokens,
    };
    let expected = [
        record(at(60), WakeReason::Poke, None, None),
        record(at(0), WakeReason::Start, Some("dormant"), Some(10)),
    ];
    let records = store.check_ins_of(&row, 10).await.expect("reads");
    assert_eq!(records, expected);
    let newest = store.check_ins_of(&row, 1).await.expect("reads");
    assert_eq!(newest, expected[..1]);
}

pub(super) async fn what_is_old_is_pruned_and_no_audit_entry_before_its_time(store: &dyn Store) {
    let mut stored = StoredRoster::new(store);
    let by = stored.spawn(Role::Ops, 1).await;
    let row = stored.row_of("garden-d1");
    let day = SignedDuration::from_hours(24);
    let needed = RosterCommand::RequestCompaction(row.clone());
    let done = RosterCommand::CompactionDone(None);
    stored.minutes(1);
    stored.ask(&by, needed.clone()).await;
    let all = audit(store, None, None, 100).await;
    let prune = async |now: Timestamp| {
        store.prune_roster(now).await.expect("prunes");
        let records = store.check_ins_of(&row, 10).await.expect("reads");
        let entries = audit(store, None, None, 100).await;
        (records.len(), entries.len())
    };
    let n_entries = all.len();
    assert_eq!(prune(at(0) + day * 30).await, (1, n_entries));
    // A clock far in the future removes no audit entry, since the newest one is not that new.
    assert_eq!(prune(at(1) + day * 30).await, (0, n_entries));
    assert_eq!(prune(at(0) + day * 4_000).await, (0, n_entries));
    stored.now = at(0) + AUDIT_RETENTION;
    stored.ask(&by, done).await;
    assert_eq!(prune(stored.now).await, (0, n_entries + 1));
    stored.now += SignedDuration::from_secs(1);
    stored.ask(&by, needed).await;
    // The entry of the first minute is not old enough.
    assert_eq!(prune(stored.now).await, (0, 3));
    // Numbers are not used again.
    let numbers: Vec<_> = audit(store, None, None, 100).await;
    let numbers: Vec<_> = numbers.into_iter().map(|(number, _)| number).collect();
    let last = u64::try_from(n_entries).expect("few");
    assert_eq!(numbers, [last + 2, last + 1, last]);
    let nothing = store
        .commit_roster(stored.version, RosterChanges::default())
        .await;
    assert_eq!(nothing.expect("commits").0, stored.version.0 + 1);
}
