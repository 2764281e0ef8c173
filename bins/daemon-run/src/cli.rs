//! The command line as types.

mod agents;
mod events;
mod help;
mod listing;
mod new_daemon;
mod outputs;
mod roster;
mod runs;
mod stored;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use daemon_lint::ColorChoice as Color;

pub(crate) use self::agents::{AgentArgs, AgentVerb, CallArgs, ChatArgs, NewAgentArgs};
pub(crate) use self::events::{EventsArgs, EventsVerb, RecordArgs, ReplayArgs};
pub(crate) use self::help::command;
pub(crate) use self::listing::ListingArgs;
pub(crate) use self::new_daemon::NewArgs;
pub(crate) use self::outputs::{OutputsArgs, OutputsVerb, PruneArgs};
pub(crate) use self::roster::{
    PageArgs, RosterActArgs, RosterArgs, RosterAuditArgs, RosterCheckInArgs, RosterConfirmArgs,
    RosterListArgs, RosterPlanArgs, RosterRetireArgs, RosterSignalsArgs, RosterVerb,
};
pub(crate) use self::runs::{
    AskArgs, CheckRunArgs, EmanateArgs, EmanateVerb, ListRunsArgs, LogsArgs, ReclaimArgs,
    RunShowArgs, WhichRunArgs,
};
pub(crate) use self::stored::{BackupArgs, ImportArgs};

/// The reference runtime for DAEMON.md: runs a repository's daemons on commits, webhooks and schedules.
#[derive(Debug, Parser)]
#[command(
    name = "daemon-run",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(
    after_help = "First steps: daemon-run demo, then in your repository: daemon-run init\n\
                  The options and an example of a command: daemon-run help COMMAND"
)]
pub(crate) struct CommandLine {
    #[command(flatten, next_help_heading = "Options of every command")]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Works as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// The home: store, run folders, socket [default: $DAEMON_HOME, else $XDG_STATE_HOME/daemon-run]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) home: Option<PathBuf>,
    /// Prints one JSON object instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Prints times in UTC instead of relative to now and in local time
    #[arg(long, global = true)]
    pub(crate) utc: bool,
    /// Prints only results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Logs at level debug; given twice, at level trace
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to print in colour: auto, always or never
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        global = true,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub(crate) color: Color,
    /// Never prompts: a command that needs a confirmation fails instead
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
}

/// Arguments of `lint`: those of the linter, and flags that need a provider.
#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    #[command(flatten)]
    pub(crate) lint: daemon_lint::LintArguments,
    /// Asks the configured provider to reword conditions that are not understood
    #[arg(long, conflicts_with = "fix")]
    pub(crate) suggest: bool,
}

