//! The time of a comparison does not depend on how much of a signature is right.

use std::hint::black_box;
use std::time::Instant;

use daemon_ingest::{Github, Headers, Rejected, Secrets, WebhookSource as _};

use crate::random::Random;
use crate::signatures::{GITHUB_DIGITS, GITHUB_SECRET, NOON};
use crate::{at, delivery, setting};

/// How many measurements are needed before their times are judged.
const JUDGED: u64 = 100_000;
/// The absolute value of Welch's t from which two means differ.
const DIFFERENT: f64 = 4.5;

/// Count, mean and sum of the squared differences from the mean (Welford).
#[derive(Clone, Copy, Default)]
struct Sample {
    n: f64,
    mean: f64,
    squares: f64,
}

impl Sample {
    fn add(&mut self, value: f64) {
        self.n += 1.0;
        let difference = value - self.mean;
        self.mean += difference / self.n;
        self.squares += difference * (value - self.mean);
    }

    /// Returns the variance of the mean.
    fn error(&self) -> f64 {
        self.squares / (self.n - 1.0) / self.n
    }
}

/// Returns Welch's t of two samples.
fn welch([left, right]: [Sample; 2]) -> f64 {
    (left.mean - right.mean) / (left.error() + right.error()).sqrt()
}

/// Measures `compare` for arguments of two kinds, in random order, and returns Welch's t of the times.
///
/// Each argument is made for one measurement, so that none has a place of its own in the caches. The slowest tenth is left out: it was
/// interrupted.
#[expect(
    clippy::disallowed_methods,
    reason = "what is measured is the time of the machine"
)]
fn times<T>(n: u64, make: impl Fn(usize) -> T, compare: impl Fn(&T)) -> f64 {
    let mut random = Random(7);
    let mut measure = || {
        let kind = random.below(2);
        let argument = make(kind);
        let began = Instant::now();
        compare(&argument);
        (kind, began.elapsed().as_nanos() as f64)
    };
    let mut first: Vec<f64> = (0..1_000).map(|_| measure().1).collect();
    first.sort_by(f64::total_cmp);
    let longest = first[900];
    let mut samples = [Sample::default(); 2];
    for _ in 0..n {
        let (kind, time) = measure();
        if time <= longest {
            samples[kind].add(time);
        }
    }
    welch(samples)
}

/// Returns signatures of GitHub of which the first digit, or the last one, is wrong.
fn signatures() -> [String; 2] {
    let (first, last) = (&GITHUB_DIGITS[1..], &GITHUB_DIGITS[..63]);
    [format!("sha256=0{first}"), format!("sha256={last}0")]
}

#[test]
fn welch_tells_two_samples_apart() {
    let sample = |values: &[f64]| {
        let mut acc = Sample::default();
        values.iter().for_each(|value| acc.add(*value));
        acc
    };
    let left = sample(&[17.0, 21.0, 19.0, 23.0]);
    let right = sample(&[11.0, 12.0, 13.0, 12.0]);
    let t = welch([left, right]);
    assert!((t - 5.908_391_567_007_97).abs() < 1e-9, "{t}");
    assert_eq!(welch([left, left]), 0.0);
}

/// P4. Times are judged only of as many measurements as the night tier makes.
#[test]
fn verifying_takes_as_long_for_a_signature_with_a_right_beginning() {
    let n = setting("DAEMON_TEST_TIMINGS", 1_000);
    let source = Github::new(Secrets::new([GITHUB_SECRET]).unwrap());
    let (signatures, now) = (signatures(), at(NOON));
    let make = |kind: usize| Headers::new([("X-Hub-Signature-256", &signatures[kind])]);
    let t = times(n, make, |headers| {
        let delivery = delivery(headers, b"Hello, World!", now);
        let refused = black_box(source.verify(black_box(&delivery)));
        assert_eq!(refused, Err(Rejected::WrongSignature));
    });
    println!("verify: t = {t:.2} of {n}");
    assert!(n < JUDGED || t.abs() < DIFFERENT, "{t} of {n}");
}

/// The measurement finds what it is there for.
#[test]
fn a_comparison_that_ends_at_the_first_difference_is_found_out() {
    let n = setting("DAEMON_TEST_TIMINGS", 1_000);
    let own = format!("sha256={GITHUB_DIGITS}");
    let signatures = signatures();
    let t = times(
        n,
        |kind| signatures[kind].clone(),
        |given| {
            let pairs = own.bytes().zip(black_box(given).bytes());
            let n_equal = black_box(pairs).take_while(|(own, given)| own == given);
            assert!(black_box(n_equal.count()) < own.len());
        },
    );
    println!("early exit: t = {t:.2} of {n}");
    assert!(n < JUDGED || t.abs() > DIFFERENT, "{t} of {n}");
}
