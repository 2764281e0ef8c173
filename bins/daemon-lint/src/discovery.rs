//! Discovery of the daemon files that the paths of the command line refer to.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::path::{Component, Path, PathBuf};

use daemon_validate::{SupportKind, holds_daemons, is_daemon_path};

/// A daemon file, or a path that cannot be read.
#[derive(Debug)]
pub(crate) struct FoundFile {
    /// The path in reports: relative to the working directory, as the caller wrote it.
    pub(crate) shown: String,
    /// The path for the file system.
    pub(crate) location: PathBuf,
    /// The path relative to the root of the repository, with `/`. Equal to `shown` outside a repository.
    pub(crate) in_repository: String,
    /// The root of the repository, which separates the daemons of different repositories.
    pub(crate) root: Option<PathBuf>,
    /// Whether the `scripts/` and `references/` of its directory belong to it.
    pub(crate) has_support_tree: bool,
    /// The error, if the path is known to be unreadable.
    pub(crate) refusal: Option<io::Error>,
}

impl FoundFile {
    /// Returns `true` if the file has the name of the daemon file of its directory.
    pub(crate) fn is_of_its_directory(&self) -> bool {
        self.location.file_name().is_some_and(is_daemon_file)
    }
}

/// The depth below `.agents` down to which misplaced daemon files are found.
const SEARCH_DEPTH: usize = 4;

/// Finds the files of `paths`. Without paths it finds those of the repository that contains `directory`.
pub(crate) fn find(paths: &[PathBuf], directory: &Path) -> Vec<FoundFile> {
    let mut acc = Vec::new();
    if paths.is_empty() {
        let root = enclosing_repository(directory).unwrap_or_else(|| directory.to_owned());
        let shown = upwards(directory, &root);
        of_repository(&root, &shown, &mut acc);
    }
    for path in paths {
        of_path(path, &normalised(&directory.join(path)), &mut acc);
    }
    // Paths can overlap, such as a repository and a file in it. Each file is linted once.
    if paths.len() < 2 {
        return acc;
    }
    let mut seen = HashSet::new();
    acc.retain(|found| {
        let known = fs::canonicalize(&found.location).unwrap_or_else(|_| found.location.clone());
        seen.insert(known)
    });
    acc
}

/// Returns a path without `.` and `..`, because the place of a file in its repository is read from the
/// path.
fn normalised(path: &Path) -> PathBuf {
    // Only the file system knows the directory above a link.
    let known = path
        .components()
        .any(|part| part == Component::ParentDir)
        .then(|| match (path.parent(), path.file_name()) {
            // A link at the end of the path must stay one, because it is refused.
            (Some(parent), Some(name)) => Some(fs::canonicalize(parent).ok()?.join(name)),
            _ => fs::canonicalize(path).ok(),
        });
    known
        .flatten()
        .unwrap_or_else(|| path.components().collect())
}

fn of_path(shown: &Path, location: &Path, acc: &mut Vec<FoundFile>) {
    match fs::metadata(location) {
        Err(error) => acc.push(refused(shown, location, error)),
        Ok(kind) if kind.is_dir() => of_directory(shown, location, acc),
        Ok(_) => acc.push(of_file(shown, location)),
    }
}

fn of_directory(shown: &Path, location: &Path, acc: &mut Vec<FoundFile>) {
    let file = location.join("DAEMON.md");
    if location.join(".agents/daemons").is_dir() {
        of_repository(location, shown, acc);
    } else if fs::symlink_metadata(&file).is_ok() {
        acc.push(FoundFile {
            has_support_tree: true,
            ..of_file(&shown.join("DAEMON.md"), &file)
        });
    } else if let Some(below) = [".agents", ".agents/daemons"]
        .into_iter()
        .find(|below| location.ends_with(below))
    {
        in_repository(shown, location, Path::new(below), acc);
    // A directory without daemon files is not an error, but an unreadable one is.
    } else if let Err(error) = fs::read_dir(location) {
        acc.push(refused(shown, location, error));
    }
}

/// Finds the files of a repository whose directory `below` was given.
fn in_repository(shown: &Path, location: &Path, below: &Path, acc: &mut Vec<FoundFile>) {
    let root = location.ancestors().nth(below.components().count());
    let mut all = Vec::new();
    of_repository(root.unwrap_or(location), Path::new(""), &mut all);
    acc.extend(all.into_iter().filter_map(|found| {
        let path = Path::new(&found.in_repository);
        let shown = match path.strip_prefix(below) {
            Ok(rest) if rest.as_os_str().is_empty() => text(shown),
            Ok(rest) => text(&shown.join(rest)),
            // An error of a directory above the given one concerns it too.
            Err(_) if found.refusal.is_some() && below.starts_with(path) => text(shown),
            Err(_) => return None,
        };
        Some(FoundFile { shown, ..found })
    }));
}

