//! One run: from the command line to the exit code.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Parser as _;
use clap::error::ErrorKind;
use daemon_cron::Zone;
use daemon_spec::limits::MAX_FILE_BYTES;
use daemon_watch::Grammar;
use jiff::tz::TimeZone;

use crate::arguments::Cli;
use crate::discovery::{self, Found};
use crate::lint::{Given, Judge, Linted};
use crate::report::{Report, Warnings, failure};
use crate::{CommonArguments, Format, LintArguments, Streams, Surroundings, disk, exit, fix};

/// Runs the linter with the arguments of a process, its name first; returns the exit code.
///
/// Everything the run does goes through `streams` and the files it is told to lint; with `--fix` it
/// replaces those files.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    surroundings: &Surroundings,
    streams: &mut Streams<'_>,
) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match Cli::try_parse_from(&arguments) {
        Ok(cli) => run_with(&cli.lint, &cli.common, surroundings, streams),
        Err(error) => {
            let outcome = match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                    write!(streams.output, "{error}").map(|()| exit::DONE)
                }
                _ if asks_for_json(&arguments) => {
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

/// Runs the linter with arguments that were read already; returns the exit code.
pub fn run_with(
    lint: &LintArguments,
    common: &CommonArguments,
    surroundings: &Surroundings,
    streams: &mut Streams<'_>,
) -> u8 {
    let format = if common.json {
        Format::Json
    } else {
        lint.format.unwrap_or_default()
    };
    let run = Run {
        lint,
        common,
        surroundings,
        format,
    };
    let outcome = run.judge().and_then(|judge| run.go(&judge, streams));
    let written = match outcome {
        Ok(code) => Ok(code),
        Err(Stop::Failure(failure)) => refuse(streams, &failure, format),
        Err(Stop::Output(error)) => Err(error),
    };
    match written {
        Ok(code) => code,
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::DONE,
        Err(_) => exit::CANNOT_WRITE,
    }
}

/// Whether the command line, which is not understood, wants its errors as JSON.
fn asks_for_json(arguments: &[OsString]) -> bool {
    let is_format =
        |pair: &[OsString]| matches!(pair, [flag, value] if flag == "--format" && value == "json");
    arguments
        .iter()
        .any(|argument| argument == "--json" || argument == "--format=json")
        || arguments.windows(2).any(is_format)
}

/// Why a run cannot be carried out.
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

/// What ends a run early.
enum Stop {
    Failure(Failure),
    Output(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn refuse(streams: &mut Streams<'_>, failed: &Failure, format: Format) -> io::Result<u8> {
    if format == Format::Json {
        writeln!(
            streams.output,
            "{}",
            failure(failed.code, &failed.message, failed.help.as_deref())
        )?;
    } else {
        writeln!(streams.notes, "error: {}", failed.message)?;
        if let Some(help) = &failed.help {
            writeln!(streams.notes, "help: {help}")?;
        }
    }
    Ok(failed.exit)
}

struct Run<'a> {
    lint: &'a LintArguments,
    common: &'a CommonArguments,
    surroundings: &'a Surroundings,
    format: Format,
}

impl Run<'_> {
    fn judge(&self) -> Result<Judge, Stop> {
        let zone = TimeZone::get(&self.lint.tz).map_err(|error| {
            Stop::Failure(Failure {
                help: Some("name a zone of the IANA database, such as `Europe/Berlin`".to_owned()),
                ..Failure::usage(format!("`{}` is not a time zone: {error}", self.lint.tz))
            })
        })?;
        Ok(Judge {
            profile: self.lint.profile.into(),
            zone: Zone::new(zone),
            now: self.surroundings.now,
            interpreter: Grammar,
        })
    }

    fn go(&self, judge: &Judge, streams: &mut Streams<'_>) -> Result<u8, Stop> {
        let directory = self.directory()?;
        if self.lint.stdin || self.lint.paths == [Path::new("-")] {
            return self.standard_input(judge, &directory, streams);
        }
        let found = discovery::find(&self.lint.paths, &directory);
        let mut files = judge.lint_all(&found);
        let mut fixed = 0;
        let mut exit_floor = exit::DONE;
        if self.lint.fix {
            for _ in 0..fix::MAX_ROUNDS {
                let (applied, failed) = write_fixes(&files, streams)?;
                exit_floor = exit_floor.max(failed);
                if applied == 0 {
                    break;
                }
                fixed += applied;
                files = judge.lint_all(&found);
                if failed != exit::DONE {
                    break;
                }
            }
        }
        if files.is_empty() && !self.common.quiet {
            writeln!(
                streams.notes,
                "warning: no daemon file found; they stand at `.agents/daemons/<id>/DAEMON.md`"
            )?;
        }
        let report = self.report(&files, fixed, exit_floor);
        self.note_files(&found, streams)?;
        report.print(
            self.format,
            self.surroundings.is_coloured(self.common.color),
            streams.output,
        )?;
        self.note_summary(&report, streams)?;
        streams.output.flush()?;
        Ok(report.exit())
    }

    fn directory(&self) -> Result<PathBuf, Stop> {
        let Some(wanted) = &self.common.directory else {
            return Ok(self.surroundings.directory.clone());
        };
        let directory = self.surroundings.directory.join(wanted);
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
        &self,
        judge: &Judge,
        directory: &Path,
        streams: &mut Streams<'_>,
    ) -> Result<u8, Stop> {
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_FILE_BYTES + 1).unwrap_or(u64::MAX);
        // A file over the limit still has to be read to its end before it can be given back.
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
            judge.lint_given(Given {
                bytes,
                found: found.as_ref(),
            })
        };
        let mut linted = lint(bytes);
        let mut fixed = 0;
        if self.lint.fix {
            for _ in 0..fix::MAX_ROUNDS {
                let Some((bytes, applied)) = fix::fixed(&linted) else {
                    break;
                };
                fixed += applied;
                linted = lint(bytes);
            }
        }
        let files = [linted];
        let report = self.report(&files, fixed, exit::DONE);
        let is_coloured = self.surroundings.is_coloured(self.common.color);
        if self.lint.fix {
            let text = files
                .first()
                .and_then(Linted::source)
                .map(daemon_spec::Source::as_bytes);
            streams.output.write_all(text.unwrap_or_default())?;
            report.print(self.format, is_coloured, streams.notes)?;
        } else {
            report.print(self.format, is_coloured, streams.output)?;
        }
        self.note_summary(&report, streams)?;
        streams.output.flush()?;
        Ok(report.exit())
    }

    fn report<'f>(&self, files: &'f [Linted], fixed: usize, exit_floor: u8) -> Report<'f> {
        let warnings = if self.lint.deny_warnings {
            Warnings::Denied
        } else {
            Warnings::Allowed
        };
        Report {
            files,
            fixed,
            warnings,
            exit_floor,
        }
    }

    fn note_files(&self, found: &[Found], streams: &mut Streams<'_>) -> io::Result<()> {
        if self.common.verbose == 0 || self.common.quiet {
            return Ok(());
        }
        found
            .iter()
            .try_for_each(|found| writeln!(streams.notes, "read {}", found.shown))
    }

    fn note_summary(&self, report: &Report<'_>, streams: &mut Streams<'_>) -> io::Result<()> {
        if self.format != Format::Human || self.common.quiet || report.files.is_empty() {
            return Ok(());
        }
        writeln!(streams.notes, "{}", report.summary().words())
    }
}

/// Writes the fixes of every file; returns how many and the exit code of what could not be written.
fn write_fixes(files: &[Linted], streams: &mut Streams<'_>) -> io::Result<(usize, u8)> {
    let mut fixed = 0;
    let mut code = exit::DONE;
    for linted in files {
        match fix::write(linted) {
            Ok(applied) => fixed += applied,
            Err(error) => {
                code = exit::CANNOT_WRITE;
                writeln!(
                    streams.notes,
                    "error: cannot write `{}`: {}",
                    linted.path,
                    disk::reason(&error)
                )?;
            }
        }
    }
    Ok((fixed, code))
}
