//! The commands about runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `emanate`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct EmanateArgs {
    /// A file with the call object of the `daemon` tool, as JSON; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) call: Option<PathBuf>,
    /// The task of one run; `-` reads standard input
    #[arg(value_name = "TEXT", conflicts_with = "call")]
    pub(crate) text: Option<String>,
    #[command(subcommand)]
    pub(crate) verb: Option<EmanateVerb>,
}

/// The subcommands of `emanate`.
#[derive(Debug, Subcommand)]
pub(crate) enum EmanateVerb {
    /// Lists runs, the newest first
    List(ListRunsArgs),
    /// Shows one run and its last events
    Check(CheckRunArgs),
    /// Sends a message to a run
    Ask(AskArgs),
    /// Stops one run, a group of runs, or all that you dispatched
    Reclaim(ReclaimArgs),
}

/// Arguments of `emanate list`.
#[derive(Debug, Args)]
pub(crate) struct ListRunsArgs {
    /// Only runs whose entry contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) contains: Option<String>,
    /// Only runs in this state: running, done, failed, cancelled, timeout or unknown
    #[arg(long, value_name = "S")]
    pub(crate) status: Option<String>,
    /// Only runs of this group
    #[arg(long, value_name = "GROUP")]
    pub(crate) group_id: Option<String>,
    /// Only runs whose end was announced after this sequence number
    #[arg(long, value_name = "SEQ")]
    pub(crate) after_seq: Option<u64>,
    /// Whether to list runs that have ended [default: true]
    #[arg(long, value_name = "BOOL")]
    pub(crate) include_done: Option<bool>,
    /// The most runs to list (1 to 1000) [default: 50]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) last: Option<i64>,
}

/// Arguments of `emanate check`.
#[derive(Debug, Args)]
pub(crate) struct CheckRunArgs {
    /// The id of the run; a short id such as em-1 names a run of yours
    pub(crate) id: String,
    /// The most events to show (1 to 1000) [default: 20]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) last: Option<i64>,
    /// Truncates the text of each event to this many characters; 0 keeps it whole [default: 500]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) truncate: Option<i64>,
    /// Waits at most this many seconds (up to 3600) for the end of the run
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub(crate) wait: Option<f64>,
}

/// Arguments of `ask` and `emanate ask`.
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The id of the run
    pub(crate) run: String,
    /// The message; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
}

/// Arguments of `emanate reclaim`.
#[derive(Debug, Args)]
pub(crate) struct ReclaimArgs {
    /// The id of the run [default: all that you dispatched]
    #[arg(conflicts_with = "group_id")]
    pub(crate) id: Option<String>,
    /// Stops all runs of this group instead
    #[arg(long, value_name = "GROUP")]
    pub(crate) group_id: Option<String>,
}

/// The run that a command is about.
#[derive(Debug, Args)]
pub(crate) struct WhichRunArgs {
    /// The id of the run, or its beginning if no other run begins so
    #[arg(required_unless_present = "last", conflicts_with = "last")]
    pub(crate) id: Option<String>,
    /// The latest run
    #[arg(long)]
    pub(crate) last: bool,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunShowArgs {
    #[command(flatten)]
    pub(crate) run: WhichRunArgs,
}

/// Arguments of `logs`.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) run: WhichRunArgs,
    /// Keeps printing until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
}
