//! What the interpreter makes of a file's conditions, as data for the rules.

use daemon_spec::DaemonFile;
use daemon_validate::ConditionVerdict;

/// Interprets conditions.
pub(crate) struct Conditions;

impl Conditions {
    /// Returns the verdicts on the entries of `watch` that are text, in order.
    pub(crate) fn verdicts(&self, _file: &DaemonFile) -> Vec<ConditionVerdict> {
        Vec::new()
    }
}
