//! Reads hostile lines and prints how long the slowest took: `hostile [HOW_MANY_TO_PRINT]`.
//!
//! Optimised, it reads all ten thousand; otherwise every fiftieth, as it would take minutes and its times mean nothing.

mod lines;

use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, Instant};

use daemon_watch::{Status, interpret};

/// A line that is slow once may have been interrupted; slow every time, it is slow.
const TRIES: usize = 5;
const SLOW: Duration = Duration::from_micros(500);
const STEP: usize = if cfg!(debug_assertions) { 50 } else { 1 };

fn main() -> Result<(), Box<dyn Error>> {
    let shown = std::env::args().nth(1).map_or(Ok(5), |arg| arg.parse())?;
    let lines: Vec<String> = lines::all().into_iter().step_by(STEP).collect();
    let mut out = std::io::stdout().lock();
    let mut times: Vec<(Duration, &str)> = lines
        .iter()
        .map(|line| (quickest(line), line.as_str()))
        .collect();
    times.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    let (slowest, _) = times[0];
    let median = times[times.len() / 2].0;
    for status in Status::ALL {
        let count = lines
            .iter()
            .filter(|line| interpret(line).status == status)
            .count();
        writeln!(out, "{:>6} {}", count, status.as_str())?;
    }
    for (time, line) in times.iter().take(shown) {
        let start: String = line.chars().take(60).collect();
        writeln!(
            out,
            "{:>9.1} µs, {} bytes: {start:?}",
            time.as_secs_f64() * 1e6,
            line.len()
        )?;
    }
    writeln!(
        out,
        "{} lines, slowest {:.2} ms, median {:.1} µs",
        times.len(),
        slowest.as_secs_f64() * 1e3,
        median.as_secs_f64() * 1e6
    )?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the program measures")]
fn quickest(line: &str) -> Duration {
    let once = || {
        let start = Instant::now();
        std::hint::black_box(interpret(std::hint::black_box(line)));
        start.elapsed()
    };
    let first = once();
    let tries = if first < SLOW { 0 } else { TRIES };
    (0..tries).map(|_| once()).fold(first, Duration::min)
}
