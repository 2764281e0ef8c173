//! Logging to standard error, without secrets.

use std::io::{self, Write};

use daemon_host::config::{Log, LogFormat, filter_fault};
use daemon_provider::redact::Redactor;
use daemon_runner::secrets::HostSecrets;
use tracing_subscriber::EnvFilter;

use crate::cli::GlobalArgs;
use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;

/// Reports whether a command other than `serve` was asked to log.
pub(crate) fn are_wanted(global: &GlobalArgs, place: &Place) -> bool {
    global.verbose > 0 || place.log.is_some()
}

/// Starts logging. Flags override the environment, which overrides the configuration.
///
/// Every line is redacted with the secrets that are known when it is written.
pub(crate) fn begin(
    log: &Log,
    global: &GlobalArgs,
    place: &Place,
    secrets: HostSecrets,
) -> Result<(), CommandFailure> {
    let level = match (global.verbose, global.quiet) {
        (0, false) => place.log.as_deref().unwrap_or(&log.level),
        (0, true) => "error",
        (1, _) => "debug",
        _ => "trace",
    };
    let wrong = |fault: String| {
        let message = format!("`{level}` is not a log filter: {fault}");
        CommandFailure::new(ExitKind::Config, "log-level", message)
    };
    // `EnvFilter` takes a misspelt level for a target, and would then log nothing else.
    if let Some(fault) = filter_fault(level) {
        return Err(wrong(fault));
    }
    let filter = EnvFilter::try_new(level).map_err(|error| wrong(error.to_string()))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || Clean(secrets.redactor()))
        .with_target(false);
    let begun = match log.format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    begun.map_err(|error| CommandFailure::bug(format!("logging cannot start: {error}")))
}

/// Writes redacted lines to standard error, as far as it takes them. Each call gets one whole line, so no secret is split between two calls.
struct Clean(Redactor);

impl Write for Clean {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        // A line that cannot be written is lost: the terminal was closed, the reader of the pipe has ended, or the disk is full. The
        // caller would report an error on standard error itself, and panic.
        drop(io::stderr().write_all(self.0.text(&text).as_bytes()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        drop(io::stderr().flush());
        Ok(())
    }
}
