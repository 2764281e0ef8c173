//! What the rules look at: a parsed file and what the caller knows about its surroundings.

use std::sync::OnceLock;

use daemon_cron::Zone;
use daemon_spec::limits::MAX_FILE_BYTES;
use daemon_spec::{Completeness, DaemonFile, Diagnostic, Parse};
use jiff::Timestamp;

use crate::rules::schedule;
use crate::{ConditionVerdict, SupportEntry};

/// A parsed file with what is known about its surroundings.
///
/// What is not known silences the rules that need it: without a directory nothing is said about
/// `id` and the directory, without verdicts nothing about conditions.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    parse: &'a Parse,
    path: Option<&'a str>,
    directory: Option<&'a str>,
    support: Option<&'a [SupportEntry]>,
    conditions: &'a [ConditionVerdict],
    zone: Option<&'a Zone>,
    now: Option<Timestamp>,
    schedule: OnceLock<Vec<Diagnostic>>,
}

impl<'a> Subject<'a> {
    /// Makes a subject of a parsed file and nothing else.
    #[must_use]
    pub const fn new(parse: &'a Parse) -> Self {
        Self {
            parse,
            path: None,
            directory: None,
            support: None,
            conditions: &[],
            zone: None,
            now: None,
            schedule: OnceLock::new(),
        }
    }

    /// Adds the file's path, relative to the repository's root, with `/` between its parts.
    ///
    /// An absolute path is that of a file outside of a repository, and nothing is said about it.
    #[must_use]
    pub fn at_path(self, path: &'a str) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }

    /// Adds the name of the directory that holds the file.
    #[must_use]
    pub fn in_directory(self, name: &'a str) -> Self {
        Self {
            directory: Some(name),
            ..self
        }
    }

    /// Adds everything below the file's directory, the file itself included or not.
    #[must_use]
    pub fn with_support(self, entries: &'a [SupportEntry]) -> Self {
        Self {
            support: Some(entries),
            ..self
        }
    }

    /// Adds the interpreter's verdicts: one for each entry of `watch` that is text, in order.
    #[must_use]
    pub fn with_conditions(self, verdicts: &'a [ConditionVerdict]) -> Self {
        Self {
            conditions: verdicts,
            ..self
        }
    }

    /// Adds the zone in which the schedule is read; UTC without one.
    #[must_use]
    pub fn in_zone(self, zone: &'a Zone) -> Self {
        Self {
            zone: Some(zone),
            ..self
        }
    }

    /// Adds the present instant, from which helps count the next ticks.
    #[must_use]
    pub fn seen_at(self, now: Timestamp) -> Self {
        Self {
            now: Some(now),
            ..self
        }
    }

    /// Returns the file.
    #[must_use]
    pub const fn file(&self) -> &'a DaemonFile {
        &self.parse.file
    }

    /// Reports whether a field that is absent was left out by the author, and not merely unread.
    #[must_use]
    pub fn knows_all_fields(&self) -> bool {
        let file = self.file();
        let is_mapping = !file.members().is_empty()
            || !self
                .found_by_reader()
                .any(|found| found.code.number() == 15);
        file.completeness() == Completeness::Whole && is_mapping
    }

    /// Returns the file's text; empty when it is not UTF-8 or too large to be looked at.
    #[must_use]
    pub fn text(&self) -> &'a str {
        let source = self.parse.file.source();
        if source.len() > MAX_FILE_BYTES {
            ""
        } else {
            source.text().unwrap_or_default()
        }
    }

    /// Walks what the reader found.
    pub fn found_by_reader(&self) -> impl Iterator<Item = &'a Diagnostic> {
        self.parse.diagnostics.iter()
    }

    /// Returns the path in the repository, if known.
    #[must_use]
    pub const fn path(&self) -> Option<&'a str> {
        self.path
    }

    /// Returns the directory's name, if known.
    #[must_use]
    pub const fn directory(&self) -> Option<&'a str> {
        self.directory
    }

    /// Returns what stands below the directory, if known.
    #[must_use]
    pub const fn support(&self) -> Option<&'a [SupportEntry]> {
        self.support
    }

    /// Returns the verdicts on the conditions.
    #[must_use]
    pub const fn conditions(&self) -> &'a [ConditionVerdict] {
        self.conditions
    }

    /// Returns the zone of the schedule, if one was given.
    #[must_use]
    pub const fn zone(&self) -> Option<&'a Zone> {
        self.zone
    }

    /// Returns the present instant, if it was given.
    #[must_use]
    pub const fn now(&self) -> Option<Timestamp> {
        self.now
    }

    /// Returns what is to be said about the expression, found out once.
    pub(crate) fn schedule_findings(&self) -> &[Diagnostic] {
        self.schedule.get_or_init(|| schedule::findings(self))
    }
}
