//! Changes that outputs made to objects of others, such as labels, and new objects whose ids are not stored yet.
//!
//! Such an event names no output. It is one if the host's own account caused it and an output of that kind went to the object at about
//! that time. The account alone proves nothing, because a person may use it, too.

use daemon_engine::{Output, Surface};
use daemon_event::{Event, Source, Subject};
use daemon_records::clock::Clock;
use daemon_store::{Bookmark, OutputPlace, Query, Store, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::authored;
use super::proposed::Proposed;

/// How far the time of an event may be from the delivery of its output.
const NEAR: SignedDuration = SignedDuration::from_mins(10);
/// How many of the newest outputs of a repository are compared with an event that names none of its objects.
const NEWEST: u32 = 100;

/// The accounts in payloads of the services.
#[derive(Deserialize)]
struct Payload {
    sender: Option<GithubSender>,
    actor: Option<LinearActor>,
    event: Option<SlackEvent>,
    label: Option<Named>,
    assignee: Option<GithubSender>,
    requested_reviewer: Option<GithubSender>,
    requested_team: Option<Team>,
}

impl Payload {
    /// Returns the label or the account that an object got or lost.
    fn named(&self) -> Option<&str> {
        let label = self.label.as_ref().map(|label| &label.name);
        let account = self.assignee.as_ref().or(self.requested_reviewer.as_ref());
        let team = self.requested_team.as_ref().map(|team| &team.slug);
        let named = label.or(account.map(|account| &account.login)).or(team);
        named.map(String::as_str)
    }
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
    /// The message that was edited.
    message: Option<SlackMessage>,
}

#[derive(Deserialize)]
struct SlackMessage {
    user: Option<String>,
}

#[derive(Deserialize)]
struct Team {
    slug: String,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Which outputs an event can be.
enum Kind {
    /// Those whose remote ids begin so, and those that are being sent; and those that made the object, with what they gave to it.
    Change(&'static str),
    /// Those that name the label, to any object.
    Label,
    /// Those that are being sent, and one that was confirmed with this id, or in the review with it, after [`authored::find`] searched for it.
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
    let Ok(payload) = serde_json::from_slice::<Payload>(&event.payload) else {
        return Ok(None);
    };
    let named = payload.named();
    let names = |output: &Output| named.is_some_and(|name| Proposed::of(output).names(name));
    let mut near = match kind {
        Kind::Label => {
            if caused(store, event).await? != Some(true) {
                return Ok(None);
            }
            let mut near = newest(store, event).await?;
            near.retain(|output| is_near(output, event.time) && names(output));
            near
        }
        Kind::Change(_) | Kind::New(_) => at_subject(store, event, (&kind, subject)).await?,
    };
    if let (Kind::Change(_), Some(object)) = (&kind, authored::concerned(event)) {
        let mut made = authored::writers(store, event, &object).await?;
        // The owners of code are requested by the service, as soon as a pull request is ready.
        let is_request = event.action.as_deref() == Some("review_requested");
        made.retain(|output| is_near(output, event.time) && (names(output) || is_request));
        near.extend(made);
    }
    if near.is_empty() || caused(store, event).await? != Some(true) {
        return Ok(None);
    }
    // Several daemons may label one object: the label distinguishes their outputs, otherwise the newest counts.
    Ok(near
        .into_iter()
        .max_by_key(|output| (names(output), output.created_at)))
}

/// Returns the outputs of a kind to the subject of an event, at about its time.
async fn at_subject(
    store: &dyn Store,
    event: &Event,
    (kind, subject): (&Kind, &Subject),
) -> Result<Vec<Output>, StoreError> {
    let surface = event.source.as_str();
    let is_it = |output: &Output| {
        let id = output.remote_id.as_deref();
        let fits = match kind {
            Kind::Change(prefix) => id.is_some_and(|id| id.starts_with(prefix)),
            Kind::New(new) => [id, output.revision.as_deref()].contains(&Some(new)),
            Kind::Label => false,
        };
        (fits || authored::is_open(output)) && is_near(output, event.time)
    };
    let mut near = Vec::new();
    for target in targets(event.source, subject) {
        let outputs = store
            .outputs_at(surface, &OutputPlace::Target(target))
            .await?;
        near.extend(outputs.into_iter().filter(is_it));
    }
    Ok(near)
}

/// Returns the newest outputs to the repository of an event of GitHub that are not newer than it, the newest first.
///
/// # Errors
/// If the store fails.
pub(super) async fn newest(store: &dyn Store, event: &Event) -> Result<Vec<Output>, StoreError> {
    let query = Query {
        limit: NEWEST,
        after: None,
        daemon: None,
        repo: event.repo.clone(),
        state: None,
        since: None,
        until: None,
    };
    let mut newest = store.outputs(&query).await?.rows;
    newest.retain(|output| {
        output.surface == Source::Github.as_str()
            && output.may_be_there()
            && authored::is_of(output, event)
            && is_after(event, output)
    });
    Ok(newest)
}

/// Reports whether the host's own account caused an event; `None` if the account is not known, because nothing was sent yet.
///
/// # Errors
/// If the store fails.
pub(super) async fn caused(store: &dyn Store, event: &Event) -> Result<Option<bool>, StoreError> {
    let payload = serde_json::from_slice::<Payload>(&event.payload).ok();
    let actor = payload
        .as_ref()
        .and_then(|payload| actor(event.source, payload));
    is_own(store, event.source, actor.unwrap_or_default()).await
}

/// Reports whether a name is that of the host's own account on a service; `None` if the account is not known.
///
/// # Errors
/// If the store fails.
pub(super) async fn is_own(
    store: &dyn Store,
    source: Source,
    account: &str,
) -> Result<Option<bool>, StoreError> {
    let name = name(source.as_str());
    let accounts = store.bookmarks(&name).await?;
    let own = accounts.into_iter().find(|one| one.name == name);
    Ok(own.map(|own| own.text.eq_ignore_ascii_case(account)))
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
        (Source::Github, "label") if action == "created" => Some(Kind::Label),
        // GitHub makes a review for a comment on lines.
        (Source::Github, "pull_request_review") => authored::written(event)
            .filter(|review| review.body.is_empty())
            .map(|review| Kind::New(review.id)),
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
        Source::Slack => {
            let event = payload.event.as_ref()?;
            let author = event
                .message
                .as_ref()
                .and_then(|message| message.user.as_ref());
            event.user.as_ref().or(author).map(String::as_str)
        }
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

/// Reports whether an instant is about that of the delivery of an output.
pub(super) fn is_near(output: &Output, at: Timestamp) -> bool {
    let until = match output.delivered_at {
        _ if authored::is_open(output) => None,
        Some(delivered_at) => Some(delivered_at + NEAR),
        None => return false,
    };
    at >= output.created_at - NEAR && until.is_none_or(|until| at <= until)
}

/// Reports whether an event is not older than an output, whose host and service may have different clocks.
pub(super) fn is_after(event: &Event, output: &Output) -> bool {
    event.time >= output.created_at - NEAR
}
