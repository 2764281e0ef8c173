//! The distinct expressions of a zone as bitmaps, one for each value of each field.
//!
//! Testing a minute is an "and" over five bitmaps, 64 expressions at a time. The alternative, a heap
//! of next instants, costs a search and a sift for each key that fires.

use daemon_cron::{CronExpr, CronField, WallMinute, WallTime, Zone};
use jiff::Timestamp;

const FIELDS: [CronField; 5] = [
    CronField::Minute,
    CronField::Hour,
    CronField::DayOfMonth,
    CronField::Month,
    CronField::DayOfWeek,
];

/// The expressions of a zone. Each has a position in the bitmaps and belongs to a group.
#[derive(Debug)]
pub(crate) struct ZoneIndex {
    zone: Zone,
    /// The group at each position. The bits of a vacant position are zero.
    groups: Vec<u32>,
    vacant: Vec<u32>,
    by_value: [Vec<Bitmap>; 5],
    either_day: Bitmap,
    fixed_time: Bitmap,
}

type Bitmap = Vec<u64>;

impl ZoneIndex {
    pub(crate) fn new(zone: Zone) -> Self {
        let by_value = FIELDS.map(|field| {
            let n_values = usize::try_from(field.max()).expect("fields have few values") + 1;
            vec![Bitmap::new(); n_values]
        });
        Self {
            zone,
            groups: Vec::new(),
            vacant: Vec::new(),
            by_value,
            either_day: Bitmap::new(),
            fixed_time: Bitmap::new(),
        }
    }

    pub(crate) const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Adds an expression and returns its position.
    pub(crate) fn insert(&mut self, expr: &CronExpr, group: u32) -> u32 {
        let position = match self.vacant.pop() {
            Some(position) => position,
            None => {
                self.groups.push(group);
                u32::try_from(self.groups.len() - 1).expect("groups are counted in 32 bits")
            }
        };
        let at = usize::try_from(position).expect("positions fit");
        self.groups[at] = group;
        // All bitmaps have the same length, so that `collect` can combine them word by word.
        if at / 64 == self.either_day.len() {
            self.bitmaps().for_each(|bitmap| bitmap.push(0));
        }
        self.set(expr, at, 1 << (at % 64));
        position
    }

    /// Removes the expression at a position.
    pub(crate) fn remove(&mut self, position: u32) {
        let at = usize::try_from(position).expect("positions fit");
        self.bitmaps()
            .for_each(|bitmap| bitmap[at / 64] &= !(1 << (at % 64)));
        self.vacant.push(position);
    }

    fn set(&mut self, expr: &CronExpr, at: usize, bit: u64) {
        for (field, bitmaps) in FIELDS.into_iter().zip(&mut self.by_value) {
            let mask = expr.mask(field);
            for (_, bitmap) in (0..)
                .zip(bitmaps)
                .filter(|(value, _)| mask >> value & 1 != 0)
            {
                bitmap[at / 64] |= bit;
            }
        }
        if expr.is_either_day() {
            self.either_day[at / 64] |= bit;
        }
        if expr.is_fixed_time() {
            self.fixed_time[at / 64] |= bit;
        }
    }

    fn bitmaps(&mut self) -> impl Iterator<Item = &mut Bitmap> {
        self.by_value
            .iter_mut()
            .flatten()
            .chain([&mut self.either_day, &mut self.fixed_time])
    }

    /// Appends the groups that fire at an instant. Each group occurs once.
    pub(crate) fn due_at(&self, instant: Timestamp, acc: &mut Vec<u32>) {
        // In many minutes no expression can fire. These need no calendar arithmetic.
        let minute = self.zone.minute_at(instant);
        if minute.is_some_and(|minute| self.is_unused(minute)) {
            return;
        }
        if let Some(wall) = self.zone.wall_time_at(instant) {
            self.due(&wall, acc);
        }
    }

    fn is_unused(&self, minute: u32) -> bool {
        let minute = usize::try_from(minute).expect("an hour has few minutes");
        let [minutes, ..] = &self.by_value;
        minutes[minute].iter().all(|word| *word == 0)
    }

    fn due(&self, wall: &WallTime, acc: &mut Vec<u32>) {
        // One bitmap for all minutes: an expression that matches several skipped minutes fires once.
        let mut hits = Bitmap::new();
        if let Some(shown) = wall.shown {
            let eligible = if wall.is_repeated {
                Eligible::Intervals
            } else {
                Eligible::All
            };
            self.collect(shown, eligible, &mut hits);
        }
        for skipped in wall.skipped() {
            self.collect(skipped, Eligible::FixedTimes, &mut hits);
        }
        for (word, mut bits) in hits.into_iter().enumerate() {
            while bits != 0 {
                let bit = usize::try_from(bits.trailing_zeros()).expect("a bit of 64");
                acc.push(self.groups[word * 64 + bit]);
                bits &= bits - 1;
            }
        }
    }

    /// Sets the bits of the eligible expressions that match a local minute.
    fn collect(&self, wall: WallMinute, eligible: Eligible, hits: &mut Bitmap) {
        let [minutes, hours, days, months, weekdays] = self.at(wall);
        for word in 0..self.either_day.len() {
            let time = minutes[word] & hours[word];
            if time == 0 {
                continue;
            }
            let (day, weekday) = (days[word], weekdays[word]);
            let date = months[word] & (day & weekday | self.either_day[word] & (day | weekday));
            let bits = time & date & eligible.mask(self.fixed_time[word]);
            // Allocated at the first match: in most minutes nothing fires.
            if bits != 0 {
                hits.resize(self.either_day.len(), 0);
                hits[word] |= bits;
            }
        }
    }

    fn at(&self, wall: WallMinute) -> [&[u64]; 5] {
        let mut acc: [&[u64]; 5] = [&[]; 5];
        for ((slice, field), bitmaps) in acc.iter_mut().zip(FIELDS).zip(&self.by_value) {
            let value = usize::try_from(wall.get(field)).expect("fields have few values");
            *slice = &bitmaps[value];
        }
        acc
    }
}

/// The expressions that can fire at a local minute.
#[derive(Clone, Copy)]
enum Eligible {
    All,
    /// The local clock shows the minute for the second time.
    Intervals,
    /// The local clock skipped the minute.
    FixedTimes,
}

impl Eligible {
    const fn mask(self, fixed_time: u64) -> u64 {
        match self {
            Self::All => u64::MAX,
            Self::Intervals => !fixed_time,
            Self::FixedTimes => fixed_time,
        }
    }
}
