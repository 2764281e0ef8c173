//! Hints that there may be work: notifications of the database, with polling behind them.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::tls::TlsStream;
use tokio_postgres::{AsyncMessage, Client, Connection};

use crate::connection::Address;
use crate::failure::TxResult;

/// Why [`Wakeups::next`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// A host, this one or another, has stored something that can be worked on.
    Notified,
    /// The interval of polling is over, whether there is work or not.
    Polled,
}

/// The hints that a host waits for.
///
/// A notification can be lost, for example while the connection is broken. So a host reads its work from the tables after each hint,
/// and a hint comes at the latest after the interval.
#[derive(Debug)]
pub struct Wakeups {
    address: Address,
    interval: Duration,
    /// The operations of this host that make work.
    own_work: Arc<Notify>,
    notified: Arc<Notify>,
    listener: Option<Listener>,
}

/// The session that listens and notifies.
struct Listener {
    client: Arc<Client>,
    _driver: JoinSet<()>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

impl Wakeups {
    pub(crate) fn new(address: Address, interval: Duration, own_work: Arc<Notify>) -> Self {
        Self {
            address,
            interval,
            own_work,
            notified: Arc::new(Notify::new()),
            listener: None,
        }
    }

    /// Returns when there may be work, at the latest after the interval.
    ///
    /// Call it again after the work that was found is done. What is notified in between is not lost.
    pub async fn next(&mut self) -> Wakeup {
        let polled = tokio::time::sleep(self.interval);
        tokio::pin!(polled);
        if self
            .listener
            .as_ref()
            .is_none_or(|it| it.client.is_closed())
        {
            // Without a listener, polling continues; the next call tries again.
            self.listener = tokio::select! {
                listener = self.listen() => listener.ok(),
                () = &mut polled => return Wakeup::Polled,
            };
        }
        let is_alone = self.listener.is_none();
        tokio::select! {
            () = self.notified.notified() => Wakeup::Notified,
            () = self.own_work.notified(), if is_alone => Wakeup::Notified,
            () = &mut polled => Wakeup::Polled,
        }
    }

    async fn listen(&self) -> TxResult<Listener> {
        let (client, mut driver) = self.address.listener(Arc::clone(&self.notified)).await?;
        client.batch_execute("LISTEN daemon_work").await?;
        let client = Arc::new(client);
        driver.spawn(notify(Arc::clone(&client), Arc::clone(&self.own_work)));
        Ok(Listener {
            client,
            _driver: driver,
        })
    }
}

/// Notifies all hosts, this one among them, of what the operations of this host stored.
// Outside of the transactions that made the work: a notification in a transaction makes its commit wait for all others. Many operations
// become one notification.
async fn notify(client: Arc<Client>, own_work: Arc<Notify>) {
    loop {
        own_work.notified().await;
        if client.batch_execute("NOTIFY daemon_work").await.is_err() {
            return;
        }
    }
}

/// Drives a connection to its end, and passes notifications on; the end is one, too.
pub(crate) async fn drive<S, T>(mut connection: Connection<S, T>, notified: Arc<Notify>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: TlsStream + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if matches!(message, AsyncMessage::Notification(_)) {
            notified.notify_one();
        }
    }
    // What is notified until the next session listens is lost.
    notified.notify_one();
}
