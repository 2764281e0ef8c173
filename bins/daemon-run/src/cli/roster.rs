//! The commands about the roster.

use clap::{Args, Subcommand};

/// Arguments of `roster`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RosterArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<RosterVerb>,
    #[command(flatten)]
    pub(crate) listing: RosterListArgs,
}

/// The subcommands of `roster`.
#[derive(Debug, Subcommand)]
pub(crate) enum RosterVerb {
    /// Lists who is alive, and who holds which baton
    List(RosterListArgs),
    /// Shows one row: why it is live or not, its reset, wind-down, signals and check-ins
    Show {
        /// The id of the row, or its name
        daemon: String,
    },
    /// Prints a link that logs a browser in to the running host, once
    Open,
    /// Checks a daemon in on its behalf
    Checkin(RosterCheckInArgs),
    /// Lists signals in the order in which they are drained
    Signals(RosterSignalsArgs),
    /// Lists transitions and refusals, the newest first
    Audit(RosterAuditArgs),
    /// Queues one line for a daemon, which reads it at its next wake
    Poke {
        /// The id of the row, or its name
        daemon: String,
        /// At most 240 characters
        line: String,
    },
    /// Opens the gate of a row, so that its work loop may run
    Go(RosterActArgs),
    /// Closes the gate of a row; it continues to check in
    Hold(RosterActArgs),
    /// Requests that a daemon compacts its context
    Compact {
        /// The id of the row, or its name
        daemon: String,
    },
    /// Requests that a daemon is replaced
    Reset(RosterActArgs),
    /// Requests that a daemon parks its work, writes a handoff and stops
    Winddown(RosterActArgs),
    /// Withdraws the reset of a daemon, or else its wind-down
    Cancel(RosterActArgs),
    /// Closes and retires a daemon
    Retire(RosterRetireArgs),
    /// Delivers one line to a live daemon at once
    Interject {
        /// The id of the row or its name, or `orchestrator`
        target: String,
        /// At most 240 characters
        line: String,
        /// The project of the orchestrator
        #[arg(long, value_name = "DIR")]
        project: Option<String>,
    },
    /// Lists the charters with their versions
    Charters,
    /// Checks what a new daemon would need, and prints what it would read first; starts nothing
    Plan(RosterPlanArgs),
    /// Starts a daemon that was planned
    Confirm(RosterConfirmArgs),
}

/// Arguments of `roster plan`.
#[derive(Debug, Args)]
pub(crate) struct RosterPlanArgs {
    /// The project, by the directory or name of its repository
    #[arg(long, value_name = "DIR")]
    pub(crate) project: String,
    /// orchestrator, ops or refine
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: String,
    /// The provider, which has to resume sessions: claude, codex, opencode or a command with `resume`
    #[arg(long, value_name = "NAME")]
    pub(crate) harness: String,
    /// Its name [default: the project and the role]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// Arguments of `roster confirm`.
#[derive(Debug, Args)]
pub(crate) struct RosterConfirmArgs {
    /// The id of the plan
    pub(crate) plan: String,
    /// The SHA-256 of the packet, as the plan printed it
    #[arg(long, value_name = "SHA256")]
    pub(crate) packet: String,
    /// Starts it without asking for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Flags that page and filter the roster.
#[derive(Debug, Args)]
pub(crate) struct RosterListArgs {
    /// Only rows of this project, by the directory or name of its repository
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<String>,
    /// Only standing daemons with this role
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// Only standing, repository, run or host
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only spawning, live, stale or dead, which includes those that are retired
    #[arg(long, value_name = "L")]
    pub(crate) liveness: Option<String>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// Flags of a listing in pages.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// The most rows to print (1 to 500)
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
    /// Continues after a page: the `next` that the page printed
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

/// Arguments of `roster checkin`.
#[derive(Debug, Args)]
pub(crate) struct RosterCheckInArgs {
    /// The daemon that is checked in, by the id of its row or its name
    #[arg(long = "as", value_name = "DAEMON")]
    pub(crate) daemon: String,
    /// Why it is awake: start, tick, poke or go
    #[arg(long, value_name = "W", default_value = "tick")]
    pub(crate) wake: String,
    /// Its cadence: fast, slow or dormant
    #[arg(long, value_name = "C")]
    pub(crate) cadence: Option<String>,
}

/// Arguments of `roster signals`.
#[derive(Debug, Args)]
pub(crate) struct RosterSignalsArgs {
    /// Only signals of this project, by the directory or name of its repository
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<String>,
    /// Only signals with this status [default: pending and claimed]
    #[arg(long, value_name = "S")]
    pub(crate) status: Option<String>,
}

/// Arguments of `roster audit`.
#[derive(Debug, Args)]
pub(crate) struct RosterAuditArgs {
    /// Only entries about this daemon, by the id of its row or its name
    #[arg(long, value_name = "DAEMON")]
    pub(crate) daemon: Option<String>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// Arguments of the subcommands that are recorded with a reason.
#[derive(Debug, Args)]
pub(crate) struct RosterActArgs {
    /// The id of the row, or its name
    pub(crate) daemon: String,
    /// Why, for the audit log
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "requested on the command line"
    )]
    pub(crate) reason: String,
}

/// Arguments of `roster retire`.
#[derive(Debug, Args)]
pub(crate) struct RosterRetireArgs {
    #[command(flatten)]
    pub(crate) act: RosterActArgs,
    /// Retires it without asking for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}
