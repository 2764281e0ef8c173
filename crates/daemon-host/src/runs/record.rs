//! The record of one run: the folder's one writer, fed with the events that the run yields.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daemon_engine::Activation;
use daemon_process::{ProcessId, boot_id};
use daemon_provider::{
    CancelReason, Exit, Outcome, OutputStream, Role, RunEvent, ToolStatus, Usage, Verdict,
};
use daemon_run_folder::{
    ActivationLink, Budget, Child, Dropped, Ending, ErrorClass, Folder, FolderError, Handle, Owner,
    RunError, SandboxRecord, Speaker, Start, StopReason, Tokens, Truncation, Writer, sha256,
};
use daemon_store::RunRow;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::show::object;
use crate::driver::Inner;
use crate::execute::Prepared;
use crate::random;

/// Why a run could not be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RecordError {
    /// The folder could not be written.
    #[error("the folder could not be written")]
    Folder(#[from] FolderError),
    /// The system does not tell who this process is.
    #[error("this process could not be identified")]
    Owner(#[source] std::io::Error),
    /// A file of the context could not be written.
    #[error("the context could not be written")]
    Context(#[source] std::io::Error),
    /// The support tree could not be written.
    #[error("the support tree could not be written")]
    Support(#[source] daemon_repo::GitError),
}

/// The record of one run.
#[derive(Debug)]
pub(crate) struct Record {
    writer: Writer,
    activation: daemon_event::ActivationId,
    daemon: daemon_event::DaemonKey,
    attempt: u32,
    provider: String,
    started: Timestamp,
    finished: Option<Timestamp>,
}

impl Record {
    /// Makes the folder with its context and start files.
    pub(crate) fn begin(
        inner: &Arc<Inner>,
        activation: &Activation,
        prepared: &Prepared,
    ) -> Result<Self, RecordError> {
        let now = random::now();
        let parent = format!("daemon:{}", activation.daemon.id);
        let handle = Handle(inner.next_handle(&parent));
        let reserved = Folder::reserve(&inner.home.runs(), handle, now)?;
        write_context(reserved.folder(), prepared)?;
        let me = ProcessId::current().map_err(RecordError::Owner)?;
        let owner = Owner {
            pid: me.pid,
            boot_id: boot_id().map_err(RecordError::Owner)?,
            start: me.start,
        };
        let provider = prepared.provider.name().to_owned();
        let task = prepared.context.task.clone();
        let mut start = Start::new(
            &parent,
            owner,
            &provider,
            &task,
            prepared.context.bytes.clone(),
        );
        start.activation = Some(ActivationLink {
            daemon: activation.daemon.id.to_string(),
            activation_id: activation.id.to_string(),
            attempt: activation.attempts,
            run_lease: activation.run_lease.0,
        });
        if let Some(model) = prepared.provider.model() {
            model.clone_into(&mut start.model);
        }
        start.max_turns = prepared.limits.max_turns;
        start.timeout = Some(prepared.limits.wall);
        start.idle_timeout = prepared.limits.idle;
        start.permissions = prepared.capability.as_str().to_owned();
        start.sandbox = SandboxRecord {
            level: prepared.sandbox.0,
            detail: prepared.sandbox.1.clone(),
        };
        start.prompt_sha256 = sha256(&prepared.context.bytes);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a budget is far below 2^53 micro-dollars"
        )]
        let usd = prepared
            .limits
            .budget
            .map(|budget| budget.0 as f64 / 1_000_000.0);
        start.budget = Budget { usd, tokens: None };
        let writer = Writer::start(reserved, start, now)?;
        Ok(Self {
            writer,
            activation: activation.id.clone(),
            daemon: activation.daemon.clone(),
            attempt: activation.attempts,
            provider,
            started: now,
            finished: None,
        })
    }

    /// Returns the run's id.
    pub(crate) fn id(&self) -> String {
        self.writer.folder().id().to_string()
    }

    /// Returns the child's `HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.writer.folder().session()
    }

    /// Returns the directory of the context.
    pub(crate) fn context(&self) -> PathBuf {
        self.writer.folder().context()
    }

    /// Returns the file that a child appends proposals to.
    pub(crate) fn spool(&self) -> PathBuf {
        self.writer.folder().outputs()
    }

    /// Writes one event of the run down.
    pub(crate) fn event(&mut self, event: &RunEvent, now: Timestamp) {
        if let RunEvent::Stopping(reason) = event {
            return self.stopping(*reason, now);
        }
        let written = self.write(event, now);
        self.report(written);
    }

    fn write(&mut self, event: &RunEvent, now: Timestamp) -> Result<(), FolderError> {
        let writer = &mut self.writer;
        match event {
            RunEvent::Spawned { child, argv } => {
                let child = Child {
                    pid: child.pid,
                    start: child.start,
                    pgid: child.pgid,
                };
                writer.spawned(child, argv.clone(), now)
            }
            RunEvent::Exited(exit) => writer.exited(exit_of(*exit), now),
            RunEvent::Message { role, kind, text } => {
                let speaker = match (role, kind.as_str()) {
                    (Role::Assistant, _) => Speaker::Assistant,
                    (Role::User, "tool_results") => Speaker::ToolResults,
                    (Role::User, "followup") => Speaker::Followup,
                    (Role::User, _) => Speaker::Task,
                };
                writer.message(speaker, text, now)
            }
            RunEvent::Session(id) => writer.session(id.as_str(), now),
            RunEvent::Output {
                stream,
                text,
                is_truncated,
            } => {
                let stream = match stream {
                    OutputStream::Stdout => daemon_run_folder::OutputStream::Stdout,
                    OutputStream::Stderr => daemon_run_folder::OutputStream::Stderr,
                };
                let truncation = if *is_truncated {
                    Truncation::Cut
                } else {
                    Truncation::Whole
                };
                writer.output(stream, text, truncation, now)
            }
            RunEvent::Dropped { lines, bytes } => writer.dropped(
                Dropped {
                    lines: *lines,
                    bytes: *bytes,
                },
                now,
            ),
            RunEvent::ToolStart { name, args, .. } => writer.tool_start(name, args, now),
            RunEvent::ToolEnd { name, status, .. } => {
                let status = match status {
                    ToolStatus::Ok => daemon_run_folder::ToolStatus::Ok,
                    ToolStatus::Error => daemon_run_folder::ToolStatus::Error,
                };
                writer.tool_end(name, status, now)
            }
            RunEvent::Turn(turn) => writer.turn(*turn, now),
            RunEvent::Usage(usage) => {
                let cost = usage.cost.map(usd);
                writer.cli_usage(
                    tokens(usage),
                    cost,
                    json!({"input": usage.input, "output": usage.output}),
                );
                Ok(())
            }
            RunEvent::ModelCall {
                usage,
                model,
                endpoint,
            } => writer.model_call(tokens(usage), model, endpoint, now),
            RunEvent::Denied { name, detail } => writer.denied(name, detail, now),
            RunEvent::Limit { name, detail } => writer.limit(name, detail, now),
            RunEvent::Terminal { outcome, text } => {
                writer.provider_ended(&ending(outcome), text, now)
            }
            _ => Ok(()),
        }
    }

    /// Writes down what validators said of a proposal.
    pub(crate) fn proposed(&mut self, proposal: &Value, verdict: &Verdict, now: Timestamp) {
        if let Verdict::Refused(reason) = verdict {
            let verb = proposal
                .get("verb")
                .and_then(Value::as_str)
                .unwrap_or("output");
            let written = self.writer.denied(verb, reason, now);
            self.report(written);
        }
    }

    /// Stores why the run is stopped, before anything is signalled.
    pub(crate) fn stopping(&mut self, why: CancelReason, now: Timestamp) {
        let reason = match why {
            CancelReason::Timeout => StopReason::Timeout,
            CancelReason::Idle => StopReason::Idle,
            CancelReason::Reclaim => StopReason::Reclaim,
            CancelReason::AgentStop => StopReason::AgentStop,
            CancelReason::LostLease => StopReason::LostLease,
            CancelReason::Budget => StopReason::Budget,
            CancelReason::Resource => StopReason::Resource,
            CancelReason::Grace => StopReason::Grace,
        };
        let stored = self.writer.stopping(reason, None, now).map(drop);
        self.report(stored);
    }

    /// Shows that the run is looked after.
    pub(crate) fn beat(&mut self, now: Timestamp) {
        let written = self.writer.tick(now);
        self.report(written);
    }

    /// Writes the end.
    pub(crate) fn end(&mut self, outcome: &Outcome, text: &str, now: Timestamp) {
        let ended = self.writer.provider_ended(&ending(outcome), text, now);
        self.report(ended);
        if let Err(error) = self.writer.finish(ending(outcome), now) {
            tracing::error!(run = self.id(), %error, "the end of a run could not be recorded");
        }
        self.finished = Some(now);
    }

    /// Returns the row of the index as it is.
    pub(crate) fn row(&self) -> RunRow {
        let document = self.writer.document();
        let object = object(document, self.writer.folder().path(), random::now());
        RunRow {
            id: self.id(),
            activation: Some(self.activation.clone()),
            daemon: Some(self.daemon.clone()),
            attempt: self.attempt,
            provider: self.provider.clone(),
            state: document.state.as_str().to_owned(),
            started_at: self.started,
            finished_at: self.finished,
            object: serde_json::to_string(&object).expect("a run's object is representable"),
        }
    }

    /// A folder that cannot be written is no reason to stop a run.
    fn report(&self, written: Result<(), FolderError>) {
        if let Err(error) = written {
            tracing::warn!(
                run = self.id(),
                error = crate::ops::chain(&error),
                "a run folder could not be written"
            );
        }
    }
}

