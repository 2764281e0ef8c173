//! A running child.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use super::channel::Channel;
use super::control_group::ControlGroup;
use super::disk::{DiskWatch, Held};
use super::launch::{ChildLimits, Launch, Wiring};
use super::lines::LongLineRoom;
use super::streams::{ChildInput, ChildOutput, ChildPipes, Fed};
use super::tree::{Leaders, ProcessTree, Snapshot, TreeMembers, signal_all};
use super::{ChildEvent, LimitReached, OutputPipe};
use crate::mark::ProcessMark;
use crate::process_table::{RUN_MARKER, Stat, end_orphans};
use crate::spawn::{Group, Image, Recipe, Spawned, end, spawn, try_reap};
use crate::{ExitStatus, ProcessId};

/// The time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(5);
/// The time that a tree has to end after SIGKILL.
const KILL_GRACE: Duration = Duration::from_secs(3);
/// The maximum time that a killed process with no work left may take to end.
const REAP_GRACE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct RunningChild {
    child: Spawned,
    id: ProcessId,
    exit: OwnedFd,
    input: Option<ChildInput>,
    outputs: [ChildOutput; 2],
    tree: ProcessTree,
    control_group: Option<ControlGroup>,
    limits: ChildLimits,
    held: Option<Arc<Held>>,
    /// The number of its processes at the last read of the process table.
    n_processes: usize,
    phase: Phase,
    was_stopped: bool,
    has_exited: bool,
    is_finished: bool,
    channel: Arc<Channel>,
}

/// The reason for the next check of a child's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Look {
    /// A stop has been requested.
    Now,
    /// The tree is being stopped.
    Soon,
    /// The child runs and may soon exceed its limit.
    Attentive,
    /// The child runs or has ended.
    Later,
}

/// The state of a running child at a check.
struct Watched {
    id: ProcessId,
    exit: OwnedFd,
    keeper: Option<ProcessId>,
}

/// Collects the parameters of a child's start.
fn recipe(launch: &Launch) -> io::Result<Recipe> {
    let mark = ProcessMark::next()?;
    let ports = launch
        .ports
        .as_ref()
        .map_or_else(Vec::new, |server| server.ports());
    let mut env = launch.env.clone();
    env.push((RUN_MARKER.into(), launch.marker.clone().into()));
    Ok(Recipe {
        image: Image::new(&launch.program, &launch.args, &env, Some(&launch.cwd))?,
        input: crate::spawn::Input::Pipe,
        group: Group::Session,
        limits: Some(launch.limits),
        mark: Some(mark),
        control_group: ControlGroup::make(mark, launch.limits.processes),
        sandbox: launch.sandbox.prepare(&launch.marker, &ports)?,
    })
}

/// Returns the processes that this process reaps for a child, in the required order.
fn pids(child: &Spawned) -> impl Iterator<Item = Pid> {
    let keeper = child.keeper.as_ref().map(|keeper| keeper.pid);
    [child.pid].into_iter().chain(keeper)
}

/// The progress of stopping a child.
///
/// The child is reaped last: while it is a zombie, the kernel does not reuse the number of its group.
#[derive(Debug)]
enum Phase {
    Alive,
    Terminating { until: Instant },
    Killing { until: Instant },
    Dead { leaked: Vec<ProcessId> },
}

