//! The store that hosts share, compared with the loop that a user would write over the same server.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use daemon_store_postgres::{PostgresOptions, PostgresStore};
use daemon_store_sqlite::SqliteStore;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use super::store::{PAYLOAD, Steps, Until, cycles};
use crate::host::ask;
use crate::kit::Sample;
use crate::postgres::PostgresServer;
use crate::report::Row;

const N_WORKERS: u64 = 64;
/// What a host has for its operations.
const N_CONNECTIONS: usize = 7;
const ROUND: Duration = Duration::from_secs(5);
const N_ROUNDS: usize = 5;
const MUST_REACH: f64 = 0.7;
const N_IMPORTED: u64 = 100_000;

/// The tables of one cycle.
const WRITTEN: [&str; 5] = ["event", "payload", "identity", "wake", "activation"];

fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?)
}

/// Accepts, matches, claims and completes with 64 workers, in turns with a bare queue.
pub(super) fn activations() -> Result<Row> {
    let server = PostgresServer::start()?;
    let runtime = runtime()?;
    let address = server.address();
    let left = runtime.block_on(left_by_a_cycle(&address))?;
    let n_bytes = left.iter().map(|table| table.n_bytes).sum();
    let mut times = [const { Vec::new() }; 3];
    let mut n_commits = [0.0; 2];
    for round in 0..N_ROUNDS {
        let schema = |name: &str| format!("{name}_{round}");
        let mut committed = vec![runtime.block_on(commits(&address))?];
        let until = Until::Elapsed(ROUND);
        let our_rate = runtime.block_on(ours(&address, &schema("ours"), until))?;
        committed.push(runtime.block_on(commits(&address))?);
        let bare_rate =
            runtime.block_on(bare(&address, &schema("bare"), (N_CONNECTIONS, n_bytes)))?;
        committed.push(runtime.block_on(commits(&address))?);
        for (n, (pair, rate)) in committed.windows(2).zip([our_rate, bare_rate]).enumerate() {
            n_commits[n] += (pair[1] - pair[0]) / (rate * ROUND.as_secs_f64());
        }
        let rates = [
            our_rate,
            bare_rate,
            runtime.block_on(bare(
                &address,
                &schema("wide"),
                (N_WORKERS.try_into()?, n_bytes),
            ))?,
        ];
        for (times, rate) in times.iter_mut().zip(rates) {
            times.push(1e9 / rate);
        }
    }
    let [ours, bare, wide] = times;
    let ours = Sample::of("PostgreSQL, 64 workers on 7 connections", ours);
    let bare = Sample::of("bare `SKIP LOCKED` loop, 64 workers on 7 connections", bare);
    let wide = Sample::of(
        "bare `SKIP LOCKED` loop, 64 workers on 64 connections",
        wide,
    );
    let row = Row::new(
        "fleet-activations",
        "one durable accept, match, claim and complete over PostgreSQL, of 64 workers at once",
        &ours,
    );
    Ok(row
        .compared_with(&ours, &bare)
        .compared_with(&ours, &wide)
        .must_beat(&ours, &bare, MUST_REACH)
        .note(format!(
            "`synchronous_commit=on`. Three steps a cycle in each, acknowledged once they are durable; a row of the bare queue has {n_bytes} bytes, as many \
             as our rows of a cycle. Transactions a cycle: {:.2} of ours, which take along what waits, {:.2} of the bare loop. A cycle with an event of {PAYLOAD} bytes leaves {} rows \
             and {} bytes on the disk with indexes: {}.",
            n_commits[0] / rounds(),
            n_commits[1] / rounds(),
            left.iter().map(|table| table.n_rows).sum::<usize>(),
            left.iter().map(|table| table.n_on_disk).sum::<usize>(),
            left.iter().map(LeftRows::to_string).collect::<Vec<_>>().join(", "),
        )))
}

fn rounds() -> f64 {
    f64::from(u32::try_from(N_ROUNDS).unwrap_or(u32::MAX))
}

/// Returns how many transactions the server has committed.
async fn commits(address: &str) -> Result<f64> {
    // Sessions report their counts at most once a second, and when they end.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let (client, _driver) = connect(address).await?;
    let sql = "SELECT sum(xact_commit)::float8 FROM pg_stat_database";
    Ok(client.query_one(sql, &[]).await?.get(0))
}

/// Imports a home's store with many activations.
pub(super) fn import() -> Result<Row> {
    let server = PostgresServer::start()?;
    let runtime = runtime()?;
    let scratch = tempfile::tempdir()?;
    let home = scratch.path().join("home");
    std::fs::create_dir_all(home.join("run"))?;
    runtime.block_on(async {
        let store = Arc::new(SqliteStore::open(home.join("state.db"))?);
        cycles(&store, N_WORKERS, (Steps::Joined, Until::Done(N_IMPORTED))).await
    })?;
    let begun = Instant::now();
    let store = server.address();
    let answer = ask(&home, scratch.path(), &["import", "--store", &store])?;
    let took = begun.elapsed();
    let rows = |name: &str| {
        let tables = answer["tables"].as_array().into_iter().flatten();
        let mut found = tables.filter(|table| name.is_empty() || table["name"] == name);
        found.try_fold(0, |acc, table| Some(acc + table["rows"].as_u64()?))
    };
    let n_activations = rows("activation").context("the answer names the table")?;
    ensure!(n_activations == N_IMPORTED, "{n_activations} activations");
    let bytes = std::fs::metadata(home.join("state.db"))?.len();
    let whole = Sample::of("import", vec![took.as_secs_f64() * 1e9]);
    Ok(Row::new(
        "fleet-import",
        "import of a home with 100,000 activations into PostgreSQL, every row compared",
        &whole,
    )
    .note(format!(
        "{} rows of all tables, from a file of {} MiB.",
        rows("").unwrap_or_default(),
        bytes / (1024 * 1024)
    )))
}

