//! One run of a program, whatever language it speaks.

use std::collections::VecDeque;
use std::time::Duration;

use async_trait::async_trait;
use daemon_process::{
    ChildEvent, ChildLine, ExitStatus, LimitReached, OutputPipe, ProcessId, SupervisedChild,
};
use daemon_provider::{
    Asked, ChildProcess, Exit, MicroUsd, Outcome, OutputStream, ProviderError, Run, RunEvent,
    SessionId, StopReason, Usage,
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::bounded::LastLines;
use crate::ending::{Ending, ExitCodes, Told, excess};

/// How long a program may stay after it told its result.
const GRACE: Duration = Duration::from_secs(20);

/// What the lines of one kind of program mean.
pub(crate) trait Dialect: Send {
    /// Reads a whole line of standard output, and adds what it says to `told`.
    fn read(&mut self, line: &str, told: &mut VecDeque<RunEvent>) -> Reading;

    /// Returns whether a line that begins like this, and was cut, may have been an event.
    fn may_begin(&self, line: &str) -> bool;

    /// Takes a line that is text.
    fn text_line(&mut self, _line: &str) {}

    /// Returns the session by which the run can be continued.
    fn session(&self) -> Option<SessionId>;

    /// Returns what was told of the end.
    fn told(&self) -> Told;

    /// Returns what its exit codes say.
    fn codes(&self) -> ExitCodes;

    /// Returns what was used, by what was told, and the words in which it was told.
    fn usage(&self) -> Option<(Usage, Value)>;

    /// Returns what the work has cost so far, where its lines tell that while it goes on.
    fn cost(&self) -> Option<MicroUsd> {
        None
    }

    /// Returns the final text.
    fn text(&self) -> String;
}

/// What a line was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Text.
    Text,
    /// An event.
    Event,
    /// The event that ends the work: the program has nothing to do but to leave.
    End,
    /// An event of work that goes on, whatever was said before.
    Work,
}

pub(crate) struct ProgramRun<D> {
    child: SupervisedChild,
    dialect: D,
    pending: VecDeque<RunEvent>,
    has_ended: bool,
    complaints: LastLines,
    /// Whether it told anything that its lines have a meaning for.
    has_told: bool,
    /// Whether a line that was cut may have told the end, and none told it since.
    lost_event: bool,
    leaving: Leaving,
    limit: Option<LimitReached>,
    budget: Budget,
    cancelled: Option<StopReason>,
}

/// What a program may cost, and what is known of that.
#[derive(Debug)]
enum Budget {
    /// Nobody gave it one.
    Unlimited,
    /// This much; its lines have told no price.
    Unpriced(MicroUsd),
    /// This much, and its lines tell what it costs.
    Priced(MicroUsd),
    /// It said that it cost more; whoever reads the events learns so first, and the next call stops it.
    Exceeded(String),
    /// It is being stopped for that.
    Stopped(String),
}

/// What becomes of a program after its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    /// It has told none.
    No,
    /// It has until then to leave by itself.
    Until(Instant),
    /// It has not left; whoever reads the events knows, and the next call stops it.
    Late,
    /// It is being stopped for that.
    Stopped,
}

impl<D: Dialect> ProgramRun<D> {
    pub(crate) fn new(child: SupervisedChild, argv: Vec<String>, dialect: D) -> Self {
        let ProcessId { pid, start } = child.id();
        let identity = ChildProcess {
            pid,
            start,
            pgid: pid,
        };
        Self {
            child,
            dialect,
            pending: VecDeque::from([RunEvent::Spawned {
                child: identity,
                argv,
            }]),
            has_ended: false,
            complaints: LastLines::default(),
            has_told: false,
            lost_event: false,
            leaving: Leaving::No,
            limit: None,
            budget: Budget::Unlimited,
            cancelled: None,
        }
    }

    /// Stops the program where its lines tell that it costs more than this.
    pub(crate) fn within(mut self, budget: Option<MicroUsd>) -> Self {
        self.budget = budget.map_or(Budget::Unlimited, Budget::Unpriced);
        self
    }

