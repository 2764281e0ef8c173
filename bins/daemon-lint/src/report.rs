//! The report of a run, in five formats.

mod concise;
mod github;
mod human;
mod json;
mod sarif;

use std::io::{self, Write};

use daemon_spec::Severity;

use crate::lint::Linted;
use crate::suggestions::Suggestions;
use crate::{Format, exit};

pub(crate) use json::{failure, findings};

/// The result of linting.
pub(crate) struct LintReport<'a> {
    pub(crate) files: &'a [Linted],
    /// The number of applied fixes.
    pub(crate) fixed: usize,
    pub(crate) warnings: Warnings,
    /// The minimum exit code, for errors that are not diagnostics.
    pub(crate) exit_floor: u8,
    /// The suggestions of a provider, or `None` if they were not requested.
    pub(crate) suggestions: Option<&'a Suggestions>,
}

/// Whether warnings are failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warnings {
    Allowed,
    Denied,
}

/// The counts of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) files: usize,
    pub(crate) daemons: usize,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) advice: usize,
    pub(crate) fixable: usize,
    pub(crate) fixed: usize,
    /// The diagnostics that comments suppress, which no other number counts.
    pub(crate) suppressed: usize,
}

impl LintReport<'_> {
    pub(crate) fn is_file_ok(&self, linted: &Linted) -> bool {
        let denied = match self.warnings {
            Warnings::Allowed => 0,
            Warnings::Denied => linted.count(Severity::Warning),
        };
        linted.count(Severity::Error) + denied == 0
    }

    pub(crate) fn summary(&self) -> Summary {
        let total = |severity| self.files.iter().map(|linted| linted.count(severity)).sum();
        let all = self.files.iter().flat_map(|linted| &linted.diagnostics);
        Summary {
            files: self.files.len(),
            daemons: self
                .files
                .iter()
                .filter(|linted| linted.daemon_id().is_some())
                .count(),
            errors: total(Severity::Error),
            warnings: total(Severity::Warning),
            advice: total(Severity::Advice),
            fixable: all.filter(|found| found.fix.is_some()).count(),
            fixed: self.fixed,
            suppressed: self.files.iter().map(|linted| linted.suppressed).sum(),
        }
    }

    /// Returns the exit code.
    pub(crate) fn exit(&self) -> u8 {
        // The largest code wins: an unreadable file is worse than one with errors.
        let of_file = |linted: &Linted| {
            if linted.is_unreadable() {
                exit::CANNOT_READ
            } else if self.is_file_ok(linted) {
                exit::DONE
            } else {
                exit::BAD_ANSWER
            }
        };
        let failure = self
            .suggestions
            .and_then(|suggestions| suggestions.failure.as_ref());
        let floor = failure.map_or(0, |failure| failure.exit);
        self.files
            .iter()
            .map(of_file)
            .fold(self.exit_floor.max(floor), u8::max)
    }

    /// Prints the report.
    ///
    /// # Errors
    ///
    /// Returns an error if `out` cannot be written.
    pub(crate) fn print(
        &self,
        format: Format,
        is_coloured: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match format {
            Format::Concise => concise::print(self, out),
            Format::Human => human::print(self, is_coloured, out),
            Format::Json => json::print(self, out),
            Format::Github => github::print(self, out),
            Format::Sarif => sarif::print(self, out),
        }
    }
}

impl Format {
    /// Returns `true` for a format that people read, which has a summary and hints.
    pub(crate) const fn is_for_people(self) -> bool {
        matches!(self, Self::Human | Self::Concise)
    }
}

impl Summary {
    /// Returns the counts in words, such as `2 files, 1 error, 1 fixable with --fix`.
    pub(crate) fn words(self) -> String {
        let counted = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            _ => format!("{count} {many}"),
        };
        let mut acc = vec![counted(self.files, "file", "files")];
        let kinds = [
            (self.errors, "error", "errors"),
            (self.warnings, "warning", "warnings"),
            (self.advice, "advice", "advice"),
        ];
        acc.extend(
            kinds
                .iter()
                .filter(|kind| kind.0 > 0)
                .map(|&(count, one, many)| counted(count, one, many)),
        );
        if acc.len() == 1 {
            acc.push("clean".to_owned());
        }
        if self.fixed > 0 {
            acc.push(format!("{} fixed", self.fixed));
        }
        if self.fixable > 0 {
            acc.push(format!("{} fixable with --fix", self.fixable));
        }
        if self.suppressed > 0 {
            acc.push(format!("{} suppressed", self.suppressed));
        }
        acc.join(", ")
    }
}