impl RunningChild {
    pub(crate) fn start(
        launch: Launch,
        wiring: Wiring,
        channel: Arc<Channel>,
        disk: &DiskWatch,
    ) -> io::Result<(Self, Option<ChildPipes>)> {
        let recipe = recipe(&launch)?;
        let limits = launch.limits;
        let is_held = !launch.disk.is_empty();
        let held = is_held.then(|| disk.add(launch.disk, limits.disk_bytes));
        let held = held.transpose()?;
        let mut leaders = Leaders::lock();
        let mut child = spawn(&recipe)?;
        for pid in pids(&child) {
            leaders.add(pid.as_raw_nonzero().get());
        }
        drop(leaders);
        let connected = match wiring {
            Wiring::Captured => Ok(None),
            Wiring::Connected => ChildPipes::take(&mut child).map(Some),
        };
        let watched = connected.and_then(|connection| {
            Self::watch(&mut child, launch.stdin).map(|watched| (watched, connection))
        });
        let ((watched, input, outputs), connection) = match watched {
            Ok(watched) => watched,
            Err(error) => {
                let mut leaders = Leaders::lock();
                for pid in pids(&child) {
                    end(pid)?;
                    leaders.remove(pid.as_raw_nonzero().get());
                }
                return Err(error);
            }
        };
        let Watched { id, exit, keeper } = watched;
        let running = Self {
            child,
            id,
            exit,
            input,
            outputs,
            tree: ProcessTree::new(id, keeper, (launch.marker, recipe.mark)),
            control_group: recipe.control_group,
            limits,
            held,
            n_processes: 1,
            phase: Phase::Alive,
            was_stopped: false,
            has_exited: false,
            is_finished: false,
            channel,
        };
        Ok((running, connection))
    }

    fn watch(
        child: &mut Spawned,
        bytes: Vec<u8>,
    ) -> io::Result<(Watched, Option<ChildInput>, [ChildOutput; 2])> {
        let exit = pidfd_open(child.pid, PidfdFlags::empty())?;
        let identity = |pid: Pid| Ok::<_, io::Error>(Stat::read(pid.as_raw_nonzero().get())?.id);
        let keeper = child.keeper.as_ref().map(|keeper| identity(keeper.pid));
        let watched = Watched {
            id: identity(child.pid)?,
            exit,
            keeper: keeper.transpose()?,
        };
        let pipe = child.stdin.take().filter(|_| !bytes.is_empty());
        let input = pipe.map(|pipe| ChildInput::new(pipe, bytes)).transpose()?;
        let outputs = [
            ChildOutput::new(OutputPipe::Stdout, child.stdout.take())?,
            ChildOutput::new(OutputPipe::Stderr, child.stderr.take())?,
        ];
        Ok((watched, input, outputs))
    }

    pub(crate) fn id(&self) -> ProcessId {
        self.id
    }

    /// Returns the sockets of the served ports, once.
    pub(crate) fn take_listeners(&mut self) -> Vec<TcpListener> {
        std::mem::take(&mut self.child.listeners)
    }

    pub(crate) fn stop(&self) {
        self.channel.want_stop();
    }