    /// Tells first what the run does not use of its repository.
    pub(crate) fn ignoring(mut self, settings: impl IntoIterator<Item = &'static str>) -> Self {
        let told = settings.into_iter().map(|path| RunEvent::Denied {
            name: "repository settings".to_owned(),
            detail: format!("`{path}` is not used: a repository configures no agent here"),
        });
        self.pending.extend(told);
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
                self.complaints.push(&line.text);
                self.tell_line(OutputStream::Stderr, line);
            }
            // Its result stands, whatever it takes on its way out.
            ChildEvent::LimitReached(limit) if self.has_outcome() => {
                self.leaving = Leaving::Stopped;
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
            // What a later supervisor may tell is not for this provider.
            _ => {}
        }
    }

    fn take_stdout(&mut self, line: ChildLine) {
        if line.dropped > 0 {
            self.lost_event |= self.dialect.may_begin(&line.text);
            return self.take_text(line);
        }
        let reading = self.dialect.read(&line.json(), &mut self.pending);
        self.has_told |= reading != Reading::Text;
        match reading {
            Reading::Text => self.take_text(line),
            Reading::Event => {}
            Reading::End => {
                // Whatever was lost before it, this says how the work ended.
                self.lost_event = false;
                if self.leaving == Leaving::No {
                    self.leaving = Leaving::Until(Instant::now() + GRACE);
                }
            }
            Reading::Work => {
                if matches!(self.leaving, Leaving::Until(_)) {
                    self.leaving = Leaving::No;
                }
            }
        }
        self.keep_budget();
    }

    /// Compares what the program says it cost with what it may cost.
    fn keep_budget(&mut self) {
        let (Budget::Unpriced(budget) | Budget::Priced(budget)) = self.budget else {
            return;
        };
        let Some(cost) = self.dialect.cost().filter(|cost| cost.0 > 0) else {
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
        self.dialect.text_line(&line.text);
        self.tell_line(OutputStream::Stdout, line);
    }

    fn tell_line(&mut self, stream: OutputStream, line: ChildLine) {
        let dropped = line.dropped;
        self.pending.push_back(RunEvent::Output {
            stream,
            text: line.text,
            is_truncated: dropped > 0,
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
        let outcome = Ending {
            status,
            cancelled: self.cancelled,
            limit: self.limit,
            over_budget: match &self.budget {
                Budget::Exceeded(message) | Budget::Stopped(message) => Some(message.clone()),
                Budget::Unlimited | Budget::Unpriced(_) | Budget::Priced(_) => None,
            },
            overstayed: self.leaving == Leaving::Stopped,
            told: self.dialect.told(),
            codes: self.dialect.codes(),
            has_told: self.has_told,
            lost_event: self.lost_event,
            complaints: self.complaints.join(),
        }
        .outcome();
        // Held until here: only a run that ended well counts what its program says it used.
        let usage = self.dialect.usage().filter(|_| outcome == Outcome::Done);
        let told = usage.map(|(usage, raw)| RunEvent::Usage { usage, raw });
        self.pending.extend(told);
        let text = self.dialect.text();
        self.pending.push_back(RunEvent::terminal(outcome, text));
    }

    /// Applies a cancel that came after the end was worked out, but before it was told.
    fn settle(&self, event: RunEvent) -> Option<RunEvent> {
        match (event, self.cancelled) {
            (RunEvent::Terminal { text, .. }, Some(reason)) => {
                Some(RunEvent::terminal(Outcome::Stopped(reason), text))
            }
            (RunEvent::Usage { .. }, Some(_)) => None,
            (event, _) => Some(event),
        }
    }

    /// Waits for something to happen to the process.
    async fn wait(&mut self) {
        if let Budget::Exceeded(message) = &mut self.budget {
            self.budget = Budget::Stopped(std::mem::take(message));
            self.child.stop();
        }
        let deadline = match self.leaving {
            Leaving::Until(deadline) => Some(deadline),
            Leaving::Late => {
                self.leaving = Leaving::Stopped;
                self.child.stop();
                None
            }
            Leaving::No | Leaving::Stopped => None,
        };
        // An absent deadline is never waited for.
        let timer = sleep_until(deadline.unwrap_or_else(Instant::now));
        tokio::select! {
            biased;
            event = self.child.next() => match event {
                Some(event) => self.take(event),
                None => self.has_ended = true,
            },
            () = timer, if deadline.is_some() => {
                self.leaving = Leaving::Late;
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
impl<D: Dialect> Run for ProgramRun<D> {
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
        self.leaving != Leaving::No
    }

    fn would_take(&self) -> Asked {
        self.dialect
            .session()
            .map_or(Asked::Unsupported, Asked::Resume)
    }

    async fn cancel(&mut self, why: StopReason) -> Result<(), ProviderError> {
        if !self.has_ended {
            if self.has_outcome() && why != StopReason::Reclaim {
                self.leaving = Leaving::Stopped;
            } else {
                self.cancelled.get_or_insert(why);
            }
            self.child.stop();
        }
        Ok(())
    }
}
