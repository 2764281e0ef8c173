//! What one simulated life is made of, all of it drawn from a seed.

use std::time::Duration;

use daemon_schedule::{Misfire, Overlap, Policy};
use daemon_store::Canary;

use crate::dice::Dice;

/// How many virtual days a run has unless it is told otherwise.
const DAYS: u32 = 400;
/// How many daemons share the store.
pub(crate) const N_DAEMONS: usize = 4;

/// Expressions of about 24 ticks a day, of every kind that daylight saving tells apart.
pub(crate) const TEXTS: [&str; 10] = [
    "0 * * * *",
    "30 * * * *",
    "15 0-23 * * *",
    "0,30 0-11 * * *",
    "*/10 1-4 * * *",
    "20,50 0-3,12-19 * * *",
    "*/45 * * * *",
    "0 */2,1,3 1-31 * 1-5",
    "5 0-23 * * SUN-SAT",
    "30 1,2,3 * * *",
];

/// Zones that change their clocks by an hour, by half of one, at midnight, and never.
pub(crate) const ZONES: [&str; 6] = [
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Africa/Cairo",
    "America/Santiago",
    "Australia/Lord_Howe",
];

/// One simulated life; equal setups give equal traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Decides everything that happens.
    pub seed: u64,
    /// How long faults go on, in virtual days; three quiet days follow.
    pub days: u32,
    /// A fault planted in the code under test.
    pub canary: Option<Canary>,
}

impl Setup {
    /// Makes the life of a seed, of 400 days and without planted faults.
    pub const fn of_seed(seed: u64) -> Self {
        Self {
            seed,
            days: DAYS,
            canary: None,
        }
    }
}

/// What policies say of one daemon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) policy: Policy,
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
        let hours = *dice.of(&[24, 24, 24, 1]);
        Self {
            policy: Policy {
                misfire,
                window: Duration::from_secs(hours * 3600),
                overlap,
            },
            jitter: Duration::from_secs(*dice.of(&[0, 0, 60, 900])),
        }
    }
}

/// The place of an expression and a zone in their tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Timetable {
    pub(crate) text: usize,
    pub(crate) zone: usize,
}

impl Timetable {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let below = |dice: &mut Dice, n: usize| {
            let n = u64::try_from(n).expect("a table is short");
            usize::try_from(dice.below(n)).expect("below a length")
        };
        Self {
            text: below(dice, TEXTS.len()),
            zone: below(dice, ZONES.len()),
        }
    }
}
