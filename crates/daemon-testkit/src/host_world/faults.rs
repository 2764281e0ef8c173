//! What goes wrong: hosts die and stop, clocks are set, the store fails, the disk fills up.

use daemon_dispatch::{Concern, HostEvent};
use daemon_engine::{CRASH_LOOP_WINDOW, Gate, HostEnd, pause_of_claims};
use daemon_event::DaemonKey;
use daemon_store::{DaemonRow, Modes, Registration, Validity};
use jiff::Timestamp;

use super::{HOUR, HostHappening, HostWorld, MINUTE, SECOND, SimulatedHost};

impl HostWorld {
    /// Puts the next one of a kind of fault into the queue.
    pub(super) fn again(&mut self, happening: HostHappening) {
        let mean = match happening {
            HostHappening::Emit => 80 * SECOND,
            HostHappening::Crash => 90 * MINUTE,
            HostHappening::StopHost => 2 * HOUR,
            HostHappening::StepClock => 2 * HOUR,
            HostHappening::StoreFails => HOUR,
            _ => 3 * HOUR,
        };
        // Two draws, each of half the mean on average, make waits near the mean more frequent than very short ones.
        let wait = self.dice.below(mean) + self.dice.below(mean);
        self.after(wait, happening);
    }

    pub(super) fn fault(&mut self, fault: HostHappening) {
        match fault {
            HostHappening::Start => self.start(),
            HostHappening::Retract(life) => self.retract(life),
            HostHappening::RepositoryRead(life) => self.repository_read(life),
            HostHappening::OpenGate(daemon) => self.open_gate(daemon),
            HostHappening::DiskFrees => {
                self.is_disk_full = false;
                self.progress.trouble(self.real);
            }
            HostHappening::CorrectClock => self.set_clock(0),
            _ if self.is_calm => {}
            HostHappening::Crash => {
                self.die();
                self.again(fault);
            }
            HostHappening::StopHost => {
                self.stop();
                self.again(fault);
            }
            HostHappening::StepClock => {
                self.step_clock();
                self.again(fault);
            }
            HostHappening::StoreFails => {
                self.tally.outages += 1;
                self.store_fails_until = self.real + self.between(SECOND, 3 * MINUTE);
                self.again(fault);
            }
            _ => {
                self.tally.full_disks += 1;
                self.is_disk_full = true;
                let lasts = self.between(SECOND, 10 * MINUTE);
                self.after(lasts, HostHappening::DiskFrees);
                self.again(fault);
            }
        }
    }

    /// Begins a host as `serve` does: epoch, pause after crashes, what is left of the one before, then the loops.
    pub(super) fn start(&mut self) {
        if self.host.is_some() {
            return;
        }
        let now = self.now();
        self.epoch = self.store.begin_epoch(self.last_end, now);
        // Its tick loop finds the cursors ahead of a clock that was set back.
        self.store.retract(now);
        self.take_back();
        let mut dispatcher = self.dispatcher();
        let n_recent = self.store.starts_after_crashes(now - CRASH_LOOP_WINDOW);
        if let Some(pause) = pause_of_claims(n_recent) {
            let pause = pause.unsigned_abs();
            dispatcher.pause_claims(self.both_clocks().since_boot + pause);
            let pause = u64::try_from(pause.as_millis()).expect("a pause is short");
            self.progress.trouble(self.real + pause);
        }
        self.view += 1;
        let is_partly_unread = !self.is_calm && self.dice.once_in(3);
        if is_partly_unread {
            let (lasts, life) = (self.between(SECOND, 3 * MINUTE), self.life);
            self.after(lasts, HostHappening::RepositoryRead(life));
        }
        self.host = Some(SimulatedHost {
            dispatcher,
            is_stopping: false,
            started_at: self.real,
            is_partly_unread,
        });
        self.progress.trouble(self.real);
        self.tally.starts += 1;
        self.note(&[6, self.epoch.0]);
        self.say(|world| format!("host {} starts", world.epoch.0));
        self.handle(HostEvent::Time);
    }

    /// Ends the host at once: what was under way is lost, or happens without it.
    pub(super) fn die(&mut self) {
        if self.host.is_none() {
            return;
        }
        self.tally.crashes += 1;
        let ends = [
            HostEnd::Killed,
            HostEnd::Killed,
            HostEnd::Panicked,
            HostEnd::OutOfMemory,
        ];
        let end = *self.dice.of(&ends);
        self.say(|_| format!("the host dies: {end:?}"));
        self.go(end);
    }

    fn stop(&mut self) {
        if let Some(host) = &mut self.host
            && !host.is_stopping
        {
            host.is_stopping = true;
            self.say(|_| "the host is asked to stop".to_owned());
            self.handle(HostEvent::StopRequested);
        }
    }

