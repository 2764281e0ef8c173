//! The command line of the tasks.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use crate::tidy::{self, Mode};
use crate::{
    agents, bench, chaos, ci, dist, docs, editors, inspector, kills, near, simulate, test, wheel,
};

/// The output of `cargo xtask help`.
pub(crate) const HELP: &str = "\
usage: cargo xtask TASK

  tidy                 check layers, sizes, names, pages, documents, words and forbidden
                       patterns, and print the layers and the rates of words
  tidy --list          print also what the ceilings of xtask/tidy/ceilings.toml permit
  tidy --rates         print the rates of each crate, folder and document
  tidy --lower         lower the ceilings to what is reached, and remove type names
                       that are no longer shared
  samples [--seed N]   print 100 doc comments of ten crates and 50 other comments,
                       drawn at random from the same ones each time
  test [--tier TIER]   run every test, documentation example and example program
                       TIER is change (default), merge or night; a later tier tries
                       more cases of each property test
  bench [NAME...]      measure rows, compare them with peers, and write them to
                       docs/PERFORMANCE.md; without a NAME, all of them
  agents [NAME[@VERSION]...]
                       install the real claude, codex and opencode from npm and test
                       activations, tools, sandbox, follow-up and stop with each,
                       against a model API on loopback; downloads a gigabyte, so it is
                       not a part of ci
  docs                 write the parts of documents that are generated from code
  simulate [--seeds N] [--seed S] [--days D] [--threads T]
                       simulate N seeds of schedules with faults, checked by an oracle
  simulate --seed S [--day D]
                       simulate one seed and print what led to its first violation, or
                       the events of a day
  simulate --replays N
                       simulate N seeds twice and compare their traces
  simulate --host [--seeds N] [--seed S] [--replays N] [--threads T]
                       simulate N seeds of a host with faults, checked by an oracle, and
                       the faults that its oracle must find
  simulate --calendar N
                       compare N next occurrences with a slow calendar in every zone
  inspector            list and call the tools of `daemon-run mcp` with MCP clients from
                       npm; skipped without npm
  editors              test `daemon-run lsp` with the client of VS Code from npm, and
                       pack the extension; skipped without npm
  wheel                build the wheel of daemon-python with maturin, and test it in a
                       fresh virtual environment; skipped without pip or maturin
  dist                 write the archive of a release to target/dist: both programs,
                       manual pages, completions, licences; equal files are
                       packed to equal bytes
  kills                kill a real host 20 times during long runs, 200 times under load
                       and 200 times while it takes in 50,000 webhooks, and report what
                       was left behind; about half an hour
  chaos [--minutes N] [--seed S] [--hosts H]
                       kill and pause H hosts (3) on one PostgreSQL server, and kill the
                       server, for N minutes (10) while events and ticks come; check that
                       nothing is lost or done twice, and that the checks notice when a
                       guard is taken away
  near                 print the lines of the corpus of conditions that have a parse of another
                       meaning for nearly the same cost
  ci                   formatting, tidy, lints and tests, the cheap ones first
  help                 this text";

/// Prints the help.
pub(crate) fn print_help() -> ExitCode {
    println!("{HELP}");
    ExitCode::SUCCESS
}

/// One task with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TaskCommand {
    /// Print the help.
    Help,
    /// Check the shape of the repository.
    Tidy(Mode),
    /// Print comments drawn with this seed.
    Samples(u64),
    /// Run the tests of a tier.
    Test(Tier),
    /// Measure the named rows, or all.
    Bench(Vec<String>),
    /// Drive the named agents, or all.
    Agents(Vec<String>),
    /// Write the generated parts of documents.
    Docs,
    /// Run the simulator with these arguments.
    Simulate(Vec<String>),
    /// Kill a host hundreds of times.
    Kills,
    /// Kill and pause hosts on one database with these arguments.
    Chaos(Vec<String>),
    /// Test the MCP server with clients from npm.
    Inspector,
    /// Test the language server with a client from npm, and pack the extension.
    Editors,
    /// Build and test the wheel.
    Wheel,
    /// Write the archive of a release.
    Dist,
    /// Print conditions with two near parses.
    Near,
    /// Run all checks of a change.
    Ci,
}

