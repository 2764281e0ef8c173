//! ClaimGuard: the lanes in turn, and the oldest ready activation of each.
//!
//! When an activation is ready is decided by `daemon_engine::obstacle`; the queries here repeat that rule in the terms of
//! indexes, and the conformance suite compares both.

use std::collections::BTreeSet;

use daemon_engine::{Activation, Blame, DAY, Gate, RATE_PERIOD};
use daemon_event::{ActivationId, DaemonKey};
use daemon_store::{ClaimRequest, Rates};
use jiff::Timestamp;

use crate::activation;
use crate::column::{Columns as _, instant, micros};
use crate::failure::{TxError, TxResult};
use crate::transaction::{Tx, Value};
use crate::{hosting, lane};

/// How often a claim looks for another lane after the one it had chosen was taken.
const MAX_LOOKS: usize = 16;

/// The SQL condition that an activation `a` of a lane `l` is ready, apart from the limits of the lane and the host.
const IS_READY: &str = "a.state = 'pending' AND a.not_before <= $1 \
     AND ($4 OR NOT (a.host_crashes > 0 OR a.crashes_alone > 0)) \
     AND (l.busy = 0 OR NOT EXISTS (SELECT 1 FROM activation AS b WHERE b.repo = a.repo AND b.daemon = a.daemon \
       AND b.subject = a.subject AND b.state IN ('claimed', 'running', 'delivering'))) \
     AND ($2::bigint IS NULL OR a.subject = '' OR a.has_tick OR $2 > ( \
       SELECT count(*) FROM activation AS c WHERE c.repo = a.repo AND c.daemon = a.daemon AND c.subject = a.subject \
       AND c.started_at > $3 AND c.started_at <= $1))";

/// The SQL condition that a lane `l` may begin another activation.
const IS_OPEN: &str = "l.ready AND l.leased < $5 AND ($6::bigint IS NULL OR $6 > ( \
       SELECT count(*) FROM activation AS d WHERE d.repo = l.repo AND d.daemon = l.daemon \
       AND d.started_at > $3 AND d.started_at <= $1))";

/// Whether other claims of this host may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimGuard {
    /// They may.
    Shared,
    /// This one runs alone.
    Exclusive,
}

/// The result of a claim.
#[derive(Debug)]
pub(crate) enum ClaimResult {
    Claimed(Box<Activation>),
    Nothing,
    /// Only a claim at a time can decide: the last slots of the host are at stake, or something that may crash it.
    OneAtATime,
}

impl ClaimResult {
    /// Returns the claimed activation, if there is one.
    pub(crate) fn activation(self) -> Option<Activation> {
        match self {
            Self::Claimed(activation) => Some(*activation),
            Self::Nothing | Self::OneAtATime => None,
        }
    }
}

/// The values of [`IS_READY`] and [`IS_OPEN`].
struct Limits {
    now: i64,
    subject_rate: Option<i64>,
    hour_ago: i64,
    may_suspect_start: bool,
    daemon_slots: i64,
    daemon_rate: Option<i64>,
}

impl Limits {
    async fn of(tx: &Tx, request: &ClaimRequest) -> TxResult<Self> {
        Ok(Self {
            now: micros(request.now),
            subject_rate: request.rates.subject.map(i64::from),
            hour_ago: micros(request.now - RATE_PERIOD),
            may_suspect_start: !hosting::suspect_is_leased(tx).await?,
            daemon_slots: request.daemon_slots.into(),
            daemon_rate: request.rates.daemon.map(i64::from),
        })
    }

    fn values(&self) -> [Value<'_>; 6] {
        [
            &self.now,
            &self.subject_rate,
            &self.hour_ago,
            &self.may_suspect_start,
            &self.daemon_slots,
            &self.daemon_rate,
        ]
    }
}

/// Whether the host may begin another activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostRoom {
    None,
    /// As many claims as can run at the same time could take too many slots.
    Tight,
    Wide,
}

