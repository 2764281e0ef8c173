//! The records of the roster.

use daemon_roster::{
    AllowlistState, CheckInParams, Confirmation, Evaluation, GateChange, HandOffGate, Idempotency,
    Incarnation, NewSignal, PacketHash, Principal, REPLY_RETENTION, Role, Roster, RosterAnswer,
    RosterCommand, RosterRequest, RosterSettings, RosterTables, RowId, RowKind, SignalKind,
    SpawnFacts, TokenHash, WakeReason, WantedSpawn,
};
use jiff::{SignedDuration, Timestamp};

use super::scene::at;
use crate::roster::{LoadedRoster, RosterVersion};
use crate::traits::Store;

/// A roster whose decisions are committed, and compared with what the store loads.
pub(super) struct StoredRoster<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) roster: Roster,
    pub(super) version: RosterVersion,
    pub(super) now: Timestamp,
    pub(super) n_requests: u8,
    pub(super) n_entries: usize,
}

impl<'a> StoredRoster<'a> {
    pub(super) fn new(store: &'a dyn Store) -> Self {
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

    pub(super) async fn ask(&mut self, by: &Principal, command: RosterCommand) -> RosterAnswer {
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
    pub(super) async fn check(&self, after: &str) {
        let loaded = self.store.load_roster(self.now).await.expect("loads");
        let mut tables = self.roster.tables().clone();
        // Memory forgets them at the next lapse.
        let is_kept = |at: Timestamp| self.now.duration_since(at) <= REPLY_RETENTION;
        tables.replies.retain(|_, reply| is_kept(reply.at));
        tables.rows.retain(|_, row| !row.has_left(self.now));
        let version = self.version;
        assert_eq!(loaded, LoadedRoster { version, tables }, "after {after}");
    }

    pub(super) fn minutes(&mut self, minutes: i64) {
        self.now += SignedDuration::from_mins(minutes);
    }

    pub(super) fn row_of(&self, name: &str) -> RowId {
        let rows = self.roster.tables().rows.values();
        let mut named = rows.filter(|row| row.name.as_str() == name);
        named.next().expect("a row with the name").id.clone()
    }

    /// Starts a daemon on go and checks it in with everything that a check-in can say.
    pub(super) async fn spawn(&mut self, role: Role, token: u8) -> Principal {
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

    pub(super) async fn start(&mut self, row: &RowId) {
        let started = RosterCommand::ProcessStarted {
            row: row.clone(),
            handle: "process 7".parse().expect("a handle"),
        };
        self.ask(&Principal::Host, started).await;
    }
}

pub(super) fn facts() -> SpawnFacts {
    SpawnFacts {
        n_destinations: 1,
        root_exists: true,
        harness_answers: true,
        charter: Some("Work.".to_owned()),
        process_names: [].into(),
        allowlist: AllowlistState::Absent,
    }
}

pub(super) fn everything() -> CheckInParams {
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

pub(super) fn registration(name: &str) -> RosterCommand {
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
            gate: daemon_roster::RosterGate::Go,
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

pub(super) async fn rows_of_what_ended_are_removed_and_those_of_agents_stay(store: &dyn Store) {
    let mut stored = StoredRoster::new(store);
    let host = Principal::Host;
    let run = RosterCommand::Evaluate(Evaluation {
        kind: RowKind::Run,
        project: None,
        actor_ref: "em-1".parse().expect("a reference"),
        name: "em-1".parse().expect("a name"),
        gate: daemon_roster::RosterGate::Go,
        trouble: None,
    });
    stored.ask(&host, run.clone()).await;
    let reason = || "it ended".parse().expect("a reason");
    let row = stored.row_of("em-1");
    let reason_of_run = reason();
    let depart = RosterCommand::Depart {
        row,
        reason: reason_of_run,
    };
    stored.ask(&host, depart).await;
    stored
        .ask(&Principal::Unregistered, registration("digger"))
        .await;
    let row = stored.row_of("digger");
    let reason = reason();
    stored
        .ask(&Principal::Operator, RosterCommand::Retire { row, reason })
        .await;
    let n_rows = async |now: Timestamp| {
        let loaded = store.load_roster(now).await.expect("loads");
        loaded.tables.rows.len()
    };
    let day = SignedDuration::from_hours(24);
    assert_eq!(n_rows(at(0) + day).await, 2);
    assert_eq!(n_rows(at(1) + day).await, 1);
    store.prune_roster(at(0) + day).await.expect("prunes");
    assert_eq!(n_rows(at(0)).await, 2);
    store.prune_roster(at(1) + day).await.expect("prunes");
    assert_eq!(n_rows(at(0)).await, 1);
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
        charter: Some(PacketHash::of("Work.")),
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
