//! Long-lived children, all started and supervised by one thread.

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

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel, sync_channel};

use crate::{ExitStatus, ProcessId};
use channel::{Bell, Channel};
use launch::Wiring;
use thread::Order;

pub(crate) use control_group::{ControlGroup, end_groups_of_the_dead};
pub use control_group::{ProcessLimit, process_limit};
pub use launch::{ChildLimits, Launch, PortServer};
pub use lines::ChildLine;
pub use streams::ChildPipes;
pub(crate) use tree::Leaders;

/// The thread that starts and supervises children.
///
/// The kernel's request to kill a child with its parent belongs to the thread that started it, so that thread lives as long as the
/// process. It also makes this process the reaper of its children's orphans. Clones share the thread. When the last clone and the
/// last child are dropped, running children are stopped and the thread ends.
///
/// The thread reaps zombies from other sessions, so a program with a supervisor must not start children in sessions of their own by
/// other means.
#[derive(Debug, Clone)]
pub struct Supervisor {
    orders: Arc<Orders>,
}

#[derive(Debug)]
struct Orders {
    sender: Sender<Order>,
    // Dropped after the sender, so that the thread finds the channel closed when it wakes.
    bell: LastRing,
}

#[derive(Debug)]
struct LastRing(Arc<Bell>);

impl Drop for LastRing {
    fn drop(&mut self) {
        self.0.ring();
    }
}

/// The error of starting a child.
#[derive(Debug, thiserror::Error)]
#[error("cannot start `{program}`")]
pub struct SpawnError {
    /// The program's path.
    pub program: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// A supervised child.
///
/// Dropping it stops the child and everything it started.
#[derive(Debug)]
pub struct SupervisedChild {
    id: ProcessId,
    channel: Arc<Channel>,
    // Ends the serving of the child's ports when it is dropped.
    serving: Option<Serving>,
    // Keeps the supervising thread running.
    _supervisor: Supervisor,
}

struct Serving(#[expect(dead_code, reason = "it is kept for its `Drop`")] Box<dyn Send + Sync>);

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Serving")
    }
}

/// An event of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildEvent {
    /// The child printed a line.
    Line {
        /// The stream of the line.
        stream: OutputPipe,
        /// The line without its line end.
        line: ChildLine,
    },
    /// The child exceeded a limit and is being stopped for it.
    LimitReached(LimitReached),
    /// The child and everything it started have ended; no event follows.
    Exited {
        /// The exit status of the child.
        status: ExitStatus,
        /// Whether the child was being stopped when it ended.
        was_stopped: bool,
        /// Processes that were still running after the timeout for SIGKILL.
        leaked: Vec<ProcessId>,
    },
}

/// An output stream of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputPipe {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A limit on the child's process tree or its directories.
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
    /// Starts the supervising thread.
    ///
    /// # Errors
    /// Returns an error if the thread or its descriptors cannot be created.
    pub fn start() -> io::Result<Self> {
        let bell = Arc::new(Bell::new()?);
        // Unbounded: every sender waits for the reply to its only order, so the queue has at most one entry for each.
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

    /// Starts a child, and blocks until it runs its program or has failed to.
    ///
    /// # Errors
    /// Returns an error if the program cannot be executed or the sandbox cannot be set up. No process is left then.
    pub fn spawn(&self, launch: Launch) -> Result<SupervisedChild, SpawnError> {
        self.order(launch, Wiring::Captured).map(|(child, _)| child)
    }

    /// Starts a child with pipes for the caller; blocks like [`Supervisor::spawn`].
    ///
    /// The caller receives the pipes of standard input and output, so [`Launch::stdin`] is not used and only lines of standard error are
    /// events. Limits, sandbox and the end of the whole tree apply as to any child.
    ///
    /// # Errors
    /// Returns an error if the program cannot be executed or the sandbox cannot be set up. No process is left then.
    pub fn connect(&self, launch: Launch) -> Result<(SupervisedChild, ChildPipes), SpawnError> {
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
    ) -> Result<(SupervisedChild, Option<ChildPipes>), SpawnError> {
        let program = launch.program.clone();
        let server = launch.ports.clone();
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
            .map(|started| {
                let child = SupervisedChild {
                    id: started.id,
                    channel,
                    serving: server.map(|server| Serving(server.serve(started.listeners))),
                    _supervisor: self.clone(),
                };
                (child, started.connection)
            })
            .map_err(|source| SpawnError { program, source })
    }
}

impl SupervisedChild {
    /// Returns the child's identity; its process group and its session have the same number as the process.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Waits for the next event; returns `None` after [`ChildEvent::Exited`].
    ///
    /// Works on any executor and is cancel-safe. While the events are not read, at most about 64 KiB of output are queued; then the pipes
    /// fill up and the child blocks.
    pub async fn next(&mut self) -> Option<ChildEvent> {
        let event = poll_fn(|context| self.channel.poll(context)).await;
        self.seen(event)
    }

    /// Like [`SupervisedChild::next`], but blocks the thread.
    pub fn next_blocking(&mut self) -> Option<ChildEvent> {
        let event = self.channel.wait();
        self.seen(event)
    }

    fn seen(&mut self, event: Option<ChildEvent>) -> Option<ChildEvent> {
        if matches!(event, Some(ChildEvent::Exited { .. })) {
            self.serving = None;
        }
        event
    }

    /// Begins to stop the child and everything it started, and returns at once.
    ///
    /// Sends SIGTERM now, and SIGKILL after 5 seconds to the processes that are left. Events follow until [`ChildEvent::Exited`].
    pub fn stop(&self) {
        self.channel.want_stop();
    }
}

impl Drop for SupervisedChild {
    fn drop(&mut self) {
        self.channel.abandon();
    }
}
