//! A provider that plays scripts, for tests of a host.

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
pub enum ScriptStep {
    /// Yields this event.
    Event(RunEvent),
    /// Writes a file, given by its path in the worktree and its content.
    Write(PathBuf, Vec<u8>),
    /// Proposes an output through the grants. A refusal is yielded as [`RunEvent::Denied`].
    Propose(Value),
    /// Sets a value of the state through the grants. A refusal is yielded as [`RunEvent::Denied`].
    SetState(String, Value),
    /// Yields no event until the run is cancelled.
    Hang,
    /// Returns an error, which ends the run.
    Fail(ProviderError),
}

/// The events and actions of one run.
#[derive(Debug)]
pub struct Script {
    start: Result<VecDeque<ScriptStep>, ProviderError>,
}

impl Script {
    /// Makes a script of these steps. Without a terminal event or an error at its end, the run fails as `protocol`.
    pub fn new(steps: impl IntoIterator<Item = ScriptStep>) -> Self {
        Self {
            start: Ok(steps.into_iter().collect()),
        }
    }

    /// Makes a script that ends as `done` at once, with this text.
    pub fn done(text: &str) -> Self {
        Self::new([ScriptStep::Event(RunEvent::terminal(Outcome::Done, text))])
    }

    /// Makes a script that fails at once.
    pub fn failed(failure: Failure) -> Self {
        Self::new([ScriptStep::Event(RunEvent::terminal(
            Outcome::Failed(failure),
            "",
        ))])
    }

    /// Makes a script that yields no event until the run is cancelled.
    pub fn hang() -> Self {
        Self::new([ScriptStep::Hang])
    }

    /// Makes a script whose run cannot be started.
    pub fn refused(error: ProviderError) -> Self {
        Self { start: Err(error) }
    }
}

/// A provider that plays one script per run, in order.
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
    /// Makes a provider whose n-th run plays the n-th script. Starting more runs fails.
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

    /// Returns the requests so far, including those of runs that could not be started.
    pub fn requests(&self) -> Vec<RunRequest> {
        self.played().requests.clone()
    }

    fn played(&self) -> std::sync::MutexGuard<'_, Played> {
        // A panic while the lock is held cannot leave the fields inconsistent, so poisoning is ignored.
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
    steps: VecDeque<ScriptStep>,
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

    /// Plays the first step without removing it: if the future is dropped, the next call plays the step again.
    async fn play(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        let denied = |name: &str, error: GrantError| RunEvent::Denied {
            name: name.to_owned(),
            detail: error.to_string(),
        };
        match self.steps.front() {
            None | Some(ScriptStep::Event(_) | ScriptStep::Fail(_)) => Ok(None),
            Some(ScriptStep::Hang) => pending().await,
            Some(ScriptStep::Write(path, bytes)) => {
                fs::write(self.request.worktree.join(path), bytes).map_err(|error| {
                    let message = format!("cannot write `{}`", path.display());
                    ProviderError::new("scripted", ProviderErrorKind::Files, message)
                        .caused_by(error)
                })?;
                Ok(None)
            }
            Some(ScriptStep::Propose(output)) => {
                Ok(match self.request.grants.propose(output.clone()).await {
                    Ok(Verdict::Accepted) => None,
                    Ok(Verdict::Refused(detail)) => Some(RunEvent::Denied {
                        name: "propose_output".to_owned(),
                        detail,
                    }),
                    Err(error) => Some(denied("propose_output", error)),
                })
            }
            Some(ScriptStep::SetState(key, value)) => {
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
            // The step is removed only after `play` returned: a dropped future leaves it in the script.
            let played = self.play().await;
            let step = self.steps.pop_front();
            if let Some(event) = played.inspect_err(|_| self.ended = true)? {
                return Ok(Some(event));
            }
            match step {
                Some(ScriptStep::Event(event)) => {
                    match &event {
                        RunEvent::Terminal { .. } => self.ended = true,
                        RunEvent::Session(id) if self.session.is_none() => {
                            self.session = Some(id.clone());
                        }
                        _ => {}
                    }
                    return Ok(Some(event));
                }
                Some(ScriptStep::Fail(error)) => {
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
        // The first reason wins.
        self.stopped.get_or_insert(why);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