pub(crate) async fn claim(
    tx: &Tx,
    request: &ClaimRequest,
    claims: ClaimGuard,
) -> TxResult<ClaimResult> {
    if let Some(ended) = begin(tx, request, claims).await? {
        return Ok(ended);
    }
    let limits = Limits::of(tx, request).await?;
    // Requests of persons come first.
    for (has_person, waiting) in [("true", "l.persons"), ("false", "l.pending")] {
        // In the words of the partial indexes of lanes, which are ordered by `turn`.
        let ready = format!(
            "SELECT l.repo, l.daemon, x.id FROM lane AS l CROSS JOIN LATERAL (\
               SELECT a.id FROM activation AS a WHERE a.repo = l.repo AND a.daemon = l.daemon \
               AND a.has_person = {has_person} AND {IS_READY} ORDER BY a.number LIMIT 1) AS x \
             WHERE {waiting} > 0 AND {IS_OPEN}"
        );
        for look in 0.. {
            if look == MAX_LOOKS {
                return Err(TxError::Overtaken);
            }
            let Some(daemon) = next_lane(tx, &ready, &limits).await? else {
                break;
            };
            // Asked again under the lock: another claim may have been faster.
            let [now, subject, hour, suspects, slots, rate] = limits.values();
            let (repo, id) = (daemon.repo.as_str(), daemon.id.as_str());
            let found = tx
                .maybe_row(
                    &format!("{ready} AND l.repo = $7 AND l.daemon = $8"),
                    &[now, subject, hour, suspects, slots, rate, &repo, &id],
                )
                .await?;
            if let Some(row) = found {
                return lease(tx, &row.word("id")?, request, claims).await;
            }
        }
    }
    Ok(ClaimResult::Nothing)
}

/// Locks the foremost lane with a ready activation; a lane that another transaction has locked only if there is no other.
async fn next_lane(tx: &Tx, ready: &str, limits: &Limits) -> TxResult<Option<DaemonKey>> {
    let free = format!("{ready} ORDER BY l.turn LIMIT 1 FOR UPDATE OF l SKIP LOCKED");
    if let Some(row) = tx.maybe_row(&free, &limits.values()).await? {
        return Ok(Some(row.daemon()?));
    }
    let any = format!("{ready} ORDER BY l.turn LIMIT 1");
    let Some(row) = tx.maybe_row(&any, &limits.values()).await? else {
        return Ok(None);
    };
    let daemon = row.daemon()?;
    lane::lock(tx, &daemon).await?;
    Ok(Some(daemon))
}

pub(crate) async fn claim_one(
    tx: &Tx,
    id: &ActivationId,
    request: &ClaimRequest,
    claims: ClaimGuard,
) -> TxResult<ClaimResult> {
    if let Some(ended) = begin(tx, request, claims).await? {
        return Ok(ended);
    }
    if activation::find(tx, id).await?.is_none() {
        return Ok(ClaimResult::Nothing);
    }
    let limits = Limits::of(tx, request).await?;
    let sql = format!(
        "SELECT a.id FROM activation AS a JOIN lane AS l USING (repo, daemon) \
         WHERE a.id = $7 AND {IS_READY} AND {IS_OPEN}"
    );
    let [now, subject, hour, suspects, slots, rate] = limits.values();
    let id_text = id.as_str();
    let values = [now, subject, hour, suspects, slots, rate, &id_text];
    match tx.maybe_row(&sql, &values).await? {
        Some(_) => lease(tx, id, request, claims).await,
        None => Ok(ClaimResult::Nothing),
    }
}

/// Checks the limits of the host; returns a result if they end the claim.
async fn begin(
    tx: &Tx,
    request: &ClaimRequest,
    claims: ClaimGuard,
) -> TxResult<Option<ClaimResult>> {
    Ok(match host_room(tx, request).await? {
        HostRoom::None => Some(ClaimResult::Nothing),
        HostRoom::Tight if claims == ClaimGuard::Shared => Some(ClaimResult::OneAtATime),
        HostRoom::Tight | HostRoom::Wide => None,
    })
}

async fn host_room(tx: &Tx, request: &ClaimRequest) -> TxResult<HostRoom> {
    let n_leased = tx
        .row(
            "SELECT count(*) AS n FROM activation WHERE state IN ('claimed', 'running') AND host = $1",
            &[&tx.own.host],
        )
        .await?
        .number("n")?;
    let n_free = i64::from(request.host_slots) - n_leased;
    if n_free <= 0
        || hosting::gate(tx).await? != Gate::Open
        || !is_within_host_rate(tx, request.rates, request.now).await?
    {
        return Ok(HostRoom::None);
    }
    // Last, since it adds up a day of rows; the checks before it read single rows or an index.
    if let Some(limit) = request.day_usd {
        let spent: f64 = tx
            .row(
                "SELECT coalesce(sum(cost_usd), 0) AS spent FROM activation WHERE started_at > $1",
                &[&micros(request.now - DAY)],
            )
            .await?
            .try_get("spent")?;
        if spent >= limit {
            return Ok(HostRoom::None);
        }
    }
    let n_at_once = i64::try_from(tx.own.n_connections).expect("few connections");
    Ok(match n_free < n_at_once {
        true => HostRoom::Tight,
        false => HostRoom::Wide,
    })
}

