//! Logs, on the stream that carries no data.

use daemon_host::config::{Log, LogFormat};
use tracing_subscriber::EnvFilter;

use crate::cli::Global;
use crate::failure::{Exit, Failure};
use crate::place::Place;

/// Reports whether a command that is no host was asked to log.
pub(crate) fn are_wanted(global: &Global, place: &Place) -> bool {
    global.verbose > 0 || place.log.is_some()
}

/// Begins to log: flags go before the environment, and that before the configuration.
pub(crate) fn begin(log: &Log, global: &Global, place: &Place) -> Result<(), Failure> {
    let level = match (global.verbose, global.quiet) {
        (0, false) => place.log.as_deref().unwrap_or(&log.level),
        (0, true) => "error",
        (1, _) => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_new(level).map_err(|error| {
        Failure::new(
            Exit::Config,
            "log-level",
            format!("`{level}` is not a log filter: {error}"),
        )
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    let begun = match log.format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    begun.map_err(|error| Failure::bug(format!("logging cannot begin: {error}")))
}