fn exit_of(exit: Exit) -> daemon_run_folder::Exit {
    match exit {
        Exit::Code(code) => daemon_run_folder::Exit {
            code: Some(code),
            signal: None,
        },
        Exit::Signal(signal) => daemon_run_folder::Exit {
            code: None,
            signal: Some(signal),
        },
    }
}

fn tokens(usage: &Usage) -> Tokens {
    Tokens {
        input: usage.input,
        output: usage.output,
        thinking: usage.thinking,
        cached: usage.cached,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a run costs far less than 2^53 micro-dollars"
)]
fn usd(cost: daemon_provider::MicroUsd) -> f64 {
    cost.0 as f64 / 1_000_000.0
}

fn ending(outcome: &Outcome) -> Ending {
    let failed = |kind: &str, message: &str, class| {
        Ending::Failed(RunError {
            kind: kind.to_owned(),
            message: message.to_owned(),
            class,
        })
    };
    match outcome {
        Outcome::Done => Ending::Done,
        Outcome::Failed(failure) => {
            let class = match failure.class {
                daemon_provider::Class::Retryable => ErrorClass::Retryable,
                daemon_provider::Class::Final => ErrorClass::Final,
            };
            failed(failure.kind.as_str(), &failure.message, class)
        }
        Outcome::Stopped(why) => failed(why.as_str(), "stopped by the host", ErrorClass::Retryable),
    }
}

/// Writes what a run may read about its activation.
fn write_context(folder: &Folder, prepared: &Prepared) -> Result<(), RecordError> {
    let context = folder.context();
    let make = |path: &Path| fs::DirBuilder::new().mode(0o700).create(path);
    let write = |name: &str, bytes: &[u8]| {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(context.join(name))?;
        file.write_all(bytes)
    };
    let written = (|| {
        make(&context)?;
        write("DAEMON.md", &prepared.daemon_file)?;
        write(
            "trigger.json",
            prepared.context.trigger.to_string().as_bytes(),
        )?;
        write("state.json", prepared.context.state.to_string().as_bytes())?;
        if let Some(newest) = prepared.events.last() {
            write("event.json", &newest.event.payload)?;
        }
        if prepared.events.len() > 1 {
            make(&context.join("events"))?;
            for row in &prepared.events {
                write(&format!("events/{}.json", row.event.id), &row.event.payload)?;
            }
        }
        Ok(())
    })();
    written.map_err(RecordError::Context)?;
    if !prepared.support.files.is_empty() {
        let into = context.join("support");
        prepared
            .repo
            .repository
            .materialise(&prepared.support, &into)
            .map_err(RecordError::Support)?;
    }
    Ok(())
}
