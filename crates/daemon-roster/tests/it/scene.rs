//! A roster in virtual time.

use daemon_roster::{
    AllowlistState, AuditEntry, CheckInParams, CheckedIn, Confirmation, GateChange, Liveness,
    LivenessReport, PacketHash, PlanId, Principal, Project, ReasonText, Role, Roster, RosterAnswer,
    RosterCommand, RosterEffect, RosterRefusal, RosterRequest, RosterRow, RosterSettings,
    RosterTables, RowId, SpawnFacts, TokenHash, WakeReason, WantedSpawn,
};
use jiff::{SignedDuration, Timestamp};

/// A roster with two projects, its clock, and what its decisions caused.
pub(crate) struct Scene {
    pub(crate) roster: Roster,
    pub(crate) now: Timestamp,
    pub(crate) effects: Vec<RosterEffect>,
    pub(crate) audit: Vec<AuditEntry>,
    n_requests: u64,
}

pub(crate) fn project(name: &str) -> Project {
    name.parse().expect("a project")
}

pub(crate) fn reason() -> ReasonText {
    "a test".parse().expect("a reason")
}

pub(crate) fn settings() -> RosterSettings {
    RosterSettings {
        projects: [project("garden"), project("orchard")].into(),
        ..RosterSettings::default()
    }
}

pub(crate) fn facts() -> SpawnFacts {
    SpawnFacts {
        n_destinations: 1,
        root_exists: true,
        harness_answers: true,
        charter: Some("Work as {{role}} of {{project}}.".to_owned()),
        process_names: [].into(),
        allowlist: AllowlistState::Equal,
    }
}

