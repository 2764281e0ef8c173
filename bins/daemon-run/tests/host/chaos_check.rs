//! What hosts promise while they are disturbed, checked over the rows of their database.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use daemon_engine::{AttemptEnd, AttemptOutcome, RunLease};
use daemon_fakes::GithubComment;
use daemon_store::{Activations as _, StoreError};
use daemon_store_postgres::{PostgresOptions, PostgresStore};
use tokio_postgres::Client;

use crate::postgres::{runtime, with_client};

/// How often the leases are read.
const LOOK: Duration = Duration::from_millis(300);
/// A lease lasts 60 s, and hosts look for expired ones every 15 s.
pub(crate) const TAKEOVER: f64 = 75.0;
const LEASE: f64 = 60.0;
/// How far the looks may be off.
const BLUR: f64 = 2.0;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) n_events: usize,
    pub(crate) n_activations: usize,
    pub(crate) n_ticks: usize,
    /// Leases that another holder took.
    pub(crate) n_taken: usize,
    /// Writes under a lost lease that were refused.
    pub(crate) n_refused: usize,
    /// The longest time from the last renewal of a lease until another holder took it, without the time that the database was down.
    pub(crate) slowest_takeover: f64,
    /// Acknowledged events that are missing.
    pub(crate) lost: Vec<String>,
    /// Deliveries that are two events.
    pub(crate) double_events: Vec<String>,
    /// Events that did not become one activation that succeeded.
    pub(crate) astray: Vec<String>,
    /// Activations that do not have the results of one run, of the host that held them last.
    pub(crate) kept_twice: Vec<String>,
    /// Minutes with no tick, or more than one.
    pub(crate) bad_ticks: Vec<String>,
    /// Outputs that were not confirmed, and issues of acknowledged events without a comment.
    pub(crate) undelivered: Vec<String>,
    /// Issues with several comments of the daemon.
    pub(crate) delivered_twice: Vec<String>,
    pub(crate) stale_accepted: Vec<String>,
    /// Runs that were taken from a host that was not disturbed.
    pub(crate) taken_from_the_living: Vec<String>,
    /// What had not ended when patience did.
    pub(crate) unfinished: Vec<String>,
}

impl Findings {
    /// Reports whether every promise was kept.
    pub(crate) fn is_clean(&self) -> bool {
        let lists = [
            &self.lost,
            &self.double_events,
            &self.astray,
            &self.kept_twice,
            &self.bad_ticks,
            &self.undelivered,
            &self.delivered_twice,
            &self.stale_accepted,
            &self.taken_from_the_living,
            &self.unfinished,
        ];
        lists.iter().all(|list| list.is_empty()) && self.slowest_takeover <= TAKEOVER + BLUR
    }

    /// Compares the comments on the surface with the acknowledged events: one for each.
    pub(crate) fn compare_comments(
        &mut self,
        acknowledged: &BTreeMap<u64, String>,
        comments: &[GithubComment],
    ) {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for comment in comments {
            *counts.entry(comment.issue).or_default() += 1;
        }
        let without = acknowledged.keys().filter(|n| !counts.contains_key(n));
        self.undelivered
            .extend(without.map(|n| format!("no comment on issue {n}")));
        let twice = counts.iter().filter(|(_, count)| **count > 1);
        self.delivered_twice = twice
            .map(|(n, count)| format!("{count} comments on issue {n}"))
            .collect();
    }
}

/// A time in microseconds since 1970, open at its end.
#[derive(Clone, Copy, Debug)]
struct Span {
    begun: i64,
    ended: Option<i64>,
}

impl Span {
    fn now() -> Self {
        Self {
            begun: micros(),
            ended: None,
        }
    }

    fn overlap(self, from: i64, to: i64) -> i64 {
        (self.ended.unwrap_or(i64::MAX).min(to) - self.begun.max(from)).max(0)
    }
}

fn micros() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.expect("the clock is right").as_micros()).expect("it fits")
}

fn seconds(micros: i64) -> f64 {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0)).as_secs_f64()
}

/// What was seen and done so far.
#[derive(Debug, Default)]
struct Seen {
    /// The lease and the host of what is leased, by id.
    leases: HashMap<String, (i64, String)>,
    downs: Vec<Span>,
    /// The times that each host was disturbed.
    disturbed: BTreeMap<usize, Vec<Span>>,
    findings: Findings,
}

