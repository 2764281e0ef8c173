//! A provider that runs no model.
//!
//! It finds relative links in Markdown whose target moved or vanished, and headings that skip a level. A provider made by
//! [`Builtin::repairing`] also rewrites the links that can only mean one file: the one that version control saw move there,
//! else the only one of the same name. It reads the worktree and nothing else, so the same worktree gives the same bytes.
//!
//! If the run may open a pull request, one is proposed for the repairs; otherwise they become a branch.
//!
//! Its result opens with `builtin: no model ran; routines were not interpreted`; the second line counts what was repaired,
//! what is left for a human, and the headings; then comes one line for each finding.

mod finding;
mod markdown;
mod survey;
mod target;

use std::fs;
use std::sync::Arc;
use std::vec::IntoIter;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::{
    Asked, Grants, Outcome, Permissions, Provider, ProviderError, ProviderErrorKind, Run, RunEvent,
    RunRequest, StopReason,
};
use finding::{Finding, FindingCounts, Repair};
use survey::WorktreeSurvey;

const NAME: &str = "builtin";
// A person who reads the result must not take it for the work of a model.
const OPENING: &str = "builtin: no model ran; routines were not interpreted";
/// The most findings in a report; further ones are only counted.
const MOST_REPORTED: usize = 500;

/// A provider that runs no model: it checks links and headings.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Report,
    Repair,
}

impl Builtin {
    /// Makes a provider that only reports.
    pub fn reporting() -> Self {
        Self { mode: Mode::Report }
    }

    /// Makes a provider that also repairs links, in runs that may change the worktree.
    pub fn repairing() -> Self {
        Self { mode: Mode::Repair }
    }
}

#[async_trait]
impl Provider for Builtin {
    fn name(&self) -> &str {
        NAME
    }

    fn is_reporting(&self) -> bool {
        true
    }

    async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError> {
        let survey = WorktreeSurvey::take(&request.worktree, &request.files, &request.renames)
            .map_err(|error| files_error("cannot list the worktree", error))?;
        // The configuration permits repairs in general; the policy of the daemon may permit only reading.
        let may_repair = request.permissions > Permissions::Read;
        Ok(Box::new(BuiltinRun {
            mode: if may_repair { self.mode } else { Mode::Report },
            grants: request.grants,
            has_proposed: false,
            files: survey.markdown().into_iter(),
            survey,
            reported: Vec::new(),
            pending: Vec::new().into_iter(),
            tally: FindingCounts::default(),
            stopped: None,
            has_ended: false,
        }))
    }
}

fn files_error(message: impl Into<String>, error: std::io::Error) -> ProviderError {
    ProviderError::new(NAME, ProviderErrorKind::Files, message).caused_by(error)
}

struct BuiltinRun {
    mode: Mode,
    grants: Arc<dyn Grants>,
    /// Whether it is decided what to propose.
    has_proposed: bool,
    survey: WorktreeSurvey,
    files: IntoIter<String>,
    reported: Vec<String>,
    pending: IntoIter<String>,
    tally: FindingCounts,
    stopped: Option<StopReason>,
    has_ended: bool,
}

impl BuiltinRun {
    /// Checks one file and returns, so that a run can be stopped after each file.
    fn check(&mut self, file: &str) -> Result<(), ProviderError> {
        let message = |what: &str| format!("cannot {what} `{file}`");
        let checked = self
            .survey
            .check(file)
            .map_err(|error| files_error(message("read"), error))?;
        let Some(checked) = checked else {
            return Ok(());
        };
        if let Some(text) = checked.repaired.filter(|_| self.mode == Mode::Repair) {
            fs::write(self.survey.path(file), text)
                .map_err(|error| files_error(message("write"), error))?;
        }
        let lines: Vec<String> = checked
            .findings
            .iter()
            .map(|finding| self.report(finding))
            .collect();
        let room = MOST_REPORTED.saturating_sub(self.reported.len());
        self.reported.extend(lines.iter().take(room).cloned());
        self.pending = lines.into_iter();
        Ok(())
    }

    fn report(&mut self, finding: &Finding) -> String {
        let note = match finding {
            Finding::Heading { .. } => {
                self.tally.headings += 1;
                ""
            }
            Finding::Link {
                repair: Repair::Repairable { .. },
                ..
            } if self.mode == Mode::Repair => {
                self.tally.repaired += 1;
                ": repaired"
            }
            Finding::Link { repair, .. } => {
                self.tally.left += 1;
                if matches!(repair, Repair::Repairable { .. }) {
                    ": not repaired"
                } else {
                    ""
                }
            }
        };
        format!("{finding}{note}")
    }

    fn result(&self) -> String {
        let n_found = self.tally.repaired + self.tally.left + self.tally.headings;
        let mut lines = vec![OPENING.to_owned(), self.tally.to_string()];
        lines.extend(self.reported.iter().cloned());
        if n_found > self.reported.len() {
            lines.push(format!("and {} more", n_found - self.reported.len()));
        }
        if self.survey.is_cut_short {
            lines.push("the worktree is too large: not all of it was looked at".to_owned());
        }
        lines.join("\n")
    }

    /// Returns the pull request for the repairs, if the run may open one.
    async fn proposal(&mut self) -> Option<Value> {
        let n_repaired = self.tally.repaired;
        if std::mem::replace(&mut self.has_proposed, true) || n_repaired == 0 {
            return None;
        }
        let s = if n_repaired == 1 { "" } else { "s" };
        // A fence, because the report quotes names of files.
        let body = format!("```text\n{}\n```", self.result().replace("```", "~~~"));
        let proposal = json!({
            "v": 1, "verb": "open_pull_request", "title": format!("Repair {n_repaired} link{s}"), "body": body,
        });
        self.grants.admits(&proposal).await.then_some(proposal)
    }

    fn end(&mut self, outcome: Outcome, text: String) -> Option<RunEvent> {
        self.has_ended = true;
        Some(RunEvent::terminal(outcome, text))
    }
}

#[async_trait]
impl Run for BuiltinRun {
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        while !self.has_ended {
            if let Some(reason) = self.stopped {
                return Ok(self.end(Outcome::Stopped(reason), String::new()));
            }
            if let Some(line) = self.pending.next() {
                return Ok(Some(RunEvent::output(line)));
            }
            let Some(file) = self.files.next() else {
                if let Some(proposal) = self.proposal().await {
                    return Ok(Some(RunEvent::Proposed(proposal)));
                }
                let text = self.result();
                return Ok(self.end(Outcome::Done, text));
            };
            self.check(&file).inspect_err(|_| self.has_ended = true)?;
        }
        Ok(None)
    }

    fn would_take(&self) -> Asked {
        Asked::Unsupported
    }

    async fn cancel(&mut self, why: StopReason) -> Result<(), ProviderError> {
        self.stopped.get_or_insert(why);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
