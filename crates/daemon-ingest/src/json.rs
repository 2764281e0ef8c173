//! The bounds of a JSON body that the reader of events does not check itself.

use daemon_event::{Enrichment, Event, ParsedEvent, Source};

use crate::delivery::Delivery;
use crate::error::Malformed;

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 128;

/// How many bytes are counted in eight bits.
const COUNTED: usize = 128;

/// Reads a body into an event.
pub(crate) fn event(
    delivery: &Delivery<'_>,
    source: Source,
    kind: &str,
    delivery_id: daemon_event::DeliveryId,
    payload: &[u8],
) -> Result<Event, Malformed> {
    check_depth(payload)?;
    let ParsedEvent {
        action,
        subject,
        actor,
        repo,
        time,
        facts,
    } = daemon_event::read(source, kind, payload, &Enrichment::default())?;
    Ok(Event {
        id: delivery.event_id.clone(),
        source,
        kind: kind.to_owned(),
        action,
        subject,
        actor,
        repo,
        time: time.unwrap_or(delivery.received_at),
        received_at: delivery.received_at,
        delivery: delivery_id,
        facts,
        payload: payload.into(),
    })
}

/// Refuses deep nesting: what is skipped unread has no depth check of its own.
pub(crate) fn check_depth(body: &[u8]) -> Result<(), Malformed> {
    // Few bodies open as many values as levels are allowed, and counting is much faster. Before a
    // value stands a separator, a bracket, a blank or nothing, which sets it apart from most
    // brackets in texts.
    let behind = body.get(1..).unwrap_or_default();
    let n_later: usize = body
        .chunks(COUNTED)
        .zip(behind.chunks(COUNTED))
        .map(count_values)
        .sum();
    let n_opened = n_later + 1;
    if n_opened > MAX_DEPTH && depth(body) > MAX_DEPTH {
        return Err(Malformed::Depth(MAX_DEPTH));
    }
    Ok(())
}

/// Counts the brackets that may open a value, each beside the byte before it.
///
/// Eight-bit sums over short pieces let the compiler count many bytes at once.
fn count_values((before, bytes): (&[u8], &[u8])) -> usize {
    let may_open = |(before, byte): (&u8, &u8)| {
        let is_open = (*byte == b'[') | (*byte == b'{');
        let is_preceded =
            (*before == b':') | (*before == b',') | (*before == b'[') | (*before <= b' ');
        u8::from(is_open & is_preceded)
    };
    usize::from(before.iter().zip(bytes).map(may_open).sum::<u8>())
}

fn depth(body: &[u8]) -> usize {
    let mut level = 0_usize;
    let mut deepest = 0;
    let mut bytes = body.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' => level = level.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    deepest
}

/// Moves behind the closing quote.
fn skip_text(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}