/// Looks at the leases of a database all the time.
#[derive(Debug)]
pub(crate) struct Watcher {
    store: String,
    homes: Vec<String>,
    seen: Arc<Mutex<Seen>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    pub(crate) fn start(store: String, homes: Vec<String>) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (address, shared, over) = (store.clone(), Arc::clone(&seen), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            runtime().block_on(async {
                let options = PostgresOptions::new(&address, "prober");
                let prober = PostgresStore::open(&options).await.expect("it opens");
                while !over.load(Ordering::Relaxed) {
                    if let Ok((client, connection)) =
                        tokio_postgres::connect(&address, tokio_postgres::NoTls).await
                    {
                        let mut driver = tokio::task::JoinSet::new();
                        driver.spawn(connection);
                        // Until the database is killed.
                        while !over.load(Ordering::Relaxed)
                            && look(&client, &prober, &shared).await.is_some()
                        {
                            tokio::time::sleep(LOOK).await;
                        }
                    }
                    tokio::time::sleep(LOOK).await;
                }
            });
        });
        Self {
            store,
            homes,
            seen,
            is_over,
            thread: Some(thread),
        }
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().expect("no holder panics"));
    }

    pub(crate) fn database_down(&self) {
        self.note(|seen| seen.downs.push(Span::now()));
    }

    pub(crate) fn database_up(&self) {
        self.note(|seen| end(seen.downs.last_mut()));
    }

    pub(crate) fn disturbed(&self, host: usize) {
        self.note(|seen| seen.disturbed.entry(host).or_default().push(Span::now()));
    }

    pub(crate) fn restored(&self, host: usize) {
        self.note(|seen| end(seen.disturbed.entry(host).or_default().last_mut()));
    }

    /// Waits until everything has ended, and checks what was recorded.
    pub(crate) fn settled(
        &mut self,
        acknowledged: &BTreeMap<u64, String>,
        patience: Duration,
    ) -> Findings {
        let unfinished = runtime().block_on(with_client(&self.store, async |client| {
            let (mut begun, mut n_left) = (Instant::now(), usize::MAX);
            loop {
                let left = texts(
                    client,
                    "SELECT id || ' ' || state || ' ' || coalesce(reason, '') FROM activation WHERE finished_at IS NULL \
                     UNION ALL SELECT 'event ' || id FROM event WHERE due",
                )
                .await;
                if left.is_empty() || begun.elapsed() > patience {
                    return left;
                }
                // What ends begins the wait again: a slow machine may have much left.
                if left.len() < n_left {
                    (begun, n_left) = (Instant::now(), left.len());
                }
                tokio::time::sleep(LOOK).await;
            }
        }));
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the watcher does not panic");
        }
        let mut seen = std::mem::take(&mut *self.seen.lock().expect("no holder panics"));
        seen.findings.unfinished = unfinished;
        runtime().block_on(with_client(&self.store, async |client| {
            check(client, acknowledged, &mut seen.findings).await;
            check_takings(client, &self.homes, &mut seen).await;
        }));
        seen.findings
    }
}

fn end(span: Option<&mut Span>) {
    span.expect("it was begun").ended = Some(micros());
}

