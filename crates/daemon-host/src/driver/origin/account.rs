//! Changes that outputs made to objects of others, such as labels, and new objects whose ids are not stored yet.
//!
//! Such an event names no output. It is one if the host's own account caused it and an output of that kind went to the object at about
//! that time. The account alone proves nothing, because a person may use it, too.

use daemon_engine::{Output, OutputState, Surface};
use daemon_event::{Event, Source, Subject};
use daemon_records::clock::Clock;
use daemon_store::{Bookmark, OutputPlace, Store, StoreError};
use jiff::SignedDuration;
use serde::Deserialize;

use super::authored;

/// How far the time of an event may be from the delivery of its output.
const NEAR: SignedDuration = SignedDuration::from_mins(10);

/// The accounts in payloads of the services.
#[derive(Deserialize)]
struct Payload {
    sender: Option<GithubSender>,
    actor: Option<LinearActor>,
    event: Option<SlackEvent>,
    label: Option<Named>,
}

#[derive(Deserialize)]
struct GithubSender {
    login: String,
}

#[derive(Deserialize)]
struct LinearActor {
    id: Option<String>,
}

#[derive(Deserialize)]
struct SlackEvent {
    user: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Which outputs an event can be.
enum Kind {
    /// Those whose remote ids begin so, and those that are being sent.
    Change(&'static str),
    /// Those that are being sent, and one that was confirmed with this id after [`authored::find`] searched for it.
    New(String),
}

/// Stores the account that writes the outputs of a surface, as far as the service can be asked.
///
/// # Errors
/// If the store fails.
pub(in crate::driver) async fn note(
    store: &dyn Store,
    surface: &dyn Surface,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let account = match surface.account().await {
        Ok(Some(account)) => account,
        Ok(None) => return Ok(()),
        // A delivery and `doctor` report the same failure.
        Err(error) => {
            tracing::debug!(surface = surface.name(), %error, "the account is not known");
            return Ok(());
        }
    };
    let name = name(surface.name());
    let known = store.bookmarks(&name).await?;
    if known
        .iter()
        .any(|one| one.name == name && one.text == account)
    {
        return Ok(());
    }
    let bookmark = Bookmark {
        name,
        text: account,
        at: clock.now(),
    };
    store.accept_marked(vec![bookmark], Vec::new()).await?;
    Ok(())
}

fn name(surface: &str) -> String {
    format!("account/{surface}")
}

/// Returns the output that caused an event, if the host's own account caused it.
///
/// # Errors
/// If the store fails.
pub(super) async fn find(store: &dyn Store, event: &Event) -> Result<Option<Output>, StoreError> {
    let Some((kind, subject)) = kind(event).zip(event.subject.as_ref()) else {
        return Ok(None);
    };
    let surface = event.source.as_str();
    let mut near = Vec::new();
    for target in targets(event.source, subject) {
        let outputs = store
            .outputs_at(surface, &OutputPlace::Target(target))
            .await?;
        near.extend(
            outputs
                .into_iter()
                .filter(|output| is_near(output, &kind, event)),
        );
    }
    if near.is_empty() {
        return Ok(None);
    }
    let Ok(payload) = serde_json::from_slice::<Payload>(&event.payload) else {
        return Ok(None);
    };
    if caused(store, event).await? != Some(true) {
        return Ok(None);
    }
    // Several daemons may label one object: the label distinguishes their outputs, otherwise the newest counts.
    let label = payload
        .label
        .map(|label| serde_json::json!(label.name).to_string());
    let names = |output: &Output| {
        label
            .as_ref()
            .is_some_and(|label| output.content.contains(label))
    };
    Ok(near
        .into_iter()
        .max_by_key(|output| (names(output), output.created_at)))
}

/// Reports whether the host's own account caused an event; `None` if the account is not known, because nothing was sent yet.
///
/// # Errors
/// If the store fails.
pub(super) async fn caused(store: &dyn Store, event: &Event) -> Result<Option<bool>, StoreError> {
    let name = name(event.source.as_str());
    let accounts = store.bookmarks(&name).await?;
    let own = accounts.into_iter().find(|one| one.name == name);
    let payload = serde_json::from_slice::<Payload>(&event.payload).ok();
    let is_own = |own: Bookmark| {
        let actor = payload
            .as_ref()
            .and_then(|payload| actor(event.source, payload));
        actor.is_some_and(|actor| own.text.eq_ignore_ascii_case(actor))
    };
    Ok(own.map(is_own))
}

fn kind(event: &Event) -> Option<Kind> {
    let action = event.action.as_deref().unwrap_or_default();
    match (event.source, event.kind.as_str()) {
        (Source::Github, "issues" | "pull_request") => match action {
            "labeled" | "unlabeled" => Some(Kind::Change("labels:")),
            "assigned" | "unassigned" | "review_requested" | "review_request_removed" => {
                Some(Kind::Change("assignees:"))
            }
            "edited" | "converted_to_draft" | "ready_for_review" => {
                Some(Kind::Change("pull_request:"))
            }
            _ => None,
        },
        (Source::Linear, "Issue") if action == "update" => Some(Kind::Change("issue:")),
        (Source::Linear, "Comment") | (Source::Slack, _) => {
            authored::written(event).map(|object| Kind::New(object.id))
        }
        _ => None,
    }
}

fn actor(source: Source, payload: &Payload) -> Option<&str> {
    match source {
        Source::Github => Some(&payload.sender.as_ref()?.login),
        Source::Linear => payload.actor.as_ref()?.id.as_deref(),
        Source::Slack => payload.event.as_ref()?.user.as_deref(),
        Source::Sentry | Source::Git | Source::Cloudevents => None,
    }
}

/// Returns the targets of outputs that cause events about a subject.
fn targets(source: Source, subject: &Subject) -> Vec<String> {
    let subject = subject.as_str();
    let mut targets = vec![subject.to_owned()];
    // A new message begins a thread of its own.
    let channel = subject.rsplit_once('/').filter(|_| source == Source::Slack);
    targets.extend(channel.map(|(channel, _)| channel.to_owned()));
    targets
}

fn is_near(output: &Output, kind: &Kind, event: &Event) -> bool {
    let is_open = matches!(
        output.state,
        OutputState::Sending | OutputState::Ambiguous | OutputState::Unknown
    );
    let delivered = output.delivered_at.filter(|_| match kind {
        Kind::Change(prefix) => output
            .remote_id
            .as_deref()
            .is_some_and(|id| id.starts_with(prefix)),
        Kind::New(id) => output.remote_id.as_ref() == Some(id),
    });
    let from = output.created_at - NEAR;
    let until = match (is_open, delivered) {
        (true, _) => None,
        (false, Some(at)) => Some(at + NEAR),
        (false, None) => return false,
    };
    event.time >= from && until.is_none_or(|until| event.time <= until)
}
