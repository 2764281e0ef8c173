//! Objects of services that an output wrote: comments, pull requests, issues, reviews, checks and messages.
//!
//! An object is a daemon's if the outbox has its id. A webhook may come before the id is stored; then the marker in the object's
//! text leads to the output. A part of an object that has an id of its own, such as a comment of a review, is found by the object. A marker alone proves nothing, because a person can copy it: the output must be the one that
//! wrote this object, or one whose id is not known yet, and the host's own account must have caused the event.

use daemon_engine::{Output, OutputState};
use daemon_event::{ActivationId, DaemonId, Event, Field, Source};
use daemon_store::{OutputPlace, Store, StoreError};
use serde::Deserialize;

use super::account;
use super::proposed::Proposed;

/// The object of an event.
pub(super) struct Object {
    /// The name of its surface.
    surface: &'static str,
    /// The id that the surface gives to outputs that write such an object.
    pub(super) id: String,
    /// The id of the object that it was written with: the review of a comment on lines.
    within: Option<String>,
    /// Whether the event reports that its text was replaced.
    is_edit: bool,
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
    /// Of a comment on lines.
    pull_request_review_id: Option<u64>,
}

/// The members of a payload of Slack about a message that was edited.
#[derive(Deserialize)]
struct SlackPayload {
    event: SlackEvent,
}

#[derive(Deserialize)]
struct SlackEvent {
    message: Option<SlackMessage>,
}

#[derive(Deserialize)]
struct SlackMessage {
    ts: String,
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
    // On Linear the payload of an edit does not say who wrote the comment.
    if object.is_edit
        && event.source == Source::Linear
        && account::caused(store, event).await? != Some(true)
    {
        return Ok(None);
    }
    Ok(writers(store, event, &object).await?.into_iter().next())
}

/// Returns the outputs that wrote an object, the newest first: the one that its marker names, then those with its id.
///
/// # Errors
/// If the store fails.
pub(super) async fn writers(
    store: &dyn Store,
    event: &Event,
    object: &Object,
) -> Result<Vec<Output>, StoreError> {
    // First, because an edit whose id is not stored yet is newer than what it edits.
    let mut writers = Vec::from_iter(marked(store, event, object).await?);
    let mut places = vec![OutputPlace::RemoteId(object.id.clone())];
    // Only the author of a review adds to it; the account is compared, because the payload names only the review.
    if let Some(within) = &object.within
        && account::caused(store, event).await? != Some(false)
    {
        places.push(OutputPlace::RemoteId(within.clone()));
    }
    // A review that the service made for a comment of its own.
    places.push(OutputPlace::Revision(object.id.clone()));
    for place in places {
        let known = store.outputs_at(object.surface, &place).await?;
        // The ids of comments are unique on the service, those of pull requests within a repository.
        writers.extend(known.into_iter().filter(|output| is_of(output, event)));
    }
    if let Some(known) = writers.first().filter(|_| object.is_edit) {
        let place = OutputPlace::Target(known.target.clone());
        let sent = store.outputs_at(object.surface, &place).await?;
        // It may have been confirmed since the id was searched for.
        let is_edit = |output: &Output| {
            (is_open(output) || output.remote_id.as_ref() == Some(&object.id))
                && Proposed::of(output).edits.as_ref() == Some(&object.id)
        };
        let edit = sent.into_iter().find(is_edit);
        writers.splice(..0, edit);
    }
    Ok(writers)
}

/// Returns the output that the marker of an object names, if it may have written it.
async fn marked(
    store: &dyn Store,
    event: &Event,
    object: &Object,
) -> Result<Option<Output>, StoreError> {
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
        // It may have been confirmed in the meantime.
        let may_have_written = is_open(output) || output.remote_id.as_ref() == Some(&object.id);
        output.key.as_str() == key
            && output.surface == object.surface
            && may_have_written
            && is_of(output, event)
    };
    Ok(outputs.into_iter().find(is_it))
}

