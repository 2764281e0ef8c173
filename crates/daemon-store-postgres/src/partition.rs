//! The partitions of tables that are kept by time: one for each month, made ahead and removed as a whole.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::column::{Columns as _, instant, micros};
use crate::failure::{TxResult, damaged};
use crate::identity;
use crate::transaction::Tx;

/// The tables that have a partition for each month, and one for what no month has.
const TABLES: [&str; 4] = ["event", "payload", "report", "tick"];
/// How many months have partitions ahead of the current one.
const MONTHS_AHEAD: i32 = 2;
/// How many months of partitions a removal checks.
const MONTHS_BEHIND: i32 = 24;
/// Why a partition is not made: another host made it, or rows of its month are in the other partition, where they can stay.
const EXPECTED_REFUSALS: [SqlState; 3] = [
    SqlState::DUPLICATE_TABLE,
    SqlState::UNIQUE_VIOLATION,
    SqlState::CHECK_VIOLATION,
];

/// A month, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Month(Date);

impl Month {
    fn of(at: Timestamp) -> Self {
        Self(at.to_zoned(TimeZone::UTC).date().first_of_month())
    }

    fn after(self, n_months: i32) -> TxResult<Self> {
        let later = self.0.checked_add(n_months.months());
        Ok(Self(later.map_err(|error| {
            damaged("the month of a partition", error)
        })?))
    }

    /// Returns its first microsecond.
    fn start(self) -> TxResult<i64> {
        let zoned = self.0.to_zoned(TimeZone::UTC);
        let zoned = zoned.map_err(|error| damaged("the month of a partition", error))?;
        Ok(micros(zoned.timestamp()))
    }

    fn suffix(self) -> String {
        format!("{:04}_{:02}", self.0.year(), self.0.month())
    }
}

/// Makes the partitions of this month, by the clock of the database, and of those ahead.
pub(crate) async fn prepare(client: &Client) -> TxResult<()> {
    let row = client
        .query_one(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now",
            &[],
        )
        .await?;
    let current = Month::of(instant("now", row.number("now")?)?);
    for n in 0..=MONTHS_AHEAD {
        for table in TABLES {
            make(client, table, current.after(n)?).await?;
        }
    }
    Ok(())
}

