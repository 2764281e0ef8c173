//! Measures contenders in repeated batches, in turns.
//!
//! Contenders run in turns so that a slow minute of the machine affects all of them. Their order rotates with each round, so
//! that none always runs with the caches that the same other one left.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Waits until the writes of earlier rows are on the disk, so that a row does not measure them.
pub(crate) fn settle() -> std::io::Result<()> {
    std::process::Command::new("sync").status()?;
    std::thread::sleep(Duration::from_secs(2));
    Ok(())
}

// Long compared with the resolution of the clock, short compared with changes of the machine's load.
const BATCH: Duration = Duration::from_millis(10);
const ROUNDS: usize = 25;
/// A contender whose single pass takes longer gets [`SLOW_ROUNDS`] rounds.
const SLOW_PASS: Duration = Duration::from_millis(200);
const SLOW_ROUNDS: usize = 7;

/// Code to be measured. One pass does `per_pass` pieces of work.
pub(crate) struct Contender<'a> {
    name: &'static str,
    per_pass: usize,
    clock: Clock,
    pass: Box<dyn FnMut() + 'a>,
}

#[derive(Clone, Copy)]
enum Clock {
    /// The processor time of this thread.
    Thread,
    /// Wall-clock time.
    Wall,
}

impl Clock {
    fn now(self) -> Duration {
        let id = match self {
            Self::Thread => ClockId::ThreadCPUTime,
            Self::Wall => ClockId::Monotonic,
        };
        Duration::try_from(clock_gettime(id)).expect("these clocks begin at zero")
    }
}

impl<'a> Contender<'a> {
    /// Creates a contender measured by the processor time of this thread. `pass` must use `black_box` on its results.
    pub(crate) fn new(name: &'static str, per_pass: usize, pass: impl FnMut() + 'a) -> Self {
        Self {
            name,
            per_pass,
            clock: Clock::Thread,
            pass: Box::new(pass),
        }
    }

    /// Creates a contender measured by wall-clock time, since it waits for other threads or processes.
    pub(crate) fn waiting(name: &'static str, per_pass: usize, pass: impl FnMut() + 'a) -> Self {
        Self {
            clock: Clock::Wall,
            ..Self::new(name, per_pass, pass)
        }
    }

    fn time(&mut self, n_passes: u32) -> Duration {
        let started = self.clock.now();
        for _ in 0..n_passes {
            (self.pass)();
        }
        self.clock.now() - started
    }

    /// Returns how many passes fill a batch. This also warms up caches and branch prediction.
    fn calibrate(&mut self) -> u32 {
        let mut n_passes = 1;
        loop {
            let took = self.time(n_passes);
            if took >= BATCH || n_passes >= 1 << 24 {
                return n_passes;
            }
            n_passes *= 2;
        }
    }
}

/// Returns the processor time of one call, for work that cannot be repeated.
pub(crate) fn once(call: impl FnOnce()) -> Duration {
    let started = Clock::Thread.now();
    call();
    Clock::Thread.now() - started
}

/// The time of one piece of work over all batches, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    /// The name of the contender.
    pub(crate) name: &'static str,
    /// The median of the batches.
    pub(crate) median: f64,
    /// Half the distance between the first and the third quartile.
    pub(crate) spread: f64,
}

/// Measures the contenders in turns and returns a sample of each, in their order.
pub(crate) fn measure(mut contenders: Vec<Contender<'_>>) -> Vec<Sample> {
    let n_passes: Vec<u32> = contenders.iter_mut().map(Contender::calibrate).collect();
    let slowest = contenders
        .iter_mut()
        .zip(&n_passes)
        .filter(|(_, n)| **n == 1)
        .map(|(c, _)| c.time(1))
        .max();
    let n_rounds = if slowest.is_some_and(|pass| pass > SLOW_PASS) {
        SLOW_ROUNDS
    } else {
        ROUNDS
    };
    let n_contenders = contenders.len();
    let mut batches: Vec<Vec<f64>> = vec![Vec::with_capacity(n_rounds); n_contenders];
    for round in 0..n_rounds {
        for turn in 0..n_contenders {
            let at = (round + turn) % n_contenders;
            let (contender, n_passes) = (&mut contenders[at], n_passes[at]);
            let n_pieces = f64::from(n_passes) * contender.per_pass as f64;
            let nanoseconds = contender.time(n_passes).as_secs_f64() * 1e9;
            batches[at].push(nanoseconds / n_pieces);
        }
    }
    let names = contenders.iter().map(|contender| contender.name);
    names
        .zip(batches)
        .map(|(name, batches)| Sample::of(name, batches))
        .collect()
}

impl Sample {
    /// Summarises batches of one contender.
    pub(crate) fn of(name: &'static str, mut batches: Vec<f64>) -> Self {
        batches.sort_by(f64::total_cmp);
        let at = |quarter: usize| batches[(batches.len() - 1) * quarter / 4];
        Self {
            name,
            median: at(2),
            spread: (at(3) - at(1)) / 2.0,
        }
    }

    /// Returns how many times longer this one takes than `other`.
    pub(crate) fn over(&self, other: &Self) -> f64 {
        self.median / other.median
    }
}

/// Returns the geometric mean, in which each part has the same weight, regardless of its size.
pub(crate) fn geometric_mean(parts: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, n) = parts
        .into_iter()
        .fold((0.0, 0.0), |(sum, n), part| (sum + part.ln(), n + 1.0));
    (sum / n).exp()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn a_sample_is_the_median_and_half_the_middle_half() {
        let sample = Sample::of("a", vec![9.0, 1.0, 5.0, 3.0, 7.0]);
        assert_eq!(
            sample,
            Sample {
                name: "a",
                median: 5.0,
                spread: 2.0
            }
        );
    }

    #[test]
    fn every_contender_is_measured_in_its_place() {
        let work = |n: u64| {
            move || {
                black_box((0..black_box(n)).fold(1_u64, |a, b| a.rotate_left(3) ^ b));
            }
        };
        let samples = measure(vec![
            Contender::new("one", 1, work(100)),
            Contender::new("other", 2, work(100)),
        ]);
        assert_eq!(
            samples.iter().map(|sample| sample.name).collect::<Vec<_>>(),
            ["one", "other"]
        );
        assert!(samples.iter().all(|sample| sample.median > 0.0));
    }

    #[test]
    fn the_geometric_mean_weighs_ratios() {
        assert!((geometric_mean([2.0, 8.0]) - 4.0).abs() < 1e-9);
    }
}
