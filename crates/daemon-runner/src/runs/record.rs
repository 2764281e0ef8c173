//! The record of one run: its redacted events go to the one writer of its folder.

mod ending;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use daemon_process::{ProcessId, boot_id};
use daemon_provider::redact::{Redactor, Sequence};
use daemon_provider::{
    Limits, MicroUsd, Outcome, OutputStream, Provider, RunEvent, StopReason, Verdict,
};
use daemon_run_folder::{
    BudgetRecord, Document, Dropped, Folder, FolderError, Owner, Reserved, RunStart, SandboxRecord,
    UnsyncedStart, Writer,
};
use daemon_store::{RunEnd, RunRow};
use jiff::Timestamp;
use serde_json::{Map, Value};

pub(crate) use self::ending::Written;
use self::words::tokens;
use super::{redaction, row};
use crate::policy::ReachedSandbox;
use daemon_provider::Permissions;
use daemon_records::RecordedRun;
use daemon_records::clock::Clock;

/// Why a run could not be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RecordError {
    /// The folder could not be written.
    #[error("the folder could not be written")]
    Folder(#[from] FolderError),
    /// The boot id or the start time of this process could not be read.
    #[error("this process could not be identified")]
    Owner(#[source] std::io::Error),
    /// A file of the context could not be written.
    #[error("the context could not be written")]
    Context(#[source] std::io::Error),
    /// The support tree could not be written.
    #[error("the support tree could not be written")]
    Support(#[source] daemon_repo::GitError),
}

/// The attempt that a run carries out.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) activation: daemon_event::ActivationId,
    pub(crate) daemon: daemon_event::DaemonKey,
    pub(crate) number: u32,
}

/// Returns this process as the owner of a run.
pub(crate) fn owner() -> Result<Owner, RecordError> {
    let me = ProcessId::current().map_err(RecordError::Owner)?;
    Ok(Owner {
        pid: me.pid,
        boot_id: boot_id().map_err(RecordError::Owner)?,
        start: me.start,
    })
}

/// Sets the provider, the permissions and the limits of a start. Limits that the provider does not enforce are not recorded.
pub(crate) fn bound(
    start: &mut RunStart,
    provider: &dyn Provider,
    permissions: Permissions,
    limits: &Limits,
    sandbox: &ReachedSandbox,
) {
    let permissions = provider.permissions(permissions);
    permissions.as_str().clone_into(&mut start.permissions);
    if let Some(model) = provider.model() {
        model.clone_into(&mut start.model);
    }
    // A reader takes a number for a bound, so that limits that the provider does not enforce are not recorded.
    let limits = provider.enforced(limits);
    start.is_reported = provider.is_reporting();
    start.max_turns = limits.max_turns;
    start.timeout = Some(limits.wall);
    start.idle_timeout = limits.idle;
    start.sandbox = SandboxRecord {
        level: sandbox.level,
        detail: sandbox.detail.clone(),
    };
    start.budget = BudgetRecord {
        usd: limits.budget.map(MicroUsd::as_usd),
        tokens: None,
        reserved_usd: None,
    };
}

/// The record of one run.
#[derive(Debug)]
pub(crate) struct Record {
    writer: Writer,
    clock: Arc<dyn Clock>,
    redactor: Redactor,
    /// Redact standard output and standard error; a secret can begin in one line and end in the next.
    outputs: [Sequence; 2],
    attempt: Option<Attempt>,
    provider: String,
    started: Timestamp,
    finished: Option<Timestamp>,
    /// The cost of the model calls that the provider made itself.
    spent: Option<MicroUsd>,
    terminal: Terminal,
}

/// When the terminal event of the provider is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Terminal {
    /// When the provider reports it.
    AtOnce,
    /// With the end of the run.
    WithEnd,
}

impl Record {
    /// Starts the record of a run. Everything in it is written without the secrets that `redactor` knows.
    pub(crate) fn open(
        reserved: Reserved,
        start: RunStart,
        redactor: Redactor,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, FolderError> {
        let start = without_secrets(start, &redactor);
        let (provider, now) = (start.backend.clone(), clock.now());
        let writer = Writer::start(reserved, start, now)?;
        Ok(Self::of(writer, provider, redactor, clock, now))
    }

    /// Starts the record of an attempt as [`Record::open`] does, but does not wait until it is on disk.
    pub(crate) fn begin(
        reserved: Reserved,
        start: RunStart,
        redactor: Redactor,
        attempt: Attempt,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, UnsyncedStart), FolderError> {
        let start = without_secrets(start, &redactor);
        let (provider, now) = (start.backend.clone(), clock.now());
        let (writer, unsynced) = Writer::begin(reserved, start, now)?;
        let mut record = Self::of(writer, provider, redactor, clock, now);
        record.attempt = Some(attempt);
        Ok((record, unsynced))
    }

    fn of(
        writer: Writer,
        provider: String,
        redactor: Redactor,
        clock: Arc<dyn Clock>,
        started: Timestamp,
    ) -> Self {
        Self {
            provider,
            outputs: [redactor.sequence(), redactor.sequence()],
            redactor,
            writer,
            attempt: None,
            clock,
            started,
            finished: None,
            spent: None,
            terminal: Terminal::AtOnce,
        }
    }

    /// Takes over the folder of a run that no process is writing.
    pub(crate) fn adopt(
        folder: Folder,
        redactor: Redactor,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, FolderError> {
        let writer = Writer::adopt(folder, clock.now())?;
        let document = writer.document();
        Ok(Self {
            outputs: [redactor.sequence(), redactor.sequence()],
            redactor,
            provider: document.backend.clone(),
            started: document.started_at,
            finished: document.finished_at,
            attempt: None,
            spent: None,
            terminal: Terminal::AtOnce,
            clock,
            writer,
        })
    }

    /// Replaces the redactor by one that knows more secrets, before the run prints anything.
    pub(crate) fn redact_with(&mut self, redactor: Redactor) {
        self.outputs = [redactor.sequence(), redactor.sequence()];
        self.redactor = redactor;
    }

    /// Records the terminal event of the provider only with the end of the run.
    ///
    /// After a crash, a run with that event counts as done. Call this for a run that has more to do after it.
    pub(crate) fn defer_terminal(&mut self) {
        self.terminal = Terminal::WithEnd;
    }

    /// Records the sequence number under which the end was published.
    pub(crate) fn published(&mut self, seq: u64) {
        let written = self.writer.published(seq, self.clock.now());
        self.report(written);
    }

    /// Removes the folder of a run that did not start.
    pub(crate) fn discard(self) {
        if let Err(error) = self.writer.discard() {
            let error = daemon_records::error::chain(&error);
            tracing::warn!(error, "a run folder could not be removed");
        }
    }

    /// Returns the run's id.
    pub(crate) fn id(&self) -> String {
        self.writer.folder().id().to_string()
    }

    /// Returns the child's `HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.writer.folder().session()
    }

    /// Returns the child's `TMPDIR`.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.writer.folder().temporary()
    }

    /// Returns the directory of the context.
    pub(crate) fn context(&self) -> PathBuf {
        self.writer.folder().context()
    }

    /// Returns the directory for files with secrets, which is removed when the run ends.
    pub(crate) fn private(&self) -> PathBuf {
        self.writer.folder().private()
    }

    /// Returns the file that a child appends proposals to.
    pub(crate) fn spool(&self) -> PathBuf {
        self.writer.folder().outputs()
    }

    /// Records one event of the run.
    pub(crate) fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Stopping { why, detail } => {
                return self.stopping(*why, detail.as_deref());
            }
            // This is the end of a process that answered a message. The end of the run is already recorded.
            RunEvent::Terminal { .. } if self.has_ended() || self.terminal == Terminal::WithEnd => {
                return;
            }
            RunEvent::ModelCall { usage, .. } => {
                if let Some(cost) = usage.cost {
                    let before = self.spent.unwrap_or_default();
                    self.spent = Some(MicroUsd(before.0.saturating_add(cost.0)));
                }
            }
            _ => {}
        }
        // The writer of the folder does not redact, because only the host knows the secrets.
        let Some(event) = self.without_secrets(event) else {
            return;
        };
        let written = self.write(&event);
        self.report(written);
    }

    /// Returns an event without secrets; `None` for a session id that contains one, which could not be resumed if it were cut.
    fn without_secrets(&mut self, event: &RunEvent) -> Option<RunEvent> {
        match event {
            RunEvent::Session(id) if self.redactor.finds_in(id.as_str()) => {
                tracing::warn!(
                    run = self.id(),
                    "a program reported a secret as its session"
                );
                None
            }
            RunEvent::Output {
                stream,
                text,
                truncation,
            } => {
                let [stdout, stderr] = &mut self.outputs;
                let sequence = match stream {
                    OutputStream::Stdout => stdout,
                    OutputStream::Stderr => stderr,
                };
                if daemon_records::failpoint::is_planted("redactor-forgets-edges") {
                    *sequence = self.redactor.sequence();
                }
                Some(RunEvent::Output {
                    stream: *stream,
                    text: sequence.push(text),
                    truncation: *truncation,
                })
            }
            event => Some(redaction::event(&self.redactor, event)),
        }
    }

    fn write(&mut self, event: &RunEvent) -> Result<(), FolderError> {
        let (writer, now) = (&mut self.writer, self.clock.now());
        match event {
            RunEvent::Spawned { child, argv } => writer.spawned(*child, argv.clone(), now),
            RunEvent::Exited(exit) => writer.exited(*exit, now),
            RunEvent::Message { speaker, text } => writer.message(*speaker, text, now),
            RunEvent::Session(id) => writer.session(id.as_str(), now),
            RunEvent::Output {
                stream,
                text,
                truncation,
            } => writer.output(*stream, text, *truncation, now),
            RunEvent::Dropped { lines, bytes } => writer.dropped(
                Dropped {
                    lines: *lines,
                    bytes: *bytes,
                },
                now,
            ),
            RunEvent::ToolStart { name, args, .. } => writer.tool_start(name, args, now),
            RunEvent::ToolEnd { name, status, .. } => writer.tool_end(name, *status, now),
            RunEvent::Turn(turn) => writer.turn(*turn, now),
            RunEvent::Usage { usage, raw } => {
                let cost = usage.cost.map(MicroUsd::as_usd);
                writer.cli_usage(tokens(usage), cost, raw.clone());
                Ok(())
            }
            RunEvent::ModelCall {
                usage,
                model,
                endpoint,
            } => writer.model_call(tokens(usage), model, endpoint, now),
            RunEvent::Priced { budget } => writer.budget(budget.as_usd(), now),
            RunEvent::Denied { name, detail } => writer.denied(name, detail, now),
            RunEvent::Limit { name, detail } => writer.limit(name, detail, now),
            RunEvent::Network(used) => writer.network(used, now),
            RunEvent::Terminal { outcome, text } => writer.provider_ended(outcome, text, now),
            _ => Ok(()),
        }
    }

    /// Records a proposal that was refused.
    pub(crate) fn proposed(&mut self, proposal: &Value, verdict: &Verdict) {
        if let Verdict::Refused(reason) = verdict {
            let verb = proposal
                .get("verb")
                .and_then(Value::as_str)
                .unwrap_or("output");
            let clean = |text: &str| self.redactor.text(text).into_owned();
            let (verb, reason) = (clean(verb), clean(reason));
            let written = self.writer.denied(&verb, &reason, self.clock.now());
            self.report(written);
        }
    }

    /// Returns whether the end of the run is recorded.
    pub(crate) fn has_ended(&self) -> bool {
        self.writer.document().state.is_terminal()
    }

    /// Returns the document of the run, with changes that are not written yet.
    pub(crate) fn document(&self) -> &Document {
        self.writer.document()
    }

    /// Returns the redactor of the run's secrets.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns an outcome and a final text without the secrets of the run.
    pub(crate) fn redacted(&self, outcome: &Outcome, text: &str) -> (Outcome, String) {
        let outcome = redaction::outcome(&self.redactor, outcome);
        (outcome, self.redactor.text(text).into_owned())
    }

    /// Returns the folder.
    pub(crate) fn folder(&self) -> &Folder {
        self.writer.folder()
    }

    /// Records what is reserved for a turn from the budget of the day.
    pub(crate) fn reserved(&mut self, reserved: MicroUsd) {
        let now = self.clock.now();
        let written = self.writer.reserved(reserved.as_usd(), now);
        self.report(written);
    }

    /// Stores the reason of a stop. Call it before the first signal. After the end of the run it does nothing.
    pub(crate) fn stopping(&mut self, why: StopReason, detail: Option<&str>) {
        if self.has_ended() {
            return;
        }
        let stored = self
            .writer
            .stopping(why, detail, self.clock.now())
            .map(drop);
        self.report(stored);
    }

    /// Stores that a message was sent, and returns its number; `None` if it could not be written.
    pub(crate) fn asked(&mut self) -> Option<u32> {
        let asked = self.writer.ask_started(self.clock.now());
        asked.map_err(|error| self.report(Err(error))).ok()
    }

    /// Returns the time after which [`Record::beat`] is to be called.
    pub(crate) fn next_beat(&self) -> Duration {
        self.writer.next_tick(self.clock.now())
    }

    /// Updates the heartbeat, and writes changes that are not on disk yet.
    pub(crate) fn beat(&mut self) {
        let written = self.writer.tick(self.clock.now());
        self.report(written);
    }

    /// Returns the current row of the run for the store.
    pub(crate) fn row(&self) -> RunRow {
        let document = self.writer.document();
        let run = RecordedRun::new(self.writer.folder(), document.clone());
        let spent = self.spent.map(MicroUsd::as_usd);
        let attempt = self.attempt.as_ref();
        RunRow {
            id: self.id(),
            activation: attempt.map(|attempt| attempt.activation.clone()),
            daemon: attempt.map(|attempt| attempt.daemon.clone()),
            attempt: attempt.map_or(1, |attempt| attempt.number),
            provider: self.provider.clone(),
            state: document.state.as_str().to_owned(),
            started_at: self.started,
            finished_at: self.finished,
            object: row::json(&run, spent, self.clock.now()),
        }
    }

    /// Returns the end of the run for its row; `None` before the end.
    pub(crate) fn end_of_row(&self) -> Option<RunEnd> {
        let row = self.row();
        Some(RunEnd {
            state: row.state,
            finished_at: row.finished_at?,
            object: row.object,
        })
    }

    /// Logs a failed write. A run continues on a full disk: its end is written again until it is durable.
    fn report(&self, written: Result<(), FolderError>) {
        if let Err(error) = written {
            tracing::warn!(
                run = self.id(),
                error = daemon_records::error::chain(&error),
                "a run folder could not be written"
            );
        }
    }
}

/// Removes the secrets from the start of a run. The hash stays the one of the bytes that the provider receives.
fn without_secrets(start: RunStart, redactor: &Redactor) -> RunStart {
    let clean = |text: &str| redactor.text(text).into_owned();
    let clean_map = |map: Map<String, Value>| match redactor.json(&Value::Object(map)) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let prompt = String::from_utf8_lossy(&start.prompt);
    RunStart {
        prompt: clean(&prompt).into_bytes(),
        task: clean(&start.task),
        call_parameters: clean_map(start.call_parameters),
        backend_options: clean_map(start.backend_options),
        ..start
    }
}
