//! Random requests: the invariants of a reset, and that a refusal changes nothing.

use std::collections::BTreeMap;

use daemon_roster::{
    Baton, CheckInParams, Confirmation, GateChange, GatedAction, Generation, HandOffGate,
    NewSignal, Principal, ProcessState, Project, ResetState, Role, RosterCommand, RosterEffect,
    RowId, SignalKind, WakeReason,
};
use jiff::SignedDuration;

use super::scene::{Scene, facts, gate, project, reason, token, wanted};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let n = u64::try_from(n).expect("a length fits");
        usize::try_from((mixed ^ (mixed >> 31)) % n).expect("below a length")
    }

    fn of<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.below(items.len())].clone())
    }
}

/// A host that starts and closes processes, some of them late.
#[derive(Default)]
struct Processes {
    orders: Vec<RosterEffect>,
}

struct World {
    scene: Scene,
    dice: Dice,
    processes: Processes,
    n_tokens: u64,
    batons: BTreeMap<(Project, Role), Baton>,
    n_accepted: BTreeMap<&'static str, usize>,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            scene: Scene::new(),
            dice: Dice(seed),
            processes: Processes::default(),
            n_tokens: 1_000_000,
            batons: BTreeMap::new(),
            n_accepted: BTreeMap::new(),
        }
    }

    fn step(&mut self) {
        if self.dice.below(3) == 0 {
            self.perform_effect();
        } else if self.dice.below(2) == 0 {
            self.advance_a_reset();
        } else {
            let by = self.someone();
            if let Some(command) = self.command() {
                self.ask(&by, command);
            }
        }
        if self.dice.below(8) == 0 {
            let seconds = [1, 10, 30, 200, 700];
            let seconds = self.dice.of(&seconds).expect("some");
            self.scene.pass(SignedDuration::from_secs(seconds));
            self.ask(&Principal::Host, RosterCommand::Lapse);
        }
    }

    /// Takes the next step of an open reset as one who may, since random callers seldom can.
    fn advance_a_reset(&mut self) {
        let resets = self.scene.roster.tables().resets.values();
        let open = resets.filter(|reset| reset.state.is_open());
        let Some(reset) = self.dice.of(&open.cloned().collect::<Vec<_>>()) else {
            return;
        };
        let successor = reset.successor.as_ref().and_then(|row| self.agent(row));
        let predecessor = self.agent(&reset.predecessor);
        let tick = RosterCommand::CheckIn(CheckInParams::new(WakeReason::Tick));
        self.n_tokens += 1;
        let (by, command) = match reset.state {
            ResetState::Requested => {
                let token = token(self.n_tokens);
                let reset = reset.id;
                let charter = None;
                let start = RosterCommand::StartReset {
                    reset,
                    token,
                    charter,
                };
                (Some(Principal::Operator), start)
            }
            ResetState::Spawned if self.dice.below(2) == 0 => (successor, tick),
            ResetState::Spawned => (successor, RosterCommand::SuccessorReady(reset.id)),
            ResetState::Ready => {
                let by = self.dice.of(&[predecessor, successor]).expect("two");
                let hand_off = RosterCommand::HandOff {
                    reset: reset.id,
                    handoff_ref: None,
                    gate: HandOffGate::Keep,
                };
                (by, hand_off)
            }
            _ => (successor, RosterCommand::RetirePredecessor(reset.id)),
        };
        if let Some(by) = by {
            self.ask(&by, command);
        }
    }

    fn agent(&self, row: &RowId) -> Option<Principal> {
        let incarnation = self.scene.roster.tables().rows.get(row)?.incarnation;
        let row = row.clone();
        Some(Principal::Daemon { row, incarnation })
    }

    fn ask(&mut self, by: &Principal, command: RosterCommand) {
        let name = command.name();
        // `send` fails if a refusal changes a row.
        let audited = self.scene.audit.len();
        let answer = self.scene.ask(by, command.clone());
        self.processes.orders.append(&mut self.scene.effects);
        match answer {
            Ok(_) => *self.n_accepted.entry(name).or_default() += 1,
            Err(_) => assert!(self.scene.audit.len() <= audited + 2),
        }
        self.check(&command);
    }

    fn perform_effect(&mut self) {
        if self.processes.orders.is_empty() {
            return;
        }
        let at = self.dice.below(self.processes.orders.len());
        let command = match self.processes.orders.remove(at) {
            RosterEffect::Spawn(order) if self.dice.below(5) > 0 => {
                let handle = order.nonce.as_str().parse().expect("a handle");
                let row = order.row;
                RosterCommand::ProcessStarted { row, handle }
            }
            RosterEffect::Spawn(order) => RosterCommand::StartFailed {
                row: order.row,
                error: "no such program".to_owned(),
            },
            RosterEffect::Close(row) => RosterCommand::ProcessClosed(row),
            _ => return,
        };
        self.ask(&Principal::Host, command);
    }

    fn someone(&mut self) -> Principal {
        // Agents of retired rows seldom, since all of their requests are refused.
        let is_any = self.dice.below(8) == 0;
        let rows = self.scene.roster.tables().rows.values();
        let rows = rows.filter(|row| is_any || !row.is_retired());
        let rows: Vec<_> = rows.map(|row| row.id.clone()).collect();
        let mut agents: Vec<_> = rows.iter().filter_map(|row| self.agent(row)).collect();
        agents.push(Principal::Operator);
        agents.push(Principal::Operator);
        self.dice.of(&agents).expect("the operator")
    }

    fn row(&mut self) -> Option<RowId> {
        let is_any = self.dice.below(8) == 0;
        let rows = self.scene.roster.tables().rows.values();
        let rows = rows.filter(|row| is_any || !row.is_retired());
        self.dice
            .of(&rows.map(|row| row.id.clone()).collect::<Vec<_>>())
    }

    fn command(&mut self) -> Option<RosterCommand> {
        match self.dice.below(20) {
            0..4 => Some(self.check_in()),
            4..8 => self.signal_command(),
            8..15 => self.reset_command(),
            15..18 => self.spawn_command(),
            _ => self.row_command(),
        }
    }

    fn check_in(&mut self) -> RosterCommand {
        let wake = self.dice.of(&WakeReason::ALL).expect("some");
        let mut params = CheckInParams::new(wake);
        if self.dice.below(4) == 0 {
            let sessions = ["a", "b"].map(|it| it.parse().expect("an id"));
            params.session = self.dice.of(&sessions);
        }
        RosterCommand::CheckIn(params)
    }

    fn signal_command(&mut self) -> Option<RosterCommand> {
        let signals = self.scene.roster.tables().signals.values();
        let signals: Vec<_> = signals.rev().take(4).cloned().collect();
        let signal = self.dice.of(&signals);
        Some(match self.dice.below(3) {
            0 => RosterCommand::Enqueue(NewSignal {
                kind: self.dice.of(&SignalKind::ALL).expect("some"),
                project: self.dice.of(&["garden", "orchard"].map(project)),
                target: self.row().filter(|_| self.dice.below(2) == 0),
                dedupe_key: None,
                priority: NewSignal::DEFAULT_PRIORITY,
                payload: String::new(),
                reference: None,
            }),
            1 => RosterCommand::Claim(signal?.id),
            _ => {
                let signal = signal?;
                RosterCommand::Complete {
                    token: signal.claim?.token,
                    signal: signal.id,
                    result: None,
                }
            }
        })
    }

    fn reset_command(&mut self) -> Option<RosterCommand> {
        let resets = self.scene.roster.tables().resets.keys();
        let resets: Vec<_> = resets.rev().take(3).cloned().collect();
        let reset = self.dice.of(&resets);
        self.n_tokens += 1;
        Some(match self.dice.below(6) {
            0 => RosterCommand::RequestReset {
                row: self.row()?,
                reason: reason(),
            },
            1 => RosterCommand::StartReset {
                reset: reset?,
                token: token(self.n_tokens),
                charter: None,
            },
            2 => RosterCommand::SuccessorReady(reset?),
            3 => RosterCommand::HandOff {
                reset: reset?,
                handoff_ref: None,
                gate: self
                    .dice
                    .of(&[HandOffGate::Keep, HandOffGate::Go])
                    .expect("some"),
            },
            4 => RosterCommand::RetirePredecessor(reset?),
            _ => RosterCommand::CancelReset(reset?),
        })
    }

    fn spawn_command(&mut self) -> Option<RosterCommand> {
        let plans = self.scene.roster.tables().plans.values();
        let plans: Vec<_> = plans.rev().take(2).cloned().collect();
        let of = self.dice.of(&["garden", "orchard"]).expect("some");
        let role = self.dice.of(&Role::SPAWNABLE).expect("some");
        self.n_tokens += 1;
        let facts = Box::new(facts());
        if self.dice.below(2) == 0 {
            let wanted = wanted(of, role);
            return Some(RosterCommand::PlanSpawn { wanted, facts });
        }
        let plan = self.dice.of(&plans)?;
        Some(RosterCommand::ConfirmSpawn {
            plan: plan.id,
            packet: plan.packet,
            confirmation: Confirmation::Confirmed,
            token: token(self.n_tokens),
            facts,
        })
    }

    fn row_command(&mut self) -> Option<RosterCommand> {
        let row = self.row()?;
        let reason = reason();
        Some(match self.dice.below(16) {
            0..4 => {
                let changes = [GateChange::Go, GateChange::Go, GateChange::Hold];
                gate(&row, self.dice.of(&changes).expect("some"))
            }
            4 => RosterCommand::RequestWindDown { row, reason },
            5 => RosterCommand::WindDownReady("notes/1".parse().expect("a reference")),
            6 => RosterCommand::CancelWindDown { row, reason },
            7 => RosterCommand::Retire { row, reason },
            8..12 => RosterCommand::Authorize(self.dice.of(&GatedAction::ALL).expect("some")),
            _ => RosterCommand::RequestCompaction(row),
        })
    }

    /// Checks the six invariants of resets, after every request.
    fn check(&mut self, command: &RosterCommand) {
        self.one_holder_throughout(command);
        let tables = self.scene.roster.tables();
        let mut open = BTreeMap::new();
        for reset in tables.resets.values().filter(|it| it.state.is_open()) {
            // One open reset for each project and role.
            let key = (&reset.project, &reset.role);
            assert_eq!(open.insert(key, &reset.id), None, "{command:?}");
            let predecessor = &tables.rows[&reset.predecessor];
            let baton = &tables.batons[&(reset.project.clone(), reset.role.clone())];
            let has_moved = matches!(reset.state, ResetState::HandedOff | ResetState::Retiring);
            let holder = if has_moved {
                reset.successor.as_ref()
            } else {
                Some(&reset.predecessor)
            };
            assert_eq!(baton.holder.as_ref(), holder, "{command:?}");
            // The predecessor is not closed by the roster before the next generation exists.
            let is_closing = predecessor
                .spawn
                .as_ref()
                .is_some_and(|spawn| spawn.process == ProcessState::Closing);
            assert!(
                has_moved || !(is_closing || predecessor.is_retired()),
                "{command:?}"
            );
        }
        for row in tables.rows.values() {
            // No row is its own predecessor, however far back.
            let mut ancestor = row.predecessor.as_ref();
            while let Some(id) = ancestor {
                assert_ne!(id, &row.id, "{command:?}");
                assert_eq!(tables.rows[id].project, row.project, "{command:?}");
                ancestor = tables.rows[id].predecessor.as_ref();
            }
        }
        for (key, baton) in &tables.batons {
            let Some(holder) = &baton.holder else {
                continue;
            };
            let holder = &tables.rows[holder];
            let of = (holder.project.clone(), holder.role.clone());
            assert_eq!(
                of,
                (Some(key.0.clone()), Some(key.1.clone())),
                "{command:?}"
            );
            assert_eq!(holder.generation, Some(baton.generation), "{command:?}");
            assert!(!holder.is_retired(), "{command:?}");
        }
    }

    /// A baton changes its holder with its generation; in a reset it goes from one row to another in one step.
    fn one_holder_throughout(&mut self, command: &RosterCommand) {
        let batons = self.scene.roster.tables().batons.clone();
        for (key, baton) in &batons {
            let before = self.batons.get(key);
            let generation = before.map_or(Generation(0), |before| before.generation);
            let holder = before.and_then(|before| before.holder.as_ref());
            match (holder, &baton.holder) {
                (Some(old), Some(new)) if old != new => {
                    assert!(matches!(command, RosterCommand::HandOff { .. }));
                    assert_eq!(baton.generation, generation.next());
                }
                (None, Some(_)) => {
                    assert!(matches!(command, RosterCommand::CheckIn(_)));
                    assert_eq!(baton.generation, generation.next());
                }
                (Some(_), None) => {
                    assert!(
                        matches!(command, RosterCommand::Retire { .. }),
                        "{command:?}"
                    );
                    assert_eq!(baton.generation, generation);
                }
                _ => assert_eq!(baton.generation, generation),
            }
        }
        self.batons = batons;
    }

    /// Former holders are fenced from everything that needs the baton.
    fn former_holders_are_fenced(&mut self) {
        let tables = self.scene.roster.tables();
        let tokens: Vec<_> = tables.credentials.keys().copied().collect();
        for token in tokens {
            let by = self.scene.roster.principal(&token).expect("a known token");
            let Principal::Daemon { row, .. } = &by else {
                panic!("{by} is no daemon");
            };
            let row = self.scene.row(row).clone();
            let (Some(project), Some(role)) = (row.project.clone(), row.role.clone()) else {
                continue;
            };
            let holder = self.batons.get(&(project, role));
            let is_holder = holder.is_some_and(|baton| baton.holder.as_ref() == Some(&row.id));
            if row.is_retired() || row.generation.is_none() || is_holder {
                continue;
            }
            for action in [
                GatedAction::Dispatch,
                GatedAction::Spawn,
                GatedAction::Merge,
            ] {
                let refused = self.scene.refused(&by, RosterCommand::Authorize(action));
                assert_eq!(refused, (-32032, "fenced"));
            }
        }
    }
}