pub(crate) fn token(n: u64) -> TokenHash {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&n.to_be_bytes());
    TokenHash(hash)
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(settings())
    }

    pub(crate) fn with(settings: RosterSettings) -> Self {
        Self {
            roster: Roster::new(settings, RosterTables::default()),
            now: "2026-11-28T09:00:00Z".parse().expect("an instant"),
            effects: Vec::new(),
            audit: Vec::new(),
            n_requests: 0,
        }
    }

    pub(crate) fn pass(&mut self, span: SignedDuration) {
        self.now += span;
    }

    pub(crate) fn minutes(&mut self, minutes: i64) {
        self.pass(SignedDuration::from_mins(minutes));
    }

    /// Returns a request with random bits that no other has.
    pub(crate) fn request(&mut self, by: &Principal, command: RosterCommand) -> RosterRequest {
        self.n_requests += 1;
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.n_requests.to_be_bytes());
        RosterRequest {
            by: by.clone(),
            command,
            idempotency: None,
            random,
        }
    }

    pub(crate) fn ask(
        &mut self,
        by: &Principal,
        command: RosterCommand,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let request = self.request(by, command);
        self.send(request)
    }

    pub(crate) fn send(&mut self, request: RosterRequest) -> Result<RosterAnswer, RosterRefusal> {
        let mut decision = self.roster.decide(request, self.now);
        if decision.answer.is_err() {
            assert!(
                decision.changes.tables.is_empty() && decision.effects.is_empty(),
                "a refusal changes a row: {decision:?}"
            );
        }
        let answer = decision.answer.clone();
        self.effects.append(&mut decision.effects);
        self.audit.extend(decision.changes.audit.iter().cloned());
        self.roster.apply(decision);
        answer
    }

    #[track_caller]
    pub(crate) fn done(&mut self, by: &Principal, command: RosterCommand) -> RosterAnswer {
        let shown = format!("{command:?}");
        match self.ask(by, command) {
            Ok(answer) => answer,
            Err(refusal) => panic!("{shown}: {refusal}"),
        }
    }

    /// Returns the code and the rule of a refusal.
    #[track_caller]
    pub(crate) fn refused(
        &mut self,
        by: &Principal,
        command: RosterCommand,
    ) -> (i32, &'static str) {
        let shown = format!("{command:?}");
        match self.ask(by, command) {
            Ok(answer) => panic!("{shown}: {answer:?}"),
            Err(refusal) => (refusal.code(), refusal.rule()),
        }
    }

    pub(crate) fn lapse(&mut self) {
        self.done(&Principal::Host, RosterCommand::Lapse);
    }

    pub(crate) fn row(&self, id: &RowId) -> &RosterRow {
        &self.roster.tables().rows[id]
    }

    pub(crate) fn report(&self, id: &RowId) -> LivenessReport {
        self.roster.liveness(id, self.now).expect("the row exists")
    }

    pub(crate) fn state(&self, id: &RowId) -> Liveness {
        self.report(id).state
    }

    #[track_caller]
    pub(crate) fn check_in(&mut self, by: &Principal, params: CheckInParams) -> CheckedIn {
        match self.done(by, RosterCommand::CheckIn(params)) {
            RosterAnswer::CheckedIn(answer) => *answer,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn tick(&mut self, by: &Principal) -> CheckedIn {
        self.check_in(by, CheckInParams::new(WakeReason::Tick))
    }

    /// Registers an agent without a token.
    #[track_caller]
    pub(crate) fn register(&mut self, of: &str, role: Role, actor_ref: &str) -> Principal {
        let params = CheckInParams {
            project: Some(project(of)),
            role: Some(role),
            actor_ref: Some(actor_ref.parse().expect("a reference")),
            ..CheckInParams::new(WakeReason::Start)
        };
        let answer = self.check_in(&Principal::Unregistered, params);
        Principal::Daemon {
            row: answer.row,
            incarnation: answer.incarnation,
        }
    }

    #[track_caller]
    pub(crate) fn plan(&mut self, of: &str, role: Role) -> (PlanId, PacketHash) {
        let command = RosterCommand::PlanSpawn {
            wanted: wanted(of, role),
            facts: Box::new(facts()),
        };
        match self.done(&Principal::Operator, command) {
            RosterAnswer::Planned { plan, hash, .. } => (plan, hash),
            other => panic!("{other:?}"),
        }
    }

    /// Plans, confirms and starts a daemon that has not checked in; returns its row and its token.
    #[track_caller]
    pub(crate) fn start(&mut self, of: &str, role: Role) -> (RowId, TokenHash) {
        let (plan, packet) = self.plan(of, role);
        let token = token(self.n_requests);
        let answer = self.done(
            &Principal::Operator,
            RosterCommand::ConfirmSpawn {
                plan,
                packet,
                confirmation: Confirmation::Confirmed,
                token,
                facts: Box::new(facts()),
            },
        );
        let RosterAnswer::Spawning(row) = answer else {
            panic!("{answer:?}");
        };
        self.started(&row);
        (row, token)
    }

    #[track_caller]
    pub(crate) fn started(&mut self, row: &RowId) {
        let handle = format!("process of {row}").parse().expect("a handle");
        let row = row.clone();
        self.done(
            &Principal::Host,
            RosterCommand::ProcessStarted { row, handle },
        );
    }

    /// Starts a daemon that has checked in, on hold.
    #[track_caller]
    pub(crate) fn spawn(&mut self, of: &str, role: Role) -> Principal {
        let (_, token) = self.start(of, role);
        let by = self.roster.principal(&token).expect("a known token");
        self.check_in(&by, CheckInParams::new(WakeReason::Start));
        by
    }

    /// Starts a daemon on go.
    #[track_caller]
    pub(crate) fn spawn_on_go(&mut self, of: &str, role: Role) -> Principal {
        let by = self.spawn(of, role);
        self.go(&by);
        by
    }

    #[track_caller]
    pub(crate) fn go(&mut self, daemon: &Principal) {
        let row = id(daemon);
        self.done(&Principal::Operator, gate(&row, GateChange::Go));
    }
}

pub(crate) fn wanted(of: &str, role: Role) -> WantedSpawn {
    WantedSpawn {
        project: project(of),
        role,
        harness: "claude".parse().expect("a harness"),
        name: None,
    }
}

pub(crate) fn gate(row: &RowId, change: GateChange) -> RosterCommand {
    RosterCommand::SetGate {
        row: row.clone(),
        change,
        reason: reason(),
    }
}

#[track_caller]
pub(crate) fn id(by: &Principal) -> RowId {
    match by {
        Principal::Daemon { row, .. } => row.clone(),
        other => panic!("{other} has no row"),
    }
}