/// Reports whether an output may have had its effect, and its id is not known.
pub(super) fn is_open(output: &Output) -> bool {
    matches!(
        output.state,
        OutputState::Sending | OutputState::Ambiguous | OutputState::Unknown
    )
}

/// Reports whether an output went to the repository of an event; other services have no repositories.
pub(super) fn is_of(output: &Output, event: &Event) -> bool {
    if event.source != Source::Github {
        return true;
    }
    let target = repo_in(&output.target).unwrap_or_default();
    repos(event)
        .iter()
        .any(|repo| repo.eq_ignore_ascii_case(target))
}

/// Returns the names of the repository of an event: the watched one, and the one in its subject, which a rename made new.
pub(super) fn repos(event: &Event) -> Vec<String> {
    let watched = event.repo.as_ref().map(ToString::to_string);
    let subject = event.subject.as_ref().and_then(|it| repo_in(it.as_str()));
    let mut repos: Vec<String> = watched.into_iter().collect();
    repos.extend(subject.map(str::to_owned));
    repos.dedup();
    repos
}

/// Returns the repository in the name of a place: `o/r` of `github:o/r#42`.
fn repo_in(place: &str) -> Option<&str> {
    let place = place.strip_prefix("github:")?;
    let end = place.find(['#', '@', ':']).unwrap_or(place.len());
    Some(&place[..end])
}

/// Returns the object that an event reports as written or changed by its author.
pub(super) fn written(event: &Event) -> Option<Object> {
    match event.source {
        Source::Github => {
            let (object, reported) = on_github(event)?;
            matches!(reported, Reported::Writing).then_some(object)
        }
        Source::Linear => {
            let id = event.facts.text(Field::Key)?;
            let is_edit = match (event.kind.as_str(), event.action.as_deref()?) {
                ("Comment", "create") => false,
                ("Comment", "update") => true,
                _ => return None,
            };
            Some(Object {
                surface: "linear",
                id: format!("comment:{id}"),
                within: None,
                is_edit,
                body: String::new(),
            })
        }
        Source::Slack => on_slack(event),
        Source::Sentry | Source::Git | Source::Cloudevents => None,
    }
}

/// Returns the object that an event of GitHub is about, with any action.
pub(super) fn concerned(event: &Event) -> Option<Object> {
    let (object, _) = on_github(event).filter(|_| event.source == Source::Github)?;
    Some(object)
}

/// Returns the message that an event of Slack reports as posted or edited. Only its author can edit one.
fn on_slack(event: &Event) -> Option<Object> {
    let facts = &event.facts;
    let (is_edit, ts) = match facts.text(Field::MessageKind)? {
        "posted" | "reply" => (false, facts.text(Field::Key)?.to_owned()),
        "edited" => {
            let payload: SlackPayload = serde_json::from_slice(&event.payload).ok()?;
            (true, payload.event.message?.ts)
        }
        _ => return None,
    };
    Some(Object {
        surface: "slack",
        id: format!("message:{}/{ts}", facts.text(Field::ChannelId)?),
        within: None,
        is_edit,
        body: String::new(),
    })
}

/// What an event reports about its object.
enum Reported {
    /// Its author wrote or changed it.
    Writing,
    /// Something else.
    Other,
}

fn on_github(event: &Event) -> Option<(Object, Reported)> {
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
    let is_edit = event.action.as_deref()? == "edited";
    let is_writing = match event.action.as_deref()? {
        "created" | "opened" | "submitted" | "completed" => true,
        // A person may edit what a daemon wrote, and that is the person's event.
        "edited" => object.user.is_some() && object.user == payload.sender,
        _ => false,
    };
    let id = match word {
        "pull_request" | "issue" => object.number?,
        _ => object.id?,
    };
    let body = object
        .body
        .or(object.output.and_then(|output| output.summary));
    let object = Object {
        surface: "github",
        id: format!("{word}:{id}"),
        within: object
            .pull_request_review_id
            .map(|id| format!("review:{id}")),
        is_edit,
        body: body.unwrap_or_default(),
    };
    Some(match is_writing {
        true => (object, Reported::Writing),
        false => (object, Reported::Other),
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