    /// Returns the descriptors to wait for.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        let exit = (!self.has_exited).then(|| PollFd::new(&self.exit, PollFlags::IN));
        let input = self
            .input
            .as_ref()
            .map(|input| PollFd::new(input.pipe(), PollFlags::OUT));
        let has_room = self.channel.has_room();
        let outputs = self.outputs.iter().filter_map(move |output| {
            output
                .pipe()
                .filter(|_| has_room)
                .map(|pipe| PollFd::new(pipe, PollFlags::IN))
        });
        exit.into_iter().chain(input).chain(outputs)
    }

    /// Moves the bytes that can be moved without blocking.
    pub(crate) fn transfer(&mut self, room: &mut LongLineRoom) -> io::Result<()> {
        if let Some(input) = &mut self.input
            && input.feed()? == Fed::Whole
        {
            self.input = None;
        }
        for output in &mut self.outputs {
            output.read(&self.channel, room)?;
        }
        Ok(())
    }

    /// Returns the time of the next check of the child's tree.
    pub(crate) fn next_look(&mut self) -> Look {
        if !self.has_exited {
            let mut fds = [PollFd::new(&self.exit, PollFlags::IN)];
            let at_once = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            // A failed check is repeated after a second.
            self.has_exited = poll(&mut fds, Some(&at_once)).unwrap_or(0) > 0;
        }
        match self.phase {
            Phase::Alive if self.has_exited || self.channel.is_stop_wanted() => Look::Now,
            Phase::Alive if self.n_processes > self.limits.processes / 4 => Look::Attentive,
            Phase::Alive | Phase::Dead { .. } => Look::Later,
            Phase::Terminating { .. } | Phase::Killing { .. } => Look::Soon,
        }
    }

    /// Continues stopping the child, if the next step is due.
    pub(crate) fn advance(&mut self, snapshot: &Snapshot, now: Instant) -> io::Result<()> {
        let members = self.members(snapshot);
        match self.phase {
            Phase::Alive => {
                self.n_processes = members.ids.len();
                let limit = self.limit_reached(&members);
                if let Some(limit) = limit {
                    self.channel.push(ChildEvent::LimitReached(limit));
                    self.channel.want_stop();
                }
                if limit == Some(LimitReached::Processes) {
                    // A tree that keeps multiplying would use the time after SIGTERM to start more processes.
                    self.was_stopped = !self.has_exited;
                    self.kill(&members.ids);
                    self.phase = Phase::Killing {
                        until: now + KILL_GRACE,
                    };
                    return Ok(());
                }
                let is_stopped = self.channel.is_stop_wanted() && !self.has_exited;
                if is_stopped || self.has_exited {
                    self.was_stopped = is_stopped;
                    self.terminate(&members, now)?;
                }
            }
            Phase::Terminating { until } => {
                if members.ids.is_empty() {
                    self.confirm_death()?;
                } else if now >= until {
                    self.kill(&members.ids);
                    self.phase = Phase::Killing {
                        until: now + KILL_GRACE,
                    };
                }
            }
            Phase::Killing { until } => {
                if members.ids.is_empty() {
                    self.confirm_death()?;
                } else if now >= until {
                    self.phase = Phase::Dead {
                        leaked: members.ids,
                    };
                } else {
                    self.kill(&members.ids);
                }
            }
            Phase::Dead { .. } => {}
        }
        Ok(())
    }

    fn members(&mut self, snapshot: &Snapshot) -> TreeMembers {
        let grouped = self.control_group.as_ref().map(ControlGroup::members);
        self.tree.members(snapshot, &grouped.unwrap_or_default())
    }

    /// Returns how many more processes the child may start since the last read of the process table; `None` if it is being stopped.
    pub(crate) fn room(&self) -> Option<usize> {
        let room = self.limits.processes.saturating_sub(self.n_processes);
        matches!(self.phase, Phase::Alive).then_some(room)
    }

    fn limit_reached(&mut self, members: &TreeMembers) -> Option<LimitReached> {
        let page = rustix::param::page_size() as u64;
        if members.resident_pages.saturating_mul(page) > self.limits.memory_bytes {
            Some(LimitReached::Memory)
        } else if members.ids.len() > self.limits.processes
            || self
                .control_group
                .as_mut()
                .is_some_and(ControlGroup::is_exhausted)
        {
            Some(LimitReached::Processes)
        } else if self
            .held
            .as_ref()
            .is_some_and(|held| held.bytes() > self.limits.disk_bytes)
        {
            Some(LimitReached::Disk)
        } else {
            None
        }
    }

    fn terminate(&mut self, members: &TreeMembers, now: Instant) -> io::Result<()> {
        self.phase = Phase::Terminating {
            until: now + TERM_GRACE,
        };
        if members.ids.is_empty() {
            return self.confirm_death();
        }
        self.signal_group(Signal::TERM);
        let escaped: Vec<ProcessId> = members
            .ids
            .iter()
            .copied()
            .filter(|id| *id != self.id)
            .collect();
        signal_all(&escaped, Signal::TERM);
        Ok(())
    }

    fn kill(&self, members: &[ProcessId]) {
        self.signal_group(Signal::KILL);
        self.kill_enclosed();
        signal_all(members, Signal::KILL);
    }

    /// Kills all processes in the child's control group and its namespaces, if it has them.
    fn kill_enclosed(&self) {
        if let Some(group) = &self.control_group {
            group.kill();
        }
        if let Some(keeper) = &self.child.keeper {
            // The process is not reaped yet, so its id is valid; it may have ended already.
            kill_process(keeper.pid, Signal::KILL).unwrap_or(());
        }
    }

    fn signal_group(&self, signal: Signal) {
        // The child is not reaped yet, so its group exists; members that survive are found by the next check.
        kill_process_group(self.child.pid, signal).unwrap_or(());
    }

    /// Reads the process table again: one read can miss a process whose parent exits during the read.
    fn confirm_death(&mut self) -> io::Result<()> {
        if self.members(&Snapshot::take()?).ids.is_empty() {
            self.signal_group(Signal::KILL);
            self.kill_enclosed();
            self.phase = Phase::Dead { leaked: Vec::new() };
        }
        Ok(())
    }

    /// Reaps the child and reports its end, if its tree has ended and its pipes are empty; returns whether it did.
    pub(crate) fn finish(&mut self, room: &mut LongLineRoom) -> io::Result<bool> {
        let Phase::Dead { leaked } = &self.phase else {
            return Ok(false);
        };
        for output in &mut self.outputs {
            output.close_if_dry(&self.channel, room)?;
        }
        if self.outputs.iter().any(|output| output.pipe().is_some()) {
            return Ok(false);
        }
        let leaked = leaked.clone();
        let reaped = self.reap()?;
        self.send_end(reaped, leaked);
        self.is_finished = true;
        Ok(true)
    }

    /// Reaps the child and the process that keeps its namespaces.
    fn reap(&self) -> io::Result<Option<ExitStatus>> {
        let mut leaders = Leaders::lock();
        let mut reaped = None;
        for pid in pids(&self.child) {
            // The keeper of namespaces ends when the child is reaped; a late one is reaped as an orphan.
            wait_for_end(pid, REAP_GRACE);
            let status = try_reap(pid)?;
            if pid == self.child.pid {
                reaped = status;
            }
            leaders.remove(pid.as_raw_nonzero().get());
        }
        Ok(reaped)
    }

    fn send_end(&self, reaped: Option<ExitStatus>, leaked: Vec<ProcessId>) {
        let killed = ExitStatus::Signal(Signal::KILL.as_raw());
        self.channel.push(ChildEvent::Exited {
            // A child that has survived SIGKILL until now has no other exit status.
            status: reaped.unwrap_or(killed),
            was_stopped: self.was_stopped,
            leaked,
        });
    }
}

