//! The records of the roster.

use daemon_roster::{
    AllowlistState, CheckInParams, CheckInRecord, Confirmation, Evaluation, GateChange,
    HandOffGate, Idempotency, Incarnation, NewSignal, Principal, Role, Roster, RosterAnswer,
    RosterChanges, RosterCommand, RosterRequest, RosterSettings, RosterTables, RowId, RowKind,
    SignalKind, SpawnFacts, TokenHash, WakeReason, WantedSpawn,
};
use jiff::{SignedDuration, Timestamp};

use super::scene::at;
use crate::error::StoreError;
use crate::roster::{AUDIT_RETENTION, AuditQuery, LoadedRoster, RosterVersion};
use crate::traits::Store;

/// A roster whose decisions are committed, and compared with what the store loads.
struct StoredRoster<'a> {
    store: &'a dyn Store,
    roster: Roster,
    version: RosterVersion,
    now: Timestamp,
    n_requests: u8,
    n_entries: usize,
}

impl<'a> StoredRoster<'a> {
    fn new(store: &'a dyn Store) -> Self {
        let settings = RosterSettings {
            projects: ["garden".parse().expect("a project")].into(),
            ..RosterSettings::default()
        };
        Self {
            store,
            roster: Roster::new(settings, RosterTables::default()),
            version: RosterVersion(0),
            now: at(0),
            n_requests: 0,
            n_entries: 0,
        }
    }

    async fn ask(&mut self, by: &Principal, command: RosterCommand) -> RosterAnswer {
        self.n_requests += 1;
        let shown = format!("{command:?}");
        let request = RosterRequest {
            by: by.clone(),
            command,
            idempotency: Some(Idempotency {
                request: format!("r{}", self.n_requests).parse().expect("an id"),
                params: [self.n_requests; 32],
            }),
            random: [self.n_requests; 10],
        };
        let decision = self.roster.decide(request, self.now);
        let answer = decision.answer.clone();
        let changes = decision.changes.clone();
        self.n_entries += changes.audit.len();
        let committed = self.store.commit_roster(self.version, changes).await;
        self.version = committed.expect("commits");
        self.roster.apply(decision);
        self.check(&shown).await;
        answer.unwrap_or_else(|refusal| panic!("{shown}: {refusal}"))
    }

    /// Compares what the store loads with the roster in memory.
    async fn check(&self, after: &str) {
        let loaded = self.store.load_roster(self.now).await.expect("loads");
        let tables = RosterTables {
            replies: [].into(),
            ..self.roster.tables().clone()
        };
        let version = self.version;
        assert_eq!(loaded, LoadedRoster { version, tables }, "after {after}");
    }

    fn minutes(&mut self, minutes: i64) {
        self.now += SignedDuration::from_mins(minutes);
    }

    fn row_of(&self, name: &str) -> RowId {
        let rows = self.roster.tables().rows.values();
        let mut named = rows.filter(|row| row.name.as_str() == name);
        named.next().expect("a row with the name").id.clone()
    }

    /// Starts a daemon on go and checks it in with everything that a check-in can say.
    async fn spawn(&mut self, role: Role, token: u8) -> Principal {
        let operator = Principal::Operator;
        let wanted = WantedSpawn {
            project: "garden".parse().expect("a project"),
            role,
            harness: "claude".parse().expect("a harness"),
            name: Some(format!("d{token}").parse().expect("a name")),
        };
        let facts = Box::new(facts());
        let planned = self.ask(&operator, RosterCommand::PlanSpawn { wanted, facts });
        let RosterAnswer::Planned { plan, hash, .. } = planned.await else {
            panic!("not planned");
        };
        let token = TokenHash([token; 32]);
        let confirm = RosterCommand::ConfirmSpawn {
            plan,
            packet: hash,
            confirmation: Confirmation::Confirmed,
            token,
            facts: Box::new(self::facts()),
        };
        let RosterAnswer::Spawning(row) = self.ask(&operator, confirm).await else {
            panic!("not spawning");
        };
        self.start(&row).await;
        let by = self.roster.principal(&token).expect("a known token");
        self.ask(&by, RosterCommand::CheckIn(everything())).await;
        let reason = "a case".parse().expect("a reason");
        let change = GateChange::Go;
        let go = RosterCommand::SetGate {
            row,
            change,
            reason,
        };
        self.ask(&operator, go).await;
        by
    }

    async fn start(&mut self, row: &RowId) {
        let started = RosterCommand::ProcessStarted {
            row: row.clone(),
            handle: "process 7".parse().expect("a handle"),
        };
        self.ask(&Principal::Host, started).await;
    }
}

fn facts() -> SpawnFacts {
    SpawnFacts {
        n_destinations: 1,
        root_exists: true,
        harness_answers: true,
        charter: Some("Work.".to_owned()),
        process_names: [].into(),
        allowlist: AllowlistState::Absent,
    }
}

fn everything() -> CheckInParams {
    CheckInParams {
        cadence: Some("dormant".to_owned()),
        context_tokens: Some(10),
        context_limit: Some(u64::from(u32::MAX) + 1),
        process: Some("17".parse().expect("an id")),
        session: Some("s'1\"".parse().expect("an id")),
        ..CheckInParams::new(WakeReason::Start)
    }
}

fn signal(kind: SignalKind, payload: &str) -> NewSignal {
    NewSignal {
        kind,
        project: Some("garden".parse().expect("a project")),
        target: None,
        dedupe_key: Some(payload.parse().expect("a key")),
        priority: 3,
        payload: payload.to_owned(),
        reference: Some("brief/1".to_owned()),
    }
}

