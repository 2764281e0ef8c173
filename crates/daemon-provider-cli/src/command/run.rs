//! One run of a program.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use async_trait::async_trait;
use daemon_process::{
    ChildEvent, ExitStatus, LimitReached, Line, OutputPipe, ProcessId, SupervisedChild,
};
use daemon_provider::{
    Asked, CancelReason, ChildProcess, Exit, Outcome, OutputStream, ProviderError, Run, RunEvent,
    SessionId, ToolStatus, Usage,
};
use tokio::time::{Instant, sleep_until};

use super::ResultRule;
use super::ending::{Ending, ToldResult};
use super::lines::{LineEvent, ToolUse, add};
use crate::bounded::{BoundedText, LastLines};

/// How long a program may stay after it told its result.
const GRACE: Duration = Duration::from_secs(20);
/// More open uses of tools are not told apart.
const MOST_TOOLS: usize = 1000;

pub(crate) struct CommandRun {
    child: SupervisedChild,
    rule: ResultRule,
    can_resume: bool,
    pending: VecDeque<RunEvent>,
    has_ended: bool,
    session: Option<SessionId>,
    tools: HashMap<ToolUse, String>,
    usage: Option<Usage>,
    text: BoundedText,
    complaints: LastLines,
    result: Option<ToldResult>,
    lost_event: bool,
    leaving: Leaving,
    limit: Option<LimitReached>,
    cancelled: Option<CancelReason>,
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

impl CommandRun {
    pub(crate) fn new(
        child: SupervisedChild,
        argv: Vec<String>,
        rule: ResultRule,
        can_resume: bool,
    ) -> Self {
        let ProcessId { pid, start } = child.id();
        let identity = ChildProcess {
            pid,
            start,
            pgid: pid,
        };
        Self {
            child,
            rule,
            can_resume,
            pending: VecDeque::from([RunEvent::Spawned {
                child: identity,
                argv,
            }]),
            has_ended: false,
            session: None,
            tools: HashMap::new(),
            usage: None,
            text: BoundedText::default(),
            complaints: LastLines::default(),
            result: None,
            lost_event: false,
            leaving: Leaving::No,
            limit: None,
            cancelled: None,
        }
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
            ChildEvent::LimitReached(limit) => {
                self.limit = Some(limit);
                self.pending
                    .push_back(RunEvent::Stopping(CancelReason::Resource));
            }
            ChildEvent::Exited { status, leaked, .. } => self.end(status, &leaked),
            // What a later supervisor may tell is not for this provider.
            _ => {}
        }
    }

    fn take_stdout(&mut self, line: Line) {
        self.lost_event |= line.dropped > 0 && LineEvent::may_begin(&line.text);
        match LineEvent::parse(&line.text).filter(|_| line.dropped == 0) {
            Some(event) => {
                if let Err(line) = self.take_event(event, line) {
                    self.take_text(line);
                }
            }
            None => self.take_text(line),
        }
    }

    fn take_text(&mut self, line: Line) {
        self.text.push(&line.text);
        self.tell_line(OutputStream::Stdout, line);
    }

    fn tell_line(&mut self, stream: OutputStream, line: Line) {
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

    /// Takes an event, or gives its line back if it is none after all.
    fn take_event(&mut self, event: LineEvent, line: Line) -> Result<(), Line> {
        match event {
            LineEvent::Session { id } => {
                let Ok(id) = id.parse::<SessionId>() else {
                    return Err(line);
                };
                if self.session.is_none() {
                    self.session = Some(id.clone());
                    self.pending.push_back(RunEvent::Session(id));
                }
            }
            LineEvent::ToolStart { id, name, args } => {
                let told = id.to_string();
                if self.tools.len() < MOST_TOOLS {
                    self.tools.insert(id, name.clone());
                }
                let args = args.to_string();
                self.pending.push_back(RunEvent::ToolStart {
                    id: told,
                    name,
                    args,
                });
            }
            LineEvent::ToolEnd { id, ok } => {
                let name = self
                    .tools
                    .remove(&id)
                    .unwrap_or_else(|| "unknown".to_owned());
                let status = if ok {
                    ToolStatus::Ok
                } else {
                    ToolStatus::Error
                };
                self.pending.push_back(RunEvent::ToolEnd {
                    id: id.to_string(),
                    name,
                    status,
                });
            }
            LineEvent::Usage(usage) => {
                let Some(counts) = usage.counts() else {
                    return Err(line);
                };
                add(self.usage.get_or_insert_default(), counts);
            }
            LineEvent::Output { output } => self.pending.push_back(RunEvent::Proposed(output)),
            LineEvent::Result { ok, text } => {
                self.result = Some(ToldResult { ok, text });
                if self.leaving == Leaving::No {
                    self.leaving = Leaving::Until(Instant::now() + GRACE);
                }
            }
        }
        Ok(())
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
                name: "leaked".to_owned(),
                detail,
            });
        }
        let outcome = Ending {
            status,
            cancelled: self.cancelled,
            limit: self.limit,
            overstayed: self.leaving == Leaving::Stopped,
            result: self.result.as_ref(),
            rule: self.rule,
            lost_event: self.lost_event,
            complaints: self.complaints.join(),
        }
        .outcome();
        // Held until here: only a run that ended well counts what its program says it used.
        let usage = self.usage.take().filter(|_| outcome == Outcome::Done);
        self.pending.extend(usage.map(RunEvent::Usage));
        let text = match &self.result {
            Some(result) => result.text.clone(),
            None => self.text.join(),
        };
        self.pending.push_back(RunEvent::terminal(outcome, text));
    }

    /// Applies a cancel that came after the end was worked out, but before it was told.
    fn settle(&self, event: RunEvent) -> Option<RunEvent> {
        match (event, self.cancelled) {
            (RunEvent::Terminal { text, .. }, Some(reason)) => {
                Some(RunEvent::terminal(Outcome::Stopped(reason), text))
            }
            (RunEvent::Usage(_), Some(_)) => None,
            (event, _) => Some(event),
        }
    }

    /// Waits for something to happen to the process.
    async fn wait(&mut self) {
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
                    self.pending.push_back(RunEvent::Stopping(CancelReason::Grace));
                }
            }
        }
    }
}

#[async_trait]
impl Run for CommandRun {
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

    async fn ask(&mut self, _: &str) -> Result<Asked, ProviderError> {
        let session = self.session.clone().filter(|_| self.can_resume);
        Ok(session.map_or(Asked::Unsupported, Asked::Resume))
    }

    async fn cancel(&mut self, why: CancelReason) -> Result<(), ProviderError> {
        if !self.has_ended {
            self.cancelled.get_or_insert(why);
            self.child.stop();
        }
        Ok(())
    }
}
