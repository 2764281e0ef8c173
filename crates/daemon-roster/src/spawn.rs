//! Spawn plans: what is checked before a daemon is started, and how a plan becomes a process.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use daemon_event::InvalidId;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::answer::RosterAnswer;
use crate::authority::OnHold;
use crate::charter::{CharterValues, kickoff_packet};
use crate::command::{Confirmation, WantedSpawn};
use crate::id::{DaemonName, Nonce, PlanId, Project, RowId, TokenHash};
use crate::refusal::{Blocker, InvalidParams, RosterRefusal};
use crate::row::{Role, RosterRow, RowKind};
use crate::settings::RosterSettings;
use crate::transition::machine;
use crate::wind_down::WindDownState;
use crate::word::words;
use crate::work::UnitOfWork;

/// Where a plan is in its course. Its checks are done in the transaction that makes it, so it is never stored unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlanStatus {
    /// Nothing blocks it.
    Clear,
    /// A check blocks it.
    Blocked,
    /// It was confirmed.
    Spawning,
    /// The process was started.
    Spawned,
    /// The process could not be started.
    Failed,
    /// It was not confirmed in time.
    Expired,
}

words!(PlanStatus, "the status of a plan", {
    Clear => "clear",
    Blocked => "blocked",
    Spawning => "spawning",
    Spawned => "spawned",
    Failed => "failed",
    Expired => "expired",
});

machine! {
    /// The transitions of a plan.
    PLAN of PlanStatus named "plan",
    /// What happens to a plan.
    PlanEvent {
        Confirm => "confirm",
        Spawned => "spawned",
        Fail => "fail",
        Expire => "expire",
    }
    Clear + Confirm => Spawning;
    Spawning + Spawned => Spawned;
    Spawning + Fail => Failed;
    Clear + Expire => Expired;
    Blocked + Expire => Expired;
}

/// What is checked before a spawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanCheckName {
    /// The project has exactly one place for agents.
    Destination,
    /// The directory of the project exists.
    Root,
    /// The role has a charter.
    Role,
    /// The program of the agent answers.
    Harness,
    /// The charter can be rendered.
    Charter,
    /// No row and no process has the name.
    Name,
    /// The baton of the role has no holder.
    Baton,
    /// No reset of the role is open.
    Reset,
    /// Neither a daemon with the role nor the orchestrator winds down.
    WindDown,
    /// The permissions of the repository are those that the host passes.
    Allowlist,
    /// The host has started fewer agents than it may.
    Cap,
}

words!(PlanCheckName, "a check of a plan", {
    Destination => "destination",
    Root => "root",
    Role => "role",
    Harness => "harness",
    Charter => "charter",
    Name => "name",
    Baton => "baton",
    Reset => "reset",
    WindDown => "winddown",
    Allowlist => "allowlist",
    Cap => "cap",
});

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlanCheckOutcome {
    /// It is as it should be.
    Pass,
    /// It should be noticed; the spawn is possible.
    Warn,
    /// It blocks the spawn.
    Block,
}

words!(PlanCheckOutcome, "the outcome of a check", {
    Pass => "pass",
    Warn => "warn",
    Block => "block",
});

/// One check of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanCheck {
    /// What was checked.
    pub name: PlanCheckName,
    /// What it showed.
    pub outcome: PlanCheckOutcome,
}

/// How the settings of a repository compare with the allowlist of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllowlistState {
    /// They are equal.
    Equal,
    /// The repository has no such file.
    Absent,
    /// They differ.
    Drifted,
}

words!(AllowlistState, "a comparison with the allowlist", {
    Equal => "equal",
    Absent => "absent",
    Drifted => "drifted",
});

