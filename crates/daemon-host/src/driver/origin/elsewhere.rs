//! Outputs of another host that writes with the same account: a second installation, or an earlier one whose store is gone.
//!
//! The outbox of this host does not have them; their marks name the daemon. A mark proves nothing by itself, because a person can copy it:
//! the own account must have caused the event. Git knows no accounts, so there the commit must be the daemon's and on a branch of the daemon.

use daemon_engine::{Chain, Link};
use daemon_event::{ActivationId, DaemonId, DaemonKey, Event, Field, RepoName, Source, branch_ref};
use daemon_repo::{CommitMark, DaemonBranch};
use daemon_store::{Store, StoreError};
use serde::Deserialize;

use super::{account, authored};

/// What precedes the ids in the footer of an output on a service that hides no marker.
const FOOTER: &str = "Written by the daemon `";

/// The origin of an event that another host caused.
#[derive(Debug)]
pub(super) struct Elsewhere {
    daemon: DaemonId,
    /// `None` for services without repositories.
    repo: Option<RepoName>,
    /// The activation; `None` if only a branch names the daemon.
    activation: Option<ActivationId>,
}

impl Elsewhere {
    /// Reports whether a daemon of this host is the one that caused the event there.
    pub(super) fn is(&self, daemon: &DaemonKey) -> bool {
        let repo = self.repo.as_ref().map(RepoName::folded);
        self.daemon == daemon.id && repo.is_none_or(|repo| repo == daemon.repo.folded())
    }

    /// Returns the chain that the activations of the event continue. How deep it is already is known to the other host alone.
    pub(super) fn link(&self, event: &Event, max_depth: u32) -> Link {
        let own = || event.id.as_str().parse().expect("both ids are ULIDs");
        let root = self.activation.clone().unwrap_or_else(own);
        Chain::begin(root).link(max_depth)
    }
}

/// The members of payloads about a commit.
#[derive(Deserialize)]
struct Payload {
    /// The mark of the commit of a git event.
    daemon: Option<GitMark>,
    head_commit: Option<HeadCommit>,
}

#[derive(Deserialize)]
struct GitMark {
    id: String,
    activation: String,
}

#[derive(Deserialize)]
struct HeadCommit {
    message: String,
    committer: Committer,
}

#[derive(Deserialize)]
struct Committer {
    email: Option<String>,
}

/// Returns the daemon of another host that caused an event.
///
/// # Errors
/// If the store fails.
pub(super) async fn find(
    store: &dyn Store,
    event: &Event,
) -> Result<Option<Elsewhere>, StoreError> {
    let Some((daemon, activation)) = mark(event) else {
        return Ok(None);
    };
    if event.source != Source::Git
        && account::caused(store, event).await? != Some(true)
        && !daemon_records::failpoint::is_planted("marker-without-actor-check")
    {
        return Ok(None);
    }
    // What activations of this host wrote is in its outbox; that it was not found there means that the mark was copied.
    if let Some(activation) = &activation
        && store.activation(activation).await?.is_some()
    {
        return Ok(None);
    }
    Ok(Some(Elsewhere {
        daemon,
        repo: event.repo.clone(),
        activation,
    }))
}

/// Returns the ids in the mark of what an event reports.
fn mark(event: &Event) -> Option<(DaemonId, Option<ActivationId>)> {
    let facts = &event.facts;
    match (event.source, event.kind.as_str()) {
        (Source::Git, "push" | "create") => {
            let (daemon, activation) = of_git(event)?;
            let of_ref = of_branch(facts.text(Field::Ref)?)?;
            (of_ref.0 == daemon).then_some((daemon, activation))
        }
        (Source::Github, "push") => of_head_commit(event).or_else(|| {
            // A branch that is removed has no commit.
            of_branch(facts.text(Field::Ref)?)
        }),
        (Source::Github, "create") => of_branch(&branch_ref(facts.text(Field::Branch)?)),
        (Source::Github, "pull_request") if event.action.as_deref() == Some("synchronize") => {
            let is_fork = facts.flag(Field::Fork) == Some(true);
            let head = facts.text(Field::Head).filter(|_| !is_fork)?;
            of_branch(&branch_ref(head))
        }
        (Source::Github, _) => {
            let object = authored::written(event)?;
            let marker = authored::marker(&object.body)?;
            Some((marker.daemon, Some(marker.activation)))
        }
        (Source::Linear | Source::Slack, _) => {
            authored::written(event)?;
            footer(std::str::from_utf8(&event.payload).ok()?)
        }
        (Source::Git | Source::Sentry | Source::Cloudevents, _) => None,
    }
}

fn of_git(event: &Event) -> Option<(DaemonId, Option<ActivationId>)> {
    let payload: Payload = serde_json::from_slice(&event.payload).ok()?;
    let mark = payload.daemon?;
    Some((mark.id.parse().ok()?, mark.activation.parse().ok()))
}

fn of_head_commit(event: &Event) -> Option<(DaemonId, Option<ActivationId>)> {
    let payload: Payload = serde_json::from_slice(&event.payload).ok()?;
    let commit = payload.head_commit?;
    let email = commit.committer.email?;
    let mark =
        CommitMark::in_message(&commit.message).filter(|mark| mark.is_committed_by(&email))?;
    Some((mark.daemon, Some(mark.activation)))
}

/// Returns the daemon whose branch a ref is.
fn of_branch(name: &str) -> Option<(DaemonId, Option<ActivationId>)> {
    match DaemonBranch::parse(&name.parse().ok()?)? {
        DaemonBranch::Activation(daemon, activation) => Some((daemon, Some(activation))),
        DaemonBranch::Rolling(daemon, _) => Some((daemon, None)),
    }
}

/// Reads the last footer of a body.
fn footer(text: &str) -> Option<(DaemonId, Option<ActivationId>)> {
    let (_, ids) = text.rsplit_once(FOOTER)?;
    let (daemon, rest) = ids.split_once("`, activation `")?;
    let (activation, _) = rest.split_once('`')?;
    let daemon = daemon_repo::decode(daemon)?.parse().ok()?;
    Some((daemon, Some(activation.parse().ok()?)))
}
