//! The command line as types.

mod events;
mod runs;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::events::{Events, EventsVerb, Record, Replay};
pub(crate) use self::runs::{
    Ask, CheckRun, Emanate, EmanateVerb, ListRuns, Logs, Reclaim, RunShow,
};

/// The reference runtime for DAEMON.md: a repository's daemons wake on commits, webhooks and schedules.
#[derive(Debug, Parser)]
#[command(
    name = "daemon-run",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(
    after_help = "First steps: daemon-run demo, then in your repository: daemon-run new pr-helper"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Works as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// The home: store, run folders, socket [default: $DAEMON_HOME, else $XDG_STATE_HOME/daemon-run]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) home: Option<PathBuf>,
    /// Prints one JSON object instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Prints nothing but results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Logs more; twice: even more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to use colour
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        global = true,
        value_name = "WHEN"
    )]
    pub(crate) color: Color,
    /// Never asks
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `lint`: the linter's arguments, and what only this program can do.
#[derive(Debug, Args)]
pub(crate) struct Lint {
    #[command(flatten)]
    pub(crate) lint: daemon_lint::LintArguments,
    /// Asks the configured provider for other wordings of conditions that are not understood
    #[arg(long, conflicts_with = "fix")]
    pub(crate) suggest: bool,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows a daemon wake on a real commit, in a scratch repository, without a key or a network
    Demo(Demo),
    /// Writes a new daemon into this repository
    New(New),
    /// Checks daemon files
    Lint(Lint),
    /// Explains a diagnostic code, or lists all codes
    Rule(Rule),
    /// Lists registered daemons
    List(Listing),
    /// Shows one daemon with the readings of its conditions
    Show(Show),
    /// Says when a schedule is due next
    Next(Next),
    /// Says how conditions are read, and whether an event would wake their daemons
    Explain(Explain),
    /// Prints the exact bytes that a provider receives
    Context(Context),
    /// Checks what daemons do against the cases in .agents/daemon-tests
    Test(Test),
    /// Wakes a daemon now and waits for the end
    Fire(Fire),
    /// Runs the host: watches repositories, takes webhooks, keeps schedules
    Serve(Serve),
    /// Makes the host read its configuration and repositories again
    Reload,
    /// Holds one daemon, or all: events and ticks are recorded, nothing starts
    Hold(Gate),
    /// Lets one daemon, or all, start again
    Go(Gate),
    /// Cancels an activation or a run
    Cancel(Cancel),
    /// Makes a failed, dead or cancelled activation pending again
    Retry(Retry),
    /// Sends a message to a run
    Ask(Ask),
    /// Dispatches runs without a daemon, and looks after them
    Emanate(Emanate),
    /// Lists events, or shows one
    Events(Events),
    /// Lists activations
    Activations(Listing),
    /// Lists runs
    Runs(Listing),
    /// Shows one run with its timeline
    Run(RunShow),
    /// Prints the timeline of a run
    Logs(Logs),
    /// Lists what became of ticks
    Ticks(Listing),
    /// Lists outputs
    Outputs(Listing),
    /// Examines this machine, the home and the repositories
    Doctor(Doctor),
    /// Serves tools to an agent or editor: the Model Context Protocol on standard input and output
    Mcp(crate::mcp::Mcp),
    /// Prints a JSON Schema
    Schema(Schema),
    /// Prints a completion script
    Completions(Completions),
    /// Prints the manual page, or writes a page for every command
    Man(Man),
}

/// `demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keeps the scratch directory
    #[arg(long)]
    pub(crate) keep: bool,
    /// Goes on serving the scratch repository afterwards
    #[arg(long)]
    pub(crate) serve: bool,
}

/// `new`.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The daemon's id: lower-case words joined by `-`
    pub(crate) id: String,
    /// What to start from
    #[arg(long, value_enum, default_value = "plain", value_name = "T")]
    pub(crate) template: crate::commands::new::Template,
    /// An event condition; may be repeated
    #[arg(long, value_name = "W")]
    pub(crate) watch: Vec<String>,
    /// A five-field cron expression
    #[arg(long, value_name = "C")]
    pub(crate) schedule: Option<String>,
}

/// `rule`.
#[derive(Debug, Args)]
pub(crate) struct Rule {
    /// The code, such as D201
    pub(crate) code: Option<String>,
}

/// What restricts a listing.
#[derive(Clone, Debug, Args)]
pub(crate) struct Listing {
    /// At most so many rows (1 to 500)
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
    /// The `next` of the page before
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Only of this daemon
    #[arg(long, value_name = "ID")]
    pub(crate) daemon: Option<String>,
    /// Only of this repository, by its directory or name
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<String>,
    /// Only in this state
    #[arg(long, value_name = "S")]
    pub(crate) state: Option<String>,
    /// Only since this instant (RFC 3339), or this long ago (`2h`)
    #[arg(long, value_name = "T")]
    pub(crate) since: Option<String>,
    /// Only until this instant (RFC 3339), or this long ago
    #[arg(long, value_name = "T")]
    pub(crate) until: Option<String>,
    /// Goes on printing new rows, one JSON object a line under --json
    #[arg(long)]
    pub(crate) follow: bool,
}

