//! The time zone database of one simulation, and releases that change the rules of a zone.

use std::sync::{Arc, Mutex, OnceLock};

use daemon_cron::Zone;
use daemon_store::Zones;
use jiff::tz::TimeZone;

use crate::setup::ZONES;
use crate::zone::SlowZone;

/// The zones by their places in the table of names.
#[derive(Debug)]
pub(crate) struct Tzdb(Mutex<Vec<Zone>>);

impl Tzdb {
    /// Makes the database as the machine has it.
    pub(crate) fn published() -> Arc<Self> {
        static KNOWN: OnceLock<Vec<Zone>> = OnceLock::new();
        let zones = KNOWN.get_or_init(|| {
            let zone = |name: &&str| TimeZone::get(name).expect("the zone is known");
            ZONES.iter().map(zone).map(Zone::new).collect()
        });
        Arc::new(Self(Mutex::new(zones.clone())))
    }

    /// Replaces a zone; later reads return the new rules.
    pub(crate) fn release(&self, place: usize, rules: &SlowZone) {
        let zone = TimeZone::tzif(ZONES[place], &to_tzif(rules)).expect("the file is well formed");
        self.0.lock().expect("no holder panics")[place] = Zone::new(zone);
    }
}

impl Zones for Tzdb {
    fn zone(&self, name: &str) -> Option<Zone> {
        let place = ZONES.iter().position(|known| *known == name)?;
        Some(self.0.lock().expect("no holder panics")[place].clone())
    }
}

/// Writes a zone as a compiled file of version 2: a block for old readers, which is empty, the block itself, and no rule
/// for what comes after it.
fn to_tzif(zone: &SlowZone) -> Vec<u8> {
    let mut acc = Vec::new();
    block(&[], &[0], &mut acc);
    let (changes, offsets): (Vec<i64>, Vec<i64>) = zone.stretches().iter().copied().unzip();
    block(&changes[1..], &offsets, &mut acc);
    acc.extend(b"\n\n");
    acc
}

/// Appends a header and its block: one type for each offset, the first for what precedes all changes.
fn block(changes: &[i64], offsets: &[i64], acc: &mut Vec<u8>) {
    const NAME: &[u8] = b"-00\0";
    let count = |n: usize| u32::try_from(n).expect("a count fits").to_be_bytes();
    acc.extend(b"TZif2");
    acc.extend([0; 15]);
    for n in [0, 0, 0, changes.len(), offsets.len(), NAME.len()] {
        acc.extend(count(n));
    }
    acc.extend(changes.iter().flat_map(|at| at.to_be_bytes()));
    acc.extend((1_u8..).take(changes.len()));
    for offset in offsets {
        let offset = i32::try_from(*offset).expect("offsets are of hours");
        acc.extend(offset.to_be_bytes());
        acc.extend([0, 0]);
    }
    acc.extend(NAME);
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn a_zone_that_is_written_reads_the_same() {
        for name in ZONES {
            let zone = TimeZone::get(name).unwrap();
            let slow = SlowZone::new(&zone, 2022, 2030);
            let read = TimeZone::tzif(name, &to_tzif(&slow)).unwrap();
            for day in 0..365 * 10 {
                let at = Timestamp::from_second(1_640_995_200 + day * 86_400 + day * 7).unwrap();
                assert_eq!(read.to_offset(at), zone.to_offset(at), "{name} {at}");
            }
        }
    }
}
