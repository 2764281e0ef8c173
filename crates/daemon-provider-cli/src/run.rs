//! One run of a program, with a parser for its output.

use std::collections::VecDeque;
use std::time::Duration;

use async_trait::async_trait;
use daemon_egress::{NetworkUse, last_use};
use daemon_process::{
    ChildEvent, ChildLine, ExitStatus, LimitReached, OutputPipe, ProcessId, SupervisedChild,
};
use daemon_provider::{
    Asked, ChildProcess, Exit, MicroUsd, Outcome, OutputStream, ProviderError, Run, RunEvent,
    SessionId, StopReason, Truncation, Usage,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::bounded::LastLines;
use crate::process_end::{ExitCodes, ProcessEnd, ReportedEnd, excess};
use crate::program::StartedProgram;

/// How long a program may take to exit after its result.
const GRACE: Duration = Duration::from_secs(20);

/// Parser of the output of one kind of program.
pub(crate) trait OutputParser: Send {
    /// Parses a whole line of standard output and appends its events.
    fn read(&mut self, line: &str, events: &mut VecDeque<RunEvent>) -> LineKind;

    /// Reports whether a truncated line with this beginning may have been an event.
    fn may_begin(&self, line: &str) -> bool;

    /// Records a line of text.
    fn text_line(&mut self, _line: &str) {}

    /// Returns the session with which the run can be resumed.
    fn session(&self) -> Option<SessionId>;

    /// Returns the end that the output reported so far.
    fn reported_end(&self) -> ReportedEnd;

    /// Returns the meaning of the program's exit codes.
    fn codes(&self) -> ExitCodes;

    /// Returns the reported usage, parsed and as it was printed.
    fn usage(&self) -> Option<(Usage, Value)>;

    /// Returns the cost so far, for programs that print it while they work.
    fn cost(&self) -> Option<MicroUsd> {
        None
    }

    /// Returns the final text.
    fn text(&self) -> String;
}

/// The kind of a line of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Text that the parser does not recognise.
    Text,
    /// An event that says nothing about the progress of the work.
    Event,
    /// The event that ends the work: the program only has to exit.
    End,
    /// An event of work in progress, also after an earlier [`LineKind::End`].
    Work,
}

pub(crate) struct ProgramRun<D> {
    child: SupervisedChild,
    network: Option<mpsc::Receiver<NetworkUse>>,
    /// The end of the program, until its last use of the network is known.
    exited: Option<ChildEvent>,
    parser: D,
    pending: VecDeque<RunEvent>,
    has_ended: bool,
    stderr: LastLines,
    /// Whether any line was an event.
    has_events: bool,
    /// Whether a truncated line may have been the end, with no end reported after it.
    lost_event: bool,
    grace: ExitGrace,
    limit: Option<LimitReached>,
    budget: Budget,
    cancelled: Option<StopReason>,
}

/// The budget of a run and its state.
#[derive(Debug)]
enum Budget {
    /// The run has no budget.
    Unlimited,
    /// A budget; no line has reported a cost yet.
    Unpriced(MicroUsd),
    /// A budget that is enforced, because lines report the cost.
    Priced(MicroUsd),
    /// The cost exceeds the budget. The event is returned first; the next call stops the program.
    Exceeded(String),
    /// The program is being stopped for its cost.
    Stopped(String),
}

/// The time that a program has to exit after its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExitGrace {
    /// The program has reported no result.
    NotStarted,
    /// The deadline to exit by itself.
    Until(Instant),
    /// The deadline has passed. The event is returned first; the next call stops the program.
    Expired,
    /// The program is being stopped.
    Stopped,
}

impl<D: OutputParser> ProgramRun<D> {
    pub(crate) fn new(started: StartedProgram, parser: D) -> Self {
        let StartedProgram {
            child,
            argv,
            network,
        } = started;
        let ProcessId { pid, start } = child.id();
        let identity = ChildProcess {
            pid,
            start,
            pgid: pid,
        };
        Self {
            child,
            network,
            exited: None,
            parser,
            pending: VecDeque::from([RunEvent::Spawned {
                child: identity,
                argv,
            }]),
            has_ended: false,
            stderr: LastLines::default(),
            has_events: false,
            lost_event: false,
            grace: ExitGrace::NotStarted,
            limit: None,
            budget: Budget::Unlimited,
            cancelled: None,
        }
    }

    /// Sets a budget; the program is stopped when its output reports a higher cost.
    pub(crate) fn within(mut self, budget: Option<MicroUsd>) -> Self {
        self.budget = budget.map_or(Budget::Unlimited, Budget::Unpriced);
        self
    }

