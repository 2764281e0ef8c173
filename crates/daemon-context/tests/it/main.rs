//! The public contract of the crate.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bounds;
mod injection;
mod whole;

use daemon_context::{Capability, Context, Limits, Parts, State, Support, Trust};
use daemon_event::{Actor, ActorKind, Enrichment, Event, EventId, Source, read};

const BOUNDARY: u128 = 0x5f0c_0000_0000_0000_0000_0000_0000_00e1;
const FILE: &[u8] = b"---\nid: link-janitor\npurpose: Keeps links alive.\nroutines:\n  - repair links\n---\nBe brief.\n";

fn parts(file: &[u8]) -> Parts<'_> {
    Parts {
        daemon: "link-janitor",
        repo: "acme/docs",
        path: ".agents/daemons/link-janitor/DAEMON.md",
        file,
        reasons: &[],
        remainders: &[],
        payloads: &[],
        state: State::default(),
        support: Support::default(),
        capability: Capability {
            name: "read",
            verbs: &[],
            budget: None,
            deadline: None,
            servers: &[],
        },
    }
}

fn build(parts: &Parts<'_>) -> Context {
    Context::build(parts, Limits::default(), || BOUNDARY).unwrap()
}

fn text(context: &Context) -> String {
    String::from_utf8(context.bytes().to_vec()).unwrap()
}

fn size(context: &Context, name: &str) -> usize {
    context
        .sections()
        .iter()
        .find(|section| section.name == name)
        .unwrap()
        .bytes
}

/// An issue event whose title a stranger wrote.
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

fn untrusted(context: &Context) -> Vec<&'static str> {
    let is_untrusted = |section: &&daemon_context::Section| section.trust == Trust::Untrusted;
    context
        .sections()
        .iter()
        .filter(is_untrusted)
        .map(|section| section.name)
        .collect()
}
