//! Proposals: actions that a run requests, each one line of JSON.

mod field;
mod mentions;
mod rules;
mod schema;
mod served;
mod target;
mod verb;

use serde_json::{Map, Value};

use crate::output::StateChange;
use field::remove_unseen;

pub use field::{FieldError, FieldKind, FieldRow, ProposalFields};
pub use mentions::{Mention, mentions};
pub use rules::{
    MAX_LINKS, MAX_MENTIONS, OwnOutput, ProposalRefusal, ProposalRules, PullHead, TargetPattern,
    may_mention,
};
pub use schema::output_schema;
pub use served::{BranchPattern, ServedSurfaces};
pub use target::{GithubName, OutputTarget, TargetKind};
pub use verb::{OutputCapability, OutputVerb, VERBS, VerbRow};

/// The version of the proposal form.
pub const PROPOSAL_VERSION: u32 = 1;
/// The longest proposal, in bytes.
pub const MAX_PROPOSAL_BYTES: usize = 256 * 1024;
/// The longest text of a field, in characters.
// GitHub's limit for the body of a comment.
pub const MAX_BODY_CHARS: usize = 65_536;

/// An action that a run requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// An effect on a surface.
    Act(Act),
    /// Changes the daemon's state.
    State(Vec<StateChange>),
    /// Reports that there was nothing to do.
    NoOp {
        /// The reason, as shown to people.
        reason: String,
    },
}

/// A requested effect on a surface. Its fields have the forms of its verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// What is done.
    pub verb: OutputVerb,
    /// The object that it is done to; [`ProposalRules::admit`] adds it if the run left it out.
    pub target: Option<OutputTarget>,
    /// The fields of the verb.
    pub fields: ProposalFields,
}

/// A line that is not a proposal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposalError {
    /// It is not a JSON object with a version and a verb.
    #[error("not a proposal: {reason}")]
    Malformed {
        /// The parser's reason.
        reason: String,
    },
    /// It is of another version.
    #[error("version {found} of the proposal form is not served, {PROPOSAL_VERSION} is")]
    Version {
        /// The version found.
        found: String,
    },
    /// There is no such verb.
    #[error("there is no verb `{verb}`; there are {}", known_verbs())]
    Verb {
        /// The verb.
        verb: String,
    },
    /// The target has not the form of one, or is of a kind that the verb does not have.
    #[error("`{verb}` has a target of the form {}: `{found}` is not", known_targets(*verb))]
    Target {
        /// The verb.
        verb: OutputVerb,
        /// The target found.
        found: String,
    },
    /// The verb has no target.
    #[error("`{verb}` has no target")]
    NoTarget {
        /// The verb.
        verb: OutputVerb,
    },
    /// A field is missing, unknown or of the wrong form.
    #[error("`{verb}`: {error}")]
    Field {
        /// The verb.
        verb: OutputVerb,
        /// The field and what is wrong with it.
        error: FieldError,
    },
    /// It has none of its optional fields, so that it would do nothing.
    #[error("`{verb}` changes nothing without a field")]
    Empty {
        /// The verb.
        verb: OutputVerb,
    },
    /// It is longer than allowed.
    #[error("the proposal has {found} bytes, at most {MAX_PROPOSAL_BYTES} are read")]
    Long {
        /// Its length in bytes.
        found: usize,
    },
}

fn known_verbs() -> String {
    let names: Vec<&str> = VERBS.iter().map(|row| row.name).collect();
    names.join(", ")
}

