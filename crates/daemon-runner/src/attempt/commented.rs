//! The pull request that a comment is about, whose commit the payload does not name.

use daemon_engine::FactErrorKind;
use daemon_event::{Event, Field, Need, Source, enriched};
use daemon_store::EventRow;

use super::AttemptRefusal;
use super::checkout::naming;
use crate::policy::RunPolicy;
use crate::settings::RunSettings;

/// Adds the facts of the pull request to the newest event, if that is a comment on one and no event names a commit. The run then works
/// at the head of the pull request and may add to it.
///
/// # Errors
/// The service cannot be asked at the moment; the refusal makes the activation wait. A service that does not show the pull request is no
/// error: the run works at the default branch.
pub(super) async fn with_head(
    settings: &RunSettings,
    policy: &RunPolicy,
    mut events: Vec<EventRow>,
) -> Result<Vec<EventRow>, AttemptRefusal> {
    // A rolling daemon works at its own branch, and without the surface nothing can be added to a pull request.
    if policy.is_rolling || !settings.surfaces.names.contains("github") {
        return Ok(events);
    }
    let known: Vec<Event> = events.iter().map(|row| row.event.clone()).collect();
    let Some(newest) = events.last_mut().map(|row| &mut row.event) else {
        return Ok(events);
    };
    let is_on_pull = newest.facts.text(Field::CommentOn) == Some("pull_request");
    if newest.source != Source::Github || !is_on_pull || naming(&known).is_some() {
        return Ok(events);
    }
    match settings.facts.fetch(&Need::PullRequests, newest).await {
        Ok(fact) => {
            if let Ok(event) = enriched(newest, &fact.found) {
                *newest = event;
            }
        }
        Err(error) if error.kind == FactErrorKind::Final => {
            let event = &newest.id;
            tracing::info!(%event, %error, "the run of a comment works at the default branch");
        }
        Err(error) => return Err(AttemptRefusal::pull_request(&error.to_string())),
    }
    Ok(events)
}
