//! Long-lived children, all forked and watched by one thread.

mod census;
mod channel;
mod control_group;
mod disk;
mod launch;
mod lines;
mod running;
mod streams;
mod thread;
mod tree;

use std::future::poll_fn;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel, sync_channel};

use crate::{ExitStatus, ProcessId};
use channel::{Bell, Channel};
use launch::Wiring;
use thread::{Order, Started};

pub(crate) use control_group::{ControlGroup, end_groups_of_the_dead};
pub use control_group::{ProcessLimit, process_limit};
pub use launch::{ChildLimits, Launch};
pub use lines::Line;
pub use streams::Connection;
pub(crate) use tree::Leaders;

/// The thread that forks and watches every supervised child.
///
/// The request by which a child dies with its parent belongs to the thread that forked it, so that thread must live as long
/// as the process; it also makes this process the one that orphans of its children are handed to. Clones share it. When
/// the last clone and the last child are dropped, what still runs is stopped and the thread ends.
///
/// Zombies handed over from other sessions are reaped by this thread, so a program that holds a supervisor must not start
/// children in sessions of their own by other means.
#[derive(Debug, Clone)]
pub struct Supervisor {
    orders: Arc<Orders>,
}

#[derive(Debug)]
struct Orders {
    sender: Sender<Order>,
    // Dropped after the sender, so that the thread wakes to find it gone.
    bell: LastRing,
}

#[derive(Debug)]
struct LastRing(Arc<Bell>);

impl Drop for LastRing {
    fn drop(&mut self) {
        self.0.ring();
    }
}

/// A child could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start `{program}`")]
pub struct SpawnError {
    /// The program.
    pub program: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// A child of the supervisor.
///
/// Dropping it stops the child and everything it started.
#[derive(Debug)]
pub struct SupervisedChild {
    id: ProcessId,
    channel: Arc<Channel>,
    // Keeps the supervising thread alive.
    _supervisor: Supervisor,
}

/// What a child did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildEvent {
    /// It printed a line.
    Line {
        /// Where.
        stream: OutputPipe,
        /// What.
        line: Line,
    },
    /// It took more than it may, and is being stopped for that.
    LimitReached(LimitReached),
    /// It, and everything it started, is gone; no event follows.
    Exited {
        /// How it ended.
        status: ExitStatus,
        /// Whether it was being stopped when it ended.
        was_stopped: bool,
        /// Processes that survived SIGKILL, or did not die of it in time.
        leaked: Vec<ProcessId>,
    },
}

/// One of the two output pipes of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputPipe {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A limit on the child's whole tree, or on its directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitReached {
    /// [`ChildLimits::memory_bytes`].
    Memory,
    /// [`ChildLimits::processes`].
    Processes,
    /// [`ChildLimits::disk_bytes`].
    Disk,
}

impl Supervisor {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread or its descriptors could not be had.
    pub fn start() -> io::Result<Self> {
        let bell = Arc::new(Bell::new()?);
        // Unbounded: each sender waits for the answer to its one order.
        let (sender, orders) = channel();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        thread::spawn(orders, Arc::clone(&bell))?;
        Ok(Self {
            orders: Arc::new(Orders {
                sender,
                bell: LastRing(bell),
            }),
        })
    }

    /// Starts a child, blocking until it runs its program or could not.
    ///
    /// # Errors
    /// The program could not be executed, or the sandbox could not be built; nothing runs then.
    pub fn spawn(&self, launch: Launch) -> Result<SupervisedChild, SpawnError> {
        self.order(launch, Wiring::Captured).map(|(child, _)| child)
    }

    /// Starts a child to talk to, blocking like [`Supervisor::spawn`].
    ///
    /// Its standard input and output are handed over, so [`Launch::stdin`] is not used and only its standard error comes as
    /// events. Everything else holds as for any child: limits, sandbox, and its end with everything it started.
    ///
    /// # Errors
    /// The program could not be executed, or the sandbox could not be built; nothing runs then.
    pub fn connect(&self, launch: Launch) -> Result<(SupervisedChild, Connection), SpawnError> {
        let program = launch.program.clone();
        let (child, connection) = self.order(launch, Wiring::Connected)?;
        let source = io::Error::other("the child came without its pipes");
        let connection = connection.ok_or(SpawnError { program, source })?;
        Ok((child, connection))
    }

    fn order(
        &self,
        launch: Launch,
        wiring: Wiring,
    ) -> Result<(SupervisedChild, Option<Connection>), SpawnError> {
        let program = launch.program.clone();
        let channel = Arc::new(Channel::new(Arc::clone(&self.orders.bell.0)));
        let (reply, answer) = sync_channel(1);
        let order = Order {
            launch,
            wiring,
            channel: Arc::clone(&channel),
            reply,
        };
        let gone = |_| io::Error::other("the supervising thread is gone");
        let sent = self
            .orders
            .sender
            .send(order)
            .map_err(|error| gone(error.to_string()));
        self.orders.bell.0.ring();
        sent.and_then(|()| answer.recv().map_err(|error| gone(error.to_string())))
            .and_then(|spawned| spawned)
            .map(|Started { id, connection }| {
                let child = SupervisedChild {
                    id,
                    channel,
                    _supervisor: self.clone(),
                };
                (child, connection)
            })
            .map_err(|source| SpawnError { program, source })
    }
}

impl SupervisedChild {
    /// Returns the child's identity; its process group and session have the same number.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Waits for the next event; `None` after [`ChildEvent::Exited`].
    ///
    /// Works on any executor, and loses no event when its future is dropped. While nobody waits, at most some 64 KiB of
    /// output are queued; then the pipes fill and the child waits.
    pub async fn next(&mut self) -> Option<ChildEvent> {
        poll_fn(|context| self.channel.poll(context)).await
    }

    /// Waits like [`SupervisedChild::next`], blocking the thread.
    pub fn next_blocking(&mut self) -> Option<ChildEvent> {
        self.channel.wait()
    }

    /// Begins to stop the child and everything it started, and returns.
    ///
    /// SIGTERM now, SIGKILL to what is left after 5 seconds. Events go on until [`ChildEvent::Exited`].
    pub fn stop(&self) {
        self.channel.want_stop();
    }
}

impl Drop for SupervisedChild {
    fn drop(&mut self) {
        self.channel.abandon();
    }
}
