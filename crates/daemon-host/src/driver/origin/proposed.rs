//! What the content of an output says about objects that have no id of their own.

use daemon_engine::Output;
use serde::Deserialize;

/// The parts of an output's content by which its events are recognised.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Proposed {
    /// The remote id of what it edits.
    pub(super) edits: Option<String>,
    proposal: Proposal,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Proposal {
    labels: Vec<String>,
    add: Vec<String>,
    remove: Vec<String>,
    reviewers: Vec<String>,
    run: Option<u64>,
}

impl Proposed {
    /// Reads a content; one of another form says nothing.
    pub(super) fn of(output: &Output) -> Self {
        serde_json::from_str(&output.content).unwrap_or_default()
    }

    /// Reports whether it gives or takes a label, an assignee or a reviewer.
    pub(super) fn names(&self, name: &str) -> bool {
        let Proposal {
            labels,
            add,
            remove,
            reviewers,
            ..
        } = &self.proposal;
        let lists = [labels, add, remove, reviewers].into_iter().flatten();
        // A team is proposed with its organisation.
        let is_it = |known: &String| {
            let (_, team) = known.rsplit_once('/').unwrap_or_default();
            [known, team]
                .iter()
                .any(|one| one.eq_ignore_ascii_case(name))
        };
        { lists }.any(is_it)
    }

    /// Reports whether it starts a run of a workflow again.
    pub(super) fn retries(&self, run: u64) -> bool {
        self.proposal.run == Some(run)
    }
}
