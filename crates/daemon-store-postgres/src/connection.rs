//! Connections: how one is made, and the few that a store keeps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_store::StoreError;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_postgres::{Client, Config, NoTls, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::{TxError, TxResult};
use crate::transaction::TxKind;
use crate::wakeup::drive;

/// How long an operation waits for one of the connections.
const WAIT: Duration = Duration::from_secs(20);

/// What every session sets.
// A host that is stopped in the middle of a transaction keeps its locks only this long. A server whose default would acknowledge a
// commit before it is durable is overruled; a stronger default stays.
const SESSION: &str = "SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
     SET idle_in_transaction_session_timeout = '10s'; SET client_min_messages = 'warning'; \
     SELECT set_config('synchronous_commit', 'on', false) \
     WHERE current_setting('synchronous_commit') IN ('off', 'local')";

/// Begins a transaction whose statements find rows by their keys, in indexes, with one plan for all values.
// Without it, a plan that was made while a table was new and small reads all of it, and is kept until the server has analyzed the
// table, up to minutes later.
pub(crate) const BY_KEY: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL plan_cache_mode = force_generic_plan; \
     SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";

/// How to reach the server.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) tls: Option<Arc<rustls::ClientConfig>>,
}

/// One session on the server.
pub(crate) struct Connection {
    pub(crate) client: Client,
    statements: Mutex<HashMap<String, Statement>>,
    /// Those of groups, whose plans are made with [`BY_KEY`].
    statements_by_key: Mutex<HashMap<String, Statement>>,
    /// The name of its row in `commit_mark`.
    pub(crate) mark: String,
    /// The number of the last transaction that was to be committed.
    pub(crate) n_commits: i64,
    /// Whether the server has the settings of [`BY_KEY`].
    pub(crate) plans_by_key: bool,
    /// Whether its row is gone, so that it can commit nothing more.
    pub(crate) is_spent: bool,
    /// Drives the socket; aborted when the connection is dropped.
    driver: JoinSet<()>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("mark", &self.mark)
            .finish_non_exhaustive()
    }
}

impl Address {
    /// Opens a session that has no mark.
    pub(crate) async fn client(&self) -> TxResult<(Client, JoinSet<()>)> {
        self.listener(Arc::default()).await
    }

    /// Opens a session that has no mark and passes notifications on.
    pub(crate) async fn listener(&self, notified: Arc<Notify>) -> TxResult<(Client, JoinSet<()>)> {
        let mut driver = JoinSet::new();
        // An error of the driver reaches every operation on the client, too.
        let client = match &self.tls {
            None => {
                let (client, socket) = self.config.connect(NoTls).await?;
                driver.spawn(drive(socket, notified));
                client
            }
            Some(tls) => {
                let tls = MakeRustlsConnect::new(rustls::ClientConfig::clone(tls));
                let (client, socket) = self.config.connect(tls).await?;
                driver.spawn(drive(socket, notified));
                client
            }
        };
        client.batch_execute(SESSION).await?;
        Ok((client, driver))
    }
}

impl Connection {
    async fn open(address: &Address) -> TxResult<Self> {
        let (client, driver) = address.client().await?;
        let mark = random_name()?;
        client
            .execute(
                "INSERT INTO commit_mark (connection, n, at) \
                 VALUES ($1, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
                &[&mark],
            )
            .await?;
        let settings = "SELECT count(*) = 4 FROM pg_settings \
             WHERE name IN ('plan_cache_mode', 'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin')";
        let plans_by_key = client.query_one(settings, &[]).await?.try_get(0)?;
        Ok(Self {
            client,
            statements: Mutex::default(),
            statements_by_key: Mutex::default(),
            mark,
            n_commits: 0,
            plans_by_key,
            is_spent: false,
            driver,
        })
    }

    /// Returns a statement, prepared once in a session.
    pub(crate) async fn statement(&self, sql: &str, kind: TxKind) -> TxResult<Statement> {
        let statements = match kind {
            TxKind::Group => &self.statements_by_key,
            TxKind::Write | TxKind::Read => &self.statements,
        };
        let known = statements
            .lock()
            .expect("no holder of the lock panics")
            .get(sql)
            .cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        statements
            .lock()
            .expect("no holder of the lock panics")
            .insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn is_usable(&self) -> bool {
        !self.is_spent && !self.client.is_closed() && !self.driver.is_empty()
    }
}

/// The connections of a store.
#[derive(Debug)]
pub(crate) struct Pool {
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

/// A connection that is in use. Dropped without [`give_back`](Lent::give_back), it is closed, since a transaction may be open.
#[derive(Debug)]
pub(crate) struct Lent {
    connection: Connection,
    idle: Arc<Mutex<Vec<Connection>>>,
    // Dropped after the connection, so that there are never more of them than permits.
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(size)),
            idle: Arc::default(),
        }
    }

    /// Returns an idle connection, or a new one.
    pub(crate) async fn lend(&self, address: &Address) -> TxResult<Lent> {
        let permit = tokio::time::timeout(WAIT, Arc::clone(&self.permits).acquire_owned())
            .await
            .map_err(|error| unavailable("wait for a connection", error))?
            .map_err(|error| unavailable("wait for a connection", error))?;
        let idle = loop {
            let next = self
                .idle
                .lock()
                .expect("no holder of the lock panics")
                .pop();
            match next {
                Some(connection) if !connection.is_usable() => {}
                other => break other,
            }
        };
        let connection = match idle {
            Some(connection) => connection,
            None => Connection::open(address).await?,
        };
        Ok(Lent {
            connection,
            idle: Arc::clone(&self.idle),
            _permit: permit,
        })
    }
}

impl Lent {
    /// Returns the connection, which has no open transaction, for another operation.
    pub(crate) fn give_back(self) {
        let Self {
            connection,
            idle,
            _permit,
        } = self;
        if connection.is_usable() {
            idle.lock()
                .expect("no holder of the lock panics")
                .push(connection);
        }
    }
}

impl std::ops::Deref for Lent {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl std::ops::DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

fn unavailable(context: &str, source: impl std::error::Error + Send + Sync + 'static) -> TxError {
    TxError::Store(StoreError::Unavailable {
        context: context.to_owned(),
        source: Some(Box::new(source)),
    })
}

/// Returns 128 random bits as hexadecimal digits.
fn random_name() -> TxResult<String> {
    let high = getrandom::u64().map_err(|error| unavailable("name a connection", error))?;
    let low = getrandom::u64().map_err(|error| unavailable("name a connection", error))?;
    Ok(format!("{high:016x}{low:016x}"))
}
