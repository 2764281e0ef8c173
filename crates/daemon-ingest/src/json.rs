//! Limits of a JSON body that `daemon_event::read` does not check.

use daemon_event::{Enrichment, Event, ParsedEvent, Source};

use crate::delivery::Delivery;
use crate::error::Malformed;

/// The deepest nesting that is accepted.
const MAX_DEPTH: usize = 128;

/// The number of bytes whose sum of flags fits into eight bits.
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
    parsed(delivery, source, kind, delivery_id, payload)
}

/// Reads a body whose depth was checked into an event.
pub(crate) fn parsed(
    delivery: &Delivery<'_>,
    source: Source,
    kind: &str,
    delivery_id: daemon_event::DeliveryId,
    payload: &[u8],
) -> Result<Event, Malformed> {
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

/// Rejects deep nesting: `serde_json` does not limit the depth of values that it skips.
pub(crate) fn check_depth(body: &[u8]) -> Result<(), Malformed> {
    // Few bodies contain more brackets than the limit, and counting them is much faster than tracking the depth.
    if body.chunks(COUNTED).map(count_brackets).sum::<usize>() <= MAX_DEPTH {
        return Ok(());
    }
    // A
    // bracket that opens a value comes after a separator, a bracket, a blank or nothing, which excludes most brackets
    // inside strings.
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

/// Counts the opening brackets, also inside strings.
fn count_brackets(bytes: &[u8]) -> usize {
    // `[` and `{` differ in one bit, which the mask sets in both.
    let is_open = |byte: &u8| u8::from(*byte | 0x20 == b'{');
    usize::from(bytes.iter().map(is_open).sum::<u8>())
}

/// Counts the brackets that may open a value, each with the byte before it.
///
/// Eight-bit sums over short chunks let the compiler vectorise the loop.
fn count_values((before, bytes): (&[u8], &[u8])) -> usize {
    let may_open = |(before, byte): (&u8, &u8)| {
        let is_open = (*byte == b'[') | (*byte == b'{');
        let is_preceded =
            (*before == b':') | (*before == b',') | (*before == b'[') | (*before <= b' ');
        u8::from(is_open & is_preceded)
    };
    usize::from(before.iter().zip(bytes).map(may_open).sum::<u8>())
}

/// Returns the depth of the deepest value, in levels.
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

/// Skips the rest of a string, closing quote included.
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
