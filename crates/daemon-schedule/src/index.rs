//! The distinct expressions of one zone as bitmaps, one per field value: testing a minute is an
//! "and" over five of them, a word of 64 expressions at a time.

use daemon_cron::{CronExpr, Field, WallMinute, Walls, Zone};
use jiff::Timestamp;

const FIELDS: [Field; 5] = [
    Field::Minute,
    Field::Hour,
    Field::DayOfMonth,
    Field::Month,
    Field::DayOfWeek,
];

/// The expressions of one zone; each stands at a position and belongs to a group.
#[derive(Debug)]
pub(crate) struct ZoneIndex {
    zone: Zone,
    /// The group at each position; positions of removed expressions match nothing.
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

    /// Gives an expression a position.
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
        if at / 64 == self.either_day.len() {
            self.bitmaps().for_each(|bitmap| bitmap.push(0));
        }
        self.set(expr, at, 1 << (at % 64));
        position
    }

    /// Takes an expression off its position.
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

    /// Appends the groups that fire at an instant, each once.
    pub(crate) fn due_at(&self, instant: Timestamp, acc: &mut Vec<u32>) {
        // Most minutes are no expression's, and need no calendar.
        let minute = self.zone.minute_at(instant);
        if minute.is_some_and(|minute| self.is_nobodys(minute)) {
            return;
        }
        if let Some(walls) = self.zone.walls_at(instant) {
            self.due(&walls, acc);
        }
    }

    fn is_nobodys(&self, minute: u32) -> bool {
        let minute = usize::try_from(minute).expect("an hour has few minutes");
        let [minutes, ..] = &self.by_value;
        minutes[minute].iter().all(|word| *word == 0)
    }

    fn due(&self, walls: &Walls, acc: &mut Vec<u32>) {
        let mut hits = Bitmap::new();
        if let Some(shown) = walls.shown {
            let passes = if walls.is_repeated {
                Passes::Interval
            } else {
                Passes::All
            };
            self.collect(shown, passes, &mut hits);
        }
        for skipped in walls.skipped() {
            self.collect(skipped, Passes::FixedTime, &mut hits);
        }
        for (word, mut bits) in hits.into_iter().enumerate() {
            while bits != 0 {
                let bit = usize::try_from(bits.trailing_zeros()).expect("a bit of 64");
                acc.push(self.groups[word * 64 + bit]);
                bits &= bits - 1;
            }
        }
    }

    /// Sets the bits of the expressions that match a minute on the wall.
    fn collect(&self, wall: WallMinute, passes: Passes, hits: &mut Bitmap) {
        let [minutes, hours, days, months, weekdays] = self.at(wall);
        for word in 0..self.either_day.len() {
            let time = minutes[word] & hours[word];
            if time == 0 {
                continue;
            }
            let (day, weekday) = (days[word], weekdays[word]);
            let date = months[word] & (day & weekday | self.either_day[word] & (day | weekday));
            let bits = time & date & passes.admit(self.fixed_time[word]);
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

/// Which expressions may fire at a minute.
#[derive(Clone, Copy)]
enum Passes {
    All,
    /// Clocks show the minute for the second time.
    Interval,
    /// The minute was skipped.
    FixedTime,
}

impl Passes {
    const fn admit(self, fixed_time: u64) -> u64 {
        match self {
            Self::All => u64::MAX,
            Self::Interval => !fixed_time,
            Self::FixedTime => fixed_time,
        }
    }
}
