//! Tests of the crate's public interface.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bounds;
mod injection;
mod whole;

use daemon_context::{
    ActivationContext, ContextLimits, ContextParts, RunPermissions, StateView, SupportListing,
    Trust,
};
use daemon_event::{Actor, ActorKind, Enrichment, Event, EventId, Source, read};

const BOUNDARY: u128 = 0x5f0c_0000_0000_0000_0000_0000_0000_00e1;
const FILE: &[u8] = b"---\nid: link-janitor\npurpose: Keeps links alive.\nroutines:\n  - repair links\n---\nBe brief.\n";

fn parts(file: &[u8]) -> ContextParts<'_> {
    ContextParts {
        daemon: "link-janitor",
        repo: "acme/docs",
        path: ".agents/daemons/link-janitor/DAEMON.md",
        file,
        instructions: None,
        checkout: None,
        reasons: &[],
        remainders: &[],
        payloads: &[],
        state: StateView::default(),
        support: SupportListing::default(),
        capability: RunPermissions {
            name: "read",
            verbs: &[],
            targets: "",
            budget: None,
            deadline: None,
            servers: &[],
        },
    }
}

fn build(parts: &ContextParts<'_>) -> ActivationContext {
    ActivationContext::build(parts, ContextLimits::default(), || BOUNDARY).unwrap()
}

fn text(context: &ActivationContext) -> String {
    String::from_utf8(context.bytes().to_vec()).unwrap()
}

fn size(context: &ActivationContext, name: &str) -> usize {
    context
        .sections()
        .iter()
        .find(|section| section.name == name)
        .unwrap()
        .bytes
}

/// An issue event with a title and a login from outside.
fn issue(title: &str, login: &str) -> Event {
    let body = serde_json::json!({
        "action": "opened",
        "issue": {"number": 7, "title": title},
        "repository": {"full_name": "acme/docs"},
        "sender": {"login": login},
    });
    let body = serde_json::to_vec(&body).unwrap();
    let reading = read(Source::Github, "issues", &body, &Enrichment::default()).unwrap();
    Event {
        id: EventId::new(1_795_251_600_000, [7; 10]),
        source: Source::Github,
        kind: "issues".to_owned(),
        action: reading.action,
        subject: reading.subject,
        actor: Some(Actor {
            name: login.to_owned(),
            kind: ActorKind::Human,
        }),
        repo: reading.repo,
        time: "2026-11-20T09:00:00Z".parse().unwrap(),
        received_at: "2026-11-20T09:00:01Z".parse().unwrap(),
        delivery: "d-1".parse().unwrap(),
        facts: reading.facts,
        payload: body.into(),
    }
}

fn untrusted(context: &ActivationContext) -> Vec<&'static str> {
    let is_untrusted = |section: &&daemon_context::Section| section.trust == Trust::Untrusted;
    context
        .sections()
        .iter()
        .filter(is_untrusted)
        .map(|section| section.name)
        .collect()
}
