//! Facts that are missing from some payloads and can be fetched.

use std::fmt;
use std::str::FromStr;

use crate::field::Field;
use crate::ids::InvalidId;

/// A fact that may be missing from a payload and that the host can fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    /// The paths that a pull request changes.
    ChangedFiles,
    /// The pull requests of a check or a status, or the one that a comment is on.
    PullRequests,
    /// The name of a channel.
    ChannelName,
    /// The name of a removed label; the payload contains only its id.
    LabelName,
}

impl Need {
    /// Every need.
    pub const ALL: [Self; 4] = [
        Self::ChangedFiles,
        Self::PullRequests,
        Self::ChannelName,
        Self::LabelName,
    ];

    /// Returns the name used in JSON, in stored rows and in payload envelopes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChangedFiles => "changed_files",
            Self::PullRequests => "pull_requests",
            Self::ChannelName => "channel_name",
            Self::LabelName => "label_name",
        }
    }

    /// Returns the field that is set if the payload contains the fact.
    pub fn field(self) -> Field {
        match self {
            Self::ChangedFiles => Field::ChangedFiles,
            Self::PullRequests => Field::PullRequests,
            Self::ChannelName => Field::Channel,
            Self::LabelName => Field::LabelRemoved,
        }
    }

    /// Returns the fact to fetch for a field that payloads of this kind may omit.
    pub fn of(field: Field, kind: &str) -> Option<Self> {
        match field {
            Field::ChangedFiles | Field::AddedFiles | Field::RemovedFiles => {
                Some(Self::ChangedFiles)
            }
            Field::Channel => Some(Self::ChannelName),
            Field::LabelRemoved if kind == BY_ID => Some(Self::LabelName),
            Field::PullRequests
            | Field::Draft
            | Field::CurrentHead
            | Field::State
            | Field::Number
                if is_check(kind) =>
            {
                Some(Self::PullRequests)
            }
            Field::Base | Field::Head | Field::Fork | Field::Merged
                if is_check(kind) || kind == COMMENT =>
            {
                Some(Self::PullRequests)
            }
            Field::OnDefaultBranch if kind == COMMENT => Some(Self::PullRequests),
            _ => None,
        }
    }
}

/// The kind of comments on issues and pull requests; its payload contains little of the pull request.
pub(crate) const COMMENT: &str = "issue_comment";

/// The kind whose payloads contain only the ids of removed labels.
const BY_ID: &str = "Issue";

/// Whether events of a kind are about a commit; their payloads may omit its pull requests.
pub(crate) fn is_check(kind: &str) -> bool {
    matches!(
        kind,
        "check_run" | "check_suite" | "status" | "workflow_run"
    )
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Need {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::ALL
            .into_iter()
            .find(|need| need.as_str() == text)
            .ok_or_else(|| InvalidId::new(text, "a fact that can be fetched"))
    }
}
