//! The input of the rules: a parsed file with optional context.

use std::sync::OnceLock;

use daemon_cron::Zone;
use daemon_spec::limits::MAX_FILE_BYTES;
use daemon_spec::{Completeness, DaemonFile, Diagnostic, Parse};
use jiff::Timestamp;

use crate::rules::schedule;
use crate::{ConditionVerdict, SupportEntry};

/// A parsed file with optional context.
///
/// Missing context disables the rules that need it. Without a directory `id` is not compared with it,
/// and without verdicts nothing is reported about conditions.
///
/// # Examples
///
/// ```
/// use daemon_validate::{Profile, Subject, validate};
///
/// let text = "---\nid: a\npurpose: Tidies up.\nschedule: 0 9 * * *\nroutines:\n  - list issues\n---\nBe brief.\n";
/// let parse = daemon_spec::parse(text.as_bytes().to_vec());
/// assert_eq!(validate(&Subject::new(&parse), Profile::Spec), []);
///
/// let found = validate(&Subject::new(&parse).in_directory("b"), Profile::Spec);
/// assert_eq!(found[0].message, "`id` is `a`, the directory is `b`");
/// ```
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    parse: &'a Parse,
    path: Option<&'a str>,
    directory: Option<&'a str>,
    support: Option<&'a [SupportEntry]>,
    conditions: &'a [ConditionVerdict],
    zone: Option<&'a Zone>,
    now: Option<Timestamp>,
    // A dozen rules report on the schedule. The expression is parsed once for all of them.
    schedule: OnceLock<Vec<Diagnostic>>,
}

impl<'a> Subject<'a> {
    /// Creates a subject without context.
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

    /// Adds the path of the file, relative to the repository's root, with `/` between its parts.
    ///
    /// An absolute path is that of a file outside a repository. Its place is not checked.
    #[must_use]
    pub fn at_path(self, path: &'a str) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }

    /// Adds the name of the directory that contains the file.
    #[must_use]
    pub fn in_directory(self, name: &'a str) -> Self {
        Self {
            directory: Some(name),
            ..self
        }
    }

    /// Adds all entries below the directory of the file. The daemon file itself may be among them.
    #[must_use]
    pub fn with_support(self, entries: &'a [SupportEntry]) -> Self {
        Self {
            support: Some(entries),
            ..self
        }
    }

    /// Adds the verdicts of an interpreter, one for each entry of `watch` that is text, in order.
    #[must_use]
    pub fn with_conditions(self, verdicts: &'a [ConditionVerdict]) -> Self {
        Self {
            conditions: verdicts,
            ..self
        }
    }

    /// Adds the time zone of the schedule. The default is UTC.
    #[must_use]
    pub fn in_zone(self, zone: &'a Zone) -> Self {
        Self {
            zone: Some(zone),
            ..self
        }
    }

    /// Adds the current time, from which the help of a diagnostic computes the next ticks.
    #[must_use]
    pub fn seen_at(self, now: Timestamp) -> Self {
        Self {
            now: Some(now),
            ..self
        }
    }

    /// Returns the parsed file.
    #[must_use]
    pub const fn file(&self) -> &'a DaemonFile {
        &self.parse.file
    }

    /// Returns `true` if the whole front matter was read, so that an absent field does not occur.
    #[must_use]
    pub fn knows_all_fields(&self) -> bool {
        // D015 already says that the front matter is not a mapping. Six missing fields on top would
        // repeat it.
        let file = self.file();
        let is_mapping = !file.members().is_empty()
            || !self
                .found_by_reader()
                .any(|found| found.code.number() == 15);
        file.completeness() == Completeness::Whole && is_mapping
    }

    /// Returns the whole file as text. It is empty if the file is not UTF-8 or above the size limit.
    #[must_use]
    pub fn text(&self) -> &'a str {
        let source = self.parse.file.source();
        if source.len() > MAX_FILE_BYTES {
            ""
        } else {
            source.text().unwrap_or_default()
        }
    }

    /// Returns the diagnostics of the parser.
    pub fn found_by_reader(&self) -> impl Iterator<Item = &'a Diagnostic> {
        self.parse.diagnostics.iter()
    }

    /// Returns the path of the file in the repository, or `None` if it is unknown.
    #[must_use]
    pub const fn path(&self) -> Option<&'a str> {
        self.path
    }

    /// Returns the name of the directory, or `None` if it is unknown.
    #[must_use]
    pub const fn directory(&self) -> Option<&'a str> {
        self.directory
    }

    /// Returns the entries of the directory, or `None` if they are unknown.
    #[must_use]
    pub const fn support(&self) -> Option<&'a [SupportEntry]> {
        self.support
    }

    /// Returns the verdicts on the conditions. Empty if there are no verdicts.
    #[must_use]
    pub const fn conditions(&self) -> &'a [ConditionVerdict] {
        self.conditions
    }

    /// Returns the time zone of the schedule, or `None` for the default.
    #[must_use]
    pub const fn zone(&self) -> Option<&'a Zone> {
        self.zone
    }

    /// Returns the current time, or `None` if it is unknown.
    #[must_use]
    pub const fn now(&self) -> Option<Timestamp> {
        self.now
    }

    /// Returns the diagnostics of the cron expression.
    pub(crate) fn schedule_findings(&self) -> &[Diagnostic] {
        self.schedule.get_or_init(|| schedule::findings(self))
    }
}