fn registration(name: &str) -> RosterCommand {
    RosterCommand::CheckIn(CheckInParams {
        project: Some("garden".parse().expect("a project")),
        role: Some("poet".parse().expect("a role")),
        actor_ref: Some(name.parse().expect("a reference")),
        ..CheckInParams::new(WakeReason::Start)
    })
}

pub(super) async fn an_empty_roster_is_loaded(store: &dyn Store) {
    StoredRoster::new(store).check("nothing").await;
}

pub(super) async fn rows_come_back_as_they_were_committed(store: &dyn Store) {
    let mut stored = StoredRoster::new(store);
    let by = stored.spawn(Role::Ops, 1).await;
    let host = Principal::Host;
    let row = stored.row_of("garden-d1");
    let incarnation = Incarnation::FIRST;
    stored.minutes(1);
    stored
        .ask(&host, RosterCommand::Activity { row, incarnation })
        .await;
    stored
        .ask(&Principal::Unregistered, registration("digger"))
        .await;
    let evaluation = |trouble: Option<&str>| {
        RosterCommand::Evaluate(Evaluation {
            kind: RowKind::Repository,
            project: Some("garden".parse().expect("a project")),
            actor_ref: "librarian".parse().expect("a reference"),
            name: "librarian".parse().expect("a name"),
            trouble: trouble.map(str::to_owned),
        })
    };
    stored.ask(&host, evaluation(None)).await;
    stored
        .ask(&host, evaluation(Some("the file is invalid")))
        .await;
    let row = stored.row_of("garden-d1");
    stored
        .ask(&by, RosterCommand::RequestCompaction(row.clone()))
        .await;
    stored.minutes(50);
    stored.ask(&host, RosterCommand::Lapse).await;
    let reason = "a case".parse().expect("a reason");
    let retire = RosterCommand::Retire { row, reason };
    stored.ask(&Principal::Operator, retire).await;
    // The reference of a retired row is free.
    let row = stored.row_of("digger");
    let reason = "a case".parse().expect("a reason");
    let retire = RosterCommand::Retire { row, reason };
    stored.ask(&Principal::Operator, retire).await;
    stored
        .ask(&Principal::Unregistered, registration("digger"))
        .await;
}

pub(super) async fn signals_come_back_as_they_were_committed(store: &dyn Store) {
    let mut stored = StoredRoster::new(store);
    let by = stored.spawn(Role::Orchestrator, 1).await;
    for payload in ["completed", "failed", "cancelled", "line\n'two'"] {
        let new = signal(
            SignalKind::AutoDispatch,
            payload.lines().next().expect("a line"),
        );
        let new = NewSignal {
            payload: payload.to_owned(),
            target: Some(stored.row_of("garden-d1")),
            ..new
        };
        let queued = stored.ask(&by, RosterCommand::Enqueue(new)).await;
        let RosterAnswer::Queued { signal, .. } = queued else {
            panic!("{queued:?}");
        };
        if payload == "cancelled" {
            stored.ask(&by, RosterCommand::CancelSignal(signal)).await;
            continue;
        }
        let claimed = stored.ask(&by, RosterCommand::Claim(signal.clone())).await;
        let RosterAnswer::Claimed { token, .. } = claimed else {
            panic!("{claimed:?}");
        };
        let end = match payload {
            "completed" => RosterCommand::Complete {
                signal,
                token,
                result: Some("a result".to_owned()),
            },
            "failed" => RosterCommand::Fail {
                signal,
                token,
                error: "an error".to_owned(),
            },
            _ => continue,
        };
        stored.ask(&by, end).await;
    }
    // The last claim expires, and signals that ended a day ago are not loaded.
    stored.minutes(15);
    stored.ask(&Principal::Host, RosterCommand::Lapse).await;
    stored.minutes(24 * 60);
    stored.ask(&Principal::Host, RosterCommand::Lapse).await;
    let loaded = store.load_roster(stored.now).await.expect("loads");
    assert_eq!(loaded.tables.signals.len(), 1);
}

pub(super) async fn a_reset_comes_back_at_every_step(store: &dyn Store) {
    let mut stored = StoredRoster::new(store);
    let old = stored.spawn(Role::Orchestrator, 1).await;
    let row = stored.row_of("garden-d1");
    let reason = "a case".parse().expect("a reason");
    let request = RosterCommand::RequestReset {
        row: row.clone(),
        reason,
    };
    let RosterAnswer::Reset { reset, .. } = stored.ask(&old, request).await else {
        panic!("not requested");
    };
    let token = TokenHash([2; 32]);
    let start = RosterCommand::StartReset {
        reset: reset.clone(),
        token,
    };
    stored.ask(&old, start).await;
    let successor = stored.row_of("garden-orchestrator-2");
    stored.start(&successor).await;
    let new = stored.roster.principal(&token).expect("a known token");
    stored.ask(&new, RosterCommand::CheckIn(everything())).await;
    stored
        .ask(&new, RosterCommand::SuccessorReady(reset.clone()))
        .await;
    let hand_off = RosterCommand::HandOff {
        reset: reset.clone(),
        handoff_ref: Some("notes/7".parse().expect("a reference")),
        gate: HandOffGate::Go,
    };
    stored.ask(&old, hand_off).await;
    stored
        .ask(&new, RosterCommand::RetirePredecessor(reset))
        .await;
    stored
        .ask(&Principal::Host, RosterCommand::ProcessClosed(row))
        .await;
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
