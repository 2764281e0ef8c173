//! The commands about events.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ListingArgs;

/// Arguments of `events`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct EventsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<EventsVerb>,
    #[command(flatten)]
    pub(crate) listing: ListingArgs,
}

/// The subcommands of `events`.
#[derive(Debug, Subcommand)]
pub(crate) enum EventsVerb {
    /// Shows one event and, for each daemon, whether it woke it
    Show {
        /// The id of the event
        id: String,
    },
    /// Writes stored events to files as envelopes, without signatures and secrets
    Record(RecordArgs),
    /// Accepts recorded or stored events as if they had just arrived; a known delivery is a duplicate
    Replay(ReplayArgs),
}

/// Arguments of `events record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// The directory to write to, one file per event
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Only events of this source: github, linear, slack, sentry, git or cloudevents
    #[arg(long, value_name = "S")]
    pub(crate) source: Option<String>,
    /// How many events, the newest first
    #[arg(short = 'n', default_value_t = 50, value_name = "N")]
    pub(crate) count: u32,
}

/// Arguments of `events replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Files with envelopes, or ids of stored events
    #[arg(required = true, value_name = "F|ID")]
    pub(crate) events: Vec<String>,
    /// Gives the events new delivery ids, so that they are not duplicates
    #[arg(long)]
    pub(crate) as_new: bool,
    /// Prints what would happen; stores nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
