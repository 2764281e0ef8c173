//! Claims: the lanes in turn, and the oldest ready activation of each.
//!
//! When an activation is ready is decided by `daemon_engine::obstacle`; the queries here repeat that rule in the terms of
//! indexes, and the conformance suite compares both.

use std::collections::BTreeSet;

use async_trait::async_trait;
use daemon_engine::{Activation, Admission, Blame, DAY, Gate, RATE_PERIOD};
use daemon_event::{ActivationId, DaemonKey};
use daemon_store::{ClaimRequest, Matched, Rates, StoreError};
use jiff::Timestamp;

use crate::column::{Columns, instant, integer, micros};
use crate::failure::{TxError, TxResult};
use crate::group::Grouped;
use crate::transaction::{Tx, Value};
use crate::{activation, admission, hosting, lane, registry};

/// How often a claim looks for other lanes after those it had chosen were taken.
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

/// A request for an activation to work on.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) request: ClaimRequest,
    /// What is committed before, if anything; without an admission nothing is claimed then.
    pub(crate) matched: Option<Vec<Matched>>,
    pub(crate) choice: Choice,
}

/// Which activation is claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The next of those whose lanes are not locked.
    Next,
    /// The next, for which the claim waits.
    NextAfterWait,
    This(ActivationId),
}

/// The result of a claim.
#[derive(Debug)]
pub(crate) enum ClaimResult {
    Claimed(Box<Activation>),
    Nothing,
    /// Another transaction has locked the lane of what is ready.
    Locked,
}

impl ClaimResult {
    /// Returns the claimed activation, if there is one.
    pub(crate) fn activation(self) -> Option<Activation> {
        match self {
            Self::Claimed(activation) => Some(*activation),
            Self::Nothing | Self::Locked => None,
        }
    }
}

/// Commits matches and claims activations for many callers.
///
/// All claims of a host come here, one transaction after another, so that its slots and the rule of suspects hold.
#[derive(Debug)]
pub(crate) struct Claiming;

#[async_trait]
impl Grouped for Claiming {
    type Input = Claim;
    type Output = (Vec<Admission>, ClaimResult);

    const CONTEXT: &'static str = "claim activations";

    fn joins(next: &Claim, first: &Claim) -> bool {
        // A claim that waits holds no other lane meanwhile.
        next.choice == Choice::Next
            && first.choice == Choice::Next
            && next.request.at(first.request.now) == first.request
    }

    async fn run(
        tx: &Tx,
        inputs: &[Claim],
    ) -> TxResult<Vec<Result<(Vec<Admission>, ClaimResult), StoreError>>> {
        let now = inputs.iter().map(|one| one.request.now).max();
        let request = inputs[0].request.at(now.unwrap_or(inputs[0].request.now));
        let matched: Vec<Matched> = inputs
            .iter()
            .flat_map(|one| one.matched.clone().unwrap_or_default())
            .collect();
        let n_of = |one: &Claim| one.matched.as_ref().map_or(0, Vec::len);
        let mut admitted = admission::match_all(tx, matched, request.now)
            .await?
            .into_iter();
        let admissions: Vec<Vec<Admission>> = inputs
            .iter()
            .map(|one| admitted.by_ref().take(n_of(one)).flatten().collect())
            .collect();
        let claims =
            |one: &Claim, admissions: &[Admission]| one.matched.is_none() || !admissions.is_empty();
        let n_claims = inputs
            .iter()
            .zip(&admissions)
            .filter(|(one, admissions)| claims(one, admissions))
            .count();
        let (claimed, is_locked) = match &inputs[0].choice {
            _ if n_claims == 0 => (Vec::new(), false),
            Choice::This(id) => (claim_one(tx, id, &request).await?, false),
            choice => claim(tx, &request, (n_claims, choice)).await?,
        };
        let mut claimed = claimed.into_iter();
        let results = inputs.iter().zip(admissions).map(|(one, admissions)| {
            let result = match claims(one, &admissions) {
                false => ClaimResult::Nothing,
                true => match claimed.next() {
                    Some(activation) => ClaimResult::Claimed(Box::new(activation)),
                    None if is_locked => ClaimResult::Locked,
                    None => ClaimResult::Nothing,
                },
            };
            Ok((admissions, result))
        });
        Ok(results.collect())
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

/// Claims up to some number of activations; reports also whether another transaction has locked what else is ready.
async fn claim(
    tx: &Tx,
    request: &ClaimRequest,
    (n_wanted, choice): (usize, &Choice),
) -> TxResult<(Vec<Activation>, bool)> {
    let n_wanted = n_wanted.min(host_room(tx, request).await?);
    let mut claimed = Vec::new();
    let mut is_locked = false;
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
            if claimed.len() == n_wanted {
                break;
            }
            if look == MAX_LOOKS + n_wanted {
                return Err(TxError::Overtaken);
            }
            let limits = Limits::of(tx, request).await?;
            let n_more = n_wanted - claimed.len();
            let lanes = match free_lanes(tx, &ready, (&limits, n_more)).await? {
                free if free.is_empty() => match foremost_lane(tx, &ready, &limits).await? {
                    None => break,
                    Some(lane) if *choice == Choice::NextAfterWait && claimed.is_empty() => {
                        lane::lock(tx, &lane).await?;
                        vec![lane]
                    }
                    Some(_) => {
                        is_locked = true;
                        break;
                    }
                },
                free => free,
            };
            let ids = still_ready(tx, &ready, (&limits, &lanes)).await?;
            claimed.extend(lease(tx, &ids, request).await?);
        }
    }
    Ok((claimed, is_locked))
}

