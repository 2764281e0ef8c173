//! Reads an event given on the command line: a raw body, or an envelope with its source, kind and enrichment.

use std::io::Read as _;
use std::path::Path;

use daemon_api::fire::FiredEvent;
use daemon_event::{Enrichment, Source};
use daemon_watch::corpus::{self, Envelope};

use crate::cli::EventArgs;
use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;

/// The most bytes of a payload; GitHub sends at most as many.
const MAX_PAYLOAD: u64 = 25 * 1024 * 1024;

/// Reads the event that the flags describe; returns `None` without `--event`.
pub(crate) fn read(args: &EventArgs, place: &Place) -> Result<Option<FiredEvent>, CommandFailure> {
    if let Some(bytes) = &args.payload {
        return from_bytes(bytes.clone(), args).map(Some);
    }
    let Some(path) = &args.event else {
        for (flag, is_given) in [
            ("--source", args.source.is_some()),
            ("--kind", args.kind.is_some()),
            ("--changed-file", !args.changed_files.is_empty()),
        ] {
            if is_given {
                return Err(CommandFailure::usage(format!(
                    "{flag} needs --event PAYLOAD"
                )));
            }
        }
        return Ok(None);
    };
    from_bytes(bytes(path, place)?, args).map(Some)
}

/// Reads an event from a raw body or an envelope; flags override the envelope.
pub(crate) fn from_bytes(bytes: Vec<u8>, args: &EventArgs) -> Result<FiredEvent, CommandFailure> {
    let mut event = match envelope(&bytes) {
        Some(envelope) => from_envelope(envelope, args)?,
        None => raw(bytes, args)?,
    };
    if !args.changed_files.is_empty() {
        event.enrichment.changed_files = Some(args.changed_files.clone());
    }
    Ok(event)
}

/// Reads a payload file; `-` is standard input.
pub(crate) fn bytes(path: &Path, place: &Place) -> Result<Vec<u8>, CommandFailure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(MAX_PAYLOAD + 1)
            .read_to_end(&mut bytes)
    } else {
        let path = place.directory.join(path);
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_PAYLOAD + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| CommandFailure::unreadable(path, &error))?;
    // One byte more than the limit was read, which is enough to detect a larger payload.
    if u64::try_from(bytes.len()).expect("a length fits") > MAX_PAYLOAD {
        return Err(CommandFailure::new(
            ExitKind::Invalid,
            "invalid-event",
            "the payload has more than 25 MiB",
        ));
    }
    Ok(bytes)
}

fn envelope(bytes: &[u8]) -> Option<Envelope> {
    corpus::envelope(std::str::from_utf8(bytes).ok()?)
        .ok()
        // A raw body may have members of the same names; only a known source makes it an envelope.
        .filter(|envelope| envelope.source.parse::<Source>().is_ok())
}

fn source(text: &str) -> Result<Source, CommandFailure> {
    text.parse()
        .map_err(|error: daemon_event::InvalidId| CommandFailure::usage(error.to_string()))
}

fn from_envelope(envelope: Envelope, args: &EventArgs) -> Result<FiredEvent, CommandFailure> {
    Ok(FiredEvent {
        source: source(args.source.as_deref().unwrap_or(&envelope.source))?,
        kind: args.kind.clone().unwrap_or(envelope.event),
        body: envelope.body.get().as_bytes().to_vec(),
        delivery: Some(envelope.id).filter(|id| !id.is_empty()),
        enrichment: envelope.enrichment.into(),
    })
}

fn raw(body: Vec<u8>, args: &EventArgs) -> Result<FiredEvent, CommandFailure> {
    let (Some(source_name), Some(kind)) = (&args.source, &args.kind) else {
        let failure = CommandFailure::usage("a raw payload needs --source and --kind");
        return Err(failure.help("such as --source github --kind pull_request"));
    };
    Ok(FiredEvent {
        source: source(source_name)?,
        kind: kind.clone(),
        body,
        // Without a delivery id, the hash of the body identifies the event.
        delivery: None,
        enrichment: Enrichment::default(),
    })
}
