//! Cron expressions, compared with the two crates that a user would choose.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use chrono::{DateTime, TimeZone, Utc};
use daemon_cron::{CronExpr, Zone};
use jiff::Timestamp;

use crate::kit::{Contender, Sample, geometric_mean, measure};
use crate::report::Row;

// The second form is for `cron`, which requires seconds and counts the days of the week from 1, so names are used for them.
const EXPRESSIONS: [(&str, &str); 12] = [
    ("*/5 * * * *", "0 */5 * * * *"),
    ("0 * * * *", "0 0 * * * *"),
    ("15 5 * * *", "0 15 5 * * *"),
    ("0 9 * * *", "0 0 9 * * *"),
    ("30 14 * * 1-5", "0 30 14 * * Mon-Fri"),
    ("0 */6 * * *", "0 0 */6 * * *"),
    ("*/15 8-18 * * 1-5", "0 */15 8-18 * * Mon-Fri"),
    ("0 0 1 * *", "0 0 0 1 * *"),
    ("0 0 * * 0", "0 0 0 * * Sun"),
    ("20 3 * * 2,4", "0 20 3 * * Tue,Thu"),
    ("45 4 1,15 * *", "0 45 4 1,15 * *"),
    ("0 12 1 1,4,7,10 *", "0 0 12 1 1,4,7,10 *"),
];

// 30 February: a search without an upper bound would not end.
const IMPOSSIBLE: &str = "0 0 30 2 *";
// A zone with daylight saving time, so that transitions are a part of the search.
const ZONE: &str = "America/New_York";

pub(super) fn next() -> Result<Row> {
    let samples = occurrences(Utc, CronExpr::next_after)?;
    let [ours, cron, croner] = &samples;
    Ok(Row::new(
        "cron-next",
        "next occurrence in UTC, 12 typical expressions from 64 starts, geometric mean",
        ours,
    )
    .compared_with(ours, cron)
    .compared_with(ours, croner)
    .must_beat(ours, cron, 35.0)
    .must_beat(ours, croner, 60.0)
    .must_take_at_most(ours, 20.0))
}

pub(super) fn next_in_zone() -> Result<Row> {
    let zone = Zone::new(jiff::tz::TimeZone::get(ZONE)?);
    let samples = occurrences(chrono_tz::America::New_York, |expr, after| {
        expr.next_after_in(&zone, after)
    })?;
    let [ours, cron, croner] = &samples;
    Ok(Row::new(
        "cron-next-zone",
        "the same in a zone with daylight saving (America/New_York)",
        ours,
    )
    .compared_with(ours, cron)
    .compared_with(ours, croner)
    .must_beat(ours, cron, 12.0)
    .must_beat(ours, croner, 25.0))
}

pub(super) fn impossible() -> Result<Row> {
    let from = starts()[0];
    let at = chrono_at(&Utc, from)?;
    let expr: CronExpr = IMPOSSIBLE.parse()?;
    ensure!(expr.next_after(from).is_none(), "30 February was found");
    let samples = measure(vec![
        Contender::new("daemon-cron", 1, || {
            let expr: Option<CronExpr> = black_box(IMPOSSIBLE).parse().ok();
            black_box(expr.and_then(|expr| expr.next_after(from)));
        }),
        Contender::new("croner", 1, || {
            let expr: Option<croner::Cron> = black_box(IMPOSSIBLE).parse().ok();
            black_box(expr.and_then(|expr| expr.find_next_occurrence(&at, false).ok()));
        }),
    ]);
    let [ours, croner] = &samples[..] else {
        unreachable!("two contenders went in")
    };
    Ok(Row::new(
        "cron-impossible",
        "parse `0 0 30 2 *` and learn that it never fires",
        ours,
    )
    .compared_with(ours, croner)
    .must_take_at_most(ours, 1_000.0))
}

