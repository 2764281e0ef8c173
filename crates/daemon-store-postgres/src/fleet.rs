//! What hosts know of each other: check-ins, and what a host that is gone was sending.

use daemon_engine::HostEpoch;
use daemon_store::{FleetHost, FleetState, GONE_AFTER, OtherHost, StuckLease};
use jiff::{SignedDuration, Timestamp};

use crate::column::{Columns as _, instant, integer, micros, text};
use crate::failure::TxResult;
use crate::transaction::Tx;

/// Stores that this host is at work, and takes over what hosts were sending that are gone.
///
/// A surface cannot be fenced: a host that was only paused may still send what it had begun. So the host that takes an output
/// over searches its surface before it sends again, and never sends again where the surface cannot answer.
pub(crate) async fn check_in(tx: &Tx, about: &str, now: Timestamp) -> TxResult<u32> {
    let at = tx.lease_now(now).await?;
    tx.run(
        "UPDATE host SET seen_at = $2, clock_ahead = $3, about = $4 WHERE name = $1",
        &[&tx.own.host, &at, &(micros(now) - at), &text(about)],
    )
    .await?;
    let gone = at - integer(GONE_AFTER.as_micros());
    let taken = tx
        .run(
            "UPDATE output SET state = 'ambiguous', error = NULL, not_before = $2, in_doubt_since = $2 \
             WHERE state = 'sending' AND host IN (SELECT name FROM host WHERE seen_at <= $1)",
            &[&gone, &micros(now)],
        )
        .await?;
    Ok(u32::try_from(taken).unwrap_or(u32::MAX))
}

pub(crate) async fn fleet(tx: &Tx) -> TxResult<Option<FleetState>> {
    let row = tx
        .row(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now, \
             (SELECT min(received_at) FROM event WHERE due) AS unmatched, \
             (SELECT min(a.not_before) FROM activation AS a JOIN lane AS l ON l.repo = a.repo AND l.daemon = a.daemon \
              WHERE a.state = 'pending' AND l.ready AND l.leased = 0) AS ready",
            &[],
        )
        .await?;
    let now = row.at("now")?;
    let ready = row.maybe_at("ready")?.filter(|at| *at <= now);
    let hosts = tx
        .rows(
            "SELECT h.name, h.epoch, h.seen_at, h.clock_ahead, h.about, (SELECT count(*) FROM activation AS a \
             WHERE a.host = h.name AND a.state IN ('claimed', 'running')) AS leased FROM host AS h ORDER BY h.name",
            &[],
        )
        .await?;
    let stuck = tx
        .rows(
            "SELECT id, host, lease_until FROM activation WHERE state IN ('claimed', 'running') AND lease_until < $1 ORDER BY number",
            &[&micros(now)],
        )
        .await?;
    Ok(Some(FleetState {
        now,
        hosts: hosts.iter().map(host).collect::<TxResult<_>>()?,
        oldest_unmatched: row.maybe_at("unmatched")?,
        oldest_ready: ready,
        stuck: stuck
            .iter()
            .map(|row| {
                Ok(StuckLease {
                    activation: row.word("id")?,
                    host: row.maybe_text("host")?,
                    until: instant("lease_until", row.number("lease_until")?)?,
                })
            })
            .collect::<TxResult<_>>()?,
    }))
}

pub(crate) async fn run_elsewhere(tx: &Tx, run: &str) -> TxResult<Option<OtherHost>> {
    let found = tx
        .maybe_row(
            "SELECT r.host, coalesce(h.seen_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - $3, false) AS present \
             FROM run AS r LEFT JOIN host AS h ON h.name = r.host WHERE r.id = $1 AND r.host <> $2",
            &[&run, &tx.own.host, &integer(GONE_AFTER.as_micros())],
        )
        .await?;
    let read = |row: tokio_postgres::Row| {
        Ok(OtherHost {
            name: row.text("host")?,
            is_present: row.flag("present")?,
        })
    };
    found.map(read).transpose()
}

fn host(row: &tokio_postgres::Row) -> TxResult<FleetHost> {
    let ahead: Option<i64> = row.try_get("clock_ahead")?;
    Ok(FleetHost {
        name: row.text("name")?,
        epoch: HostEpoch(row.count("epoch")?),
        seen_at: row.maybe_at("seen_at")?,
        clock_ahead: ahead.map(SignedDuration::from_micros),
        about: row.maybe_text("about")?,
        n_leased: row.small("leased")?,
    })
}