/// Returns the address of a schema, which serves as a database of its own.
async fn schema(address: &str, name: &str) -> Result<String> {
    let client = connect(address).await?;
    client
        .0
        .batch_execute(&format!("CREATE SCHEMA {name}"))
        .await?;
    Ok(format!("{address}&options=-c%20search_path%3D{name}"))
}

async fn connect(address: &str) -> Result<(Client, JoinSet<()>)> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
    let mut driver = JoinSet::new();
    // Its error reaches the client, too.
    driver.spawn(async move { drop(connection.await) });
    Ok((client, driver))
}

async fn ours(address: &str, name: &str, until: Until) -> Result<f64> {
    let address = schema(address, name).await?;
    let store = PostgresStore::open(&PostgresOptions::new(address, "bench")).await?;
    cycles(&Arc::new(store), N_WORKERS, (Steps::Joined, until)).await
}

/// What one cycle leaves in a table.
struct LeftRows {
    table: &'static str,
    n_rows: usize,
    /// The bytes of the rows.
    n_bytes: usize,
    /// The bytes with indexes, and with the versions of rows that no one sees any more.
    n_on_disk: usize,
}

impl fmt::Display for LeftRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of `{}`", self.n_on_disk, self.table)
    }
}

async fn left_by_a_cycle(address: &str) -> Result<Vec<LeftRows>> {
    const CYCLES: usize = 2_000;
    ours(address, "sized", Until::Done(CYCLES.try_into()?)).await?;
    let (client, _driver) = connect(address).await?;
    let mut left = Vec::new();
    for table in WRITTEN {
        let sql = format!(
            "SELECT count(*), sum(pg_column_size(t.*))::bigint, (SELECT coalesce(sum(pg_total_relation_size(relid)), pg_total_relation_size('sized.{table}'))::bigint \
             FROM pg_partition_tree('sized.{table}')) FROM sized.{table} AS t"
        );
        let row = client.query_one(&sql, &[]).await?;
        let of_a_cycle = |n| anyhow::Ok(usize::try_from(row.get::<_, i64>(n))? / CYCLES);
        left.push(LeftRows {
            table,
            n_rows: of_a_cycle(0)?,
            n_bytes: of_a_cycle(1)?,
            n_on_disk: of_a_cycle(2)?,
        });
    }
    Ok(left)
}

/// A queue as a user would write it: a row is inserted, claimed and completed, each in a transaction.
async fn bare(address: &str, name: &str, (n_connections, n_bytes): (usize, usize)) -> Result<f64> {
    let address = schema(address, name).await?;
    let (client, _driver) = connect(&address).await?;
    client
        .batch_execute(
            "CREATE TABLE job (id BIGINT PRIMARY KEY, state TEXT NOT NULL, body BYTEA NOT NULL); \
             CREATE INDEX job_waiting ON job (id) WHERE state = 'pending'",
        )
        .await?;
    let mut connections = Vec::new();
    for _ in 0..n_connections {
        connections.push(Arc::new(Mutex::new(BareWorker::connect(&address).await?)));
    }
    let numbers = Arc::new(AtomicI64::new(1));
    let body: Arc<[u8]> = vec![b'x'; n_bytes].into();
    let begun = Instant::now();
    let mut workers = JoinSet::new();
    for n in 0..usize::try_from(N_WORKERS)? {
        let worker = Arc::clone(&connections[n % n_connections]);
        let (numbers, body) = (Arc::clone(&numbers), Arc::clone(&body));
        workers.spawn(async move {
            let mut n_done = 0_u32;
            while begun.elapsed() < ROUND {
                let id = numbers.fetch_add(1, Ordering::Relaxed);
                // Each step takes the connection for itself, as a pool gives it.
                worker.lock().await.enqueue(id, &body).await?;
                let claimed = worker.lock().await.claim().await?;
                if let Some(id) = claimed {
                    worker.lock().await.complete(id).await?;
                    n_done += 1;
                }
            }
            anyhow::Ok(n_done)
        });
    }
    let mut n_done = 0.0;
    while let Some(done) = workers.join_next().await {
        n_done += f64::from(done??);
    }
    Ok(n_done / begun.elapsed().as_secs_f64())
}

/// A connection with its statements.
struct BareWorker {
    client: Client,
    statements: [tokio_postgres::Statement; 3],
    _driver: JoinSet<()>,
}

impl BareWorker {
    async fn connect(address: &str) -> Result<Self> {
        let (client, driver) = connect(address).await?;
        let enqueue = client
            .prepare("INSERT INTO job VALUES ($1, 'pending', $2)")
            .await?;
        let claim = client
            .prepare(
                "UPDATE job SET state = 'claimed' WHERE id = (SELECT id FROM job WHERE state = 'pending' \
                 ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id",
            )
            .await?;
        let complete = client
            .prepare("UPDATE job SET state = 'done' WHERE id = $1")
            .await?;
        Ok(Self {
            client,
            statements: [enqueue, claim, complete],
            _driver: driver,
        })
    }

    async fn enqueue(&self, id: i64, body: &[u8]) -> Result<()> {
        let [enqueue, _, _] = &self.statements;
        self.client.execute(enqueue, &[&id, &body]).await?;
        Ok(())
    }

    async fn claim(&self) -> Result<Option<i64>> {
        let [_, claim, _] = &self.statements;
        Ok(self
            .client
            .query_opt(claim, &[])
            .await?
            .map(|row| row.get(0)))
    }

    async fn complete(&self, id: i64) -> Result<()> {
        let [_, _, complete] = &self.statements;
        self.client.execute(complete, &[&id]).await?;
        Ok(())
    }
}