async fn is_within_host_rate(tx: &Tx, rates: Rates, now: Timestamp) -> TxResult<bool> {
    let Some(limit) = rates.host else {
        return Ok(true);
    };
    let began = tx
        .row(
            "SELECT count(*) AS n FROM activation WHERE started_at > $1 AND started_at <= $2",
            &[&micros(now - RATE_PERIOD), &micros(now)],
        )
        .await?
        .number("n")?;
    Ok(began < i64::from(limit))
}

/// Leases an activation of a locked lane for the revision that its daemon has now.
async fn lease(
    tx: &Tx,
    id: &ActivationId,
    request: &ClaimRequest,
    claims: ClaimGuard,
) -> TxResult<ClaimResult> {
    let mut claimed = activation::get(tx, id).await?;
    if claims == ClaimGuard::Shared && claimed.activation.blame != Blame::default() {
        return Ok(ClaimResult::OneAtATime);
    }
    let (repo, daemon) = {
        let key = &claimed.activation.daemon;
        (key.repo.as_str(), key.id.as_str())
    };
    let rev = tx
        .row(
            "SELECT rev FROM daemon WHERE repo = $1 AND daemon = $2 AND valid",
            &[&repo, &daemon],
        )
        .await?
        .text("rev")?;
    tx.run(
        "UPDATE lane SET turn = nextval('lane_turn') WHERE repo = $1 AND daemon = $2",
        &[&repo, &daemon],
    )
    .await?;
    let span = micros(request.lease_until) - micros(request.now);
    let until = instant("lease_until", tx.lease_now(request.now).await? + span)?;
    claimed.activation.lease(request.owner, until, &rev);
    claimed.host = Some(tx.own.host.clone());
    claimed.lease_span = Some(span);
    activation::update(tx, &mut claimed).await?;
    Ok(ClaimResult::Claimed(Box::new(claimed.activation)))
}

/// Returns which of some activations are kept from beginning by rates.
pub(crate) async fn over_rate(
    tx: &Tx,
    ids: &[ActivationId],
    rates: Rates,
    now: Timestamp,
) -> TxResult<BTreeSet<ActivationId>> {
    let is_within_host_rate = is_within_host_rate(tx, rates, now).await?;
    let names: Vec<&str> = ids.iter().map(ActivationId::as_str).collect();
    let rows = tx
        .rows(
            "SELECT a.id FROM activation AS a WHERE a.id = ANY($1) AND NOT ($6 AND ($2::bigint IS NULL OR a.subject = '' \
             OR a.has_tick OR $2 > (SELECT count(*) FROM activation AS c WHERE c.repo = a.repo AND c.daemon = a.daemon \
               AND c.subject = a.subject AND c.started_at > $4 AND c.started_at <= $5)) \
             AND ($3::bigint IS NULL OR $3 > (SELECT count(*) FROM activation AS d WHERE d.repo = a.repo \
               AND d.daemon = a.daemon AND d.started_at > $4 AND d.started_at <= $5)))",
            &[
                &names,
                &rates.subject.map(i64::from),
                &rates.daemon.map(i64::from),
                &micros(now - RATE_PERIOD),
                &micros(now),
                &is_within_host_rate,
            ],
        )
        .await?;
    rows.iter().map(|row| row.word("id")).collect()
}

/// Returns which of some activations have not ended.
pub(crate) async fn unfinished_among(
    tx: &Tx,
    ids: &[ActivationId],
) -> TxResult<BTreeSet<ActivationId>> {
    let names: Vec<&str> = ids.iter().map(ActivationId::as_str).collect();
    let rows = tx
        .rows(
            "SELECT id FROM activation WHERE id = ANY($1) AND finished_at IS NULL",
            &[&names],
        )
        .await?;
    rows.iter().map(|row| row.word("id")).collect()
}

pub(crate) async fn next_claim_at(tx: &Tx, now: Timestamp) -> TxResult<Option<Timestamp>> {
    // Only the time counts here. Gates and slots change by events, which wake the dispatcher.
    tx.row(
        "SELECT min(not_before) AS at FROM activation WHERE state = 'pending' AND not_before > $1",
        &[&micros(now)],
    )
    .await?
    .maybe_at("at")
}
