//! The command line.

use std::path::PathBuf;

use clap::{ArgAction, Args, Command, CommandFactory as _, Parser, ValueEnum};
use daemon_validate::Profile;

/// Checks DAEMON.md files and suggests fixes.
///
/// Each PATH is a daemon file, a repository (with `.agents/daemons`) or a daemon's directory (with
/// `DAEMON.md`). Without a PATH the enclosing repository is linted.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "daemon-lint",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  daemon-lint                                  the enclosing repository\n  \
                  daemon-lint --fix .agents/daemons/librarian  one daemon, with fixes applied\n  \
                  daemon-lint --format github --deny-warnings  in a workflow of GitHub"
)]
pub(crate) struct LintCli {
    #[command(flatten)]
    pub(crate) lint: LintArguments,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

/// The arguments of linting: paths, report and profile.
#[derive(Args, Clone, Debug, Default)]
#[non_exhaustive]
pub struct LintArguments {
    /// Files, repositories or daemon directories; `-` is standard input.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Format of the report: concise (one line for each diagnostic), human, json, github or sarif [default: human].
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub format: Option<Format>,
    /// Severities: `spec` follows the public format, `strict` the strictest known reader.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "PROFILE",
        hide_possible_values = true
    )]
    pub profile: ProfileName,
    /// Treats warnings as failures.
    #[arg(long)]
    pub deny_warnings: bool,
    /// Applies all fixes and reports the remaining diagnostics.
    #[arg(long)]
    pub fix: bool,
    /// Reads one file from standard input.
    #[arg(long, conflicts_with = "paths")]
    pub stdin: bool,
    /// Path to which the file on standard input belongs.
    #[arg(long, value_name = "P", requires = "stdin")]
    pub stdin_path: Option<PathBuf>,
    /// Time zone of schedules.
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub tz: String,
}

/// The flags that every command has.
#[derive(Args, Clone, Debug, Default)]
#[non_exhaustive]
pub struct CommonArguments {
    /// Works in DIR.
    #[arg(short = 'C', value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Prints one JSON object; the same as `--format json`.
    #[arg(long)]
    pub json: bool,
    /// Prints no notes.
    #[arg(short, long)]
    pub quiet: bool,
    /// Prints more notes on standard error.
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
    /// When to use colour: auto, always or never.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: ColorChoice,
    // The last two flags are accepted and ignored, so that all commands accept the same flags.
    /// Never prompts; this command does not anyway.
    #[arg(long, hide = true)]
    pub no_input: bool,
    /// Home of the host, which this command does not read.
    #[arg(long, value_name = "DIR", hide = true)]
    pub home: Option<PathBuf>,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One line for each diagnostic: `path:line:column: CODE severity message`.
    Concise,
    /// Text for people, with the author's lines.
    #[default]
    Human,
    /// One JSON object.
    Json,
    /// Annotations of a GitHub workflow.
    Github,
    /// SARIF 2.1.0.
    Sarif,
}

/// The name of a profile on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProfileName {
    /// The severities of the public format.
    #[default]
    Spec,
    /// The severities of the strictest known reader.
    Strict,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Spec => Self::Spec,
            ProfileName::Strict => Self::Strict,
        }
    }
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal unless `NO_COLOR` is set, and always if `CLICOLOR_FORCE` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Returns the command line as data, for completions and manual pages.
#[must_use]
pub fn command() -> Command {
    LintCli::command()
}