async fn make(client: &Client, table: &str, month: Month) -> TxResult<()> {
    let (name, from, to) = (
        format!("{table}_{}", month.suffix()),
        month.start()?,
        month.after(1)?.start()?,
    );
    let known = client
        .query_one("SELECT to_regclass($1) IS NOT NULL AS known", &[&name])
        .await?;
    if known.flag("known")? {
        return Ok(());
    }
    let made = client
        .batch_execute(&format!(
            "CREATE TABLE {name} PARTITION OF {table} FOR VALUES FROM ({from}) TO ({to})"
        ))
        .await;
    match made {
        Ok(()) => Ok(()),
        Err(error)
            if error
                .code()
                .is_some_and(|code| EXPECTED_REFUSALS.contains(code)) =>
        {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes the partitions of payloads, with their reports, and of ticks that hold nothing that is to be kept any more.
pub(crate) async fn remove(
    client: &Client,
    (payloads, ticks): (Timestamp, Timestamp),
) -> TxResult<()> {
    for month in whole_months(client, "payload", payloads).await? {
        let (from, to) = (month.start()?, month.after(1)?.start()?);
        let needed = client
            .query_one(
                "SELECT EXISTS (SELECT 1 FROM event WHERE received_at >= $1 AND received_at < $2 AND due) \
                 OR EXISTS (SELECT 1 FROM wanted WHERE received_at >= $1 AND received_at < $2 AND state = 'waiting') AS needed",
                &[&from, &to],
            )
            .await?;
        if !needed.flag("needed")? {
            let suffix = month.suffix();
            // One message is one transaction: an event has its payload and its reports, or neither.
            client
                .batch_execute(&format!(
                    "DROP TABLE payload_{suffix}; DROP TABLE report_{suffix}; \
                     DELETE FROM wanted WHERE received_at >= {from} AND received_at < {to}"
                ))
                .await?;
        }
    }
    for month in whole_months(client, "tick", ticks).await? {
        let name = format!("tick_{}", month.suffix());
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {name} WHERE recorded_at >= $1) AS needed");
        let needed = client.query_one(&sql, &[&micros(ticks)]).await?;
        if !needed.flag("needed")? {
            client.batch_execute(&format!("DROP TABLE {name}")).await?;
        }
    }
    Ok(())
}

/// Returns the months before an instant that have a partition of a table, oldest first.
async fn whole_months(client: &Client, table: &str, before: Timestamp) -> TxResult<Vec<Month>> {
    let first_kept = Month::of(before);
    let mut months = Vec::new();
    for n in (1..=MONTHS_BEHIND).rev() {
        let month = first_kept.after(-n)?;
        let name = format!("{table}_{}", month.suffix());
        let known = client
            .query_one("SELECT to_regclass($1) IS NOT NULL AS known", &[&name])
            .await?;
        if known.flag("known")? {
            months.push(month);
        }
    }
    Ok(months)
}

/// Deletes what some of the events after a given one said, if they were received before an instant, and returns the last event
/// that was read if there may be more.
pub(crate) async fn forget_payloads(
    tx: &Tx,
    before: Timestamp,
    after: i64,
) -> TxResult<Option<i64>> {
    let row = tx
        .row(
            "WITH old AS (SELECT e.repo, e.received_at, e.seq FROM event AS e \
               WHERE e.seq > $1 AND NOT e.due AND e.received_at < $2 \
               AND (EXISTS (SELECT 1 FROM payload AS p WHERE p.repo = e.repo AND p.received_at = e.received_at AND p.seq = e.seq) \
                 OR EXISTS (SELECT 1 FROM report AS r WHERE r.repo = e.repo AND r.received_at = e.received_at AND r.seq = e.seq) \
                 OR EXISTS (SELECT 1 FROM wanted AS w WHERE w.repo = e.repo AND w.seq = e.seq)) \
               AND NOT EXISTS (SELECT 1 FROM wanted AS w WHERE w.repo = e.repo AND w.seq = e.seq AND w.state = 'waiting') \
               ORDER BY e.seq LIMIT 256), \
             p AS (DELETE FROM payload AS p USING old AS o \
               WHERE p.repo = o.repo AND p.received_at = o.received_at AND p.seq = o.seq), \
             r AS (DELETE FROM report AS r USING old AS o \
               WHERE r.repo = o.repo AND r.received_at = o.received_at AND r.seq = o.seq), \
             w AS (DELETE FROM wanted AS w USING old AS o WHERE w.repo = o.repo AND w.seq = o.seq) \
             SELECT max(seq) AS last FROM old",
            &[&after, &micros(before)],
        )
        .await?;
    Ok(row.try_get("last")?)
}

/// Deletes ticks that were recorded before an instant, identities, and the marks of connections that ended long ago.
pub(crate) async fn forget(tx: &Tx, ids: Timestamp, ticks: Timestamp) -> TxResult<()> {
    identity::forget(tx, (ticks, ids)).await?;
    tx.run("DELETE FROM tick WHERE recorded_at < $1", &[&micros(ticks)])
        .await?;
    tx.run(
        "DELETE FROM commit_mark WHERE at < (extract(epoch FROM clock_timestamp() - interval '1 day') * 1000000)::bigint",
        &[],
    )
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Month;

    #[test]
    fn a_partition_is_a_month_in_utc() {
        let newest = Month::of("2026-12-31T23:59:59.999999Z".parse().unwrap());
        let next = newest.after(1).unwrap();
        assert_eq!(
            (
                newest.suffix(),
                next.suffix(),
                newest.after(-12).unwrap().suffix()
            ),
            (
                "2026_12".to_owned(),
                "2027_01".to_owned(),
                "2025_12".to_owned()
            )
        );
        let first = "2027-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap();
        assert_eq!(next.start().unwrap(), first.as_microsecond());
    }
}