/// Locks the foremost lanes that have a ready activation and that no other transaction has locked.
async fn free_lanes(
    tx: &Tx,
    ready: &str,
    (limits, n_wanted): (&Limits, usize),
) -> TxResult<Vec<DaemonKey>> {
    let sql = format!("{ready} ORDER BY l.turn LIMIT $7 FOR UPDATE OF l SKIP LOCKED");
    let [now, subject, hour, suspects, slots, rate] = limits.values();
    let limit = integer(n_wanted);
    let values: [Value<'_>; 7] = [now, subject, hour, suspects, slots, rate, &limit];
    let rows = tx.rows(&sql, &values).await?;
    rows.iter().map(Columns::daemon).collect()
}

/// Returns the foremost lane that has a ready activation, locked or not.
async fn foremost_lane(tx: &Tx, ready: &str, limits: &Limits) -> TxResult<Option<DaemonKey>> {
    let sql = format!("{ready} ORDER BY l.turn LIMIT 1");
    let row = tx.maybe_row(&sql, &limits.values()).await?;
    row.map(|row| row.daemon()).transpose()
}

/// Returns what is ready in locked lanes, in their order: another claim may have been faster before they were locked.
async fn still_ready(
    tx: &Tx,
    ready: &str,
    (limits, lanes): (&Limits, &[DaemonKey]),
) -> TxResult<Vec<ActivationId>> {
    let [now, subject, hour, suspects, slots, rate] = limits.values();
    let repos: Vec<&str> = lanes.iter().map(|key| key.repo.as_str()).collect();
    let ids: Vec<&str> = lanes.iter().map(|key| key.id.as_str()).collect();
    let rows = tx
        .rows(
            &format!(
                "{ready} AND (l.repo, l.daemon) IN (SELECT * FROM unnest($7::text[], $8::text[])) ORDER BY l.turn"
            ),
            &[now, subject, hour, suspects, slots, rate, &repos, &ids],
        )
        .await?;
    rows.iter().map(|row| row.word("id")).collect()
}

async fn claim_one(
    tx: &Tx,
    id: &ActivationId,
    request: &ClaimRequest,
) -> TxResult<Vec<Activation>> {
    if host_room(tx, request).await? == 0 || activation::find(tx, id).await?.is_none() {
        return Ok(Vec::new());
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
        Some(_) => lease(tx, std::slice::from_ref(id), request).await,
        None => Ok(Vec::new()),
    }
}

/// Returns how many more activations the host may begin.
async fn host_room(tx: &Tx, request: &ClaimRequest) -> TxResult<usize> {
    let n_leased = tx
        .row(
            "SELECT count(*) AS n FROM activation WHERE state IN ('claimed', 'running') AND host = $1",
            &[&tx.own.host],
        )
        .await?
        .number("n")?;
    let n_free = usize::try_from(i64::from(request.host_slots) - n_leased).unwrap_or(0);
    if n_free == 0
        || hosting::gate(tx).await? != Gate::Open
        || !is_within_host_rate(tx, request.rates, request.now).await?
    {
        return Ok(0);
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
            return Ok(0);
        }
    }
    Ok(n_free)
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

/// Leases activations of locked lanes for the revisions that their daemons have now, in order.
async fn lease(tx: &Tx, ids: &[ActivationId], request: &ClaimRequest) -> TxResult<Vec<Activation>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = ids.iter().map(ActivationId::as_str).collect();
    let condition = "a.id = ANY($1) ORDER BY array_position($1, a.id) FOR UPDATE OF a";
    let mut found = activation::select(tx, condition, &[&names]).await?;
    // One suspect at a time; the next look does not see another.
    let mut n_suspects = 0;
    found.retain(|one| {
        let is_suspect = one.activation.blame != Blame::default();
        n_suspects += usize::from(is_suspect);
        !is_suspect || n_suspects == 1
    });
    let daemons: Vec<DaemonKey> = found
        .iter()
        .map(|one| one.activation.daemon.clone())
        .collect();
    let daemons: Vec<&DaemonKey> = daemons.iter().collect();
    let revs = registry::revs(tx, &daemons).await?;
    lane::move_to_end(tx, &daemons).await?;
    let span = micros(request.lease_until) - micros(request.now);
    let until = instant("lease_until", tx.lease_now(request.now).await? + span)?;
    for one in &mut found {
        let rev = revs.get(&one.activation.daemon).ok_or(TxError::Overtaken)?;
        one.activation.lease(request.owner, until, rev);
        one.host = Some(tx.own.host.clone());
        one.lease_span = Some(span);
    }
    activation::update_all(tx, &mut found).await?;
    Ok(found.into_iter().map(|one| one.activation).collect())
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
