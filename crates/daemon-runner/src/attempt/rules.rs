//! The rules by which the proposals of a run are admitted.

use daemon_engine::proposal::{
    OutputCapability, OutputTarget, OwnOutput, ProposalRules, ServedSurfaces, TargetPattern,
};
use daemon_engine::{Activation, OutputState};
use daemon_event::{Event, Subject};
use daemon_provider::Permissions;
use daemon_records::error::chain;
use daemon_records::failpoint;
use daemon_repo::ObjectId;
use daemon_store::{EventRow, Query};

use super::AttemptRefusal;
use super::pull_head::pull_head;
use crate::policy::RunPolicy;
use crate::run_context::RunContext;
use crate::settings::RunSettings;

/// The newest outputs of a daemon that its runs can refer to.
const MOST_OWN: u32 = 200;

/// Returns the rules for a run of an activation; `own` are the outputs of its daemon that are on surfaces.
pub fn proposal_rules(
    activation: &Activation,
    events: &[EventRow],
    commit: Option<&ObjectId>,
    policy: &RunPolicy,
    (own, surfaces): (Vec<OwnOutput>, ServedSurfaces),
) -> ProposalRules {
    let of_events = events.iter().filter_map(|row| row.event.subject.as_ref());
    let subjects = activation.subject.iter().chain(of_events);
    let mut acc: Vec<OutputTarget> = Vec::new();
    for target in subjects.filter_map(target) {
        if !acc.contains(&target) {
            acc.push(target);
        }
    }
    let events: Vec<Event> = events.iter().map(|row| row.event.clone()).collect();
    let head = commit.and_then(|commit| pull_head(&events, commit, &own));
    ProposalRules {
        capability: capability(policy.permissions),
        repo: activation.daemon.repo.clone(),
        subjects: acc,
        commit: commit.map(ObjectId::to_string),
        head,
        own,
        configured: configured(policy),
        surfaces,
    }
}

fn configured(policy: &RunPolicy) -> Vec<TargetPattern> {
    let mut targets = policy.targets.clone();
    if failpoint::is_planted("any-target") {
        let services = ["github:", "linear:", "slack:"].map(str::to_owned);
        targets.extend(services.map(TargetPattern::Prefix));
    }
    targets
}

/// Returns the outputs of an activation's daemon that are on surfaces, newest first, and the surfaces.
///
/// # Errors
/// The store failed; the attempt may be tried again.
pub(super) async fn known(
    run_context: &RunContext,
    activation: &Activation,
    settings: &RunSettings,
) -> Result<(Vec<OwnOutput>, ServedSurfaces), AttemptRefusal> {
    let surfaces = settings.surfaces.clone();
    // Branches alone are no targets.
    if surfaces.names.len() < 2 {
        return Ok((Vec::new(), surfaces));
    }
    let query = Query {
        limit: MOST_OWN,
        daemon: Some(activation.daemon.id.to_string()),
        repo: Some(activation.daemon.repo.clone()),
        state: Some(OutputState::Confirmed.as_str().to_owned()),
        ..Query::default()
    };
    let page = run_context.store.outputs(&query).await;
    let page = page.map_err(|error| AttemptRefusal::retryable(chain(&error)))?;
    let own = page.rows.iter();
    let own = own.filter_map(|output| settings.planner.own_output(output));
    Ok((own.collect(), surfaces))
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