/// How many cases the tests try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Every change.
    Change,
    /// Before a merge.
    Merge,
    /// Every night.
    Night,
}

impl Tier {
    /// Returns how many cases each property test tries; `None` keeps the test's own number.
    pub(crate) fn property_cases(self) -> Option<u32> {
        match self {
            Self::Change => None,
            Self::Merge => Some(4_096),
            Self::Night => Some(65_536),
        }
    }

    /// Returns the profile of nextest, which says how long a test may take.
    pub(crate) fn nextest_profile(self) -> &'static str {
        match self {
            Self::Change | Self::Merge => "default",
            Self::Night => "night",
        }
    }
}

impl TaskCommand {
    /// Runs the task on the repository at `root`.
    pub(crate) fn run(self, root: &Path) -> anyhow::Result<ExitCode> {
        match self {
            Self::Help => Ok(print_help()),
            Self::Tidy(mode) => tidy::run(root, mode),
            Self::Samples(seed) => tidy::samples(root, seed),
            Self::Test(tier) => test::run(root, tier),
            Self::Bench(names) => bench::run(root, &names),
            Self::Agents(names) => agents::run(root, &names),
            Self::Docs => docs::run(root),
            Self::Simulate(args) => simulate::run(root, &args),
            Self::Inspector => inspector::run(root),
            Self::Editors => editors::run(root),
            Self::Wheel => wheel::run(root),
            Self::Dist => dist::run(root),
            Self::Kills => kills::run(root),
            Self::Chaos(flags) => chaos::run(root, &flags),
            Self::Near => near::run(root),
            Self::Ci => ci::run(root),
        }
    }

    /// Parses the arguments after the program's name.
    pub(crate) fn parse(args: &[String]) -> Result<Self, UsageError> {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match args.as_slice() {
            [] | ["help" | "-h" | "--help"] => Ok(Self::Help),
            ["tidy"] => Ok(Self::Tidy(Mode::Check)),
            ["tidy", "--list"] => Ok(Self::Tidy(Mode::List)),
            ["tidy", "--rates"] => Ok(Self::Tidy(Mode::Rates)),
            ["tidy", "--lower"] => Ok(Self::Tidy(Mode::Lower)),
            ["samples"] => Ok(Self::Samples(0)),
            ["samples", "--seed", seed] => parse_seed(seed).map(Self::Samples),
            ["docs"] => Ok(Self::Docs),
            ["ci"] => Ok(Self::Ci),
            ["near"] => Ok(Self::Near),
            ["inspector"] => Ok(Self::Inspector),
            ["editors"] => Ok(Self::Editors),
            ["wheel"] => Ok(Self::Wheel),
            ["dist"] => Ok(Self::Dist),
            ["kills"] => Ok(Self::Kills),
            ["chaos", flags @ ..] if are_pairs(flags, &["--minutes", "--seed", "--hosts"]) => Ok(
                Self::Chaos(flags.iter().map(|&flag| flag.to_owned()).collect()),
            ),
            ["test"] => Ok(Self::Test(Tier::Change)),
            ["test", "--tier", tier] => parse_tier(tier).map(Self::Test),
            ["bench", names @ ..] if names.iter().all(|name| !name.starts_with('-')) => Ok(
                Self::Bench(names.iter().map(|&name| name.to_owned()).collect()),
            ),
            ["agents", names @ ..] if names.iter().all(|name| !name.starts_with('-')) => Ok(
                Self::Agents(names.iter().map(|&name| name.to_owned()).collect()),
            ),
            ["simulate", flags @ ..] if are_flags(flags) => Ok(Self::Simulate(
                flags.iter().map(|&flag| flag.to_owned()).collect(),
            )),
            _ => Err(UsageError::Unknown(args.join(" "))),
        }
    }
}

/// Reports whether arguments are flags of the simulator, each followed by a number.
fn are_flags(args: &[&str]) -> bool {
    const FLAGS: [&str; 7] = [
        "--seeds",
        "--seed",
        "--days",
        "--day",
        "--threads",
        "--replays",
        "--calendar",
    ];
    are_pairs(args.strip_prefix(&["--host"]).unwrap_or(args), &FLAGS)
}