    /// Reports settings of the repository that the run ignores, before any other event.
    pub(crate) fn ignoring(mut self, settings: impl IntoIterator<Item = &'static str>) -> Self {
        let events = settings.into_iter().map(|path| RunEvent::Denied {
            name: "repository settings".to_owned(),
            detail: format!("`{path}` is not used: a repository configures no agent here"),
        });
        self.pending.extend(events);
        self
    }

    fn take(&mut self, event: ChildEvent) {
        match event {
            ChildEvent::Line {
                stream: OutputPipe::Stdout,
                line,
            } => self.take_stdout(line),
            ChildEvent::Line {
                stream: OutputPipe::Stderr,
                line,
            } => {
                self.stderr.push(&line.text);
                self.push_line(OutputStream::Stderr, line);
            }
            // The work is done and paid for, so exceeding a limit while exiting does not change the result.
            ChildEvent::LimitReached(limit) if self.has_outcome() => {
                self.grace = ExitGrace::Stopped;
                self.pending.push_back(RunEvent::Stopping {
                    why: StopReason::Grace,
                    detail: Some(excess(limit).to_owned()),
                });
            }
            ChildEvent::LimitReached(limit) => {
                self.limit = Some(limit);
                self.pending.push_back(RunEvent::Stopping {
                    why: StopReason::Resource,
                    detail: Some(excess(limit).to_owned()),
                });
            }
            ChildEvent::Exited { status, leaked, .. } => self.end(status, &leaked),
            // `ChildEvent` is non-exhaustive; events that this crate does not know cannot concern its runs.
            _ => {}
        }
    }

    /// Takes what the ended program used of the network, one use per call, and then its end.
    async fn take_last(&mut self) {
        // Kept until nothing is awaited any more, because the caller may drop this future and call again.
        if let Some(uses) = &mut self.network {
            match last_use(uses).await {
                Some(used) => return self.pending.push_back(RunEvent::Network(used)),
                None => self.network = None,
            }
        }
        if let Some(exited) = self.exited.take() {
            self.take(exited);
        }
    }

    fn take_stdout(&mut self, line: ChildLine) {
        if line.dropped > 0 {
            self.lost_event |= self.parser.may_begin(&line.text);
            return self.take_text(line);
        }
        let kind = self.parser.read(&line.json(), &mut self.pending);
        self.has_events |= kind != LineKind::Text;
        match kind {
            LineKind::Text => self.take_text(line),
            LineKind::Event => {}
            LineKind::End => {
                // A lost line matters only while the end is unknown.
                self.lost_event = false;
                if self.grace == ExitGrace::NotStarted {
                    self.grace = ExitGrace::Until(Instant::now() + GRACE);
                }
            }
            // A program that works on after a result is under the run's own deadline again.
            LineKind::Work => {
                if matches!(self.grace, ExitGrace::Until(_)) {
                    self.grace = ExitGrace::NotStarted;
                }
            }
        }
        self.check_budget();
    }

    /// Compares the reported cost with the budget.
    fn check_budget(&mut self) {
        let (Budget::Unpriced(budget) | Budget::Priced(budget)) = self.budget else {
            return;
        };
        let Some(cost) = self.parser.cost().filter(|cost| cost.0 > 0) else {
            return;
        };
        if matches!(self.budget, Budget::Unpriced(_)) {
            self.budget = Budget::Priced(budget);
            self.pending.push_back(RunEvent::Priced { budget });
        }
        if cost > budget && !self.has_outcome() && self.cancelled.is_none() {
            let message = format!("cost {cost} of {budget}");
            self.pending.push_back(RunEvent::Stopping {
                why: StopReason::Budget,
                detail: Some(message.clone()),
            });
            self.budget = Budget::Exceeded(message);
        }
    }

    fn take_text(&mut self, line: ChildLine) {
        self.parser.text_line(&line.text);
        self.push_line(OutputStream::Stdout, line);
    }

    fn push_line(&mut self, stream: OutputStream, line: ChildLine) {
        let dropped = line.dropped;
        self.pending.push_back(RunEvent::Output {
            stream,
            text: line.text,
            truncation: if dropped > 0 {
                Truncation::Cut
            } else {
                Truncation::Whole
            },
        });
        if dropped > 0 {
            self.pending.push_back(RunEvent::Dropped {
                lines: 0,
                bytes: dropped,
            });
        }
    }