/// What the host found out about the place of a spawn. It only reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnFacts {
    /// How many places for agents the project has.
    pub n_destinations: usize,
    /// Whether the directory of the project exists.
    pub root_exists: bool,
    /// Whether the program of the agent answered.
    pub harness_answers: bool,
    /// The charter of the role.
    pub charter: Option<String>,
    /// The names of processes that exist.
    pub process_names: BTreeSet<String>,
    /// The permissions of the repository.
    pub allowlist: AllowlistState,
}

/// The SHA-256 of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PacketHash(pub [u8; 32]);

/// A spawn that was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnPlan {
    /// Identifies it.
    pub id: PlanId,
    /// What is to be spawned.
    pub wanted: WantedSpawn,
    /// The name that the daemon gets.
    pub name: DaemonName,
    /// Where it is in its course.
    pub status: PlanStatus,
    /// What was checked.
    pub checks: Vec<PlanCheck>,
    /// Identifies the packet that was shown.
    pub packet: PacketHash,
    /// When it was made.
    pub created_at: Timestamp,
    /// The row of the daemon, once it was confirmed.
    pub row: Option<RowId>,
}

/// Returns the name of a spawned daemon: the project is put before the role, or before the wanted name unless it begins with
/// it.
///
/// # Errors
/// When the name would be too long.
pub fn spawned_name(
    project: &Project,
    role: &Role,
    wanted: Option<&DaemonName>,
) -> Result<DaemonName, InvalidId> {
    let prefix = format!("{project}-");
    match wanted {
        Some(wanted) if wanted.as_str().starts_with(&prefix) => Ok(wanted.clone()),
        Some(wanted) => format!("{prefix}{wanted}").parse(),
        None => format!("{prefix}{role}").parse(),
    }
}

impl PacketHash {
    /// Hashes a packet.
    pub fn of(packet: &str) -> Self {
        Self(Sha256::digest(packet).into())
    }
}

impl fmt::Display for PacketHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for PacketHash {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let invalid = || InvalidId::new(text, "the SHA-256 of a packet (64 hexadecimal digits)");
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 64 || !text.bytes().all(is_digit) {
            return Err(invalid());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).expect("digits are text");
            *byte = u8::from_str_radix(pair, 16).expect("the digits were checked");
        }
        Ok(Self(bytes))
    }
}

impl SpawnFacts {
    /// Returns the facts about a place that does not exist.
    pub fn nothing() -> Self {
        Self {
            n_destinations: 0,
            root_exists: false,
            harness_answers: false,
            charter: None,
            process_names: BTreeSet::new(),
            allowlist: AllowlistState::Absent,
        }
    }
}

impl SpawnPlan {
    /// Returns when it can no longer be confirmed; `None` if that is decided.
    pub(crate) fn expires_at(&self, settings: &RosterSettings) -> Option<Timestamp> {
        let is_waiting = matches!(self.status, PlanStatus::Clear | PlanStatus::Blocked);
        let end = self.created_at.checked_add(settings.plan_ttl).ok();
        end.filter(|_| is_waiting)
    }

    pub(crate) fn is_expired(&self, now: Timestamp, settings: &RosterSettings) -> bool {
        self.expires_at(settings).is_some_and(|at| at <= now)
    }
}

