//! Events on their way in: the keys by which a repetition is known, and by which different sources name what happened.

use daemon_event::{Event, Source, branch_ref, full_ref, is_zeros};
use daemon_ingest::identities;
use daemon_store::{Accepted, Freshness, Identity, Matching, NewEvent};
use jiff::SignedDuration;
use serde::Deserialize;

/// How long two reports of one move of a ref are the same event.
const SAME_MOVE: SignedDuration = SignedDuration::from_hours(1);

/// Puts the keys to an event by which its repetition is known, and those of what happened.
pub fn new_event(event: Event, matching: Matching) -> NewEvent {
    let happenings = happenings(&event);
    let mut keys: Vec<Identity> = identities(&event)
        .into_iter()
        .map(|key| Identity { key, within: None })
        .collect();
    if event.source == Source::Github {
        // A webhook that is configured twice reports a move twice, in bodies that differ.
        let moved = happenings.iter().filter(|one| one.key.starts_with("move:"));
        keys.extend(moved.map(|one| Identity {
            key: format!("github-{}-{}", event.kind, one.key),
            within: one.within,
        }));
    }
    NewEvent {
        event,
        identities: keys,
        happenings,
        matching,
    }
}

/// Puts the key of its own delivery alone to an event that comes once more on purpose: its body is known.
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
        matching: Matching::Due,
    }
}

/// Counts what was stored of events, and what had been told before.
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

/// What payloads say of a ref or of a merge; git's have the shape of GitHub's.
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

/// Names what happened to a ref, or what was merged, as every source that reports it does.
fn happenings(event: &Event) -> Vec<Identity> {
    let is_ref = matches!(event.kind.as_str(), "push" | "create" | "delete");
    let is_merge = match event.source {
        Source::Git => event.kind == "merge",
        Source::Github => event.kind == "pull_request" && event.action.as_deref() == Some("closed"),
        Source::Linear | Source::Slack | Source::Sentry => return Vec::new(),
    };
    let Some(repo) = event.repo.as_ref().filter(|_| is_ref || is_merge) else {
        return Vec::new();
    };
    let Ok(body) = serde_json::from_slice::<Happened>(&event.payload) else {
        return Vec::new();
    };
    let repo = repo.folded();
    if is_merge {
        // A commit is merged once: a repository that is fetched days later reports it days later.
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

/// Names the branch that was merged into, and the commit that it was merged to: one commit may be put on two branches.
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

/// Names the move of a ref, and its birth or end, which a service may report without a commit.
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
    if kind == "create" || is_none(&body.before) {
        keys.push(("born", name));
    } else if kind == "delete" || is_none(&body.after) {
        keys.push(("gone", name));
    }
    keys
}

#[cfg(test)]
mod tests;