/// The commands, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Turns a commit into a branch in a scratch repository; no model
    Demo(DemoArgs),
    /// Prepares this repository for a first daemon, and runs it once
    Init(InitArgs),
    /// Writes a new daemon into this repository
    New(NewArgs),
    /// Checks daemon files
    Lint(LintArgs),
    /// Explains a diagnostic code, or lists all codes
    Rule(RuleArgs),
    /// Lists registered daemons
    List(ListingArgs),
    /// Shows one daemon with the readings of its conditions
    Show(ShowArgs),
    /// Prints when a schedule is due next
    Next(NextArgs),
    /// Explains how conditions are read, and which daemons wake
    Explain(ExplainArgs),
    /// Prints the exact bytes that a provider receives for a daemon
    Context(ContextArgs),
    /// Runs the test cases in .agents/daemon-tests
    Test(TestArgs),
    /// Wakes a daemon now, and waits for the end
    Fire(FireArgs),
    /// Runs the host: repositories, webhooks, schedules and pages
    Serve(ServeArgs),
    /// Prints a link to the pages of the running host, valid once
    Login,
    /// Makes the running host read configuration and repositories again
    Reload,
    /// Holds one daemon, or all: events are recorded, but nothing starts
    Hold(GateArgs),
    /// Releases one daemon, or all, after `hold`
    Go(GateArgs),
    /// Cancels an activation or a run
    Cancel(CancelArgs),
    /// Starts a failed, dead or cancelled activation again
    Retry(RetryArgs),
    /// Sends a message to a run
    Ask(AskArgs),
    /// Dispatches and manages one-off runs, which need no daemon file
    Emanate(EmanateArgs),
    /// Shows who is alive, and manages standing daemons
    Roster(RosterArgs),
    /// Talks with an agent
    Chat(ChatArgs),
    /// Lists, shows and creates agents
    Agent(AgentArgs),
    /// Calls a method of the running host
    Call(CallArgs),
    /// Lists events, or shows one
    Events(EventsArgs),
    /// Lists activations
    Activations(ListingArgs),
    /// Lists runs
    Runs(ListingArgs),
    /// Shows one run with its timeline
    Run(RunShowArgs),
    /// Prints the timeline of a run
    Logs(LogsArgs),
    /// Lists the ticks of schedules with their outcomes
    Ticks(ListingArgs),
    /// Lists outputs, or removes their merged and closed branches
    Outputs(OutputsArgs),
    /// Copies the store of the home into a database that hosts share
    Import(ImportArgs),
    /// Copies the home to a new directory, also while its host runs
    Backup(BackupArgs),
    /// Makes the home from a backup, after comparing every hash
    Restore(BackupArgs),
    /// Checks this machine, the home, the providers and repositories
    Doctor(DoctorArgs),
    /// Serves tools to an agent over the Model Context Protocol (stdio)
    Mcp(crate::mcp::McpArgs),
    /// Serves an editor over the Language Server Protocol (stdio)
    Lsp {
        /// Uses standard input and output, the only transport; clients of editors pass it
        #[arg(long)]
        stdio: bool,
    },
    /// Prints a JSON Schema
    Schema(SchemaArgs),
    /// Prints or installs a completion script
    Completions(CompletionsArgs),
    /// Prints the manual page, or writes one for every command
    Man(ManArgs),
    /// The program of the runs of `doctor --probe`
    #[command(hide = true)]
    ProbeRun(ProbeRunArgs),
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keeps the scratch directory
    #[arg(long)]
    pub(crate) keep: bool,
    /// Keeps serving the scratch repository afterwards
    #[arg(long)]
    pub(crate) serve: bool,
}

/// Arguments of `init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Answers every question with what costs nothing
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Arguments of `rule`.
#[derive(Debug, Args)]
pub(crate) struct RuleArgs {
    /// The code, such as D201
    pub(crate) code: Option<String>,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The id of the daemon
    pub(crate) id: String,
    /// The repository, where two share the id
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<String>,
}

/// Arguments of `next`.
#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    /// The id of the daemon
    #[arg(conflicts_with = "cron")]
    pub(crate) id: Option<String>,
    /// A cron expression instead of a daemon
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) cron: Option<String>,
    /// The time zone of the expression, such as Europe/Paris
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// Prints times strictly after this instant [default: now]
    #[arg(long, value_name = "RFC3339", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// How many times to print
    #[arg(short = 'n', default_value_t = 5, value_name = "N")]
    pub(crate) count: u32,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
}

/// An event given on the command line.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EventArgs {
    /// A payload file: a raw body, which needs --source and --kind, or an envelope that has both; `-` reads standard input;
    /// or the id of a stored event, or its beginning
    #[arg(long, value_name = "PAYLOAD")]
    pub(crate) event: Option<PathBuf>,
    /// The payload itself, set by callers that have read it already
    #[arg(skip)]
    pub(crate) payload: Option<Vec<u8>>,
    /// Whether the id of a stored event must be whole: programs give no beginnings
    #[arg(skip)]
    pub(crate) needs_whole_id: bool,
    /// The source of the event: github, linear, slack, sentry, git or cloudevents
    #[arg(long, value_name = "S")]
    pub(crate) source: Option<String>,
    /// The source's name for the event, such as pull_request
    #[arg(long, value_name = "EVENT")]
    pub(crate) kind: Option<String>,
    /// A file that the event changed; may be repeated
    #[arg(long = "changed-file", value_name = "P")]
    pub(crate) changed_files: Vec<String>,
}