async fn texts(client: &Client, sql: &str) -> Vec<String> {
    let rows = client.query(sql, &[]).await.expect("a query");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Compares what is leased with the look before; `None` if the database is away.
async fn look(client: &Client, prober: &PostgresStore, shared: &Mutex<Seen>) -> Option<()> {
    let rows = client
        .query(
            "SELECT id, run_lease, coalesce(host, ''), coalesce(lease_until, 0) FROM activation \
             WHERE state IN ('claimed', 'running')",
            &[],
        )
        .await
        .ok()?;
    let now = micros();
    let mut leased = HashMap::new();
    let mut taken = Vec::new();
    {
        let mut seen = shared.lock().expect("no holder panics");
        for row in &rows {
            let (id, lease, host): (String, i64, String) = (row.get(0), row.get(1), row.get(2));
            let until: i64 = row.get(3);
            let down: i64 = seen.downs.iter().map(|down| down.overlap(until, now)).sum();
            let since_renewal = LEASE + seconds(now - until - down);
            if now > until {
                let slowest = &mut seen.findings.slowest_takeover;
                *slowest = slowest.max(since_renewal);
            }
            if let Some(before) = seen.leases.get(&id)
                && *before != (lease, host.clone())
            {
                taken.push((id.clone(), before.0));
            }
            leased.insert(id, (lease, host));
        }
        // What is pending meanwhile was taken as well, once another host begins it.
        for (id, lease) in leased {
            seen.leases.insert(id, lease);
        }
        seen.findings.n_taken += taken.len();
    }
    for (id, lease) in taken {
        probe(prober, (&id, lease), shared).await;
    }
    Some(())
}

/// Writes under a lease that was lost, as a host does that was paused.
async fn probe(prober: &PostgresStore, (id, lease): (&str, i64), shared: &Mutex<Seen>) {
    let end = AttemptEnd::new(AttemptOutcome::Done, jiff::Timestamp::now(), 0);
    let lease_number = RunLease(u64::try_from(lease).expect("a lease is not negative"));
    let id = id.parse().expect("an id");
    let ended = prober.end_attempt(&id, lease_number, end).await;
    let mut seen = shared.lock().expect("no holder panics");
    match ended {
        Err(StoreError::LeaseLost) => seen.findings.n_refused += 1,
        Ok(_) => seen.findings.stale_accepted.push(format!("{id} {lease}")),
        // The database was killed meanwhile: nothing was written.
        Err(_) => {}
    }
}

async fn check(client: &Client, acknowledged: &BTreeMap<u64, String>, findings: &mut Findings) {
    let stored = texts(client, "SELECT id FROM event WHERE kind = 'issues'").await;
    findings.n_events = stored.len();
    let stored: BTreeSet<&String> = stored.iter().collect();
    let lost = acknowledged.values().filter(|id| !stored.contains(id));
    findings.lost = lost.cloned().collect();
    findings.double_events = texts(
        client,
        "SELECT delivery || ': ' || count(*) FROM event WHERE kind = 'issues' GROUP BY delivery HAVING count(*) > 1",
    )
    .await;
    findings.astray = texts(
        client,
        "SELECT e.id || ': ' || count(a.id) || ' ' || coalesce(min(a.state), '') FROM event AS e \
         LEFT JOIN wake AS w ON w.key = 'event:' || e.id LEFT JOIN activation AS a ON a.id = w.activation \
         WHERE e.kind = 'issues' GROUP BY e.id HAVING count(a.id) <> 1 OR min(a.state) <> 'succeeded'",
    )
    .await;
    // A host that was paused may store the end of a run whose activation was taken from it: only its results are not kept.
    findings.kept_twice = texts(
        client,
        "SELECT a.id || ': ' || string_agg(r.state || ' ' || r.host, ', ' ORDER BY r.number) \
         FROM activation AS a JOIN run AS r ON r.activation = a.id GROUP BY a.id, a.host \
         HAVING count(*) FILTER (WHERE r.state = 'done' AND r.host = a.host) = 0 \
         UNION ALL SELECT a.id || ': ' || count(o.key) || ' outputs' FROM activation AS a \
         LEFT JOIN output AS o ON o.activation = a.id WHERE a.daemon = 'opened' GROUP BY a.id HAVING count(o.key) <> 1",
    )
    .await;
    findings.undelivered = texts(
        client,
        "SELECT key || ': ' || state || ' ' || coalesce(error, '') FROM output WHERE state <> 'confirmed'",
    )
    .await;
    findings.n_activations = texts(client, "SELECT id FROM activation").await.len();
    let ticks =
        "SELECT scheduled_at / 60000000 AS minute, count FROM tick WHERE outcome <> 'retracted'";
    findings.n_ticks = texts(client, &format!("SELECT minute::text FROM ({ticks}) AS t"))
        .await
        .len();
    // A row counts the minutes that it covers, the last of which it names.
    findings.bad_ticks = texts(
        client,
        &format!(
            "WITH t AS ({ticks}), covered AS (SELECT minute - n AS minute FROM t, generate_series(0, count - 1) AS n) \
             SELECT every.minute || ': ' || count(c.minute) FROM generate_series((SELECT min(minute) FROM covered), \
             (SELECT max(minute) FROM covered)) AS every (minute) LEFT JOIN covered AS c USING (minute) \
             GROUP BY every.minute HAVING count(c.minute) <> 1"
        ),
    )
    .await;
}

/// Finds runs that were taken away from hosts that were neither dead nor paused.
async fn check_takings(client: &Client, homes: &[String], seen: &mut Seen) {
    let rows = client
        .query(
            "SELECT id, host, started_at, coalesce(finished_at, started_at) FROM run WHERE state = 'unknown'",
            &[],
        )
        .await
        .expect("a query");
    for row in &rows {
        let (id, host): (String, String) = (row.get(0), row.get(1));
        let (begun, ended): (i64, i64) = (row.get(2), row.get(3));
        let number = homes.iter().position(|home| host.ends_with(home));
        let spans = number.and_then(|number| seen.disturbed.get(&number));
        // A run is stored a moment after it began.
        let mut spans = spans.into_iter().flatten();
        if !spans.any(|span| span.overlap(begun - 1_000_000, ended) > 0) {
            let taken = &mut seen.findings.taken_from_the_living;
            taken.push(format!("{id} of {host}"));
        }
    }
}

#[test]
fn a_comment_that_is_there_twice_or_not_at_all_is_found() {
    let comment = |issue| GithubComment {
        id: 1,
        issue,
        author: "helper-bot".to_owned(),
        body: "Read.".to_owned(),
        created_at: Duration::ZERO,
        updated_at: Duration::ZERO,
    };
    let acknowledged = BTreeMap::from([1, 2, 3].map(|n| (n, format!("e-{n}"))));
    let mut findings = Findings::default();
    findings.compare_comments(&acknowledged, &[1, 3, 3].map(comment));
    assert_eq!(findings.undelivered, ["no comment on issue 2"]);
    assert_eq!(findings.delivered_twice, ["2 comments on issue 3"]);
    assert!(!findings.is_clean());
}
