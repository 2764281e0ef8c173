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
use tokio_postgres::Row;

use crate::activation::{self, Turns};
use crate::column::{Columns as _, instant, integer, micros};
use crate::failure::{TxError, TxResult};
use crate::group::Grouped;
use crate::options::LeaseClock;
use crate::store::NOW;
use crate::transaction::{Tx, Value};
use crate::{admission, lane, registry};

/// How often a claim looks for other lanes after those it had chosen were taken.
const MAX_LOOKS: usize = 16;

/// Returns the SQL condition that an activation `a` of a lane `l` is ready and the lane may begin another.
///
/// `$1` is the present and `$2` whether activations that may have crashed a host may start. What the configuration sets is part of the
/// text: a statement then reads nothing for a limit that is not set, and keeps its plan.
fn is_ready(request: &ClaimRequest) -> String {
    let hour = RATE_PERIOD.as_micros();
    let began = |of: &str, more: &str| {
        format!(
            "(SELECT count(*) FROM activation AS c WHERE c.repo = {of}.repo AND c.daemon = {of}.daemon {more} \
             AND c.started_at > $1 - {hour} AND c.started_at <= $1)"
        )
    };
    let subject_rate = request.rates.subject.map(|rate| {
        let n = began("a", "AND c.subject = a.subject");
        format!(" AND (a.subject = '' OR a.has_tick OR {n} < {rate})")
    });
    let daemon_rate = request.rates.daemon;
    let daemon_rate = daemon_rate.map(|rate| format!(" AND {} < {rate}", began("l", "")));
    format!(
        "a.state = 'pending' AND a.not_before <= $1 AND ($2 OR NOT (a.host_crashes > 0 OR a.crashes_alone > 0)) \
         AND (l.busy = 0 OR NOT EXISTS (SELECT 1 FROM activation AS b WHERE b.repo = a.repo AND b.daemon = a.daemon \
           AND b.subject = a.subject AND b.state IN ('claimed', 'running', 'delivering'))) \
         AND l.ready AND l.leased < {}{}{}",
        request.daemon_slots,
        subject_rate.unwrap_or_default(),
        daemon_rate.unwrap_or_default()
    )
}

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

/// What holds for all activations of a claim.
struct Room {
    /// How many more activations the host may begin.
    n_free: usize,
    /// Whether an activation that may have crashed a host may start: one at a time.
    may_suspect_start: bool,
    /// Whether a person asked for one that is pending.
    has_person: bool,
}

/// An activation that was ready when its lane was chosen.
type Pick = (DaemonKey, ActivationId);

/// Claims up to some number of activations; reports also whether another transaction has locked what else is ready.
async fn claim(
    tx: &Tx,
    request: &ClaimRequest,
    (n_wanted, choice): (usize, &Choice),
) -> TxResult<(Vec<Activation>, bool)> {
    let mut room = Room::of(tx, request).await?;
    let n_wanted = n_wanted.min(room.n_free);
    let is_ready = is_ready(request);
    let mut claimed = Vec::new();
    let mut is_locked = false;
    // Requests of persons come first.
    for (has_person, waiting) in [("true", "l.persons"), ("false", "l.pending")] {
        if has_person == "true" && !room.has_person {
            continue;
        }
        // In the words of the partial indexes of lanes, which are ordered by `turn`.
        let ready = format!(
            "SELECT l.repo, l.daemon, x.id FROM lane AS l CROSS JOIN LATERAL (\
               SELECT a.id FROM activation AS a WHERE a.repo = l.repo AND a.daemon = l.daemon \
               AND a.has_person = {has_person} AND {is_ready} ORDER BY a.number LIMIT 1) AS x \
             WHERE {waiting} > 0 AND l.ready"
        );
        for look in 0.. {
            if claimed.len() == n_wanted {
                break;
            }
            if look == MAX_LOOKS + n_wanted {
                return Err(TxError::Overtaken);
            }
            let n_more = n_wanted - claimed.len();
            let picks = match free_lanes(tx, &ready, (request, &room), n_more).await? {
                free if free.is_empty() => match foremost_lane(tx, &ready, (request, &room)).await?
                {
                    None => break,
                    Some(pick) if *choice == Choice::NextAfterWait && claimed.is_empty() => {
                        lane::lock(tx, &pick.0).await?;
                        vec![pick]
                    }
                    Some(_) => {
                        is_locked = true;
                        break;
                    }
                },
                free => free,
            };
            claimed.extend(lease(tx, &picks, (request, &mut room)).await?);
        }
    }
    Ok((claimed, is_locked))
}

/// Locks the foremost lanes that have a ready activation and that no other transaction has locked.
async fn free_lanes(
    tx: &Tx,
    ready: &str,
    (request, room): (&ClaimRequest, &Room),
    n_wanted: usize,
) -> TxResult<Vec<Pick>> {
    let sql = format!("{ready} ORDER BY l.turn LIMIT $3 FOR UPDATE OF l SKIP LOCKED");
    let (now, limit) = (micros(request.now), integer(n_wanted));
    let rows = tx
        .rows(&sql, &[&now, &room.may_suspect_start, &limit])
        .await?;
    rows.iter().map(read_pick).collect()
}