/// `show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The daemon
    pub(crate) id: String,
    /// The repository, where two share the id
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<String>,
}

/// `next`.
#[derive(Debug, Args)]
pub(crate) struct Next {
    /// The daemon
    #[arg(conflicts_with = "cron")]
    pub(crate) id: Option<String>,
    /// An expression instead of a daemon
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) cron: Option<String>,
    /// The zone it is read in
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// Strictly after this instant [default: now]
    #[arg(long, value_name = "RFC3339", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// How many
    #[arg(short = 'n', default_value_t = 5, value_name = "N")]
    pub(crate) count: u32,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
}

/// An event given on the command line.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EventArgs {
    /// A payload: a raw body, which needs --source and --kind, or an envelope that carries them; `-` reads it from the input
    #[arg(long, value_name = "PAYLOAD")]
    pub(crate) event: Option<PathBuf>,
    /// The bytes of a payload that comes another way
    #[arg(skip)]
    pub(crate) payload: Option<Vec<u8>>,
    /// Where the event comes from: github, linear, slack, sentry or git
    #[arg(long, value_name = "S")]
    pub(crate) source: Option<String>,
    /// The source's name for the event, such as pull_request
    #[arg(long, value_name = "EVENT")]
    pub(crate) kind: Option<String>,
    /// A file that the event changed; may be repeated
    #[arg(long = "changed-file", value_name = "P")]
    pub(crate) changed_files: Vec<String>,
}

/// Why a daemon would wake: an event, a tick, or a person who says so.
#[derive(Clone, Debug, Args)]
pub(crate) struct Occasion {
    #[command(flatten)]
    pub(crate) event: EventArgs,
    /// A tick of its schedule instead of an event
    #[arg(
        long,
        value_name = "RFC3339",
        conflicts_with = "event",
        allow_hyphen_values = true
    )]
    pub(crate) tick: Option<String>,
}

/// `explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The daemon [default: all of the repository]
    #[arg(conflicts_with_all = ["condition", "corpus"])]
    pub(crate) id: Option<String>,
    /// A condition instead of a daemon
    #[arg(long, value_name = "TEXT", conflicts_with = "corpus")]
    pub(crate) condition: Option<String>,
    #[command(flatten)]
    pub(crate) event: EventArgs,
    /// Also says why every other daemon does not wake
    #[arg(long)]
    pub(crate) all_daemons: bool,
    /// Exits 1 when nothing wakes
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// A labelled corpus to score
    #[arg(long, value_name = "FILE.jsonl", requires = "payloads")]
    pub(crate) corpus: Option<PathBuf>,
    /// The payloads of the corpus
    #[arg(long, value_name = "DIR")]
    pub(crate) payloads: Option<PathBuf>,
    /// Where to write one answer a line, for another scorer
    #[arg(long, value_name = "OUT.jsonl", requires = "corpus")]
    pub(crate) answers: Option<PathBuf>,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
}

/// `context`.
#[derive(Debug, Args)]
pub(crate) struct Context {
    /// The daemon
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) occasion: Occasion,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
}

/// `test`.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// The daemon [default: all that have tests]
    pub(crate) id: Option<String>,
    /// Makes failing cases expect what there is
    #[arg(long)]
    pub(crate) update: bool,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
}

/// `fire`.
#[derive(Debug, Args)]
pub(crate) struct Fire {
    /// The daemon
    pub(crate) id: String,
    /// The repository [default: the enclosing one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) occasion: Occasion,
    /// Shows what would happen; starts nothing and writes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The provider instead of the configured one
    #[arg(long, value_name = "P")]
    pub(crate) provider: Option<String>,
}

/// `serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// A repository to watch; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Vec<PathBuf>,
    /// The address of the HTTP listener; port 0 picks one
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// The store: sqlite
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
    /// Records everything and starts nothing
    #[arg(long)]
    pub(crate) hold: bool,
}

/// `hold` and `go`.
#[derive(Debug, Args)]
pub(crate) struct Gate {
    /// The daemon [default: all]
    pub(crate) id: Option<String>,
    /// The repository, where two share the id
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<String>,
}

/// `cancel`.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The activation, or the run by its full id
    pub(crate) id: String,
    /// Does it without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// `retry`.
#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The activation
    pub(crate) activation: String,
}

/// `doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// A repository to examine; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Vec<PathBuf>,
    /// Gives up what a damaged log of the store lost, and keeps a copy of its files first; no host may be running
    #[arg(long)]
    pub(crate) repair: bool,
}

/// `schema`.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of what
    #[arg(value_enum, default_value = "daemon")]
    pub(crate) of: SchemaOf,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The front matter of a daemon file
    Daemon,
    /// A proposed output
    Output,
    /// The configuration
    Config,
    /// A file of tests, or a payload envelope
    Fixture,
    /// How a condition is read
    Interpretation,
    /// The control protocol
    Protocol,
}

/// `completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
    /// Which binary's
    #[arg(long, value_enum, default_value = "daemon-run", value_name = "BINARY")]
    pub(crate) of: Binary,
}

/// `man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Writes a page for every command of both binaries into DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// One of the two binaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Binary {
    /// This one
    DaemonRun,
    /// The linter
    DaemonLint,
}