/// What wakes a daemon: an event, a tick, or, with neither, the person who runs the command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OccasionArgs {
    #[command(flatten)]
    pub(crate) event: EventArgs,
    /// A due time of the schedule instead of an event
    #[arg(
        long,
        value_name = "RFC3339",
        conflicts_with = "event",
        allow_hyphen_values = true
    )]
    pub(crate) tick: Option<String>,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The daemon [default: all of the repository]
    #[arg(conflicts_with_all = ["condition", "corpus"])]
    pub(crate) id: Option<String>,
    /// A condition to explain instead of a daemon
    #[arg(long, value_name = "TEXT", conflicts_with = "corpus")]
    pub(crate) condition: Option<String>,
    #[command(flatten)]
    pub(crate) event: EventArgs,
    /// Explains also why each of the other daemons does not wake
    #[arg(long)]
    pub(crate) all_daemons: bool,
    /// Exits with 1 if no daemon wakes
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// A labelled corpus of conditions to score the reader against
    #[arg(long, value_name = "FILE.jsonl", requires = "payloads")]
    pub(crate) corpus: Option<PathBuf>,
    /// The directory with the payloads of the corpus
    #[arg(long, value_name = "DIR")]
    pub(crate) payloads: Option<PathBuf>,
    /// Writes one result per condition to this file, for another scorer
    #[arg(long, value_name = "OUT.jsonl", requires = "corpus")]
    pub(crate) answers: Option<PathBuf>,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
}

/// Arguments of `context`.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    /// The id of the daemon
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) occasion: OccasionArgs,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
}

/// Arguments of `test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// The daemon [default: all that have tests]
    pub(crate) id: Option<String>,
    /// Rewrites the expectations of failing cases to the actual results
    #[arg(long)]
    pub(crate) update: bool,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
}

/// Arguments of `fire`.
#[derive(Debug, Args)]
pub(crate) struct FireArgs {
    /// The id of the daemon
    pub(crate) id: String,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) occasion: OccasionArgs,
    /// Prints what would happen; starts nothing and writes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Runs the daemon file as it is in the working tree, at the commit of HEAD; no host may be running
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) working_tree: bool,
    /// Uses this provider instead of the configured one
    #[arg(long, value_name = "P")]
    pub(crate) provider: Option<String>,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// A repository to watch; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Vec<PathBuf>,
    /// The address of the HTTP listener; port 0 picks one
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// The store: sqlite, or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
    /// Records everything and starts nothing
    #[arg(long)]
    pub(crate) hold: bool,
}

/// Arguments of `hold` and `go`.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// The daemon [default: all]
    pub(crate) id: Option<String>,
    /// The repository, where two share the id
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<String>,
}

/// Arguments of `cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The activation, or the run by its full id
    pub(crate) id: String,
    /// Cancels without asking for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Arguments of `retry`.
#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    /// The id of the activation
    pub(crate) activation: String,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// A repository to examine; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Vec<PathBuf>,
    /// Repairs a store with a damaged log: copies its files, then removes the unreadable end; no host may be running
    #[arg(long)]
    pub(crate) repair: bool,
    /// Makes runs that try to leave the sandbox, and prints what each level refuses; takes a few seconds
    #[arg(long)]
    pub(crate) probe: bool,
    /// Checks all hosts of a shared store instead: releases, clocks, policies, the queue and leases
    #[arg(long, conflicts_with_all = ["repo", "repair", "probe"])]
    pub(crate) fleet: bool,
}

/// Arguments of `probe-run`.
#[derive(Debug, Args)]
pub(crate) struct ProbeRunArgs {
    /// The directory with the targets of the attempts; without it, the run only stays
    #[arg(long, value_name = "DIR")]
    pub(crate) targets: Option<PathBuf>,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The format whose schema is printed
    #[arg(value_enum, default_value = "daemon")]
    pub(crate) of: SchemaOf,
}

/// The formats that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The front matter of a daemon file
    Daemon,
    /// An output that a run proposes
    Output,
    /// The configuration
    Config,
    /// A file of tests, or a payload envelope
    Fixture,
    /// The result of reading a condition
    Interpretation,
    /// The control protocol
    Protocol,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to complete in; with --install, by default that of SHELL
    #[arg(value_enum, required_unless_present = "install")]
    pub(crate) shell: Option<clap_complete::Shell>,
    /// Writes the script to where the shell looks for it
    #[arg(long)]
    pub(crate) install: bool,
    /// The program to complete [default: daemon-run; with --install, both]
    #[arg(long, value_enum, value_name = "BINARY")]
    pub(crate) of: Option<Binary>,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Writes a page for every command of both binaries into DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// The two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Binary {
    /// This program
    DaemonRun,
    /// The linter
    DaemonLint,
}
