//! The bodies of events and what else was found out about them.

use crate::clean;
use crate::page::{Page, Room, Written};
use crate::parts::{Parts, Payload};

/// How many events are shown.
const MAX_EVENTS: usize = 20;

pub(crate) fn payload(parts: &Parts<'_>, limit: usize, boundary: &str) -> Written {
    let mut page = Page::new("What happened, as the sources tell it", limit, boundary);
    let shown = &parts.payloads[..parts.payloads.len().min(MAX_EVENTS)];
    if shown.is_empty() {
        page.line("There is no event.");
    }
    let mut n_hidden = parts.payloads.len() - shown.len();
    for (at, payload) in shown.iter().enumerate() {
        // What an event leaves of its share, the older ones get.
        let share = page.room() / (shown.len() - at);
        if event(&mut page, payload, share) == Room::Full {
            n_hidden += 1;
        }
    }
    if n_hidden > 0 {
        page.line(&format!("({n_hidden} more events are not shown)"));
    }
    page.finish()
}

fn event(page: &mut Page<'_>, payload: &Payload<'_>, share: usize) -> Room {
    let id = &payload.event.id;
    let heading = format!("Event {id}, whole in `{}`:", payload.whole_in);
    let before = page.room();
    if heading.len() + 200 > share {
        return page.try_line(&format!("Event {id} is in `{}`.", payload.whole_in));
    }
    page.line(&heading);
    let facts = facts(page, payload);
    let facts_size: usize = facts.iter().map(|fact| fact.len() + 1).sum();
    let facts_room = if facts.is_empty() {
        0
    } else {
        (share / 2).min(facts_size + 100)
    };

    let source = String::from_utf8_lossy(&payload.event.payload);
    let cleaned = clean::json(&source);
    page.removed(cleaned.n_removed);
    let spent = before - page.room();
    let room = share
        .saturating_sub(spent + facts_room + 120)
        .min(page.fence_room("payload"));
    let quoted = clean::quote(&cleaned.text, room);
    let n_cut = cleaned.text.len() - quoted.n_taken;
    if cleaned.n_removed > 0 {
        page.line(&format!(
            "({} hidden characters were removed)",
            cleaned.n_removed
        ));
    }
    if n_cut > 0 {
        page.line(&format!("(cut, {n_cut} bytes more)"));
    }
    page.fence("payload", &[quoted.json]);

    if !facts.is_empty() {
        let room = facts_room.min(page.fence_room("facts"));
        let n_fitting = fitting(&facts, room);
        page.fence("facts", &facts[..n_fitting]);
        if n_fitting < facts.len() {
            page.line(&format!(
                "({} more facts are not shown)",
                facts.len() - n_fitting
            ));
        }
    }
    Room::Taken
}

/// The typed fields, one entry each; long lists are cut.
fn facts(page: &mut Page<'_>, payload: &Payload<'_>) -> Vec<String> {
    const MAX_FACT: usize = 4 << 10;
    payload
        .event
        .facts
        .iter()
        .map(|(field, value)| page.quote(&format!("{field}: {value}"), MAX_FACT))
        .collect()
}

/// Counts the leading entries that fit.
pub(super) fn fitting(entries: &[String], room: usize) -> usize {
    let mut used = 0;
    entries
        .iter()
        .take_while(|entry| {
            used += entry.len() + 1;
            used <= room
        })
        .count()
}
