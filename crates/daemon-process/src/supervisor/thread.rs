//! The one thread that forks, watches and reaps.

use std::io;
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
use super::running::{Look, Running};
use super::streams::Connection;
use super::tree::{Leaders, Snapshot};
use crate::ProcessId;
use crate::nonblocking::wait;

/// How often a child's tree is looked at while it runs.
const LOOK: Duration = Duration::from_secs(1);
/// How often it is looked at when it has many processes.
const ATTENTIVE_LOOK: Duration = Duration::from_millis(100);
/// How often it is looked at on its way out.
const QUICK_LOOK: Duration = Duration::from_millis(20);
/// What the unfinished long lines of all children may take together.
const LONG_LINES: usize = 16 << 20;

/// The wish for a child, and where to answer it.
pub(crate) struct Order {
    pub(crate) launch: Launch,
    pub(crate) wiring: Wiring,
    pub(crate) channel: Arc<Channel>,
    pub(crate) reply: SyncSender<io::Result<Started>>,
}

/// A child that was started, with its pipes where it was wired so.
pub(crate) struct Started {
    pub(crate) id: ProcessId,
    pub(crate) connection: Option<Connection>,
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
    running: Vec<Running>,
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
                        Running::start(order.launch, order.wiring, order.channel, &self.disk);
                    let answer = started.map(|(running, connection)| {
                        let id = running.id();
                        self.running.push(running);
                        Started { id, connection }
                    });
                    // Nobody waits only if the owner is gone; the channel was then abandoned and the child is stopped.
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

    /// Sleeps until something happens, at the latest until the next look is due.
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
        fds.extend(self.running.iter().flat_map(Running::descriptors));
        // Descriptors that are owned and open can always be polled; a failure costs one idle turn.
        wait(&mut fds, timeout.as_ref()).unwrap_or(());
    }

    fn soonest(&mut self) -> Look {
        self.running
            .iter_mut()
            .map(Running::next_look)
            .min()
            .unwrap_or(Look::Later)
    }

    fn transfer(&mut self) {
        for running in &mut self.running {
            // A pipe that cannot be used is a child that cannot be supervised.
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
        // Without a look at the table nothing can be decided; it is tried again when the next one is due.
        let Ok(snapshot) = Snapshot::take() else {
            return;
        };
        snapshot.reap_orphans(&Leaders::lock());
        for running in &mut self.running {
            running.advance(&snapshot, now).unwrap_or(());
        }
        self.census.begin(now, self.room().unwrap_or(0));
    }

    /// Returns how many more processes the fullest of the trees may have; none runs without one.
    fn room(&self) -> Option<usize> {
        self.running.iter().filter_map(Running::room).min()
    }

    fn finish(&mut self) {
        let room = &mut self.room;
        self.running
            .retain_mut(|running| !running.finish(room).unwrap_or(false));
    }
}
