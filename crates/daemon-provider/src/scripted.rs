//! A provider that plays scripts, for tests of what runs providers.

use std::collections::VecDeque;
use std::fs;
use std::future::pending;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    Asked, Failure, FailureKind, FollowUps, GrantError, Options, Outcome, Provider, ProviderError,
    ProviderErrorKind, Run, RunEvent, RunRequest, SessionId, StopReason, Verdict,
};

/// One step of a [`Script`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Step {
    /// Yields this event.
    Event(RunEvent),
    /// Writes this file, relative to the worktree.
    Write(PathBuf, Vec<u8>),
    /// Proposes this output through the grants; a refusal is yielded as `Denied`.
    Propose(Value),
    /// Sets this value of the state through the grants; a refusal is yielded as `Denied`.
    SetState(String, Value),
    /// Says nothing more until the run is cancelled.
    Hang,
    /// Fails; the run is over.
    Fail(ProviderError),
}

/// What one run does.
#[derive(Debug)]
pub struct Script {
    start: Result<VecDeque<Step>, ProviderError>,
}

impl Script {
    /// Plays these steps; a script that does not end in a terminal event or a failure fails as `protocol`.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            start: Ok(steps.into_iter().collect()),
        }
    }

    /// Ends well at once, with this text.
    pub fn done(text: &str) -> Self {
        Self::new([Step::Event(RunEvent::terminal(Outcome::Done, text))])
    }

    /// Fails at once.
    pub fn failed(failure: Failure) -> Self {
        Self::new([Step::Event(RunEvent::terminal(
            Outcome::Failed(failure),
            "",
        ))])
    }

    /// Says nothing until it is cancelled.
    pub fn hang() -> Self {
        Self::new([Step::Hang])
    }

    /// Cannot be started.
    pub fn refused(error: ProviderError) -> Self {
        Self { start: Err(error) }
    }
}

/// Plays one script per run, in order.
#[derive(Debug, Default)]
pub struct Scripted {
    played: Mutex<Played>,
}

#[derive(Debug, Default)]
struct Played {
    scripts: VecDeque<Script>,
    requests: Vec<RunRequest>,
}

impl Scripted {
    /// Makes a provider whose n-th run plays the n-th script; further runs cannot be started.
    pub fn new(scripts: impl IntoIterator<Item = Script>) -> Self {
        let played = Played {
            scripts: scripts.into_iter().collect(),
            requests: Vec::new(),
        };
        Self {
            played: Mutex::new(played),
        }
    }

    /// Adds a script for a later run.
    pub fn push(&self, script: Script) {
        self.played().scripts.push_back(script);
    }

    /// Returns the requests of the runs so far, refused ones included.
    pub fn requests(&self) -> Vec<RunRequest> {
        self.played().requests.clone()
    }

    fn played(&self) -> std::sync::MutexGuard<'_, Played> {
        // Neither field can be left half-changed by a panic.
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn follow_ups(&self) -> FollowUps {
        FollowUps::Resumes
    }

    fn options(&self) -> Options {
        Options::Taken {
            reserved: &["--script"],
        }
    }

    async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError> {
        let mut played = self.played();
        played.requests.push(request.clone());
        let script = played.scripts.pop_front().ok_or_else(|| {
            ProviderError::new("scripted", ProviderErrorKind::Spawn, "no script is left")
        })?;
        Ok(Box::new(ScriptedRun {
            steps: script.start?,
            request,
            session: None,
            stopped: None,
            ended: false,
        }))
    }
}

struct ScriptedRun {
    steps: VecDeque<Step>,
    request: RunRequest,
    session: Option<SessionId>,
    stopped: Option<StopReason>,
    ended: bool,
}

impl ScriptedRun {
    fn end(&mut self, outcome: Outcome, text: impl Into<String>) -> Option<RunEvent> {
        self.ended = true;
        Some(RunEvent::terminal(outcome, text))
    }

    /// Plays the step without removing it, so that a dropped future leaves it to be played again.
    async fn play(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        let denied = |name: &str, error: GrantError| RunEvent::Denied {
            name: name.to_owned(),
            detail: error.to_string(),
        };
        match self.steps.front() {
            None | Some(Step::Event(_) | Step::Fail(_)) => Ok(None),
            Some(Step::Hang) => pending().await,
            Some(Step::Write(path, bytes)) => {
                fs::write(self.request.worktree.join(path), bytes).map_err(|error| {
                    let message = format!("cannot write `{}`", path.display());
                    ProviderError::new("scripted", ProviderErrorKind::Files, message)
                        .caused_by(error)
                })?;
                Ok(None)
            }
            Some(Step::Propose(output)) => {
                Ok(match self.request.grants.propose(output.clone()).await {
                    Ok(Verdict::Accepted) => None,
                    Ok(Verdict::Refused(detail)) => Some(RunEvent::Denied {
                        name: "propose_output".to_owned(),
                        detail,
                    }),
                    Err(error) => Some(denied("propose_output", error)),
                })
            }
            Some(Step::SetState(key, value)) => {
                let answer = self.request.grants.state_set(key, value.clone()).await;
                Ok(answer.err().map(|error| denied("state_set", error)))
            }
        }
    }
}

#[async_trait]
impl Run for ScriptedRun {
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        while !self.ended {
            if let Some(reason) = self.stopped {
                return Ok(self.end(Outcome::Stopped(reason), ""));
            }
            let played = self.play().await;
            let step = self.steps.pop_front();
            if let Some(event) = played.inspect_err(|_| self.ended = true)? {
                return Ok(Some(event));
            }
            match step {
                Some(Step::Event(event)) => {
                    match &event {
                        RunEvent::Terminal { .. } => self.ended = true,
                        RunEvent::Session(id) if self.session.is_none() => {
                            self.session = Some(id.clone());
                        }
                        _ => {}
                    }
                    return Ok(Some(event));
                }
                Some(Step::Fail(error)) => {
                    self.ended = true;
                    return Err(error);
                }
                None => {
                    let failure =
                        Failure::new(FailureKind::Protocol, "the script ended without a result");
                    return Ok(self.end(Outcome::Failed(failure), ""));
                }
                Some(_) => {}
            }
        }
        Ok(None)
    }

    fn would_take(&self) -> Asked {
        self.session
            .clone()
            .map_or(Asked::Unsupported, Asked::Resume)
    }

    async fn cancel(&mut self, why: StopReason) -> Result<(), ProviderError> {
        self.stopped.get_or_insert(why);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
