//! The faults: hosts die, clocks are set, files change, people hold daemons.

use std::sync::Arc;

use daemon_engine::{Gate, HostEnd, Joining, NewTrigger, Trigger};
use daemon_event::{EventId, TriggerKey};
use daemon_store::{DaemonRow, Modes, Registration, ScheduleText, Validity};
use jiff::Timestamp;

use super::rounds::activation_id;
use super::{DAY, Happening, World};
use crate::host::{Point, SimulatedHost};
use crate::setup::{Declared, TEXTS, Timetable, UTC, ZONES};

const HOUR: i64 = 3_600;

impl World {
    /// Puts the next one of a kind of fault into the queue.
    pub(super) fn again(&mut self, happening: Happening) {
        let mean = match happening {
            Happening::Crash => 4 * DAY,
            Happening::Step => 20 * DAY,
            Happening::Edit => 12 * DAY,
            Happening::Remove => 60 * DAY,
            Happening::Hold => 25 * DAY,
            Happening::Release => 150 * DAY,
            _ => 8 * HOUR,
        };
        let wait = self.dice.wait(mean);
        self.after(wait, happening);
    }

    pub(super) fn fault(&mut self, fault: Happening) {
        if self.is_calm {
            return;
        }
        match fault {
            Happening::Crash => self.crash(),
            Happening::Step => return self.step_clock(),
            Happening::Walk(left) => return self.walk_clock(left),
            Happening::Correct => {
                self.set_clock(0);
                return self.again(Happening::Step);
            }
            Happening::Edit => self.edit(),
            Happening::Remove => self.remove(),
            Happening::Hold => self.hold(),
            Happening::Release => self.release(),
            _ => self.tell_event(),
        }
        self.again(fault);
    }

    fn crash(&mut self) {
        let host = usize::try_from(self.dice.below(3)).expect("small") % self.hosts.len();
        match *self.dice.of(&Point::ALL) {
            Point::AnyTime => self.die(host),
            point => self.hosts[host].doomed = Some(point),
        }
    }

    pub(super) fn die(&mut self, host: usize) {
        if !self.hosts[host].is_alive() {
            return;
        }
        self.tally.crashes += 1;
        self.note(&[6, i64::try_from(host).unwrap_or(-1)]);
        self.say(|_| format!("host {host} dies"));
        self.hosts[host].die();
        let down = match self.dice.below(10) {
            0 => self.dice.between(1, 3 * DAY),
            1 | 2 => self.dice.between(1, 6 * HOUR),
            _ => self.dice.between(1, 120),
        };
        self.after(down, Happening::Restart(host));
        // The remaining hosts take back its leases when they have expired.
        self.after(75, Happening::Sweep);
    }

    pub(super) fn start(&mut self, host: usize) {
        if self.hosts[host].is_alive() {
            return;
        }
        let zones = Arc::clone(&self.tzdb);
        self.hosts[host].start(zones, self.setup.canary);
        if self.hosts.len() == 1 {
            let now = self.now();
            self.epoch = self.store.begin_epoch(HostEnd::Killed, now);
        }
        self.heartbeat();
        self.sweep();
        self.register(host);
        self.note(&[7, i64::try_from(host).unwrap_or(-1)]);
        self.say(|_| format!("host {host} starts"));
    }

    fn step_clock(&mut self) {
        if self.dice.once_in(2) {
            return self.walk_clock(20);
        }
        let size = *self.dice.of(&[HOUR, DAY, 365 * DAY]);
        let offset = if self.dice.once_in(2) { size } else { -size };
        self.set_clock(offset);
        let wait = self.dice.wait(DAY);
        self.after(wait, Happening::Correct);
    }

    fn walk_clock(&mut self, left: u32) {
        let by = self.dice.between(-90, 90);
        self.set_clock(self.offset + by);
        let wait = self.dice.between(20, 900);
        match left.checked_sub(1) {
            Some(left) => self.after(wait, Happening::Walk(left)),
            None => self.after(wait, Happening::Correct),
        }
    }

    pub(super) fn set_clock(&mut self, offset: i64) {
        if offset == self.offset {
            return;
        }
        self.tally.steps += 1;
        self.offset = offset;
        self.note(&[8]);
        self.say(|_| format!("the clock is set: {offset} s from what is right"));
        // After a suspend, whether leases are renewed or swept first is chance.
        if self.dice.once_in(2) {
            self.heartbeat();
        }
        self.sweep();
        self.after(1, Happening::Look);
    }

    fn edit(&mut self) {
        let daemon = self.any_daemon();
        if let Some(declared) = self.declared[daemon] {
            self.tally.edits += 1;
            self.declared[daemon] = Some(declared.edited(&mut self.dice));
            self.publish();
        }
    }

    fn remove(&mut self) {
        let daemon = self.any_daemon();
        if self.declared[daemon].take().is_some() {
            self.tally.removals += 1;
            self.publish();
            let wait = self.dice.wait(DAY);
            self.after(wait, Happening::Declare(daemon));
        }
    }

    /// Puts a removed daemon back.
    pub(super) fn declare(&mut self, daemon: usize) {
        if self.declared[daemon].is_none() {
            self.declared[daemon] = Some(Declared {
                table: Timetable::draw(&mut self.dice),
                text: 0,
            });
            self.publish();
        }
    }

