//! The directories of tests, and what is wrong with what they hold.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use daemon_spec::{SourceText, Span};

use super::{FOLDER, invalid};
use crate::failure::{Exit, Failure};
use crate::out::Out;

/// The most bytes of a payload.
const MAX_PAYLOAD: u64 = 25 * 1024 * 1024;

/// Something that keeps a test file from being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: Option<String>,
    pub(super) kind: ProblemKind,
}

/// Whether the text is wrong, or a file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProblemKind {
    /// The text makes no sense.
    Invalid,
    /// A file cannot be read.
    Unreadable,
}

impl Problem {
    /// Says that the text makes no sense.
    pub(super) fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: None,
            kind: ProblemKind::Invalid,
        }
    }

    /// Says that a test file cannot be read.
    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self {
            kind: ProblemKind::Unreadable,
            ..Self::new(Span::at(0), message)
        }
    }

    /// Adds what to do about it.
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }
}

/// Puts all problems into one failure, each with its place.
pub(super) fn failure(problems: &[(String, SourceText, Problem)]) -> Option<Failure> {
    let worst = problems.iter().map(|(_, _, problem)| problem.kind).max()?;
    let told = problems.iter().map(|(file, source, problem)| {
        let place = source.position(problem.span.start);
        format!(
            "{file}:{}:{}: {}",
            place.line, place.column, problem.message
        )
    });
    let told: Vec<String> = told.collect();
    let failure = match worst {
        ProblemKind::Invalid => invalid(told.join("\n")),
        ProblemKind::Unreadable => Failure::new(Exit::NoInput, "unreadable", told.join("\n")),
    };
    let help = problems
        .iter()
        .find_map(|(_, _, problem)| problem.help.clone());
    Some(Failure { help, ..failure })
}

/// The directory of one daemon's tests.
#[derive(Debug)]
pub(super) struct Folder {
    /// The repository.
    root: PathBuf,
    /// The directory, without a link in its path.
    path: PathBuf,
}

impl Folder {
    /// Lists the names of directories of tests.
    pub(super) fn names(root: &Path, out: Out) -> Result<Vec<String>, Failure> {
        let base = root.join(FOLDER);
        let entries = match base.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Failure::unreadable(&base, &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| Failure::unreadable(&base, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() {
                names.push(name);
            } else if name.ends_with(".yml") {
                out.tell(&format!(
                    "{FOLDER}/{name} is not read: tests lie in {FOLDER}/<id>/"
                ));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens the directory of one daemon's tests; none where it has none.
    pub(super) fn open(root: &Path, id: &str) -> Result<Option<Self>, Failure> {
        let path = root.join(FOLDER).join(id);
        let found = match path.canonicalize() {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::unreadable(&path, &error)),
        };
        if found != path {
            let message = format!("{FOLDER}/{id} is reached over a symbolic link");
            return Err(Failure::new(Exit::NoInput, "unreadable", message)
                .help("put the tests into the repository itself"));
        }
        Ok(Some(Self {
            root: root.to_owned(),
            path,
        }))
    }

    /// Lists its test files, ordered by name.
    pub(super) fn files(&self, out: Out) -> Result<Vec<PathBuf>, Failure> {
        let unreadable = |error| Failure::unreadable(&self.path, &error);
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

    /// Names a file as it stands in the repository.
    pub(super) fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        inside.display().to_string()
    }

    /// Reads a payload that a test names.
    pub(super) fn payload(&self, name: &str, span: Span) -> Result<Vec<u8>, Problem> {
        let relative = Path::new(name);
        let is_plain = !name.is_empty()
            && relative
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_plain {
            let problem = Problem::new(span, format!("`{name}` leaves the tests directory"));
            return Err(problem.help("a path below the test file, such as `payloads/opened.json`"));
        }
        let unreadable = |reason: String| Problem {
            kind: ProblemKind::Unreadable,
            ..Problem::new(span, format!("cannot read `{name}`: {reason}"))
        };
        let found = self
            .path
            .join(relative)
            .canonicalize()
            .map_err(|error| unreadable(error.to_string()))?;
        if !found.starts_with(&self.path) {
            let message = format!("a symbolic link in `{name}` leaves the tests directory");
            return Err(Problem::new(span, message));
        }
        if !found.is_file() {
            return Err(unreadable("it is not a regular file".to_owned()));
        }
        let mut bytes = Vec::new();
        std::fs::File::open(&found)
            .and_then(|file| file.take(MAX_PAYLOAD + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(error.to_string()))?;
        if u64::try_from(bytes.len()).expect("a length fits") > MAX_PAYLOAD {
            return Err(Problem::new(span, format!("`{name}` has more than 25 MiB")));
        }
        Ok(bytes)
    }
}
