//! One minute's tick over a million schedules.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::hint::black_box;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Result, ensure};
use daemon_cron::{CronExpr, Zone};
use daemon_schedule::Scheduler;
use jiff::Timestamp;
use tokio::runtime::Runtime;
use tokio_util::time::DelayQueue;

use crate::kit::{Contender, Sample, measure as measure_all, once};
use crate::report::{Row, duration};

const N_SCHEDULES: u32 = 1_000_000;
// A whole hour, since its minutes differ widely in how many schedules are due.
const MINUTES_PER_PASS: usize = 60;
/// 2026-11-20T00:00:00Z, in minutes.
const FIRST_MINUTE: i64 = 29918880;
const MINUTE: Duration = Duration::from_secs(60);
const MOST_BYTES: f64 = 24.0;
const MOST_LOADING: f64 = 150e6;
const MOST_PER_FIRE: f64 = 30.0;
const MOST_QUIET: f64 = 5e3;
const N_LOADS: usize = 7;
const N_QUIET_HOURS: usize = 48;

pub(super) fn measure() -> Result<Row> {
    let expressions = expressions(60)?;
    let n_distinct = expressions
        .iter()
        .map(ToString::to_string)
        .collect::<BTreeSet<_>>()
        .len();

    let mut loaded = None;
    let loading = loading(&expressions);
    let quiet = quiet_minutes()?;
    let memory = allocation_counter::measure(|| loaded = Some(Ours::load(&expressions)));
    let mut ours = loaded.expect("the closure ran");
    let bytes = memory.bytes_current as f64 / f64::from(N_SCHEDULES) - size_of::<u32>() as f64;

    let mut heap = Heap::load(&expressions);
    let mut queue = Queue::load(&expressions)?;
    let due = first_hours_agree(&mut ours, &mut heap, &mut queue)?;
    let n_due: usize = due.iter().map(Vec::len).sum();

    let mut written = Vec::new();
    let samples = measure_all(vec![
        Contender::new("daemon-schedule", MINUTES_PER_PASS, || {
            hour(|acc| ours.tick(acc));
        }),
        Contender::new("BinaryHeap", MINUTES_PER_PASS, || {
            hour(|acc| heap.tick(acc));
        }),
        Contender::new("DelayQueue", MINUTES_PER_PASS, || {
            hour(|acc| queue.tick(acc));
        }),
        Contender::new("writing the due keys", MINUTES_PER_PASS, || {
            for keys in &due {
                written.clear();
                written.extend_from_slice(black_box(keys));
                black_box(&written);
            }
        }),
    ]);
    let [ours, heap, queue, writing] = &samples[..] else {
        unreachable!("four contenders went in")
    };
    let per_minute = n_due as f64 / MINUTES_PER_PASS as f64;
    let per_fire = ours.median / per_minute;
    Ok(Row::new("schedule", "one minute's tick over 1,000,000 schedules, averaged over whole hours", ours)
        .compared_with(ours, heap)
        .compared_with(ours, queue)
        .limited_by(ours, writing)
        .must_beat(ours, heap, 60.0)
        .must(format!("≤ {MOST_BYTES} bytes a schedule, without the key"), format!("{bytes:.1} bytes"), bytes <= MOST_BYTES)
        .must(format!("loaded in ≤ {}", duration(MOST_LOADING)), duration(loading.median), loading.median <= MOST_LOADING)
        .must(format!("≤ {} for each that is due", duration(MOST_PER_FIRE)), duration(per_fire), per_fire <= MOST_PER_FIRE)
        .must(format!("nothing due ≤ {}", duration(MOST_QUIET)), duration(quiet.median), quiet.median <= MOST_QUIET)
        .note(format!(
            "{n_distinct} distinct expressions, {per_minute:.0} due a minute on average. The two peers compute the next \
             instant of what fired with `daemon-cron`.",
        )))
}

