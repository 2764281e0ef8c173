//! A run of the linter, from the command line to the exit code.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Parser as _;
use clap::error::ErrorKind;
use daemon_cron::Zone;
use daemon_spec::limits::MAX_FILE_BYTES;
use daemon_validate::{visible, visible_line};
use daemon_watch::Grammar;
use jiff::tz::TimeZone;

use crate::arguments::LintCli;
use crate::discovery::{self, FoundFile};
use crate::interpretations::CachedInterpreter;
use crate::lint::{FileContent, Linted, Linter};
use crate::report::{LintReport, Warnings, failure};
use crate::suggestions::{Suggestions, UnclearCondition};
use crate::{
    CommonArguments, Format, LintArguments, StandardStreams, Surroundings, disk, exit, fix,
};

/// Runs the linter with the arguments of a process, starting with its name. Returns the exit code.
///
/// The run reads and writes only `streams` and the files that the arguments name. With `--fix` it
/// replaces those files.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    surroundings: &Surroundings,
    streams: &mut StandardStreams<'_>,
) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match LintCli::try_parse_from(&arguments) {
        Ok(cli) => run_with(&cli.lint, &cli.common, surroundings, streams),
        Err(error) => {
            let outcome = match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                    write!(streams.output, "{error}").map(|()| exit::DONE)
                }
                _ if asks_for_json(&arguments) => {
                    // clap adds usage lines to the error. The JSON object contains only the error.
                    let text = error.to_string();
                    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
                    let message = lines
                        .next()
                        .unwrap_or_default()
                        .trim_start_matches("error: ");
                    refuse(streams, &Failure::usage(message), Format::Json)
                }
                _ => write!(streams.notes, "{error}").map(|()| exit::USAGE),
            };
            outcome.unwrap_or(exit::USAGE)
        }
    }
}

/// Runs the linter with parsed arguments. Returns the exit code.
pub fn run_with(
    lint: &LintArguments,
    common: &CommonArguments,
    surroundings: &Surroundings,
    streams: &mut StandardStreams<'_>,
) -> u8 {
    match Linting::begin(lint, common, surroundings, streams) {
        Ok(linting) => linting.print(streams),
        Err(code) => code,
    }
}

/// Returns the exit code after writing the output.
fn settled(written: io::Result<u8>) -> u8 {
    match written {
        Ok(code) => code,
        // The reader closed the pipe, as `head` does. This is not an error of the linter.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::DONE,
        Err(_) => exit::CANNOT_WRITE,
    }
}

/// Returns `true` if an invalid command line requests JSON, so that its error is JSON too.
fn asks_for_json(arguments: &[OsString]) -> bool {
    let is_format =
        |pair: &[OsString]| matches!(pair, [flag, value] if flag == "--format" && value == "json");
    arguments
        .iter()
        .any(|argument| argument == "--json" || argument == "--format=json")
        || arguments.windows(2).any(is_format)
}

/// The error of a run that cannot start.
struct Failure {
    exit: u8,
    code: &'static str,
    message: String,
    help: Option<String>,
}

impl Failure {
    fn usage(message: impl Into<String>) -> Self {
        let help = Some("see `daemon-lint --help`".to_owned());
        Self {
            exit: exit::USAGE,
            code: "usage",
            message: message.into(),
            help,
        }
    }
}

/// The reasons for which a run ends early.
enum Stop {
    Failure(Failure),
    Output(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn refuse(streams: &mut StandardStreams<'_>, failed: &Failure, format: Format) -> io::Result<u8> {
    if format == Format::Json {
        writeln!(
            streams.output,
            "{}",
            failure(failed.code, &failed.message, failed.help.as_deref())
        )?;
    } else {
        print_error(streams, &failed.message, failed.help.as_deref())?;
    }
    Ok(failed.exit)
}

fn print_error(
    streams: &mut StandardStreams<'_>,
    message: &str,
    help: Option<&str>,
) -> io::Result<()> {
    writeln!(streams.notes, "error: {}", visible(message))?;
    match help {
        Some(help) => writeln!(streams.notes, "help: {}", visible(help)),
        None => Ok(()),
    }
}

/// A run that has checked its files and not printed its report yet.
pub struct Linting<'a> {
    lint: &'a LintArguments,
    common: &'a CommonArguments,
    surroundings: &'a Surroundings,
    format: Format,
    files: Vec<Linted>,
    fixed: usize,
    exit_floor: u8,
    target: Target,
}

/// The content of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// The report.
    Report,
    /// The fixed file. The report goes to standard error.
    Text,
}

