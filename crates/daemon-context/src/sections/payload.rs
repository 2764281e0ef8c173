//! The bodies and facts of events.

use crate::clean;
use crate::page::{Fit, RenderedSection, SectionWriter};
use crate::parts::{ContextParts, Payload};

/// The maximum number of events shown.
const MAX_EVENTS: usize = 20;

pub(crate) fn payload(parts: &ContextParts<'_>, limit: usize, boundary: &str) -> RenderedSection {
    let mut page = SectionWriter::new("What happened, as reported by the sources", limit, boundary);
    let shown = &parts.payloads[..parts.payloads.len().min(MAX_EVENTS)];
    if shown.is_empty() {
        page.line("There is no event.");
    }
    let mut n_hidden = parts.payloads.len() - shown.len();
    for (at, payload) in shown.iter().enumerate() {
        // The part of its share that an event does not use is left to the older ones.
        let share = page.room() / (shown.len() - at);
        if event(&mut page, payload, share) == Fit::Full {
            n_hidden += 1;
        }
    }
    if n_hidden > 0 {
        page.line(&format!("({n_hidden} more events are not shown)"));
    }
    page.finish()
}

fn event(page: &mut SectionWriter<'_>, payload: &Payload<'_>, share: usize) -> Fit {
    let id = &payload.event.id;
    let heading = format!("Event {id}, whole in `{}`:", payload.whole_in);
    let before = page.room();
    // Too little for a heading and a useful excerpt: name the file only.
    if heading.len() + 200 > share {
        return page.try_line(&format!("Event {id} is in `{}`.", payload.whole_in));
    }
    page.line(&heading);
    let facts = facts(page, payload);
    let facts_size: usize = facts.iter().map(|fact| fact.len() + 1).sum();
    let facts_room = if facts.is_empty() {
        0
    } else {
        // At most half of the share: the payload also contains what the vocabulary does not read.
        (share / 2).min(facts_size + 100)
    };

    // A fence has to be valid text; the file in the context directory has the exact bytes.
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
    Fit::Written
}

/// Returns the facts, one quoted entry each; long lists are cut.
fn facts(page: &mut SectionWriter<'_>, payload: &Payload<'_>) -> Vec<String> {
    const MAX_FACT: usize = 4 << 10;
    payload
        .event
        .facts
        .iter()
        .map(|(field, value)| page.quote(&format!("{field}: {value}"), MAX_FACT))
        .collect()
}

/// Returns the number of leading entries that fit.
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