/// Returns the foremost lane that has a ready activation, locked or not.
async fn foremost_lane(
    tx: &Tx,
    ready: &str,
    (request, room): (&ClaimRequest, &Room),
) -> TxResult<Option<Pick>> {
    let sql = format!("{ready} ORDER BY l.turn LIMIT 1");
    let values: [Value<'_>; 2] = [&micros(request.now), &room.may_suspect_start];
    let row = tx.maybe_row(&sql, &values).await?;
    row.as_ref().map(read_pick).transpose()
}

fn read_pick(row: &Row) -> TxResult<Pick> {
    Ok((row.daemon()?, row.word("id")?))
}

async fn claim_one(
    tx: &Tx,
    id: &ActivationId,
    request: &ClaimRequest,
) -> TxResult<Vec<Activation>> {
    let mut room = Room::of(tx, request).await?;
    if room.n_free == 0 {
        return Ok(Vec::new());
    }
    match activation::find(tx, id).await? {
        Some(found) => {
            let pick = (found.activation.daemon, id.clone());
            lease(tx, &[pick], (request, &mut room)).await
        }
        None => Ok(Vec::new()),
    }
}

impl Room {
    async fn of(tx: &Tx, request: &ClaimRequest) -> TxResult<Self> {
        let row = tx
            .row(
                "SELECT (SELECT count(*) FROM activation WHERE state IN ('claimed', 'running') AND host = $1) AS n_leased, \
                 coalesce((SELECT gate FROM host WHERE name = $1), 'open') AS gate, \
                 EXISTS (SELECT 1 FROM activation WHERE (host_crashes > 0 OR crashes_alone > 0) \
                   AND state IN ('claimed', 'running') AND host = $1) AS has_suspect, \
                 EXISTS (SELECT 1 FROM lane WHERE ready AND persons > 0) AS has_person",
                &[&tx.own.host],
            )
            .await?;
        let n_free = i64::from(request.host_slots) - row.number("n_leased")?;
        let is_open = n_free > 0
            && row.word::<Gate>("gate")? == Gate::Open
            && is_within_host_rate(tx, request.rates, request.now).await?
            && is_within_budget(tx, request).await?;
        Ok(Self {
            n_free: match is_open {
                true => usize::try_from(n_free).unwrap_or(0),
                false => 0,
            },
            may_suspect_start: !row.flag("has_suspect")?,
            has_person: row.flag("has_person")?,
        })
    }
}

/// Reports whether the budget of the day has something left. Asked last, since it adds up a day of rows; other checks read single rows
/// or an index.
async fn is_within_budget(tx: &Tx, request: &ClaimRequest) -> TxResult<bool> {
    let Some(limit) = request.day_usd else {
        return Ok(true);
    };
    let row = tx
        .row(
            "SELECT coalesce(sum(cost_usd), 0) AS spent FROM activation WHERE started_at > $1",
            &[&micros(request.now - DAY)],
        )
        .await?;
    Ok(row.try_get::<_, f64>("spent")? < limit)
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

/// Leases those of some activations of locked lanes that are still ready, for the revisions that their daemons have now, in order.
///
/// Another claim may have taken one before its lane was locked here.
async fn lease(
    tx: &Tx,
    picks: &[Pick],
    (request, room): (&ClaimRequest, &mut Room),
) -> TxResult<Vec<Activation>> {
    let ids: Vec<&str> = picks.iter().map(|(_, id)| id.as_str()).collect();
    let repos: Vec<&str> = picks.iter().map(|(key, _)| key.repo.as_str()).collect();
    let daemons: Vec<&str> = picks.iter().map(|(key, _)| key.id.as_str()).collect();
    let select = format!(
        "SELECT {} FROM activation AS a JOIN lane AS l ON l.repo = a.repo AND l.daemon = a.daemon \
         WHERE a.id = ANY($3) AND {} ORDER BY array_position($3, a.id) FOR UPDATE OF a",
        activation::COLUMNS,
        is_ready(request)
    );
    let now = micros(request.now);
    let [rows, triggers, revs, clock] = tx
        .rows_of_each([
            (&select, &[&now, &room.may_suspect_start, &ids]),
            (activation::TRIGGERS, &[&ids]),
            (registry::REVS, &[&repos, &daemons]),
            (NOW, &[]),
        ])
        .await?;
    let mut found = activation::read_with(&rows, &triggers)?;
    // One suspect at a time; the next look does not see another.
    found.retain(|one| {
        let is_suspect = one.activation.blame != Blame::default();
        let may_start = !is_suspect || room.may_suspect_start;
        room.may_suspect_start &= !is_suspect;
        may_start
    });
    let revs = registry::read_revs(&revs)?;
    let span = micros(request.lease_until) - now;
    let begun = match tx.own.lease_clock {
        LeaseClock::Caller => now,
        LeaseClock::Database => clock.first().ok_or(TxError::Overtaken)?.number("now")?,
    };
    let until = instant("lease_until", begun + span)?;
    for one in &mut found {
        let rev = revs.get(&one.activation.daemon).ok_or(TxError::Overtaken)?;
        one.activation.lease(request.owner, until, rev);
        one.host = Some(tx.own.host.clone());
        one.lease_span = Some(span);
    }
    activation::update_all(tx, &mut found, Turns::MovedToEnd).await?;
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