fn of_file(shown: &Path, location: &Path) -> FoundFile {
    let root = location.parent().and_then(enclosing_repository);
    let below = root
        .as_deref()
        .and_then(|root| location.strip_prefix(root).ok())
        .map(Path::to_owned);
    let in_repository = text(below.as_deref().unwrap_or(shown));
    FoundFile {
        shown: text(shown),
        location: location.to_owned(),
        has_support_tree: is_daemon_path(&in_repository),
        in_repository,
        root,
        refusal: None,
    }
}

/// Returns the file at `path`, which need not exist: its content comes from standard input.
pub(crate) fn at(path: &Path, directory: &Path) -> FoundFile {
    of_file(path, &normalised(&directory.join(path)))
}

fn refused(shown: &Path, location: &Path, error: io::Error) -> FoundFile {
    FoundFile {
        refusal: Some(error),
        ..of_file(shown, location)
    }
}

/// Returns the nearest directory, from `directory` upwards, that contains daemons or is a git
/// repository.
pub(crate) fn enclosing_repository(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .find(|above| above.join(".agents/daemons").is_dir() || above.join(".git").exists())
        .map(Path::to_owned)
}

fn of_repository(root: &Path, shown: &Path, acc: &mut Vec<FoundFile>) {
    let mut search = Search { root, shown, acc };
    let file = Path::new("DAEMON.md");
    if fs::symlink_metadata(root.join(file)).is_ok() {
        search.add(file, None);
    }
    let agents = Path::new(".agents");
    let location = root.join(agents);
    let kind = fs::symlink_metadata(&location).ok();
    match kind.and_then(|kind| foreign(kind.file_type(), &location)) {
        Some(refusal) => search.add(agents, Some(refusal)),
        None => search.directory(agents, SEARCH_DEPTH),
    }
}

struct Search<'a> {
    root: &'a Path,
    shown: &'a Path,
    acc: &'a mut Vec<FoundFile>,
}

impl Search<'_> {
    /// Searches a directory, in the order of names.
    fn directory(&mut self, below: &Path, depth: usize) {
        let mut entries = match fs::read_dir(self.root.join(below)) {
            Ok(entries) => entries.filter_map(Result::ok).collect::<Vec<_>>(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.add(below, Some(error)),
        };
        entries.sort_by_cached_key(fs::DirEntry::file_name);
        let is_daemon = entries
            .iter()
            .any(|entry| is_daemon_file(&entry.file_name()));
        for entry in entries {
            let name = entry.file_name();
            let path = below.join(&name);
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            // The support tree of a daemon is not searched: a `DAEMON.md` in it is an example or a
            // fixture.
            if is_daemon_file(&name) {
                self.add(&path, None);
            } else if let Some(refusal) = holds_daemons(text(&path).as_bytes())
                .then(|| foreign(kind, &self.root.join(&path)))
                .flatten()
            {
                self.add(&path, Some(refusal));
            } else if kind.is_dir() && depth > 1 && !(is_daemon && is_support(&name)) {
                self.directory(&path, depth - 1);
            }
        }
    }

    fn add(&mut self, below: &Path, refusal: Option<io::Error>) {
        let in_repository = text(below);
        self.acc.push(FoundFile {
            shown: text(&self.shown.join(below)),
            location: self.root.join(below),
            has_support_tree: is_daemon_path(&in_repository),
            in_repository,
            root: Some(self.root.to_owned()),
            refusal,
        });
    }
}

/// Returns `true` for `DAEMON.md` in any case. A wrong case is reported as D115.
fn is_daemon_file(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case("DAEMON.md")
}

/// Returns an error if a path is a link or the root of another repository, in which a host reads no
/// daemon.
fn foreign(kind: FileType, path: &Path) -> Option<io::Error> {
    let kind = if kind.is_symlink() {
        SupportKind::Symlink
    } else if kind.is_dir() && fs::symlink_metadata(path.join(".git")).is_ok() {
        SupportKind::Submodule
    } else {
        return None;
    };
    let why = format!("it is {}", kind.why_unread());
    Some(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Returns `true` for the directories of a support tree.
pub(crate) fn is_support(name: &OsStr) -> bool {
    name == "scripts" || name == "references"
}

/// Returns the relative path from `directory` up to `root`.
fn upwards(directory: &Path, root: &Path) -> PathBuf {
    let depth = directory
        .strip_prefix(root)
        .map_or(0, |below| below.components().count());
    std::iter::repeat_n("..", depth).collect()
}

/// Returns a path as text with `/`, without a leading `./`.
pub(crate) fn text(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    };
    match text.strip_prefix("./") {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => text,
    }
}