impl UnitOfWork<'_> {
    pub(crate) fn plan_spawn(
        &mut self,
        wanted: WantedSpawn,
        facts: &SpawnFacts,
    ) -> Result<RosterAnswer, RosterRefusal> {
        self.orchestrator_of(&wanted.project, OnHold::Held)?;
        let name = spawned_name(&wanted.project, &wanted.role, wanted.name.as_ref())
            .map_err(InvalidParams::from)?;
        let packet = self.packet(&wanted, &name, facts);
        let checks = self.checks(&wanted, &name, facts);
        let is_blocked = checks.iter().any(PlanCheck::blocks);
        let plan = SpawnPlan {
            id: self.fresh(PlanId::new),
            name,
            status: if is_blocked {
                PlanStatus::Blocked
            } else {
                PlanStatus::Clear
            },
            checks,
            packet: PacketHash::of(&packet),
            created_at: self.now(),
            row: None,
            wanted,
        };
        let reason = format!("{} in {}", plan.name, plan.wanted.project);
        self.audit(PLAN.name, None, (None, plan.status.as_str()), &reason);
        let answer = RosterAnswer::Planned {
            plan: plan.id.clone(),
            status: plan.status,
            checks: plan.checks.clone(),
            packet,
            hash: plan.packet,
        };
        self.put_plan(plan);
        Ok(answer)
    }

    /// Records that the permissions of a project compare otherwise than before.
    pub(crate) fn note_allowlist(
        &mut self,
        project: &Project,
        before: Option<AllowlistState>,
        state: AllowlistState,
    ) -> Result<RosterAnswer, RosterRefusal> {
        self.host()?;
        let change = (before.map(AllowlistState::as_str), state.as_str());
        self.audit("allowlist", None, change, project.as_str());
        Ok(RosterAnswer::Done)
    }

    pub(crate) fn confirm_spawn(
        &mut self,
        id: &PlanId,
        packet: PacketHash,
        confirmation: Confirmation,
        token: TokenHash,
        facts: &SpawnFacts,
    ) -> Result<RosterAnswer, RosterRefusal> {
        self.operator()?;
        let mut plan = self.plan(id)?;
        if plan.is_expired(self.now(), self.settings()) {
            plan.status = PlanStatus::Expired;
        }
        self.advance_plan(&mut plan, PlanEvent::Confirm, "confirmed")?;
        let mut blockers = Vec::new();
        if confirmation == Confirmation::Unconfirmed {
            blockers.push(Blocker::NotConfirmed);
        }
        let rendered = PacketHash::of(&self.packet(&plan.wanted, &plan.name, facts));
        if packet != plan.packet || rendered != plan.packet {
            blockers.push(Blocker::PacketChanged);
        }
        let checks = self.checks(&plan.wanted, &plan.name, facts);
        let blocking = checks.iter().filter(|check| check.blocks());
        blockers.extend(blocking.map(|check| Blocker::Check(check.name)));
        if !blockers.is_empty() {
            return Err(RosterRefusal::NotReady { blockers });
        }
        let mut row = RosterRow::expected(self.fresh(RowId::new), plan.name.clone(), self.now());
        row.project = Some(plan.wanted.project.clone());
        row.role = Some(plan.wanted.role.clone());
        row.harness = Some(plan.wanted.harness.clone());
        row.charter = facts.charter.as_deref().map(PacketHash::of);
        row.begin_spawn(
            self.fresh(Nonce::new),
            self.after(self.settings().heartbeat),
        );
        self.expect_spawn(&row, token);
        plan.row = Some(row.id.clone());
        let id = row.id.clone();
        self.put_row(row);
        self.put_plan(plan);
        Ok(RosterAnswer::Spawning(id))
    }

    pub(crate) fn advance_plan(
        &mut self,
        plan: &mut SpawnPlan,
        event: PlanEvent,
        reason: &str,
    ) -> Result<(), RosterRefusal> {
        let from = plan.status;
        plan.status = PLAN.next(from, event)?;
        let change = (Some(from.as_str()), plan.status.as_str());
        let reason = format!("{} {reason}", plan.name);
        self.audit(PLAN.name, plan.row.clone(), change, reason.trim_end());
        Ok(())
    }

    /// Renders the packet; it is empty if the charter is missing or cannot be rendered, which the checks report.
    fn packet(&self, wanted: &WantedSpawn, name: &DaemonName, facts: &SpawnFacts) -> String {
        let template = facts.charter.as_deref().unwrap_or_default();
        kickoff_packet(template, &self.values(wanted, name)).unwrap_or_default()
    }

    fn values(&self, wanted: &WantedSpawn, name: &DaemonName) -> CharterValues {
        CharterValues {
            project: wanted.project.clone(),
            name: name.clone(),
            role: wanted.role.clone(),
            harness: wanted.harness.clone(),
            heartbeat_minutes: self.settings().heartbeat.as_mins(),
            predecessor: None,
            handoff: None,
        }
    }

    fn checks(
        &self,
        wanted: &WantedSpawn,
        name: &DaemonName,
        facts: &SpawnFacts,
    ) -> Vec<PlanCheck> {
        use PlanCheckName as Check;
        use PlanCheckOutcome::{Block, Pass, Warn};
        let (project, role) = (&wanted.project, &wanted.role);
        let pass_if = |is_right: bool| if is_right { Pass } else { Block };
        let standing = || {
            let rows = self.rows();
            rows.filter(|row| row.kind == RowKind::Standing && !row.is_retired())
        };
        let is_name_free =
            !facts.process_names.contains(name.as_str()) && standing().all(|row| row.name != *name);
        let baton = self.baton(project, role);
        let reset = self.open_reset(|reset| reset.project == *project && reset.role == *role);
        let is_concerned = |row: &RosterRow| {
            let roles = [Some(role), Some(&Role::Orchestrator)];
            row.project.as_ref() == Some(project) && roles.contains(&row.role.as_ref())
        };
        let mut concerned = standing().filter(|row| is_concerned(row));
        let n_started = standing().filter(|row| row.spawn.is_some()).count();
        let values = self.values(wanted, name);
        let charter = facts.charter.as_deref();
        let outcomes = [
            (Check::Destination, pass_if(facts.n_destinations == 1)),
            (Check::Root, pass_if(facts.root_exists)),
            (Check::Role, pass_if(role.is_spawnable())),
            (Check::Harness, pass_if(facts.harness_answers)),
            (
                Check::Charter,
                pass_if(charter.is_some_and(|it| kickoff_packet(it, &values).is_ok())),
            ),
            (Check::Name, pass_if(is_name_free)),
            (Check::Baton, pass_if(baton.holder.is_none())),
            (Check::Reset, pass_if(reset.is_none())),
            (
                Check::WindDown,
                pass_if(concerned.all(|row| row.wind_down == WindDownState::None)),
            ),
            (
                Check::Allowlist,
                match facts.allowlist {
                    AllowlistState::Equal => Pass,
                    AllowlistState::Absent => Warn,
                    AllowlistState::Drifted => Block,
                },
            ),
            (Check::Cap, pass_if(n_started < self.settings().cap)),
        ];
        let checks = outcomes.into_iter();
        checks
            .map(|(name, outcome)| PlanCheck { name, outcome })
            .collect()
    }
}