    /// A new time zone database: from some day on a zone keeps its offset for good, or another one. Every host that runs
    /// reads it at once, as after an update of its machine.
    fn release(&mut self) {
        let of = self.any_daemon();
        let zone = match self.declared[of] {
            Some(declared) if declared.table.zone != UTC => declared.table.zone,
            _ => 1 + self.dice.place_in(&ZONES[1..]),
        };
        // Sometimes the release comes after the change that it describes.
        let ahead = match self.dice.below(4) {
            0 => self.dice.between(-2 * DAY, 0),
            _ => self.dice.between(HOUR, 60 * DAY),
        };
        let from = (self.base + self.real + ahead).div_euclid(60) * 60;
        let rules = self.oracle.rules_of(zone);
        let offset = rules.wall(from) - from + *self.dice.of(&[0, HOUR, -HOUR]);
        let rules = rules.settled(from, offset);
        self.tally.releases += 1;
        self.tzdb.release(zone, &rules);
        self.oracle.released(zone, rules, from, &self.store);
        for host in &mut self.hosts {
            host.is_stale = host.is_alive();
        }
        self.note(&[12, i64::try_from(zone).unwrap_or(-1), from, offset]);
        self.say(|_| {
            let from = Timestamp::from_second(from).expect("the years are in range");
            format!("{} is {offset} s ahead for good from {from}", ZONES[zone])
        });
    }

    fn hold(&mut self) {
        let daemon = self.any_daemon();
        self.tally.holds += 1;
        self.set_gate(daemon, Gate::Held);
        let wait = self.dice.wait(30 * HOUR);
        self.after(wait, Happening::Go(daemon));
    }

    pub(super) fn set_gate(&mut self, daemon: usize, gate: Gate) {
        // A daemon that was removed has no gate.
        let is_set = self.store.set_gate(&self.keys[daemon], gate).is_ok();
        self.is_claimable = true;
        self.note(&[9, i64::from(is_set)]);
        self.say(|world| format!("{} is put to {gate:?}", world.keys[daemon].id));
    }

    fn any_daemon(&mut self) -> usize {
        let n = u64::try_from(self.keys.len()).expect("few daemons");
        usize::try_from(self.dice.below(n)).expect("below a length")
    }

    /// A running host reads the repository.
    fn publish(&mut self) {
        if let Some(host) = self.hosts.iter().position(SimulatedHost::is_alive) {
            self.register(host);
        }
    }

    fn register(&mut self, reader: usize) {
        if self.declared == self.registered {
            return;
        }
        self.revision += 1;
        let rows = (0..self.keys.len()).filter_map(|daemon| self.row(daemon));
        let registration = Registration {
            repo: self.keys[0].repo.clone(),
            commit: String::new(),
            daemons: rows.collect(),
            now: self.now(),
            since: None,
        };
        self.store.register(registration);
        self.oracle.pass(self.wall());
        for daemon in 0..self.keys.len() {
            let table = |declared: &[Option<Declared>]| declared[daemon].map(|one| one.table);
            let (new, old) = (table(&self.declared), table(&self.registered));
            if new != old {
                self.oracle.registered(daemon, new);
                self.say(|world| match new {
                    Some(table) => format!("{} runs at {table}", world.keys[daemon].id),
                    None => format!("{} is removed", world.keys[daemon].id),
                });
            }
        }
        self.registered.clone_from(&self.declared);
        self.note(&[10]);
        for host in 0..self.hosts.len() {
            if host == reader {
                self.hosts[host].is_stale = true;
            } else {
                let wait = self.dice.between(1, 60);
                self.after(wait, Happening::Told(host));
            }
        }
    }

    fn row(&self, daemon: usize) -> Option<DaemonRow> {
        let Declared { table, text } = self.declared[daemon]?;
        Some(DaemonRow {
            key: self.keys[daemon].clone(),
            path: String::new(),
            rev: text.to_string(),
            commit: String::new(),
            purpose: String::new(),
            validity: Validity::Valid,
            diagnostics: String::new(),
            definition: String::new(),
            modes: Modes::default(),
            schedule: Some(ScheduleText {
                expression: TEXTS[table.text].to_owned(),
                zone: ZONES[table.zone].to_owned(),
            }),
            gate: Gate::Open,
            failures: 0,
            since_seq: 0,
            registered_at: self.now(),
        })
    }

    /// An event for a daemon; without a running host it is lost.
    fn tell_event(&mut self) {
        let daemon = self.any_daemon();
        let is_taken =
            self.hosts.iter().any(SimulatedHost::is_alive) && self.registered[daemon].is_some();
        if !is_taken {
            return;
        }
        self.tally.events += 1;
        let now = self.now();
        let key = TriggerKey::Event(EventId::new(self.tally.events, [0; 10]));
        self.store.enqueue(NewTrigger {
            daemon: self.keys[daemon].clone(),
            rev: String::new(),
            subject: Some("github:o/r#1".parse().expect("a subject")),
            trigger: Trigger {
                key: key.clone(),
                conditions: vec![0],
                by: None,
                occasion: None,
                recorded_at: now,
            },
            activation_id: activation_id(&mut self.n_made, &mut self.dice),
            not_before: now,
            joining: Joining::Coalesce,
            link: None,
        });
        self.oracle.told(daemon, key, now);
        self.is_claimable = true;
        self.note(&[11, i64::try_from(daemon).unwrap_or(-1)]);
        self.say(|world| format!("an event concerns {}", world.keys[daemon].id));
    }
}
