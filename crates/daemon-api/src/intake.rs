//! The keys of events: those that identify a repeated delivery, and those by which different sources report one change.

mod linear;
mod parts;
mod reconciled;

use daemon_event::{Event, Source, branch_ref, full_ref, is_zeros};
use daemon_ingest::identities;
use daemon_store::{Accepted, Freshness, Identity, Matching, NewEvent};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

pub use parts::reported_in_parts;
pub use reconciled::reconciled;

/// How long two reports of the same move of a ref are one event.
const SAME_MOVE: SignedDuration = SignedDuration::from_hours(1);

/// Adds to an event the keys that identify a repetition, and the keys of the change that it reports.
pub fn new_event(event: Event, matching: Matching) -> NewEvent {
    let mut happenings = happenings(&event);
    let mut keys: Vec<Identity> = identities(&event)
        .into_iter()
        .map(|key| Identity { key, within: None })
        .collect();
    if event.source == Source::Github {
        // A webhook that is configured twice reports a move twice, with different bodies and delivery ids.
        let moved = happenings.iter().filter(|one| one.key.starts_with("move:"));
        keys.extend(moved.map(|one| Identity {
            key: format!("github-{}-{}", event.kind, one.key),
            within: one.within,
        }));
    }
    let (told, mut counterparts) = reconciled::keys_of_webhook(&event);
    happenings.extend(told);
    happenings.extend(parts::passed(&event));
    counterparts.extend(parts::containing(&event));
    NewEvent {
        event,
        identities: keys,
        happenings,
        counterparts,
        matching,
    }
}

/// Adds only the key of its own delivery to an event that is replayed as new: its body is known already.
pub(crate) fn replayed(event: Event) -> NewEvent {
    let keys = identities(&event).into_iter();
    let identities = keys
        .filter(|key| key.starts_with("id:"))
        .map(|key| Identity { key, within: None })
        .collect();
    NewEvent {
        event,
        identities,
        happenings: Vec::new(),
        counterparts: Vec::new(),
        matching: Matching::Due,
    }
}

/// The time of a push: `push` has seconds, other events have text.
#[derive(Deserialize)]
#[serde(untagged)]
enum PushTime {
    Seconds(i64),
    Text(String),
}

impl PushTime {
    fn instant(self) -> Option<Timestamp> {
        match self {
            Self::Seconds(second) => Timestamp::from_second(second).ok(),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

/// Counts accepted and duplicate events in the metrics.
pub fn count(source: &'static str, accepted: &[Accepted]) {
    let n_new = accepted
        .iter()
        .filter(|one| one.freshness == Freshness::New)
        .count();
    for (name, n) in [
        ("daemon_events_accepted_total", n_new),
        ("daemon_events_duplicate_total", accepted.len() - n_new),
    ] {
        metrics::counter!(name, "source" => source).increment(u64::try_from(n).unwrap_or(0));
    }
}

/// The members of a payload about a ref or a merge; git's payloads have the shape of GitHub's.
#[derive(Deserialize)]
struct Happened {
    #[serde(rename = "ref")]
    name: Option<String>,
    ref_type: Option<String>,
    before: Option<String>,
    after: Option<String>,
    pull_request: Option<PullRequestPayload>,
}

#[derive(Deserialize)]
struct PullRequestPayload {
    merged: Option<bool>,
    merge_commit_sha: Option<String>,
    base: Option<Base>,
}

#[derive(Deserialize)]
struct Base {
    #[serde(rename = "ref")]
    name: Option<String>,
}

impl Happened {
    fn merged_request(self) -> Option<PullRequestPayload> {
        self.pull_request.filter(|one| one.merged == Some(true))
    }
}

/// Returns the keys of a change of a ref, or of a merge, which are equal for every source that reports it.
fn happenings(event: &Event) -> Vec<Identity> {
    let is_ref = matches!(event.kind.as_str(), "push" | "create" | "delete");
    let is_merge = match event.source {
        Source::Git => event.kind == "merge",
        Source::Github => event.kind == "pull_request" && event.action.as_deref() == Some("closed"),
        // Only git and GitHub report the same changes.
        Source::Linear | Source::Slack | Source::Sentry | Source::Cloudevents => {
            return Vec::new();
        }
    };
    let Some(repo) = event.repo.as_ref().filter(|_| is_ref || is_merge) else {
        return Vec::new();
    };
    let Ok(body) = serde_json::from_slice::<Happened>(&event.payload) else {
        return Vec::new();
    };
    let repo = repo.folded();
    if is_merge {
        // Without a time limit: a commit is merged once, and a repository that is fetched days later reports it days later.
        let key = merged(&event.kind, body).map(|merged| format!("merge:{repo}:{merged}"));
        return key
            .map(|key| Identity { key, within: None })
            .into_iter()
            .collect();
    }
    moves(&event.kind, body)
        .into_iter()
        .map(|(word, rest)| Identity {
            key: format!("{word}:{repo}:{rest}"),
            within: Some(SAME_MOVE),
        })
        .collect()
}

/// Returns the branch and the merge commit. Both, because one commit may be put on two branches.
fn merged(kind: &str, body: Happened) -> Option<String> {
    let (name, commit) = if kind == "merge" {
        (body.name?, body.after?)
    } else {
        let request = body.merged_request()?;
        let base = request.base?.name?;
        (branch_ref(&base), request.merge_commit_sha?)
    };
    Some(format!("{name}:{commit}"))
}

/// Returns the keys of the move of a ref, and of its creation or deletion.
fn moves(kind: &str, body: Happened) -> Vec<(&'static str, String)> {
    let Some(name) = body.name else {
        return Vec::new();
    };
    let name = full_ref(&name, body.ref_type.as_deref());
    let is_none = |commit: &Option<String>| commit.as_deref().is_some_and(is_zeros);
    let mut keys = Vec::new();
    if let (Some(before), Some(after)) = (&body.before, &body.after) {
        keys.push(("move", format!("{name}:{before}:{after}")));
    }
    // By the ref alone, because GitHub's `create` and `delete` name no commit.
    if kind == "create" || is_none(&body.before) {
        keys.push(("born", name));
    } else if kind == "delete" || is_none(&body.after) {
        keys.push(("gone", name));
    }
    keys
}

#[cfg(test)]
mod tests;
