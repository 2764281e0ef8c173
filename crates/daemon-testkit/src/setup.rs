//! The parameters of one simulation, all drawn from a seed.

use std::fmt;
use std::time::Duration;

use daemon_schedule::{Misfire, Overlap, TickPolicy};
use daemon_store::Canary;

use crate::dice::Dice;

/// The default number of virtual days.
const DAYS: u32 = 400;
/// How many daemons share the store.
pub(crate) const N_DAEMONS: usize = 4;

/// Expressions with about 24 ticks a day together, of every kind that daylight saving affects differently; one is dense enough to
/// fill a queue while its daemon is held.
pub(crate) const TEXTS: [&str; 13] = [
    "0 * * * *",
    "*/10 * * * *",
    "0 0 * * *",
    "30 2 * * 1-5",
    "0 9 1,15 * *",
    "15 0-23 * * *",
    "0,30 0-11 * * *",
    "*/10 1-4 * * *",
    "20,50 0-3,12-19 * * *",
    "*/45 * * * *",
    "0 */2,1,3 1-31 * 1-5",
    "5 0-23 * * SUN-SAT",
    "30 1,2,3 * * *",
];

/// The place of the zone that has no rules.
pub(crate) const UTC: usize = 0;

/// Zones that change their clocks by an hour, by half of one, at midnight, and never.
pub(crate) const ZONES: [&str; 6] = [
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Africa/Cairo",
    "America/Santiago",
    "Australia/Lord_Howe",
];

/// The parameters of one simulation; equal setups give equal traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The seed, on which everything else depends.
    pub seed: u64,
    /// The number of virtual days with faults; three quiet days follow.
    pub days: u32,
    /// A fault planted in the code under test.
    pub canary: Option<Canary>,
}

impl Setup {
    /// Makes the setup of a seed, with 400 days and without planted faults.
    pub const fn of_seed(seed: u64) -> Self {
        Self {
            seed,
            days: DAYS,
            canary: None,
        }
    }
}

/// The policies of one daemon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) policy: TickPolicy,
    pub(crate) jitter: Duration,
}

impl Rules {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let misfire = match dice.below(5) {
            0 => Misfire::Skip,
            1 => Misfire::CatchUp,
            _ => Misfire::Coalesce,
        };
        let overlap = match dice.below(6) {
            0 => Overlap::Skip,
            1 => Overlap::BufferAll,
            2 => Overlap::CancelOther,
            _ => Overlap::BufferOne,
        };
        let hours = *dice.of(&[24, 24, 24, 1, 7 * 24]);
        Self {
            policy: TickPolicy {
                misfire,
                window: Duration::from_secs(hours * 3600),
                overlap,
            },
            jitter: Duration::from_secs(*dice.of(&[0, 0, 60, 900])),
        }
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TickPolicy {
            misfire,
            window,
            overlap,
        } = self.policy;
        write!(
            f,
            "misfire {misfire:?} within {} h, overlap {overlap:?}, jitter up to {} s",
            window.as_secs() / 3600,
            self.jitter.as_secs()
        )
    }
}

/// The indexes of an expression and a zone in their tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Timetable {
    pub(crate) text: usize,
    pub(crate) zone: usize,
}

impl fmt::Display for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", TEXTS[self.text], ZONES[self.zone])
    }
}

impl Timetable {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        Self {
            text: dice.place_in(&TEXTS),
            zone: dice.place_in(&ZONES),
        }
    }
}

/// The file of one daemon in the repository: its schedule, and a revision that may change without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) table: Timetable,
    /// Increases with every edit.
    pub(crate) text: u64,
}

impl Declared {
    /// Draws an edit: of the expression, of the zone, of both, or of neither.
    pub(crate) fn edited(self, dice: &mut Dice) -> Self {
        let drawn = Timetable::draw(dice);
        let table = match dice.below(5) {
            0 => self.table,
            1 => Timetable {
                text: drawn.text,
                ..self.table
            },
            2 => Timetable {
                zone: drawn.zone,
                ..self.table
            },
            _ => drawn,
        };
        Self {
            table,
            text: self.text + 1,
        }
    }
}