impl<'a> Linting<'a> {
    /// Finds, reads and checks the files that the arguments name. With `--fix` it also fixes them.
    ///
    /// # Errors
    ///
    /// Returns the exit code if the run cannot start. The error has been printed.
    pub fn begin(
        lint: &'a LintArguments,
        common: &'a CommonArguments,
        surroundings: &'a Surroundings,
        streams: &mut StandardStreams<'_>,
    ) -> Result<Self, u8> {
        let format = if common.json {
            Format::Json
        } else {
            lint.format.unwrap_or_default()
        };
        let mut linting = Self {
            lint,
            common,
            surroundings,
            format,
            files: Vec::new(),
            fixed: 0,
            exit_floor: exit::DONE,
            target: Target::Report,
        };
        let outcome = linting
            .linter()
            .and_then(|linter| linting.go(&linter, streams));
        match outcome {
            Ok(()) => Ok(linting),
            Err(Stop::Failure(failure)) => Err(settled(refuse(streams, &failure, format))),
            Err(Stop::Output(error)) => Err(settled(Err(error))),
        }
    }

    /// Returns the conditions that are partial, vague or unmapped.
    pub fn unclear(&self) -> Vec<UnclearCondition> {
        self.files.iter().flat_map(UnclearCondition::of).collect()
    }

    /// Prints the report and returns the exit code.
    pub fn print(&self, streams: &mut StandardStreams<'_>) -> u8 {
        settled(self.write(None, streams))
    }

    /// Prints the report with suggestions and returns the exit code.
    pub fn print_with(&self, suggestions: &Suggestions, streams: &mut StandardStreams<'_>) -> u8 {
        settled(self.write(Some(suggestions), streams))
    }

    fn linter(&self) -> Result<Linter, Stop> {
        let zone = TimeZone::get(&self.lint.tz).map_err(|error| {
            Stop::Failure(Failure {
                help: Some("name a zone of the IANA database, such as `Europe/Berlin`".to_owned()),
                ..Failure::usage(format!("`{}` is not a time zone: {error}", self.lint.tz))
            })
        })?;
        Ok(Linter {
            profile: self.lint.profile.into(),
            zone: Zone::new(zone),
            now: self.surroundings.now,
            interpreter: CachedInterpreter::default(),
        })
    }

    fn go(&mut self, linter: &Linter, streams: &mut StandardStreams<'_>) -> Result<(), Stop> {
        let directory = self.directory()?;
        if self.lint.stdin || self.lint.paths == [Path::new("-")] {
            return self.standard_input(linter, &directory, streams);
        }
        // The grammar of conditions is loaded while the files are searched.
        std::thread::spawn(Grammar::load);
        let found = discovery::find(&self.lint.paths, &directory);
        self.files = linter.lint_all(&found);
        if self.lint.fix {
            self.write_fixes(linter, &found, streams)?;
        }
        if self.files.is_empty() && !self.common.quiet {
            writeln!(
                streams.notes,
                "warning: no daemon file found at `.agents/daemons/<id>/DAEMON.md`"
            )?;
        }
        self.note_files(&found, streams)?;
        Ok(())
    }

    /// Fixes the files, writes those that changed, and lints all of them again.
    fn write_fixes(
        &mut self,
        linter: &Linter,
        found: &[FoundFile],
        streams: &mut StandardStreams<'_>,
    ) -> io::Result<()> {
        for (linted, found) in std::mem::take(&mut self.files).into_iter().zip(found) {
            let Some(before) = linted.source().map(|source| source.as_bytes().to_vec()) else {
                continue;
            };
            let lint = |bytes| {
                let found = Some(found);
                linter.lint_content(FileContent { bytes, found })
            };
            let (linted, n_fixed) = fix::settle(linted, lint);
            let Some(after) = linted.source().filter(|_| n_fixed > 0) else {
                continue;
            };
            match disk::replace(&found.location, &before, after.as_bytes()) {
                Ok(()) => self.fixed += n_fixed,
                Err(error) => {
                    self.exit_floor = self.exit_floor.max(exit::CANNOT_WRITE);
                    writeln!(
                        streams.notes,
                        "error: cannot write `{}`: {}",
                        visible_line(&linted.path),
                        disk::reason(&error)
                    )?;
                }
            }
        }
        self.files = linter.lint_all(found);
        Ok(())
    }