/// Measures loading a million schedules.
fn loading(expressions: &[CronExpr]) -> Sample {
    let load = || nanoseconds(once(|| drop(Ours::load(expressions))));
    let batches = std::iter::repeat_with(load).take(N_LOADS);
    Sample::of("loading", batches.collect())
}

/// Measures minutes in which none of a million schedules is due.
fn quiet_minutes() -> Result<Sample> {
    // The expressions name minutes below 50, except those with a step of five; so minutes 51 to 54 have no schedule.
    let mut ours = Ours::load(&expressions(50)?);
    let mut batches = Vec::with_capacity(N_QUIET_HOURS);
    let mut n_due = Vec::new();
    for _ in 0..N_QUIET_HOURS {
        let mut advance = |n_minutes| {
            n_due.clear();
            (0..n_minutes).for_each(|_| ours.tick(&mut n_due));
            n_due.len()
        };
        advance(50);
        let mut n_quiet = 0;
        let took = once(|| n_quiet = advance(4));
        ensure!(
            n_quiet == 0,
            "{n_quiet} schedules are due in a quiet minute"
        );
        batches.push(nanoseconds(took) / 4.0);
        advance(6);
    }
    Ok(Sample::of("nothing due", batches))
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

fn hour(mut tick: impl FnMut(&mut Vec<u32>)) {
    let mut keys = Vec::new();
    for _ in 0..MINUTES_PER_PASS {
        keys.clear();
        tick(&mut keys);
        black_box(&keys);
    }
}

/// Runs each through the same hour, fails if they differ, and returns the keys of each minute.
fn first_hours_agree(
    ours: &mut Ours,
    heap: &mut Heap<'_>,
    queue: &mut Queue<'_>,
) -> Result<Vec<Vec<u32>>> {
    let mut due = Vec::new();
    for minute in 0..MINUTES_PER_PASS {
        let [mut by_ours, mut by_heap, mut by_queue] = [const { Vec::new() }; 3];
        ours.tick(&mut by_ours);
        heap.tick(&mut by_heap);
        queue.tick(&mut by_queue);
        for keys in [&mut by_ours, &mut by_heap, &mut by_queue] {
            keys.sort_unstable();
        }
        ensure!(
            by_ours == by_heap && by_ours == by_queue,
            "the keys due in minute {minute} differ"
        );
        due.push(by_ours);
    }
    Ok(due)
}

fn timestamp(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).expect("the minutes of this century are representable")
}

fn next_minute(expr: &CronExpr, after: i64) -> i64 {
    let next = expr
        .next_after(timestamp(after))
        .expect("every expression of the row fires");
    next.as_second() / 60
}

struct Ours {
    scheduler: Scheduler<u32>,
    minute: i64,
}

impl Ours {
    fn load(expressions: &[CronExpr]) -> Self {
        let mut scheduler = Scheduler::new();
        let (zone, from) = (Zone::utc(), timestamp(FIRST_MINUTE));
        let entries = (0..).zip(expressions);
        scheduler.insert_all(entries.map(|(key, expr)| (key, *expr, &zone, from)));
        // The first call after loading also searches for ticks that were missed before.
        scheduler.advance(from, |_due| {
            unreachable!("nothing is due at the cursor itself")
        });
        Self {
            scheduler,
            minute: FIRST_MINUTE,
        }
    }

    fn tick(&mut self, acc: &mut Vec<u32>) {
        self.minute += 1;
        self.scheduler
            .advance(timestamp(self.minute), |due| acc.push(*due.key));
    }
}

struct Heap<'a> {
    expressions: &'a [CronExpr],
    heap: BinaryHeap<Reverse<(i64, u32)>>,
    minute: i64,
}

impl<'a> Heap<'a> {
    fn load(expressions: &'a [CronExpr]) -> Self {
        let next = |(key, expr): (u32, &CronExpr)| Reverse((next_minute(expr, FIRST_MINUTE), key));
        Self {
            expressions,
            heap: (0..).zip(expressions).map(next).collect(),
            minute: FIRST_MINUTE,
        }
    }

