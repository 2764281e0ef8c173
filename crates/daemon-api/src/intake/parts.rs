//! Moves of a branch that one source reports in parts and another as one.
//!
//! git compares branches at its polls, so that several pushes between two polls are one move; GitHub sends a webhook for each push. If the
//! webhooks come first, the move is a duplicate of the last of them; if the move comes first, they are duplicates of it.

use std::collections::BTreeMap;

use daemon_event::{Event, RepoName, Source, is_zeros};
use daemon_store::{Identity, NewEvent};
use jiff::SignedDuration;
use serde::Deserialize;

use super::{PushTime, SAME_MOVE};

/// How many commits of a move are stored as those that the branch passed.
const MAX_PASSED: usize = 256;
/// How much earlier than the push a move that contains it may have been stored: the clocks of GitHub and of this host differ.
const SKEW: SignedDuration = SignedDuration::from_secs(60);

/// The members of a payload about a push; git's payloads have the shape of GitHub's.
#[derive(Deserialize)]
struct Push {
    #[serde(rename = "ref")]
    name: String,
    before: String,
    after: String,
    #[serde(default)]
    forced: bool,
    #[serde(default)]
    commits: Vec<Commit>,
    repository: Pushed,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

/// The time of the push, which git does not know.
#[derive(Deserialize)]
struct Pushed {
    pushed_at: Option<PushTime>,
}

/// Returns the push that moved a branch forward, and the name of its repository.
fn forward(event: &Event, source: Source) -> Option<(Push, String)> {
    let repo = event.repo.as_ref().map(RepoName::folded)?;
    if event.source != source || event.kind != "push" {
        return None;
    }
    let push: Push = serde_json::from_slice(&event.payload).ok()?;
    let is_move = !push.forced && !is_zeros(&push.before) && !is_zeros(&push.after);
    is_move.then(|| (push, repo.to_string()))
}

fn key(repo: &str, push: &Push, commit: &str) -> String {
    format!("passed:{repo}:{}:{commit}", push.name)
}

/// Returns the keys of the commits that a move of git's passed: each may be the end of a push.
pub(super) fn passed(event: &Event) -> Vec<Identity> {
    let Some((push, repo)) = forward(event, Source::Git) else {
        return Vec::new();
    };
    let commits = push.commits.iter().map(|commit| &commit.id);
    let inner = commits.filter(|id| **id != push.after).take(MAX_PASSED);
    let identity = |id: &String| Identity {
        key: key(&repo, &push, id),
        // Another move may pass the same commit and is no repetition.
        within: Some(SignedDuration::ZERO),
    };
    inner.map(identity).collect()
}

/// Returns the keys under which a move is stored that contains the push of a webhook. A push that happened after the move was stored is
/// not contained in it.
pub(super) fn containing(event: &Event) -> Vec<Identity> {
    let Some((mut push, repo)) = forward(event, Source::Github) else {
        return Vec::new();
    };
    let at = push.repository.pushed_at.take();
    let Some(at) = at.and_then(PushTime::instant) else {
        return Vec::new();
    };
    let age = event.received_at.duration_since(at) + SKEW;
    let within = Some(age.clamp(SKEW, SAME_MOVE));
    [&push.before, &push.after]
        .map(|commit| Identity {
            key: key(&repo, &push, commit),
            within,
        })
        .to_vec()
}

/// Makes a move of git's a duplicate of the last of several webhooks that report it in parts, if `recent` has all of them.
pub fn reported_in_parts(new: &mut NewEvent, recent: &[Event]) {
    let Some((whole, repo)) = forward(&new.event, Source::Git) else {
        return;
    };
    let parts = recent
        .iter()
        .filter_map(|event| forward(event, Source::Github));
    let parts = parts.filter(|(part, of)| part.name == whole.name && *of == repo);
    let before: BTreeMap<String, String> =
        parts.map(|(part, _)| (part.after, part.before)).collect();
    let (mut at, mut n) = (&whole.after, 0);
    while *at != whole.before {
        match before.get(at).filter(|_| n < before.len()) {
            Some(earlier) => (at, n) = (earlier, n + 1),
            None => return,
        }
    }
    // The same move is a report of the webhook, and no duplicate.
    if let Some(last) = before.get(&whole.after).filter(|_| n > 1) {
        new.identities.push(Identity {
            key: format!(
                "github-push-move:{repo}:{}:{last}:{}",
                whole.name, whole.after
            ),
            within: Some(SAME_MOVE),
        });
    }
}

#[cfg(test)]
mod tests;