/// Waits a short time for the end of a process.
fn wait_for_end(pid: Pid, patience: Duration) {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    let patience = Timespec::try_from(patience).expect("a moment fits into a timespec");
    // The caller checks itself whether the process has ended.
    poll(&mut fds, Some(&patience)).unwrap_or(0);
}

/// Ends a child after a panic of the supervising thread, and reports its end to the owner, which would wait for ever.
impl Drop for RunningChild {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        self.was_stopped = true;
        let orphans = end_orphans(Some(self.id), self.tree.marker()).unwrap_or_default();
        let reaped = self.reap().unwrap_or(None);
        self.send_end(reaped, orphans.survivors);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::sandbox::Sandbox;
    use crate::supervisor::channel::Bell;

    #[test]
    fn the_owner_of_a_child_learns_its_end_when_the_supervising_thread_panics() {
        let channel = Arc::new(Channel::new(Arc::new(Bell::new().unwrap())));
        let launch = Launch {
            program: PathBuf::from("/bin/sleep"),
            args: vec!["1000".into()],
            env: Vec::new(),
            cwd: PathBuf::from("/"),
            stdin: Vec::new(),
            marker: "left-behind".to_owned(),
            limits: ChildLimits::default(),
            disk: Vec::new(),
            sandbox: Sandbox::default(),
            ports: None,
        };
        let disk = DiskWatch::default();
        let started = RunningChild::start(launch, Wiring::Captured, Arc::clone(&channel), &disk);
        let (running, _) = started.unwrap();
        let id = running.id();
        let thread = std::thread::spawn(move || {
            let _running = running;
            panic!("a defect of the thread");
        });
        let end = channel.wait();
        thread.join().unwrap_err();
        let expected = ChildEvent::Exited {
            status: ExitStatus::Signal(9),
            was_stopped: true,
            leaked: Vec::new(),
        };
        assert_eq!((end, id.is_alive()), (Some(expected), false));
    }
}