pub(super) fn parse() -> Result<Row> {
    for (five, six) in EXPRESSIONS {
        ensure!(
            five.parse::<CronExpr>().is_ok() && five.parse::<croner::Cron>().is_ok(),
            "`{five}` is refused"
        );
        ensure!(six.parse::<cron::Schedule>().is_ok(), "`{six}` is refused");
    }
    let n = EXPRESSIONS.len();
    let samples = measure(vec![
        Contender::new("daemon-cron", n, || {
            for (five, _) in EXPRESSIONS {
                black_box(black_box(five).parse::<CronExpr>().is_ok());
            }
        }),
        Contender::new("cron", n, || {
            for (_, six) in EXPRESSIONS {
                black_box(black_box(six).parse::<cron::Schedule>().is_ok());
            }
        }),
        Contender::new("croner", n, || {
            for (five, _) in EXPRESSIONS {
                black_box(black_box(five).parse::<croner::Cron>().is_ok());
            }
        }),
    ]);
    let [ours, cron, croner] = &samples[..] else {
        unreachable!("three contenders went in")
    };
    Ok(
        Row::new("cron-parse", "parse one of the 12 expressions", ours)
            .compared_with(ours, cron)
            .compared_with(ours, croner)
            .must_take_at_most(ours, 250.0),
    )
}

/// Measures ours, `cron` and `croner` for each expression and returns their geometric means.
fn occurrences<Z: TimeZone + Copy + 'static>(
    zone: Z,
    ours_next: impl Fn(&CronExpr, Timestamp) -> Option<Timestamp>,
) -> Result<[Sample; 3]> {
    let starts = starts();
    let chrono_starts: Vec<DateTime<Z>> = starts
        .iter()
        .map(|at| chrono_at(&zone, *at))
        .collect::<Result<_>>()?;
    let mut by_contender: [Vec<Sample>; 3] = [const { Vec::new() }; 3];
    for (five, six) in EXPRESSIONS {
        let ours: CronExpr = five.parse()?;
        let cron: cron::Schedule = six.parse()?;
        let croner: croner::Cron = five.parse()?;
        for (at, chrono_at) in starts.iter().zip(&chrono_starts) {
            let expected = cron.after(chrono_at).next().map(|next| next.timestamp());
            let found = ours_next(&ours, *at).map(Timestamp::as_second);
            let by_croner = croner
                .find_next_occurrence(chrono_at, false)
                .ok()
                .map(|next| next.timestamp());
            ensure!(
                found == expected && by_croner == expected,
                "`{five}` after {at}: {found:?}, {expected:?}, {by_croner:?}"
            );
        }
        let samples = measure(vec![
            Contender::new("daemon-cron", starts.len(), || {
                for at in &starts {
                    black_box(ours_next(&ours, black_box(*at)));
                }
            }),
            Contender::new("cron", starts.len(), || {
                for at in &chrono_starts {
                    black_box(cron.after(black_box(at)).next());
                }
            }),
            Contender::new("croner", starts.len(), || {
                for at in &chrono_starts {
                    black_box(croner.find_next_occurrence(black_box(at), false).ok());
                }
            }),
        ]);
        for (acc, sample) in by_contender.iter_mut().zip(samples) {
            acc.push(sample);
        }
    }
    Ok(by_contender.map(|samples| combine(&samples)))
}

fn combine(samples: &[Sample]) -> Sample {
    let median = geometric_mean(samples.iter().map(|sample| sample.median));
    let relative = samples
        .iter()
        .map(|sample| sample.spread / sample.median)
        .sum::<f64>()
        / samples.len() as f64;
    Sample {
        name: samples[0].name,
        median,
        spread: median * relative,
    }
}

/// Sixty-four instants over two years, at odd seconds, the same in every session.
fn starts() -> Vec<Timestamp> {
    const FROM: i64 = 1_767_225_600; // 2026-01-01T00:00:00Z
    const TWO_YEARS: i64 = 2 * 365 * 86_400;
    let step = 7_919 * 127;
    let seconds = (0..64).map(|n| FROM + (n * step * 61 + 17) % TWO_YEARS);
    seconds
        .map(|second| {
            Timestamp::from_second(second).expect("the years 2026 and 2027 are representable")
        })
        .collect()
}

fn chrono_at<Z: TimeZone>(zone: &Z, at: Timestamp) -> Result<DateTime<Z>> {
    zone.timestamp_opt(at.as_second(), 0)
        .single()
        .context("an instant has one local time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starts_are_within_two_years_and_differ() {
        let mut starts = starts();
        starts.sort();
        starts.dedup();
        assert_eq!(starts.len(), 64);
        assert!(starts[0] >= "2026-01-01T00:00:00Z".parse().unwrap());
        assert!(starts[63] < "2028-01-01T00:00:00Z".parse().unwrap());
    }
}
