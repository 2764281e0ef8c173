//! Linting of the found files: reading, parsing, checking, and comparing those of a repository.

use std::collections::BTreeMap;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use daemon_cron::Zone;
use daemon_spec::{Code, DaemonFile, Diagnostic, Parse, Severity, SourceText, Span, parse};
use daemon_validate::{Profile, SupportEntry, Validation};
use jiff::Timestamp;

use crate::check::{FileContext, compare, insert};
use crate::discovery::FoundFile;
use crate::interpretations::CachedInterpreter;
use crate::{disk, support_tree};

// For fewer files the start of a thread costs more than it saves.
const MIN_PER_THREAD: usize = 32;

/// The settings with which every file is checked.
pub(crate) struct Linter {
    pub(crate) profile: Profile,
    pub(crate) zone: Zone,
    pub(crate) now: Timestamp,
    pub(crate) interpreter: CachedInterpreter,
}

/// A file after linting.
pub(crate) struct Linted {
    /// The path in reports.
    pub(crate) path: String,
    /// The root of its repository. `None` for a file that is not a daemon of a repository.
    pub(crate) root: Option<PathBuf>,
    /// The parsed file. `None` if it could not be read.
    pub(crate) file: Option<DaemonFile>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The number of diagnostics that comments of the file suppress.
    pub(crate) suppressed: usize,
}

impl Linted {
    pub(crate) fn daemon_id(&self) -> Option<&str> {
        let id = self.file.as_ref()?.id().value()?.value.trim();
        Some(id).filter(|id| !id.is_empty())
    }

    pub(crate) fn source(&self) -> Option<&SourceText> {
        self.file.as_ref().map(DaemonFile::source)
    }

    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.diagnostics
            .iter()
            .filter(|found| found.severity == severity)
            .count()
    }

    pub(crate) fn is_unreadable(&self) -> bool {
        self.file.is_none()
    }
}

/// The content of a file, and the path to which it belongs, if any.
pub(crate) struct FileContent<'a> {
    pub(crate) bytes: Vec<u8>,
    pub(crate) found: Option<&'a FoundFile>,
}

impl Linter {
    /// Lints files on disk. The result has the same order.
    pub(crate) fn lint_all(&self, files: &[FoundFile]) -> Vec<Linted> {
        let mut acc = self.lint_each(files);
        self.compare(&mut acc);
        acc
    }

    /// Lints each file separately, with a thread for each processor.
    fn lint_each(&self, files: &[FoundFile]) -> Vec<Linted> {
        let n_threads = thread::available_parallelism().map_or(1, usize::from);
        let per_thread = files.len().div_ceil(n_threads).max(MIN_PER_THREAD);
        let lint = |part: &[FoundFile]| {
            part.iter()
                .map(|found| self.lint_file(found))
                .collect::<Vec<_>>()
        };
        if files.len() <= per_thread {
            return lint(files);
        }
        thread::scope(|scope| {
            let threads: Vec<_> = files
                .chunks(per_thread)
                .map(|part| scope.spawn(move || lint(part)))
                .collect();
            // A panic must reach `main`, which maps it to the exit code of a bug.
            let parts = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            parts.flatten().collect()
        })
    }

    fn lint_file(&self, found: &FoundFile) -> Linted {
        let bytes = match &found.refusal {
            Some(error) => Err(io::Error::new(error.kind(), disk::reason(error))),
            None => disk::read_daemon_file(&found.location),
        };
        match bytes {
            Err(error) => unreadable(found, &error),
            Ok(bytes) => self.lint_content(FileContent {
                bytes,
                found: Some(found),
            }),
        }
    }

    /// Lints the content of a file. Its context is that of the path to which it belongs.
    pub(crate) fn lint_content(&self, content: FileContent<'_>) -> Linted {
        let FileContent { bytes, found } = content;
        let parsed = parse(bytes);
        let support = found
            .filter(|found| found.has_support_tree)
            .and_then(|found| Some((found.location.parent()?, found.root.as_deref())))
            .map(|(directory, root)| support_tree::list(directory, root));
        let checked = self.check(&parsed, found, support.as_deref());
        Linted {
            path: found.map_or_else(|| "<stdin>".to_owned(), |found| found.shown.clone()),
            root: found
                .filter(|found| found.is_of_its_directory())
                .and_then(|found| found.root.clone()),
            file: Some(parsed.file),
            diagnostics: checked.diagnostics,
            suppressed: checked.suppressed,
        }
    }

    fn check(
        &self,
        parsed: &Parse,
        found: Option<&FoundFile>,
        support: Option<&[SupportEntry]>,
    ) -> Validation {
        // A draft with another name is not compared with its directory; D115 already says that no
        // runtime reads it.
        let directory = found
            .filter(|found| found.is_of_its_directory())
            .and_then(|found| found.location.parent())
            .and_then(Path::file_name);
        let directory = directory.map(|name| name.to_string_lossy());
        let context = FileContext {
            path: found.map(|found| found.in_repository.as_str()),
            directory: directory.as_deref(),
            support,
            zone: &self.zone,
            now: self.now,
        };
        context.check(&self.interpreter, parsed, self.profile)
    }

    /// Adds the diagnostics that result from comparing the daemons of a repository.
    fn compare(&self, files: &mut [Linted]) {
        let mut repositories: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
        for (index, linted) in files.iter().enumerate() {
            if let (Some(root), Some(_)) = (&linted.root, &linted.file) {
                repositories.entry(root).or_default().push(index);
            }
        }
        let mut findings = Vec::new();
        for indexes in repositories.values() {
            let neighbours: Vec<(&str, &DaemonFile)> = indexes
                .iter()
                .filter_map(|&index| files.get(index))
                .filter_map(|linted| Some((linted.path.as_str(), linted.file.as_ref()?)))
                .collect();
            let found = compare(&neighbours, self.profile);
            findings.extend(
                found
                    .into_iter()
                    .filter_map(|(at, found)| Some((*indexes.get(at)?, found))),
            );
        }
        for (index, found) in findings {
            if let Some(linted) = files.get_mut(index) {
                insert(&mut linted.diagnostics, found);
            }
        }
    }
}

fn unreadable(found: &FoundFile, error: &io::Error) -> Linted {
    let diagnostic = Diagnostic::new(
        Code::new(0),
        Severity::Error,
        Span::at(0),
        "cannot read the file",
    )
    .with_help(disk::reason(error));
    Linted {
        path: found.shown.clone(),
        root: None,
        file: None,
        diagnostics: vec![diagnostic],
        suppressed: 0,
    }
}
