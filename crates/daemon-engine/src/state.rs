//! A daemon's state across activations.

use std::collections::BTreeMap;

use daemon_event::ActivationId;
use jiff::Timestamp;

use crate::activation::ActivationState;
use crate::output::StateChange;

/// How many keys a daemon may keep.
pub const MAX_KEYS: usize = 500;
/// The longest value, in bytes of JSON.
pub const MAX_VALUE_BYTES: usize = 16 * 1024;
/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 256;
/// All values together, in bytes of JSON.
pub const MAX_STATE_BYTES: usize = 256 * 1024;

/// A daemon's stored values, and the counters that the runtime keeps for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DaemonState {
    /// Values by key, each encoded as JSON.
    pub values: BTreeMap<String, String>,
    /// The newest ended activations, newest first.
    pub history: Vec<PastActivation>,
    /// Activations that ended in the last 24 hours.
    pub activations_today: u64,
    /// Outputs confirmed in the last 24 hours.
    pub outputs_today: u64,
}

/// A summary of an ended activation.
#[derive(Clone, Debug, PartialEq)]
pub struct PastActivation {
    /// The id of the activation.
    pub id: ActivationId,
    /// The state in which it ended.
    pub state: ActivationState,
    /// The key of its first trigger.
    pub trigger: String,
    /// When it reached that state.
    pub finished_at: Timestamp,
    /// The beginning of its result.
    pub summary: Option<String>,
}

/// A change that exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The key is empty or too long.
    #[error("the key `{key}` is empty or over {MAX_KEY_BYTES} bytes")]
    Key {
        /// Its first 80 characters.
        key: String,
    },
    /// The value is too long.
    #[error("the value of `{key}` has {found} bytes, at most {MAX_VALUE_BYTES} are kept")]
    Value {
        /// The key.
        key: String,
        /// The length found.
        found: usize,
    },
    /// There are too many keys.
    #[error("a daemon keeps at most {MAX_KEYS} keys")]
    Keys,
    /// All values together are too long.
    #[error("the values of a daemon take at most {MAX_STATE_BYTES} bytes")]
    Total,
}

/// Applies changes to values; on an error nothing is changed.
///
/// # Errors
/// Names the first limit that the result would exceed.
pub fn apply(
    values: &mut BTreeMap<String, String>,
    changes: &[StateChange],
) -> Result<(), StateError> {
    // A copy, because the limits hold for the result of all changes and an error must leave the values unchanged.
    let mut next = values.clone();
    for change in changes {
        match change {
            StateChange::Set { key, json } => {
                if key.is_empty() || key.len() > MAX_KEY_BYTES {
                    return Err(StateError::Key {
                        key: key.chars().take(80).collect(),
                    });
                }
                if json.len() > MAX_VALUE_BYTES {
                    return Err(StateError::Value {
                        key: key.clone(),
                        found: json.len(),
                    });
                }
                next.insert(key.clone(), json.clone());
            }
            StateChange::Remove { key } => {
                next.remove(key);
            }
        }
    }
    if next.len() > MAX_KEYS {
        return Err(StateError::Keys);
    }
    if next
        .iter()
        .map(|(key, json)| key.len() + json.len())
        .sum::<usize>()
        > MAX_STATE_BYTES
    {
        return Err(StateError::Total);
    }
    *values = next;
    Ok(())
}

#[cfg(test)]
mod tests;
