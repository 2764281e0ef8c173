//! Facts from the objects of a local repository.

use std::num::NonZeroU64;

use daemon_engine::{Fact, FactOrigin};
use daemon_event::{Enrichment, Event, Field, Source};
use daemon_repo::{GitError, MAX_CHANGED_FILES, ObjectId, Repository};
use serde::Deserialize;

/// The reason why local git cannot list the files that a pull request changes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalMiss {
    /// The event is not about a pull request with known base and head.
    #[error("the event names no base and head commit")]
    NoEnds,
    /// A commit is missing, or the two have no common ancestor in this repository.
    #[error("local git does not have both commits")]
    Absent,
    /// Git failed.
    #[error("local git failed")]
    Git(#[source] GitError),
}

/// The part of a payload with the base and head of a pull request.
#[derive(Deserialize)]
struct PayloadEnds {
    pull_request: Option<EndsPayload>,
    check_run: Option<CheckPayload>,
    check_suite: Option<CheckPayload>,
    workflow_run: Option<CheckPayload>,
}

#[derive(Deserialize)]
struct CheckPayload {
    #[serde(default)]
    pull_requests: Vec<EndsPayload>,
}

#[derive(Deserialize)]
struct EndsPayload {
    base: EndPayload,
    head: EndPayload,
}

#[derive(Deserialize)]
struct EndPayload {
    sha: String,
}

/// Lists the files that the pull request of an event changes, from the merge base to its head. It blocks.
///
/// Base and head come from the payload, else from the mirrored refs `refs/pull/N/head` and `refs/pull/N/merge`.
///
/// # Errors
/// If base or head is unknown, a commit is missing, or git fails.
pub fn changed_files(repository: &Repository, event: &Event) -> Result<Fact, LocalMiss> {
    // The payload goes first, because mirrored refs are only as fresh as the last fetch.
    let (ends, mut note) = match payload_ends(event) {
        Some(ends) => (Some(ends), None),
        None => mirrored_ends(repository, event).map_err(LocalMiss::Git)?,
    };
    let (base, head) = ends.ok_or(LocalMiss::NoEnds)?;
    let listed = repository.pull_request_files(&base, &head);
    let files = listed.map_err(LocalMiss::Git)?.ok_or(LocalMiss::Absent)?;
    let files: Vec<String> = files.paths().into_iter().map(str::to_owned).collect();
    if files.len() >= MAX_CHANGED_FILES {
        note = Some(format!("cut at {MAX_CHANGED_FILES} paths"));
    }
    Ok(Fact {
        found: Enrichment {
            changed_files: Some(files),
            ..Enrichment::default()
        },
        origin: FactOrigin::LocalGit,
        note,
    })
}

type Ends = (ObjectId, ObjectId);

fn payload_ends(event: &Event) -> Option<Ends> {
    if event.source != Source::Github {
        return None;
    }
    let payload: PayloadEnds = serde_json::from_slice(&event.payload).ok()?;
    let checks = [payload.check_run, payload.check_suite, payload.workflow_run];
    let of_checks = || {
        let checked = checks.into_iter().flatten();
        checked.flat_map(|check| check.pull_requests).next()
    };
    let ends = payload.pull_request.or_else(of_checks)?;
    Some((ends.base.sha.parse().ok()?, ends.head.sha.parse().ok()?))
}

fn mirrored_ends(
    repository: &Repository,
    event: &Event,
) -> Result<(Option<Ends>, Option<String>), GitError> {
    // A comment on an issue has a number too, which names no pull request.
    let is_on_another = event
        .facts
        .text(Field::CommentOn)
        .is_some_and(|on| on != "pull_request");
    let is_its_own = event
        .repo
        .as_ref()
        .is_some_and(|repo| repo.folded() == repository.name().folded());
    let number = event.facts.number(Field::Number).and_then(NonZeroU64::new);
    match number.filter(|_| event.source == Source::Github && is_its_own && !is_on_another) {
        Some(number) => {
            // The refs are as fresh as the last fetch of the mirror, so explanations name them.
            let note = format!("from refs/pull/{number}/merge");
            Ok((repository.pull_request_ends(number)?, Some(note)))
        }
        None => Ok((None, None)),
    }
}