    fn tick(&mut self, acc: &mut Vec<u32>) {
        self.minute += 1;
        while let Some(&Reverse((minute, key))) = self.heap.peek() {
            if minute > self.minute {
                return;
            }
            self.heap.pop();
            acc.push(key);
            let next = next_minute(&self.expressions[key as usize], self.minute);
            self.heap.push(Reverse((next, key)));
        }
    }
}

struct Queue<'a> {
    expressions: &'a [CronExpr],
    queue: DelayQueue<u32>,
    runtime: Runtime,
    minute: i64,
}

impl<'a> Queue<'a> {
    fn load(expressions: &'a [CronExpr]) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()?;
        let queue = runtime.block_on(async {
            let mut queue = DelayQueue::with_capacity(expressions.len());
            for (key, expr) in (0..).zip(expressions) {
                queue.insert(key, wait(next_minute(expr, FIRST_MINUTE) - FIRST_MINUTE));
            }
            queue
        });
        Ok(Self {
            expressions,
            queue,
            runtime,
            minute: FIRST_MINUTE,
        })
    }

    fn tick(&mut self, acc: &mut Vec<u32>) {
        self.minute += 1;
        let Self {
            expressions,
            queue,
            runtime,
            minute,
        } = self;
        runtime.block_on(async {
            tokio::time::advance(MINUTE).await;
            // Outside of `unconstrained`, tokio's cooperative budget makes the queue return `Pending` after 128 keys.
            tokio::task::unconstrained(std::future::poll_fn(|context| {
                while let Poll::Ready(Some(expired)) = queue.poll_expired(context) {
                    let key = expired.into_inner();
                    acc.push(key);
                    let next = next_minute(&expressions[key as usize], *minute);
                    queue.insert(key, wait(next - *minute));
                }
                Poll::Ready(())
            }))
            .await;
        });
    }
}

// The queue rounds up to whole milliseconds, so the deadline is a little before the minute.
fn wait(minutes: i64) -> Duration {
    let minutes = u32::try_from(minutes).expect("the next instant is later than now");
    MINUTE * minutes - Duration::from_millis(10)
}

/// Returns a million expressions of usual forms, the same in every session.
///
/// Those with a fixed minute have one below `n_minutes`.
fn expressions(n_minutes: u64) -> Result<Vec<CronExpr>> {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = move |n: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 16) % n
    };
    let mut acc = Vec::with_capacity(N_SCHEDULES as usize);
    for _ in 0..N_SCHEDULES {
        let (minute, hour) = (below(n_minutes), below(24));
        let text = match below(10) {
            0 => format!("*/{} * * * *", [5, 10, 15, 20, 30][below(5) as usize]),
            1 | 2 => format!("{minute} * * * *"),
            3..6 => format!("{minute} {hour} * * *"),
            6 | 7 => format!("{minute} {hour} * * 1-5"),
            8 => format!("{minute} {hour} * * {}", below(7)),
            _ => format!("{} {hour} {} * *", minute / 5 * 5, 1 + below(28)),
        };
        acc.push(text.parse()?);
    }
    Ok(acc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_return_the_same_keys_for_an_hour() {
        let expressions: Vec<CronExpr> = ["*/5 * * * *", "7 * * * *", "0 0 * * *", "30 0 20 * *"]
            .map(|text| text.parse().unwrap())
            .into();
        let mut ours = Ours::load(&expressions);
        let mut heap = Heap::load(&expressions);
        let mut queue = Queue::load(&expressions).unwrap();
        let due = first_hours_agree(&mut ours, &mut heap, &mut queue).unwrap();
        assert_eq!(due[4], [0]);
        assert_eq!(due[6], [1]);
        assert_eq!(due[29], [0, 3]);
        assert_eq!(due.iter().map(Vec::len).sum::<usize>(), 12 + 1 + 1);
    }
}
