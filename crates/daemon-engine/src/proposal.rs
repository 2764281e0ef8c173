//! Proposals: actions that a run requests, each one line of JSON.

use serde::Deserialize;
use std::collections::BTreeMap;

use crate::output::StateChange;

/// The version of the proposal form.
pub const PROPOSAL_VERSION: u32 = 1;
/// The longest proposal, in bytes.
pub const MAX_PROPOSAL_BYTES: usize = 256 * 1024;
/// The longest body, in characters.
pub const MAX_BODY_CHARS: usize = 65_536;

/// An action that a run requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// Puts the changes of the worktree on a new branch.
    PushBranch {
        /// The commit message; the host writes one if it is absent.
        message: Option<String>,
    },
    /// Changes the daemon's state.
    State(Vec<StateChange>),
    /// Reports that there was nothing to do.
    NoOp {
        /// The reason, as shown to people.
        reason: String,
    },
}

/// A line that is not a proposal this runtime serves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposalError {
    /// It is not JSON of the expected form.
    #[error("not a proposal: {reason}")]
    Malformed {
        /// The parser's reason.
        reason: String,
    },
    /// It is of another version.
    #[error("version {found} of the proposal form is not served, {PROPOSAL_VERSION} is")]
    Version {
        /// The version found.
        found: u32,
    },
    /// No surface here serves the verb.
    #[error("no surface here serves the verb `{verb}`")]
    Verb {
        /// The verb.
        verb: String,
    },
    /// It is longer than allowed.
    #[error("the proposal has {found} bytes, at most {MAX_PROPOSAL_BYTES} are read")]
    Long {
        /// Its length in bytes.
        found: usize,
    },
    /// The body is longer than allowed.
    #[error("the body has {found} characters, at most {MAX_BODY_CHARS} are sent")]
    Body {
        /// Its length in characters.
        found: usize,
    },
}

#[derive(Deserialize)]
struct Wire {
    v: u32,
    verb: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    set: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    remove: Vec<String>,
}

impl Proposal {
    /// Reads one line.
    ///
    /// # Errors
    /// The reason. Nothing of a refused line is used.
    pub fn parse(line: &str) -> Result<Self, ProposalError> {
        // Before parsing, which takes several times the memory of the line.
        if line.len() > MAX_PROPOSAL_BYTES {
            return Err(ProposalError::Long { found: line.len() });
        }
        // Unknown fields are accepted: verbs have fields that this version does not read.
        let wire: Wire = serde_json::from_str(line).map_err(|error| ProposalError::Malformed {
            reason: error.to_string(),
        })?;
        if wire.v != PROPOSAL_VERSION {
            return Err(ProposalError::Version { found: wire.v });
        }
        let chars = wire.body.as_deref().map_or(0, |body| body.chars().count());
        if chars > MAX_BODY_CHARS {
            return Err(ProposalError::Body { found: chars });
        }
        match wire.verb.as_str() {
            "push_branch" => Ok(Self::PushBranch { message: wire.body }),
            "state" => Ok(Self::State(
                wire.set
                    .into_iter()
                    .map(|(key, value)| StateChange::Set {
                        key,
                        json: value.to_string(),
                    })
                    .chain(
                        wire.remove
                            .into_iter()
                            .map(|key| StateChange::Remove { key }),
                    )
                    .collect(),
            )),
            "no_op" => Ok(Self::NoOp {
                reason: wire.reason.unwrap_or_default(),
            }),
            _ => Err(ProposalError::Verb { verb: wire.verb }),
        }
    }
}

#[cfg(test)]
mod tests;
