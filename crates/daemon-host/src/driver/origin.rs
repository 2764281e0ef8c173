//! Origins: whether an event is what a daemon put somewhere, or follows from it.
//!
//! What counts is who caused an event, whatever it touches: the outbox knows every commit and branch that an activation of
//! this host delivered. Marks in texts and names that look like a daemon's count for nothing without a row there.

use daemon_engine::{Link, Output};
use daemon_event::{ActorKind, DaemonKey, Event, Field, RepoName, Source};
use daemon_store::{OutputPlace, StoreError};

use super::Inner;

/// The surface whose outputs are commits.
const GIT: &str = "git";

/// What an event has to do with an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tie {
    /// It is the output, as its service reports it.
    Output,
    /// It would not be without the output.
    Consequence,
}

/// The output behind an event, and the chain that whatever the event wakes continues.
#[derive(Debug)]
pub(super) struct Origin {
    tie: Tie,
    daemon: DaemonKey,
    pub(super) link: Link,
}

impl Origin {
    /// Reports whether the event is an output of the daemon itself.
    pub(super) fn is_own(&self, daemon: &DaemonKey) -> bool {
        self.tie == Tie::Output && self.daemon == *daemon
    }
}

/// Finds the output behind an event, whichever of its reports shows it; a chain may be `max_depth` deep.
///
/// # Errors
/// If the store fails.
pub(super) async fn of(
    inner: &Inner,
    reports: &[Event],
    max_depth: u32,
) -> Result<Option<Origin>, StoreError> {
    let places = reports
        .iter()
        .flat_map(|event| places(event).into_iter().map(move |place| (event, place)));
    for (event, (place, tie)) in places {
        let Some(output) = find(inner, event, &place).await? else {
            continue;
        };
        let Some(activation) = inner.store.activation(&output.activation).await? else {
            continue;
        };
        return Ok(Some(Origin {
            tie,
            daemon: output.daemon,
            link: activation.chain.link(max_depth),
        }));
    }
    Ok(None)
}

/// Returns the output of the event's repository at a place.
async fn find(
    inner: &Inner,
    event: &Event,
    place: &OutputPlace,
) -> Result<Option<Output>, StoreError> {
    let Some(repo) = event.repo.as_ref().map(RepoName::folded) else {
        return Ok(None);
    };
    let mut found = inner.store.outputs_at(GIT, place).await?.into_iter();
    Ok(found.find(|output| output.daemon.repo.folded() == repo))
}

/// Names where the output behind an event would be, and what the event has to do with one that is there.
fn places(event: &Event) -> Vec<(OutputPlace, Tie)> {
    let facts = &event.facts;
    let commit = facts
        .text(Field::After)
        .map(|commit| OutputPlace::Revision(commit.to_owned()));
    let tied = |tie| commit.clone().map(|place| (place, tie));
    match (event.source, event.kind.as_str()) {
        (Source::Git | Source::Github, "push" | "merge") | (Source::Git, "create") => {
            tied(Tie::Output).into_iter().collect()
        }
        // The service names the branch and no commit.
        (Source::Github, "create") => created(event).into_iter().collect(),
        (Source::Github, kind) if is_about_pull_request(kind) => {
            pull_request(event, kind, tied).into_iter().collect()
        }
        (Source::Github, kind) if is_about_commit(kind) => {
            tied(Tie::Consequence).into_iter().collect()
        }
        (Source::Github | Source::Git | Source::Linear | Source::Slack | Source::Sentry, _) => {
            Vec::new()
        }
    }
}

fn created(event: &Event) -> Option<(OutputPlace, Tie)> {
    let branch = event.facts.text(Field::Branch)?;
    Some((target(branch), Tie::Output))
}

fn target(branch: &str) -> OutputPlace {
    OutputPlace::Target(format!("refs/heads/{branch}"))
}

/// A pull request from the branch of an output, by what happened to it: asking for it is the daemon's own act, and so is
/// moving its head to the output; anything else is done by who does it.
fn pull_request(
    event: &Event,
    kind: &str,
    tied: impl Fn(Tie) -> Option<(OutputPlace, Tie)>,
) -> Vec<(OutputPlace, Tie)> {
    // The head of a fork is a stranger's, whatever it is called and holds.
    if event.facts.flag(Field::Fork) == Some(true) {
        return Vec::new();
    }
    let is_request =
        kind == "pull_request" && matches!(event.action.as_deref(), Some("opened" | "synchronize"));
    if is_request {
        return tied(Tie::Output).into_iter().collect();
    }
    let is_program = event
        .actor
        .as_ref()
        .is_some_and(|actor| actor.kind == ActorKind::Bot);
    if !is_program {
        return Vec::new();
    }
    let branch = event.facts.text(Field::Head).map(target);
    let by_branch = branch.map(|place| (place, Tie::Consequence));
    tied(Tie::Consequence)
        .into_iter()
        .chain(by_branch)
        .collect()
}

fn is_about_pull_request(kind: &str) -> bool {
    kind.starts_with("pull_request") || kind == "issue_comment"
}

/// Whether events of a kind come about because a commit is there.
fn is_about_commit(kind: &str) -> bool {
    matches!(
        kind,
        "check_run"
            | "check_suite"
            | "deployment"
            | "deployment_protection_rule"
            | "deployment_review"
            | "deployment_status"
            | "merge_group"
            | "page_build"
            | "status"
            | "workflow_job"
            | "workflow_run"
    )
}