impl PlanCheck {
    /// Returns why it blocks or warns; `None` if it passes.
    pub fn why(&self) -> Option<&'static str> {
        use PlanCheckName as Check;
        let why = match (self.outcome, self.name) {
            (PlanCheckOutcome::Pass, _) => return None,
            (PlanCheckOutcome::Warn, Check::Allowlist) => "the repository has no settings file",
            (_, Check::Destination) => "no watched repository has that name",
            (_, Check::Root) => "the directory of the repository cannot be read",
            (_, Check::Role) => "it is not orchestrator, ops or refine",
            (_, Check::Harness) => "no such provider resumes sessions and uses MCP servers",
            (_, Check::Charter) => "the role has none, or an unknown placeholder is in it",
            (_, Check::Name) => "a daemon or a process has it",
            (_, Check::Baton) => "another daemon holds that of the role",
            (_, Check::Reset) => "one of the role is open",
            (_, Check::WindDown) => "the role or the orchestrator winds down",
            (_, Check::Allowlist) => "the repository's settings file differs from it",
            (_, Check::Cap) => "there are as many daemons as `roster.cap` permits",
        };
        Some(why)
    }

    /// Reports whether it blocks the spawn.
    pub fn blocks(&self) -> bool {
        self.outcome == PlanCheckOutcome::Block
    }
}
