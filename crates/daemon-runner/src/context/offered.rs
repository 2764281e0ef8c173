//! What the context says about the permissions of a run, its budget and the outputs that it may propose.

use daemon_context::{OpenOutput, RemainingBudget, RunPermissions, VerbView};
use daemon_engine::proposal::{ProposalRules, TargetPattern, VERBS};
use daemon_provider::MicroUsd;

use super::Ingredients;

/// The outputs that a run may propose, and those that its daemon has on surfaces.
pub(super) struct Offered {
    verbs: Vec<VerbView<'static>>,
    targets: String,
    /// Surfaces and descriptions.
    open: Vec<(&'static str, String)>,
}

impl Offered {
    pub(super) fn by(rules: &ProposalRules) -> Self {
        let served = VERBS.iter().filter(|row| rules.serves(row));
        let verbs = served.map(|row| VerbView {
            summary: row.summary,
            example: row.example,
        });
        let targets = rules.configured.iter().map(TargetPattern::to_string);
        let open = rules.own.iter().map(|own| {
            let target = own.made.as_ref().unwrap_or(&own.on);
            let slot = own.slot.as_deref().map(|slot| format!(", slot {slot}"));
            let slot = slot.unwrap_or_default();
            let shown = format!("{target} by {} (output {}{slot})", own.verb, own.key);
            (own.on.kind().surface(), shown)
        });
        Self {
            verbs: verbs.collect(),
            targets: targets.collect::<Vec<_>>().join(", "),
            open: open.collect(),
        }
    }

    pub(super) fn open_outputs(&self) -> impl Iterator<Item = OpenOutput<'_>> {
        let open = self.open.iter();
        open.map(|(surface, target)| OpenOutput { surface, target })
    }

    /// Returns the permissions, the budget and the deadline of the run.
    pub(super) fn permissions<'a>(
        &'a self,
        from: &Ingredients<'a>,
        servers: &'a [&'a str],
    ) -> RunPermissions<'a> {
        RunPermissions {
            name: from.permissions.as_str(),
            verbs: &self.verbs,
            targets: &self.targets,
            budget: from.budget,
            deadline: from.now.checked_add(from.wall).ok(),
            servers,
        }
    }
}

/// Returns the budget that a run is shown: the rest of its activation and, if the day is limited, of the day. `None` if the
/// activation is not limited.
pub fn remaining_budget(
    activation: Option<MicroUsd>,
    day: Option<MicroUsd>,
) -> Option<RemainingBudget> {
    let cents = |amount: MicroUsd| amount.0 / 10_000;
    activation.map(|activation| RemainingBudget {
        activation_cents: cents(activation),
        day_cents: day.map(cents),
    })
}