/// Reports whether arguments are some flags, each followed by a number.
fn are_pairs(args: &[&str], flags: &[&str]) -> bool {
    let is_pair = |pair: &[&str]| match pair {
        [flag, number] => flags.contains(flag) && number.parse::<u64>().is_ok(),
        _ => false,
    };
    args.chunks(2).all(is_pair)
}

fn parse_seed(seed: &str) -> Result<u64, UsageError> {
    seed.parse()
        .map_err(|_not_a_number| UsageError::Seed(seed.to_owned()))
}

fn parse_tier(tier: &str) -> Result<Tier, UsageError> {
    match tier {
        "change" => Ok(Tier::Change),
        "merge" => Ok(Tier::Merge),
        "night" => Ok(Tier::Night),
        _ => Err(UsageError::Tier(tier.to_owned())),
    }
}

/// Why the arguments were rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UsageError {
    /// There is no such task.
    Unknown(String),
    /// There is no such tier.
    Tier(String),
    /// A seed is a number of 64 bits.
    Seed(String),
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(args) => write!(f, "no task `{args}`"),
            Self::Tier(tier) => write!(f, "no tier `{tier}`"),
            Self::Seed(seed) => write!(f, "the seed `{seed}` is not a whole number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<TaskCommand, UsageError> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        TaskCommand::parse(&args)
    }

    #[test]
    fn every_task_is_read_from_its_words() {
        assert_eq!(parse(""), Ok(TaskCommand::Help));
        assert_eq!(parse("tidy"), Ok(TaskCommand::Tidy(Mode::Check)));
        assert_eq!(parse("tidy --lower"), Ok(TaskCommand::Tidy(Mode::Lower)));
        assert_eq!(parse("samples"), Ok(TaskCommand::Samples(0)));
        assert_eq!(parse("samples --seed 7"), Ok(TaskCommand::Samples(7)));
        assert_eq!(parse("test"), Ok(TaskCommand::Test(Tier::Change)));
        assert_eq!(
            parse("test --tier night"),
            Ok(TaskCommand::Test(Tier::Night))
        );
        assert_eq!(
            parse("bench parse cron"),
            Ok(TaskCommand::Bench(vec![
                "parse".to_owned(),
                "cron".to_owned()
            ]))
        );
        assert_eq!(
            parse("agents codex"),
            Ok(TaskCommand::Agents(vec!["codex".to_owned()]))
        );
        assert_eq!(parse("docs"), Ok(TaskCommand::Docs));
        assert_eq!(parse("ci"), Ok(TaskCommand::Ci));
        assert_eq!(parse("kills"), Ok(TaskCommand::Kills));
        let flags = ["--minutes", "30", "--hosts", "2"].map(str::to_owned);
        assert_eq!(
            parse("chaos --minutes 30 --hosts 2"),
            Ok(TaskCommand::Chaos(flags.to_vec()))
        );
        assert_eq!(parse("editors"), Ok(TaskCommand::Editors));
        assert_eq!(parse("wheel"), Ok(TaskCommand::Wheel));
        assert_eq!(parse("near"), Ok(TaskCommand::Near));
        assert_eq!(parse("dist"), Ok(TaskCommand::Dist));
        assert_eq!(
            parse("simulate --seeds 7"),
            Ok(TaskCommand::Simulate(vec![
                "--seeds".to_owned(),
                "7".to_owned()
            ]))
        );
        assert_eq!(
            parse("simulate --host --seed 7"),
            Ok(TaskCommand::Simulate(
                ["--host", "--seed", "7"].map(str::to_owned).to_vec()
            ))
        );
    }

    #[test]
    fn anything_else_is_a_usage_error_that_names_it() {
        assert_eq!(
            parse("test --tier weekly"),
            Err(UsageError::Tier("weekly".to_owned()))
        );
        assert_eq!(
            parse("tidy now"),
            Err(UsageError::Unknown("tidy now".to_owned()))
        );
        assert_eq!(
            parse("samples --seed -1"),
            Err(UsageError::Seed("-1".to_owned()))
        );
        assert_eq!(
            parse("simulate --seeds many"),
            Err(UsageError::Unknown("simulate --seeds many".to_owned()))
        );
        assert_eq!(
            parse("bench --fast"),
            Err(UsageError::Unknown("bench --fast".to_owned()))
        );
    }
}