    fn directory(&self) -> Result<PathBuf, Stop> {
        let Some(wanted) = &self.common.directory else {
            return Ok(self.surroundings.directory.clone());
        };
        let directory = self.surroundings.directory.join(wanted);
        // Reading the directory also detects missing permissions.
        match std::fs::read_dir(&directory) {
            Ok(_) => Ok(directory),
            Err(error) => Err(Stop::Failure(Failure {
                exit: exit::CANNOT_READ,
                code: "cannot-read",
                message: format!("cannot read the directory `{}`", wanted.display()),
                help: Some(disk::reason(&error)),
            })),
        }
    }

    fn standard_input(
        &mut self,
        linter: &Linter,
        directory: &Path,
        streams: &mut StandardStreams<'_>,
    ) -> Result<(), Stop> {
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_FILE_BYTES + 1).unwrap_or(u64::MAX);
        // With `--fix` the file is printed again, so it is read to its end even above the limit.
        let mut input = streams
            .input
            .take(if self.lint.fix { u64::MAX } else { most });
        if let Err(error) = input.read_to_end(&mut bytes) {
            return Err(Stop::Failure(Failure {
                exit: exit::CANNOT_READ,
                code: "cannot-read",
                message: "cannot read standard input".to_owned(),
                help: Some(disk::reason(&error)),
            }));
        }
        let found = self
            .lint
            .stdin_path
            .as_deref()
            .map(|path| discovery::at(path, directory));
        let lint = |bytes| {
            linter.lint_content(FileContent {
                bytes,
                found: found.as_ref(),
            })
        };
        let mut linted = lint(bytes);
        if self.lint.fix {
            self.target = Target::Text;
            (linted, self.fixed) = fix::settle(linted, lint);
        }
        self.files = vec![linted];
        Ok(())
    }

    fn write(
        &self,
        suggestions: Option<&Suggestions>,
        streams: &mut StandardStreams<'_>,
    ) -> io::Result<u8> {
        let report = LintReport {
            files: &self.files,
            fixed: self.fixed,
            warnings: if self.lint.deny_warnings {
                Warnings::Denied
            } else {
                Warnings::Allowed
            },
            exit_floor: self.exit_floor,
            suggestions,
        };
        let is_coloured = self.surroundings.is_coloured(self.common.color);
        match self.target {
            Target::Report => report.print(self.format, is_coloured, streams.output)?,
            Target::Text => {
                let text = self.files.first().and_then(Linted::source);
                let text = text.map(daemon_spec::SourceText::as_bytes);
                streams.output.write_all(text.unwrap_or_default())?;
                report.print(self.format, is_coloured, streams.notes)?;
            }
        }
        self.note_summary(&report, streams)?;
        if let Some(failure) = suggestions.and_then(|suggestions| suggestions.failure.as_ref())
            && self.format != Format::Json
        {
            print_error(streams, &failure.message, failure.help.as_deref())?;
        }
        streams.output.flush()?;
        Ok(report.exit())
    }

    fn note_files(&self, found: &[FoundFile], streams: &mut StandardStreams<'_>) -> io::Result<()> {
        if self.common.verbose == 0 || self.common.quiet {
            return Ok(());
        }
        found
            .iter()
            .try_for_each(|found| writeln!(streams.notes, "read {}", visible_line(&found.shown)))
    }

    fn note_summary(
        &self,
        report: &LintReport<'_>,
        streams: &mut StandardStreams<'_>,
    ) -> io::Result<()> {
        if !self.format.is_for_people() || self.common.quiet || report.files.is_empty() {
            return Ok(());
        }
        let mut all = report.files.iter().flat_map(|linted| &linted.diagnostics);
        // The worst one is the likely one to be looked up.
        let worst = all.clone().map(|found| found.severity).max();
        if let Some(found) = all.find(|found| Some(found.severity) == worst) {
            writeln!(
                streams.notes,
                "what a code means: daemon-run rule {}",
                found.code
            )?;
        }
        writeln!(streams.notes, "{}", report.summary().words())
    }
}
