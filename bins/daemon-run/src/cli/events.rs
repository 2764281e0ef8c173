//! The commands about events.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Listing;

/// `events`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Events {
    #[command(subcommand)]
    pub(crate) verb: Option<EventsVerb>,
    #[command(flatten)]
    pub(crate) listing: Listing,
}

/// What can be asked of events beyond a list.
#[derive(Debug, Subcommand)]
pub(crate) enum EventsVerb {
    /// Shows one event with every daemon's verdict
    Show {
        /// The event
        id: String,
    },
    /// Writes stored events as envelopes, signatures and secrets removed
    Record(Record),
    /// Takes events as if they came in; a delivery that is known is a duplicate
    Replay(Replay),
}

/// `events record`.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The directory that they are written into, one file each
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Only of this source: github, linear, slack, sentry or git
    #[arg(long, value_name = "S")]
    pub(crate) source: Option<String>,
    /// How many, the newest first
    #[arg(short = 'n', default_value_t = 50, value_name = "N")]
    pub(crate) count: u32,
}

/// `events replay`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Envelopes, or ids of stored events
    #[arg(required = true, value_name = "F|ID")]
    pub(crate) events: Vec<String>,
    /// As other deliveries than the first ones, so that they are no duplicates
    #[arg(long)]
    pub(crate) as_new: bool,
    /// Says what would happen; stores nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
