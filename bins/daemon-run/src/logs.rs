//! Logs, on the stream that carries no data.

use std::io::{self, Write};

use daemon_host::config::{Log, LogFormat, filter_fault};
use daemon_host::secrets::HostSecrets;
use daemon_provider::redact::Redactor;
use tracing_subscriber::EnvFilter;

use crate::cli::Global;
use crate::failure::{Exit, Failure};
use crate::place::Place;

/// Reports whether a command that is no host was asked to log.
pub(crate) fn are_wanted(global: &Global, place: &Place) -> bool {
    global.verbose > 0 || place.log.is_some()
}

/// Begins to log: flags go before the environment, and that before the configuration.
///
/// No line holds what `secrets` knows by the time it is written.
pub(crate) fn begin(
    log: &Log,
    global: &Global,
    place: &Place,
    secrets: HostSecrets,
) -> Result<(), Failure> {
    let level = match (global.verbose, global.quiet) {
        (0, false) => place.log.as_deref().unwrap_or(&log.level),
        (0, true) => "error",
        (1, _) => "debug",
        _ => "trace",
    };
    let wrong = |fault: String| {
        let message = format!("`{level}` is not a log filter: {fault}");
        Failure::new(Exit::Config, "log-level", message)
    };
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
    begun.map_err(|error| Failure::bug(format!("logging cannot begin: {error}")))
}

/// Writes lines to standard error without secrets; a line comes in one piece.
struct Clean(Redactor);

impl Write for Clean {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        io::stderr().write_all(self.0.text(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
