//! The thread that starts, supervises and reaps children.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::census::Census;
use super::channel::{Bell, Channel};
use super::disk::DiskWatch;
use super::launch::{Launch, Wiring};
use super::lines::LongLineRoom;
use super::running::{Look, RunningChild};
use super::streams::ChildPipes;
use super::tree::{Leaders, Snapshot};
use crate::ProcessId;
use crate::nonblocking::wait;

/// The interval of checks of a child's tree while it runs.
const LOOK: Duration = Duration::from_secs(1);
/// The interval for a tree with many processes.
const ATTENTIVE_LOOK: Duration = Duration::from_millis(100);
/// The interval while a tree is being stopped.
const QUICK_LOOK: Duration = Duration::from_millis(20);
/// The memory for the unfinished long lines of all children, in bytes.
const LONG_LINES: usize = 16 << 20;

/// A request for a child, with the channel for the reply.
pub(crate) struct Order {
    pub(crate) launch: Launch,
    pub(crate) wiring: Wiring,
    pub(crate) channel: Arc<Channel>,
    pub(crate) reply: SyncSender<io::Result<Started>>,
}

/// A child that was started, with its pipes if the caller uses them.
pub(crate) struct Started {
    pub(crate) id: ProcessId,
    pub(crate) connection: Option<ChildPipes>,
    pub(crate) listeners: Vec<TcpListener>,
}

pub(crate) fn spawn(orders: Receiver<Order>, bell: Arc<Bell>) -> io::Result<()> {
    let watch = Watch {
        orders,
        bell,
        running: Vec::new(),
        room: LongLineRoom::new(LONG_LINES),
        disk: DiskWatch::default(),
        next_look: now(),
        census: Census::new(now()),
        is_closing: false,
    };
    Builder::new()
        .name("daemon-process".to_owned())
        .spawn(move || watch.run())?;
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the deadlines of a stop are this thread's own"
)]
fn now() -> Instant {
    Instant::now()
}

struct Watch {
    orders: Receiver<Order>,
    bell: Arc<Bell>,
    running: Vec<RunningChild>,
    room: LongLineRoom,
    disk: DiskWatch,
    next_look: Instant,
    census: Census,
    is_closing: bool,
}

impl Watch {
    fn run(mut self) {
        loop {
            self.take_orders();
            if self.is_closing && self.running.is_empty() {
                return;
            }
            self.wait();
            self.bell.silence();
            self.transfer();
            self.look();
            self.finish();
        }
    }

    fn take_orders(&mut self) {
        loop {
            match self.orders.try_recv() {
                Ok(order) => {
                    let started =
                        RunningChild::start(order.launch, order.wiring, order.channel, &self.disk);
                    let answer = started.map(|(mut running, connection)| {
                        let started = Started {
                            id: running.id(),
                            connection,
                            listeners: running.take_listeners(),
                        };
                        self.running.push(running);
                        started
                    });
                    // The caller has gone; its channel is closed then, and the child is stopped.
                    order.reply.send(answer).unwrap_or(());
                }
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.is_closing = true;
                    return;
                }
            }
        }
    }

    /// Waits until something happens, or until the next check is due.
    fn wait(&mut self) {
        let now = now();
        match self.soonest() {
            Look::Now => self.next_look = now,
            Look::Soon => self.next_look = self.next_look.min(now + QUICK_LOOK),
            Look::Attentive => self.next_look = self.next_look.min(now + ATTENTIVE_LOOK),
            Look::Later => {}
        }
        let is_counted = self.room().is_some();
        let next = self.next_look.min(if is_counted {
            self.census.next()
        } else {
            self.next_look
        });
        let left = next.saturating_duration_since(now);
        let timeout = Timespec::try_from(left).expect("a second fits into a timespec");
        let timeout = (!self.running.is_empty()).then_some(timeout);
        let mut fds = vec![PollFd::new(self.bell.descriptor(), PollFlags::IN)];
        fds.extend(self.running.iter().flat_map(RunningChild::descriptors));
        // Open descriptors can always be polled; a failure costs one idle turn.
        wait(&mut fds, timeout.as_ref()).unwrap_or(());
    }

    fn soonest(&mut self) -> Look {
        self.running
            .iter_mut()
            .map(RunningChild::next_look)
            .min()
            .unwrap_or(Look::Later)
    }

    fn transfer(&mut self) {
        for running in &mut self.running {
            // Without usable pipes the child cannot be supervised.
            if running.transfer(&mut self.room).is_err() {
                running.stop();
            }
        }
    }

    fn look(&mut self) {
        let now = now();
        let soonest = self.soonest();
        let is_due = soonest == Look::Now
            || now >= self.next_look
            || self.room().is_some() && self.census.has_grown(now);
        if self.running.is_empty() || !is_due {
            return;
        }
        self.next_look = now
            + match soonest {
                Look::Now | Look::Soon => QUICK_LOOK,
                Look::Attentive => ATTENTIVE_LOOK,
                Look::Later => LOOK,
            };
        // Without the process table nothing can be decided; the next check repeats the read.
        let Ok(snapshot) = Snapshot::take() else {
            return;
        };
        snapshot.reap_orphans(&Leaders::lock());
        for running in &mut self.running {
            running.advance(&snapshot, now).unwrap_or(());
        }
        self.census.begin(now, self.room().unwrap_or(0));
    }

    /// Returns the smallest number of processes that a running tree may still start; `None` if no tree runs.
    fn room(&self) -> Option<usize> {
        self.running.iter().filter_map(RunningChild::room).min()
    }

    fn finish(&mut self) {
        let room = &mut self.room;
        self.running
            .retain_mut(|running| !running.finish(room).unwrap_or(false));
    }
}
