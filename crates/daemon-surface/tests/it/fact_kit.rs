//! Events, and the facts that a fake API of GitHub answers about them.

use daemon_engine::{Fact, FactErrorKind, FactOrigin, Facts as _};
use daemon_event::{Enrichment, Event, EventId, Need, Source, read};
use daemon_surface::ServiceFacts;
use jiff::Timestamp;

use super::fake_api::{FakeApi, Reply};

pub(super) const SHA: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

pub(super) fn event(source: Source, kind: &str, body: &str) -> Event {
    let reading = read(source, kind, body.as_bytes(), &Enrichment::default()).unwrap();
    Event {
        id: EventId::new(0, [0; 10]),
        source,
        kind: kind.to_owned(),
        action: reading.action,
        subject: reading.subject,
        actor: reading.actor,
        repo: reading.repo,
        time: Timestamp::UNIX_EPOCH,
        received_at: Timestamp::UNIX_EPOCH,
        delivery: "d".parse().unwrap(),
        facts: reading.facts,
        payload: body.as_bytes().into(),
    }
}

pub(super) fn pull_request() -> Event {
    let body =
        r#"{"action":"opened","pull_request":{"number":7},"repository":{"full_name":"o/r"}}"#;
    event(Source::Github, "pull_request", body)
}

pub(super) fn files(paths: &[&str]) -> String {
    let rows = paths
        .iter()
        .map(|path| format!(r#"{{"filename":"{path}","status":"modified","patch":"@@"}}"#));
    format!("[{}]", rows.collect::<Vec<_>>().join(","))
}

/// Fetches from GitHub and returns what came of it, and what was asked.
pub(super) async fn github(
    replies: Vec<Reply>,
    need: Need,
    event: &Event,
) -> (Result<Fact, (FactErrorKind, String)>, Vec<String>) {
    let fake = FakeApi::start(replies).await;
    let facts = ServiceFacts {
        github: Some(fake.api()),
        slack: None,
    };
    let fetched = facts.fetch(&need, event).await;
    let told = fetched.map_err(|error| (error.kind, error.message));
    (told, fake.asked())
}

pub(super) fn found(paths: &[&str]) -> Result<Fact, (FactErrorKind, String)> {
    Ok(Fact {
        found: Enrichment {
            changed_files: Some(paths.iter().map(|path| (*path).to_owned()).collect()),
            ..Enrichment::default()
        },
        origin: FactOrigin::Api,
        note: None,
    })
}

pub(super) fn page(of: &str, page: u32) -> String {
    format!("/v3/repos/o/r/{of}?per_page=100&page={page}")
}
