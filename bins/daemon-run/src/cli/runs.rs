//! The commands about runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `emanate`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Emanate {
    /// The call object of the `daemon` tool, as JSON; `-` reads it from the input
    #[arg(long, value_name = "FILE")]
    pub(crate) call: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: Option<EmanateVerb>,
}

/// What can be asked of dispatched runs.
#[derive(Debug, Subcommand)]
pub(crate) enum EmanateVerb {
    /// Lists runs, the newest first
    List(ListRuns),
    /// Shows one run and the end of its log
    Check(CheckRun),
    /// Sends a message to a run
    Ask(Ask),
    /// Stops one run, a group, or all of yours
    Reclaim(Reclaim),
}

/// `emanate list`.
#[derive(Debug, Args)]
pub(crate) struct ListRuns {
    /// Only runs whose entry contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) contains: Option<String>,
    /// Only in this state: running, done, failed, cancelled, timeout or unknown
    #[arg(long, value_name = "S")]
    pub(crate) status: Option<String>,
    /// Only of this group
    #[arg(long, value_name = "GROUP")]
    pub(crate) group_id: Option<String>,
    /// Only those whose end was announced after this number
    #[arg(long, value_name = "SEQ")]
    pub(crate) after_seq: Option<u64>,
    /// Whether ended runs are listed [default: true]
    #[arg(long, value_name = "BOOL")]
    pub(crate) include_done: Option<bool>,
    /// At most so many (1 to 1000) [default: 50]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) last: Option<i64>,
}

/// `emanate check`.
#[derive(Debug, Args)]
pub(crate) struct CheckRun {
    /// The run, or its short name em-N
    pub(crate) id: String,
    /// At most so many events (1 to 1000) [default: 20]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) last: Option<i64>,
    /// Cuts texts of events to so many characters; 0 does not [default: 500]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) truncate: Option<i64>,
}

/// `ask` and `emanate ask`.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The run
    pub(crate) run: String,
    /// The message; `-` reads it from the input
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
}

/// `emanate reclaim`.
#[derive(Debug, Args)]
pub(crate) struct Reclaim {
    /// The run [default: all that you dispatched]
    #[arg(conflicts_with = "group_id")]
    pub(crate) id: Option<String>,
    /// All of a group instead
    #[arg(long, value_name = "GROUP")]
    pub(crate) group_id: Option<String>,
}

/// `run`.
#[derive(Debug, Args)]
pub(crate) struct RunShow {
    /// The run
    pub(crate) id: String,
}

/// `logs`.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The run
    pub(crate) run: String,
    /// Goes on until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
}
