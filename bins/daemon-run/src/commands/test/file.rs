//! Directories of tests, and problems in their files.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use daemon_spec::{SourceText, Span};

use super::{FOLDER, invalid};
use crate::failure::{CommandFailure, ExitKind};
use crate::out::Out;

/// The most bytes of a payload; GitHub sends at most as many.
const MAX_PAYLOAD: u64 = 25 * 1024 * 1024;

/// A problem in a test file, at its span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestFileProblem {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: Option<String>,
    pub(super) kind: ProblemKind,
}

/// The kinds of problems, which have exit codes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProblemKind {
    /// The content of the file is invalid.
    Invalid,
    /// A file cannot be read.
    Unreadable,
}

impl TestFileProblem {
    /// Creates a problem of invalid content.
    pub(super) fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: None,
            kind: ProblemKind::Invalid,
        }
    }

    /// Creates a problem of a file that cannot be read.
    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self {
            kind: ProblemKind::Unreadable,
            ..Self::new(Span::at(0), message)
        }
    }

    /// Adds a remedy.
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }
}

/// Returns all problems as one failure, each with its file, line and column.
pub(super) fn failure(
    problems: &[(String, SourceText, TestFileProblem)],
) -> Option<CommandFailure> {
    let worst = problems.iter().map(|(_, _, problem)| problem.kind).max()?;
    let lines = problems.iter().map(|(file, source, problem)| {
        let place = source.position(problem.span.start);
        format!(
            "{file}:{}:{}: {}",
            place.line, place.column, problem.message
        )
    });
    let lines: Vec<String> = lines.collect();
    let failure = match worst {
        ProblemKind::Invalid => invalid(lines.join("\n")),
        ProblemKind::Unreadable => {
            CommandFailure::new(ExitKind::NoInput, "unreadable", lines.join("\n"))
        }
    };
    let help = problems
        .iter()
        .find_map(|(_, _, problem)| problem.help.clone());
    Some(CommandFailure { help, ..failure })
}

/// The directory with the tests of one daemon.
#[derive(Debug)]
pub(super) struct TestFolder {
    /// The root of the repository.
    root: PathBuf,
    /// The directory; its path has no symbolic link.
    path: PathBuf,
}

impl TestFolder {
    /// Lists the names of the directories with tests.
    pub(super) fn names(root: &Path, out: Out) -> Result<Vec<String>, CommandFailure> {
        let base = root.join(FOLDER);
        let entries = match base.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(CommandFailure::unreadable(&base, &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| CommandFailure::unreadable(&base, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() {
                names.push(name);
            } else if name.ends_with(".yml") {
                out.warn(&format!(
                    "{FOLDER}/{name} is not read: move it into {FOLDER}/<id>/"
                ));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens the directory with the tests of one daemon; returns `None` if it does not exist.
    pub(super) fn open(root: &Path, id: &str) -> Result<Option<Self>, CommandFailure> {
        let path = root.join(FOLDER).join(id);
        let found = match path.canonicalize() {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CommandFailure::unreadable(&path, &error)),
        };
        if found != path {
            let message = format!("{FOLDER}/{id} is behind a symbolic link");
            return Err(
                CommandFailure::new(ExitKind::NoInput, "unreadable", message)
                    .help("replace the link by a directory of the repository"),
            );
        }
        Ok(Some(Self {
            root: root.to_owned(),
            path,
        }))
    }

    /// Lists the test files, sorted by name.
    pub(super) fn files(&self, out: Out) -> Result<Vec<PathBuf>, CommandFailure> {
        let unreadable = |error| CommandFailure::unreadable(&self.path, &error);
        let mut files = Vec::new();
        for entry in self.path.read_dir().map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("yml") => files.push(path),
                Some("yaml") => out.note(&format!(
                    "{} is not read: test files end in .yml",
                    self.shown(&path)
                )),
                _ => {}
            }
        }
        files.sort();
        Ok(files)
    }

    /// Returns the path of a file relative to the repository.
    pub(super) fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        inside.display().to_string()
    }

    /// Reads the payload file of a test.
    pub(super) fn payload(&self, name: &str, span: Span) -> Result<Vec<u8>, TestFileProblem> {
        let relative = Path::new(name);
        let is_plain = !name.is_empty()
            && relative
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_plain {
            let problem =
                TestFileProblem::new(span, format!("`{name}` leaves the tests directory"));
            return Err(problem.help("a path below the test file, such as `payloads/opened.json`"));
        }
        let unreadable = |reason: String| TestFileProblem {
            kind: ProblemKind::Unreadable,
            ..TestFileProblem::new(span, format!("cannot read `{name}`: {reason}"))
        };
        let found = self
            .path
            .join(relative)
            .canonicalize()
            .map_err(|error| unreadable(error.to_string()))?;
        // The repository may be untrusted: a link must not make the test read a file outside of it.
        if !found.starts_with(&self.path) {
            let message = format!("a symbolic link in `{name}` leaves the tests directory");
            return Err(TestFileProblem::new(span, message));
        }
        // Reading a FIFO would block.
        if !found.is_file() {
            return Err(unreadable("it is not a regular file".to_owned()));
        }
        let mut bytes = Vec::new();
        std::fs::File::open(&found)
            .and_then(|file| file.take(MAX_PAYLOAD + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(error.to_string()))?;
        if u64::try_from(bytes.len()).expect("a length fits") > MAX_PAYLOAD {
            return Err(TestFileProblem::new(
                span,
                format!("`{name}` has more than 25 MiB"),
            ));
        }
        Ok(bytes)
    }
}
