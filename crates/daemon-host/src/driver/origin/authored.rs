//! Objects of services that an output wrote: comments, pull requests, issues, reviews, checks and messages.
//!
//! An object is a daemon's if the outbox has its id. A webhook may come before the id is stored; then the marker in the object's
//! text leads to the output. A marker alone proves nothing, because a person can copy it: the output must be the one that
//! wrote this object, or one whose id is not known yet, and the host's own account must have caused the event.

use daemon_engine::{Output, OutputState};
use daemon_event::{ActivationId, DaemonId, Event, Field, Source};
use daemon_store::{OutputPlace, Store, StoreError};
use serde::Deserialize;

use super::account;

/// The object of an event.
pub(super) struct Object {
    /// The name of its surface.
    surface: &'static str,
    /// The id that the surface gives to outputs that write such an object.
    pub(super) id: String,
    /// Its text, which may have a marker.
    pub(super) body: String,
}

/// The members of a payload of GitHub about an object.
#[derive(Deserialize)]
struct GithubPayload {
    comment: Option<GithubObject>,
    review: Option<GithubObject>,
    check_run: Option<GithubObject>,
    pull_request: Option<GithubObject>,
    issue: Option<GithubObject>,
    sender: Option<GithubAccount>,
}

#[derive(Deserialize)]
struct GithubObject {
    id: Option<u64>,
    number: Option<u64>,
    body: Option<String>,
    user: Option<GithubAccount>,
    output: Option<CheckOutput>,
}

/// The text of a check run.
#[derive(Deserialize)]
struct CheckOutput {
    summary: Option<String>,
}

#[derive(Deserialize, PartialEq)]
struct GithubAccount {
    id: u64,
}

/// Returns the output that wrote the object of an event, if the event reports the writing.
///
/// # Errors
/// If the store fails.
pub(super) async fn find(store: &dyn Store, event: &Event) -> Result<Option<Output>, StoreError> {
    let Some(object) = written(event) else {
        return Ok(None);
    };
    let place = OutputPlace::RemoteId(object.id.clone());
    let known = store.outputs_at(object.surface, &place).await?;
    // The ids of comments are unique on the service, those of pull requests within a repository.
    if let Some(output) = known.into_iter().find(|output| is_of(output, event)) {
        return Ok(Some(output));
    }
    let Some(Marker {
        activation, key, ..
    }) = marker(&object.body)
    else {
        return Ok(None);
    };
    // A person may copy the marker of an output whose id never became known.
    if account::caused(store, event).await? == Some(false)
        && !daemon_records::failpoint::is_planted("marker-without-actor-check")
    {
        return Ok(None);
    }
    let outputs = store.outputs_of(&activation).await?;
    let is_it = |output: &Output| {
        let may_have_written = match output.state {
            OutputState::Sending | OutputState::Ambiguous | OutputState::Unknown => true,
            // It was confirmed after the search above.
            _ => output.remote_id.as_ref() == Some(&object.id),
        };
        output.key.as_str() == key
            && output.surface == object.surface
            && may_have_written
            && is_of(output, event)
    };
    Ok(outputs.into_iter().find(is_it))
}

/// Reports whether an output went to the repository of an event; other services have no repositories.
fn is_of(output: &Output, event: &Event) -> bool {
    let Some(repo) = event
        .repo
        .as_ref()
        .filter(|_| event.source == Source::Github)
    else {
        return event.source != Source::Github;
    };
    let target = output.target.strip_prefix("github:").unwrap_or_default();
    let end = target.find(['#', '@']).unwrap_or(target.len());
    let target = target[..end].to_lowercase();
    // After a rename the event belongs to the repository with the watched name, and its subject has the new one.
    let renamed = event.subject.as_ref().and_then(|subject| {
        let (name, _) = subject.as_str().strip_prefix("github:")?.split_once('#')?;
        Some(name.to_lowercase())
    });
    target == repo.folded() || renamed.is_some_and(|renamed| renamed == target)
}

/// Returns the object that an event reports as written or changed by its author.
pub(super) fn written(event: &Event) -> Option<Object> {
    match event.source {
        Source::Github => on_github(event),
        Source::Linear => {
            let id = event.facts.text(Field::Key)?;
            let is_new = event.kind == "Comment" && event.action.as_deref() == Some("create");
            is_new.then(|| Object {
                surface: "linear",
                id: format!("comment:{id}"),
                body: String::new(),
            })
        }
        Source::Slack => {
            let (channel, key) = (
                event.facts.text(Field::ChannelId)?,
                event.facts.text(Field::Key)?,
            );
            Some(Object {
                surface: "slack",
                id: format!("message:{channel}/{key}"),
                body: String::new(),
            })
        }
        Source::Sentry | Source::Git | Source::Cloudevents => None,
    }
}

fn on_github(event: &Event) -> Option<Object> {
    let word = match event.kind.as_str() {
        "issue_comment" => "comment",
        "pull_request_review" => "review",
        "pull_request_review_comment" => "review_comment",
        "check_run" => "check_run",
        "pull_request" => "pull_request",
        "issues" => "issue",
        _ => return None,
    };
    let payload: GithubPayload = serde_json::from_slice(&event.payload).ok()?;
    let object = match word {
        "comment" | "review_comment" => payload.comment?,
        "review" => payload.review?,
        "check_run" => payload.check_run?,
        "pull_request" => payload.pull_request?,
        _ => payload.issue?,
    };
    let is_report = match event.action.as_deref()? {
        "created" | "opened" | "submitted" | "completed" => true,
        // A person may edit what a daemon wrote, and that is the person's event.
        "edited" => object.user.is_some() && object.user == payload.sender,
        _ => false,
    };
    let id = match word {
        "pull_request" | "issue" => object.number?,
        _ => object.id?,
    };
    is_report.then(|| Object {
        surface: "github",
        id: format!("{word}:{id}"),
        body: object
            .body
            .or(object.output.and_then(|output| output.summary))
            .unwrap_or_default(),
    })
}

/// The ids in the marker of an output.
pub(super) struct Marker<'b> {
    pub(super) daemon: DaemonId,
    pub(super) activation: ActivationId,
    key: &'b str,
}

/// Reads the last marker of a body: `<!-- daemon:ID act:ACTIVATION out:KEY -->`.
pub(super) fn marker(body: &str) -> Option<Marker<'_>> {
    let (_, marker) = body.rsplit_once("<!-- daemon:")?;
    let (marker, _) = marker.split_once(" -->")?;
    let mut words = marker.split(' ');
    Some(Marker {
        daemon: daemon_repo::decode(words.next()?)?.parse().ok()?,
        activation: words.next()?.strip_prefix("act:")?.parse().ok()?,
        key: words.next()?.strip_prefix("out:")?,
    })
}
