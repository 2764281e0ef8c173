//! The rules by which the proposals of a run are admitted.

use daemon_engine::Activation;
use daemon_engine::proposal::{OutputCapability, OutputTarget, ProposalRules};
use daemon_event::Subject;
use daemon_provider::Permissions;

use super::place::Prepared;
use crate::run_context::RunContext;

/// Returns the rules for the run of an attempt.
pub(super) fn of(
    run_context: &RunContext,
    activation: &Activation,
    prepared: &Prepared,
) -> ProposalRules {
    let events = prepared.events.iter().map(|row| row.event.subject.as_ref());
    let subjects = std::iter::once(activation.subject.as_ref()).chain(events);
    let mut acc: Vec<OutputTarget> = Vec::new();
    for target in subjects.flatten().filter_map(target) {
        if !acc.contains(&target) {
            acc.push(target);
        }
    }
    ProposalRules {
        capability: capability(prepared.policy.permissions),
        repo: activation.daemon.repo.clone(),
        subjects: acc,
        commit: Some(prepared.commit.to_string()),
        own: Vec::new(),
        configured: prepared.policy.targets.clone(),
        surfaces: run_context.host.settings().surfaces.clone(),
    }
}

/// Returns the target that a subject names. Subjects have further forms, such as refs and alerts, which no output is about.
fn target(subject: &Subject) -> Option<OutputTarget> {
    subject.as_str().parse().ok()
}

fn capability(permissions: Permissions) -> OutputCapability {
    match permissions {
        Permissions::Read => OutputCapability::Read,
        Permissions::Propose => OutputCapability::Propose,
        Permissions::Write | Permissions::Bypass => OutputCapability::Write,
    }
}
