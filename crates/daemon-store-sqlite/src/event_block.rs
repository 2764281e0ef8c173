//! Summaries of blocks of events, by which a listing passes over those that its filters exclude.
//!
//! An index on each column that a listing filters by would cost every accepted event a write to another page.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use daemon_store::Bounds;
use rusqlite::{Connection, ToSql};

use crate::column::micros;
use crate::failure::TxResult;

/// The number of events of a block, as the schema has it.
const BLOCK: i64 = 4_096;

/// Summarises the block before an event, if the event is the first of the next block.
pub(crate) fn accepted(tx: &Connection, seq: i64) -> TxResult<()> {
    if seq % BLOCK == 0 {
        tx.prepare_cached(
            "INSERT INTO event_block SELECT seq / 4096, min(received_at), max(received_at), \
               json_group_array(DISTINCT repo_folded) \
             FROM event WHERE seq >= ?1 AND seq < ?2 GROUP BY seq / 4096",
        )?
        .execute([seq - BLOCK, seq])?;
    }
    Ok(())
}

/// Returns the ranges of numbers outside of which no event is listed, the newest first.
pub(crate) fn ranges(conn: &Connection, bounds: &Bounds) -> TxResult<Vec<RangeInclusive<i64>>> {
    let mut excluding = Vec::new();
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    if let Some(since) = bounds.since {
        excluding.push("last_at < ?");
        values.push(Box::new(micros(since)));
    }
    if let Some(until) = bounds.until {
        excluding.push("first_at >= ?");
        values.push(Box::new(micros(until)));
    }
    if let Some(repo) = &bounds.repo {
        excluding.push("instr(repos, json_quote(?)) = 0");
        values.push(Box::new(repo.folded()));
    }
    if excluding.is_empty() {
        return Ok(vec![0..=i64::MAX]);
    }
    let sql = format!(
        "SELECT block FROM event_block WHERE {}",
        excluding.join(" OR ")
    );
    let mut find = conn.prepare_cached(&sql)?;
    let mut rows = find.query(rusqlite::params_from_iter(values.iter()))?;
    let mut excluded = BTreeSet::new();
    while let Some(row) = rows.next()? {
        excluded.insert(row.get::<_, i64>(0)?);
    }
    Ok(between(&excluded))
}

/// Returns what is between excluded blocks, from the end.
fn between(excluded: &BTreeSet<i64>) -> Vec<RangeInclusive<i64>> {
    let mut ranges = Vec::new();
    let mut last = i64::MAX;
    for block in excluded.iter().rev() {
        let (first, next) = (block * BLOCK, (block + 1) * BLOCK);
        if next <= last {
            ranges.push(next..=last);
        }
        last = first - 1;
    }
    if last >= 0 {
        ranges.push(0..=last);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, between};

    #[test]
    fn what_is_not_excluded_is_one_range_between_two_blocks() {
        let ranges = |excluded: &[i64]| between(&excluded.iter().copied().collect());
        assert_eq!(ranges(&[]), [0..=i64::MAX]);
        assert_eq!(ranges(&[0]), [BLOCK..=i64::MAX]);
        assert_eq!(
            ranges(&[1, 2, 4]),
            [
                5 * BLOCK..=i64::MAX,
                3 * BLOCK..=4 * BLOCK - 1,
                0..=BLOCK - 1
            ]
        );
    }
}