fn known_targets(verb: OutputVerb) -> String {
    let forms: Vec<String> = verb
        .row()
        .targets
        .iter()
        .map(|kind| format!("`{}`", kind.form()))
        .collect();
    forms.join(" or ")
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
        let malformed = |reason: String| ProposalError::Malformed { reason };
        let members: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| malformed(error.to_string()))?;
        Self::of(members, WrittenBy::Run)
    }

    fn of(mut members: Map<String, Value>, by: WrittenBy) -> Result<Self, ProposalError> {
        let missing = |field| {
            let reason = format!("the field `{field}` is missing");
            ProposalError::Malformed { reason }
        };
        let found = members.remove("v").ok_or_else(|| missing("v"))?;
        if found != PROPOSAL_VERSION {
            let found = found.to_string().chars().take(80).collect();
            return Err(ProposalError::Version { found });
        }
        let verb = members.remove("verb").ok_or_else(|| missing("verb"))?;
        let named = verb
            .as_str()
            .and_then(|verb| verb.parse::<OutputVerb>().ok());
        let verb = named.ok_or_else(|| {
            let shown = verb
                .as_str()
                .map_or_else(|| verb.to_string(), str::to_owned);
            ProposalError::Verb {
                verb: shown.chars().take(80).collect(),
            }
        })?;
        let target = target_of(verb, members.remove("target"))?;
        if by == WrittenBy::Run {
            remove_unseen(&mut members, verb.row().fields);
        }
        let fields = ProposalFields::check(members, verb.row().fields)
            .map_err(|error| ProposalError::Field { verb, error })?;
        Ok(match verb {
            OutputVerb::State => Self::State(changes(&fields)),
            OutputVerb::NoOp => Self::NoOp {
                reason: fields.text("reason").unwrap_or_default().to_owned(),
            },
            verb => {
                let act = Act {
                    verb,
                    target,
                    fields,
                };
                if act.fields.is_empty() && !act.needs_no_field() {
                    return Err(ProposalError::Empty { verb });
                }
                Self::Act(act)
            }
        })
    }
}

/// Who wrote a proposal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrittenBy {
    Run,
    /// It is a stored one, in which hidden characters break mentions.
    Host,
}

impl Act {
    /// Reads the value that [`Act::to_json`] returned.
    ///
    /// # Errors
    /// It is not the form of an act.
    pub fn of_json(value: Value) -> Result<Self, ProposalError> {
        let malformed = |reason: &str| ProposalError::Malformed {
            reason: reason.to_owned(),
        };
        let Value::Object(members) = value else {
            return Err(malformed("it is not an object"));
        };
        match Proposal::of(members, WrittenBy::Host)? {
            Proposal::Act(act) => Ok(act),
            Proposal::State(_) | Proposal::NoOp { .. } => Err(malformed("it has no effect")),
        }
    }

    /// Returns the proposal as a run would write it.
    pub fn to_json(&self) -> Value {
        let mut members = Map::new();
        members.insert("v".to_owned(), PROPOSAL_VERSION.into());
        members.insert("verb".to_owned(), self.verb.as_str().into());
        if let Some(target) = &self.target {
            members.insert("target".to_owned(), target.to_string().into());
        }
        let fields = self.fields.members().clone();
        members.extend(fields);
        Value::Object(members)
    }

    /// Whether the verb does something even if it has no field.
    fn needs_no_field(&self) -> bool {
        matches!(
            self.verb,
            OutputVerb::PushBranch | OutputVerb::PushPullRequest
        )
    }
}

fn target_of(
    verb: OutputVerb,
    value: Option<Value>,
) -> Result<Option<OutputTarget>, ProposalError> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let kinds = verb.row().targets;
    if kinds.is_empty() {
        return Err(ProposalError::NoTarget { verb });
    }
    let parsed = value
        .as_str()
        .and_then(|text| text.parse::<OutputTarget>().ok());
    match parsed {
        Some(target) if kinds.contains(&target.kind()) => Ok(Some(target)),
        _ => {
            let found = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            Err(ProposalError::Target {
                verb,
                found: found.chars().take(80).collect(),
            })
        }
    }
}

fn changes(fields: &ProposalFields) -> Vec<StateChange> {
    let set = fields.values("set").map(|(key, value)| StateChange::Set {
        key: key.to_owned(),
        json: value.to_string(),
    });
    let remove = fields.lines("remove").map(|key| StateChange::Remove {
        key: key.to_owned(),
    });
    set.chain(remove).collect()
}

#[cfg(test)]
mod tests;
