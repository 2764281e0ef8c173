//! One subscription, as it is stored.

use serde::{Deserialize, Serialize};

use crate::name::AgentName;
use crate::recovery::RecoveryEntry;

/// Lets the events of a source start turns of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subscription {
    /// The source, compared byte for byte.
    pub source: String,
    /// The agent.
    #[serde(with = "crate::name::as_text")]
    pub target_agent: AgentName,
    /// Whether the first event ends it.
    #[serde(default)]
    pub once: bool,
}

impl RecoveryEntry for Subscription {
    const KEY: &'static str = "subscription";

    fn check(&self) -> Result<(), String> {
        super::check_source(&self.source).map_err(|error| error.to_string())
    }
}