#[test]
fn random_requests_keep_the_invariants_of_resets_and_refusals_change_nothing() {
    let mut n_accepted: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..100 {
        let mut world = World::new(seed);
        for _ in 0..1_500 {
            world.step();
        }
        world.former_holders_are_fenced();
        for (name, n) in world.n_accepted {
            *n_accepted.entry(name).or_default() += n;
        }
    }
    // Each step was reached often enough that the checks mean something.
    for name in [
        "daemon_request_reset",
        "daemon_start_reset",
        "daemon_successor_ready",
        "daemon_reset_handoff",
        "daemon_retire_predecessor",
        "daemon_cancel_reset",
        "daemon_retire",
        "signal_claim",
        "spawn_confirm",
    ] {
        let n = n_accepted.get(name).copied().unwrap_or(0);
        assert!(n >= 20, "`{name}` was accepted {n} times: {n_accepted:?}");
    }
}

#[test]
fn the_answers_of_a_seed_are_always_the_same() {
    let run = || {
        let mut world = World::new(7);
        for _ in 0..300 {
            world.step();
        }
        (world.scene.audit, world.scene.roster.tables().clone())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_roster_loaded_from_its_tables_decides_the_same() {
    let mut world = World::new(11);
    for _ in 0..300 {
        world.step();
    }
    let tables = world.scene.roster.tables().clone();
    let loaded = daemon_roster::Roster::new(world.scene.roster.settings().clone(), tables);
    let by = Principal::Operator;
    let rows: Vec<_> = loaded.tables().rows.keys().cloned().collect();
    for row in rows {
        let command = RosterCommand::RequestCompaction(row);
        let request = world.scene.request(&by, command);
        let now = world.scene.now;
        let answers = [&loaded, &world.scene.roster].map(|roster| {
            let decision = roster.decide(request.clone(), now);
            (decision.answer, decision.changes.tables)
        });
        assert_eq!(answers[0], answers[1]);
    }
    let signals = [&loaded, &world.scene.roster].map(|roster| {
        let open = roster.open_signals(&project("garden"));
        open.cloned().collect::<Vec<_>>()
    });
    assert_eq!(signals[0], signals[1]);
}
