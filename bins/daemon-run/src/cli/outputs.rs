//! The commands about outputs.

use clap::{Args, Subcommand};

use super::ListingArgs;

/// Arguments of `outputs`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct OutputsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<OutputsVerb>,
    #[command(flatten)]
    pub(crate) listing: ListingArgs,
}

/// The subcommands of `outputs`.
#[derive(Debug, Subcommand)]
pub(crate) enum OutputsVerb {
    /// Removes the branches of daemons that are merged, or whose pull request is closed
    Prune(PruneArgs),
}

/// Arguments of `outputs prune`.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Only branches of this daemon
    #[arg(long, value_name = "ID")]
    pub(crate) daemon: Option<String>,
    /// Only branches delivered longer ago than this (`30d`), or before this instant (RFC 3339)
    #[arg(long, value_name = "D")]
    pub(crate) older: Option<String>,
    /// Lists the branches and removes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