    fn end(&mut self, status: ExitStatus, leaked: &[ProcessId]) {
        self.pending.push_back(RunEvent::Exited(match status {
            ExitStatus::Code(code) => Exit::Code(code),
            ExitStatus::Signal(signal) => Exit::Signal(signal),
        }));
        if !leaked.is_empty() {
            let pids: Vec<String> = leaked.iter().map(|id| id.pid.to_string()).collect();
            let detail = format!("still alive after SIGKILL: {}", pids.join(", "));
            self.pending.push_back(RunEvent::Limit {
                name: RunEvent::LEAKED.to_owned(),
                detail,
            });
        }
        let outcome = ProcessEnd {
            status,
            cancelled: self.cancelled,
            limit: self.limit,
            over_budget: match &self.budget {
                Budget::Exceeded(message) | Budget::Stopped(message) => Some(message.clone()),
                Budget::Unlimited | Budget::Unpriced(_) | Budget::Priced(_) => None,
            },
            grace_expired: self.grace == ExitGrace::Stopped,
            end: self.parser.reported_end(),
            codes: self.parser.codes(),
            has_events: self.has_events,
            lost_event: self.lost_event,
            stderr: self.stderr.join(),
        }
        .outcome();
        // Reported only at the end: the usage that a failed program claims is not counted.
        let usage = self.parser.usage().filter(|_| outcome == Outcome::Done);
        let events = usage.map(|(usage, raw)| RunEvent::Usage { usage, raw });
        self.pending.extend(events);
        let text = self.parser.text();
        self.pending.push_back(RunEvent::terminal(outcome, text));
    }

    /// Applies a cancellation that arrived after the outcome was determined and before it was returned.
    fn settle(&self, event: RunEvent) -> Option<RunEvent> {
        match (event, self.cancelled) {
            (RunEvent::Terminal { text, .. }, Some(reason)) => {
                Some(RunEvent::terminal(Outcome::Stopped(reason), text))
            }
            (RunEvent::Usage { .. }, Some(_)) => None,
            (event, _) => Some(event),
        }
    }

    /// Waits for the next event of the process or for the deadline to exit.
    async fn wait(&mut self) {
        if self.exited.is_some() {
            return self.take_last().await;
        }
        // Stopped only in the call after the event: its reader stores the reason before the signal is sent.
        if let Budget::Exceeded(message) = &mut self.budget {
            self.budget = Budget::Stopped(std::mem::take(message));
            self.child.stop();
        }
        let deadline = match self.grace {
            ExitGrace::Until(deadline) => Some(deadline),
            ExitGrace::Expired => {
                self.grace = ExitGrace::Stopped;
                self.child.stop();
                None
            }
            ExitGrace::NotStarted | ExitGrace::Stopped => None,
        };
        // `select!` needs a future in every branch; without a deadline the branch is disabled.
        let timer = sleep_until(deadline.unwrap_or_else(Instant::now));
        tokio::select! {
            // An exit that is already there has precedence over the deadline.
            biased;
            event = self.child.next() => match event {
                Some(event @ ChildEvent::Exited { .. }) => self.exited = Some(event),
                Some(event) => self.take(event),
                None => self.has_ended = true,
            },
            used = next_use(&mut self.network) => self.pending.push_back(RunEvent::Network(used)),
            () = timer, if deadline.is_some() => {
                self.grace = ExitGrace::Expired;
                if self.cancelled.is_none() {
                    self.pending.push_back(RunEvent::Stopping {
                        why: StopReason::Grace,
                        detail: None,
                    });
                }
            }
        }
    }
}

#[async_trait]
impl<D: OutputParser> Run for ProgramRun<D> {
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        while !self.has_ended {
            match self.pending.pop_front() {
                Some(event) => {
                    self.has_ended = matches!(event, RunEvent::Terminal { .. });
                    if let Some(event) = self.settle(event) {
                        return Ok(Some(event));
                    }
                }
                None => self.wait().await,
            }
        }
        Ok(None)
    }

    fn has_outcome(&self) -> bool {
        self.grace != ExitGrace::NotStarted
    }

    fn would_take(&self) -> Asked {
        self.parser
            .session()
            .map_or(Asked::Unsupported, Asked::Resume)
    }

    async fn cancel(&mut self, why: StopReason) -> Result<(), ProviderError> {
        if !self.has_ended {
            // Only a reclaim changes the end of a run that has reported its result: repeating it would be paid twice.
            if self.has_outcome() && why != StopReason::Reclaim {
                self.grace = ExitGrace::Stopped;
            } else {
                self.cancelled.get_or_insert(why);
            }
            self.child.stop();
        }
        Ok(())
    }
}

/// Waits for the next use of the network; for ever if none can follow.
async fn next_use(network: &mut Option<mpsc::Receiver<NetworkUse>>) -> NetworkUse {
    match async { network.as_mut()?.recv().await }.await {
        Some(used) => used,
        None => std::future::pending().await,
    }
}