    /// Ends a host that has stopped.
    pub(super) fn stopped(&mut self) {
        if self.host.is_some() {
            self.tally.stops += 1;
            self.say(|_| "the host has stopped".to_owned());
            self.go(HostEnd::Stopped);
        }
    }

    fn go(&mut self, end: HostEnd) {
        self.host = None;
        let life = self.life;
        self.life += 1;
        self.deadline += 1;
        self.note(&[7, end as u64]);
        let under_way: Vec<_> = self
            .queue
            .values()
            .filter_map(|happening| match happening {
                HostHappening::Apply(of, effect) if *of == life => Some(effect.clone()),
                _ => None,
            })
            .collect();
        for effect in under_way {
            self.perform_last(&effect);
        }
        // Some attempts are cut off; the writes of others are under way and arrive when they arrive.
        let mut attempts = std::mem::take(&mut self.attempts);
        attempts.retain(|_, attempt| attempt.life != life || self.dice.once_in(2));
        self.attempts = attempts;
        self.last_end = end;
        let down = match self.dice.below(20) {
            _ if self.is_calm => SECOND,
            0 => self.between(MINUTE, 2 * HOUR),
            1..5 => self.between(SECOND, 5 * MINUTE),
            _ => self.between(SECOND, 10 * SECOND),
        };
        self.after(down, HostHappening::Start);
    }

    fn step_clock(&mut self) {
        let sizes = [90 * SECOND, HOUR, 24 * HOUR, 365 * 24 * HOUR];
        let size = i64::try_from(*self.dice.of(&sizes)).expect("a year fits");
        let offset = if self.dice.once_in(2) { size } else { -size };
        self.set_clock(offset);
        let wait = self.between(MINUTE, HOUR);
        self.after(wait, HostHappening::CorrectClock);
    }

    pub(super) fn set_clock(&mut self, offset: i64) {
        if offset == self.offset {
            return;
        }
        self.tally.steps += 1;
        let is_back = offset < self.offset;
        self.offset = offset;
        self.progress.trouble(self.real);
        self.note(&[8]);
        self.say(|_| format!("the clock is set {offset} ms from what is right"));
        if is_back {
            // The tick loop examines the clock each second.
            let (wait, life) = (self.between(1, SECOND), self.life);
            self.after(wait, HostHappening::Retract(life));
        }
    }

    /// Brings what is stored to a clock that was set back, as the tick loop does, again until the store takes it.
    fn retract(&mut self, life: u64) {
        if life != self.life || self.host.is_none() {
            return;
        }
        if self.store_fate() == super::effects::StoreFate::Works {
            let now = self.now();
            self.store.retract(now);
            self.handle(HostEvent::Nudged(Concern::Claims));
        } else {
            self.after(SECOND, HostHappening::Retract(life));
        }
    }

    fn repository_read(&mut self, life: u64) {
        if life == self.life
            && let Some(host) = &mut self.host
        {
            host.is_partly_unread = false;
            self.view += 1;
            self.handle(HostEvent::Nudged(Concern::Matching));
        }
    }

    fn open_gate(&mut self, daemon: usize) {
        let opened = self.store.set_gate(&self.keys[daemon], Gate::Open);
        opened.expect("it is registered");
        self.handle(HostEvent::Nudged(Concern::Claims));
    }

    /// Ends all faults: the clock is right, the disk has room, a host runs, gates are open.
    pub(super) fn calm(&mut self) {
        self.progress.trouble(self.real);
        self.is_calm = true;
        self.is_disk_full = false;
        self.store_fails_until = 0;
        self.say(|_| "no more faults".to_owned());
        self.set_clock(0);
        self.start();
        for daemon in 0..self.keys.len() {
            self.open_gate(daemon);
        }
    }

    pub(super) fn register(&mut self) {
        let rows = self.keys.iter().map(row).collect();
        let now = self.now();
        self.store.register(Registration {
            repo: self.keys[0].repo.clone(),
            commit: String::new(),
            daemons: rows,
            now,
            since: None,
        });
    }

    pub(super) fn place_of(&self, key: &DaemonKey) -> usize {
        let place = self.keys.iter().position(|known| known == key);
        place.expect("only known daemons are registered")
    }
}

fn row(key: &DaemonKey) -> DaemonRow {
    DaemonRow {
        key: key.clone(),
        path: key.id.to_string(),
        rev: "1".to_owned(),
        commit: String::new(),
        purpose: String::new(),
        validity: Validity::Valid,
        diagnostics: "[]".to_owned(),
        definition: String::new(),
        modes: Modes {
            watch: true,
            schedule: false,
        },
        schedule: None,
        gate: Gate::Open,
        failures: 0,
        since_seq: 0,
        registered_at: Timestamp::UNIX_EPOCH,
    }
}
