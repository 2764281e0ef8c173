//! Which files the paths of the command line mean.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use daemon_validate::{SupportKind, holds_daemons, is_daemon_path};

/// A daemon file that was found, or a path that could not be read.
#[derive(Debug)]
pub(crate) struct Found {
    /// The path as it is shown: from the working directory, as the caller wrote it.
    pub(crate) shown: String,
    /// Where it is.
    pub(crate) location: PathBuf,
    /// Its path below the root of its repository, with `/`; the shown path without a repository.
    pub(crate) in_repository: String,
    /// The root, to tell the daemons of one repository from another's.
    pub(crate) root: Option<PathBuf>,
    /// Whether `scripts/` and `references/` beside it are its own.
    pub(crate) has_support_tree: bool,
    /// Why it cannot be read, when that is known already.
    pub(crate) refusal: Option<io::Error>,
}

impl Found {
    /// Whether the file is, by its name, the daemon file of its directory.
    pub(crate) fn is_of_its_directory(&self) -> bool {
        self.location.file_name().is_some_and(is_daemon_file)
    }
}

/// How deep below `.agents` misplaced daemon files are looked for.
const SEARCH_DEPTH: usize = 4;

/// Finds the files that `paths` mean; without paths those of the repository around `directory`.
pub(crate) fn find(paths: &[PathBuf], directory: &Path) -> Vec<Found> {
    let mut acc = Vec::new();
    if paths.is_empty() {
        let root = enclosing_repository(directory).unwrap_or_else(|| directory.to_owned());
        let shown = upwards(directory, &root);
        of_repository(&root, &shown, &mut acc);
    }
    for path in paths {
        of_path(path, &directory.join(path), &mut acc);
    }
    let mut seen = HashSet::new();
    acc.retain(|found| {
        let known = fs::canonicalize(&found.location).unwrap_or_else(|_| found.location.clone());
        seen.insert(known)
    });
    acc
}

fn of_path(shown: &Path, location: &Path, acc: &mut Vec<Found>) {
    match fs::metadata(location) {
        Err(error) => acc.push(refused(shown, location, error)),
        Ok(kind) if kind.is_dir() => of_directory(shown, location, acc),
        Ok(_) => acc.push(of_file(shown, location)),
    }
}

fn of_directory(shown: &Path, location: &Path, acc: &mut Vec<Found>) {
    let file = location.join("DAEMON.md");
    if location.join(".agents/daemons").is_dir() {
        of_repository(location, shown, acc);
    } else if fs::symlink_metadata(&file).is_ok() {
        acc.push(Found {
            has_support_tree: true,
            ..of_file(&shown.join("DAEMON.md"), &file)
        });
    } else if location.ends_with(".agents/daemons") {
        in_daemons(shown, location, acc);
    } else if let Err(error) = fs::read_dir(location) {
        acc.push(refused(shown, location, error));
    }
}

/// `.agents/daemons` itself stands for its repository.
fn in_daemons(shown: &Path, location: &Path, acc: &mut Vec<Found>) {
    let root = location.ancestors().nth(2).unwrap_or(location);
    let before = acc.len();
    of_repository(root, Path::new(""), acc);
    for found in acc.iter_mut().skip(before) {
        let below = found
            .in_repository
            .strip_prefix(".agents/daemons/")
            .unwrap_or_default();
        found.shown = text(&shown.join(below));
    }
}

fn of_file(shown: &Path, location: &Path) -> Found {
    let root = location.parent().and_then(enclosing_repository);
    let below = root
        .as_deref()
        .and_then(|root| location.strip_prefix(root).ok())
        .map(Path::to_owned);
    let in_repository = text(below.as_deref().unwrap_or(shown));
    Found {
        shown: text(shown),
        location: location.to_owned(),
        has_support_tree: is_daemon_path(&in_repository),
        in_repository,
        root,
        refusal: None,
    }
}

/// A file that need not be there: text from elsewhere belongs to `path`.
pub(crate) fn at(path: &Path, directory: &Path) -> Found {
    of_file(path, &directory.join(path))
}

fn refused(shown: &Path, location: &Path, error: io::Error) -> Found {
    Found {
        refusal: Some(error),
        ..of_file(shown, location)
    }
}

/// The nearest directory above that holds daemons or is a git repository.
pub(crate) fn enclosing_repository(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .find(|above| above.join(".agents/daemons").is_dir() || above.join(".git").exists())
        .map(Path::to_owned)
}

fn of_repository(root: &Path, shown: &Path, acc: &mut Vec<Found>) {
    let mut search = Search { root, shown, acc };
    search.file(Path::new("DAEMON.md"));
    let agents = Path::new(".agents");
    match foreign(&root.join(agents)) {
        Some(refusal) => search.add(agents, Some(refusal)),
        None => search.directory(agents, SEARCH_DEPTH),
    }
}

struct Search<'a> {
    root: &'a Path,
    shown: &'a Path,
    acc: &'a mut Vec<Found>,
}

impl Search<'_> {
    /// Looks through a directory, in the order of names.
    fn directory(&mut self, below: &Path, depth: usize) {
        let mut entries = match fs::read_dir(self.root.join(below)) {
            Ok(entries) => entries.filter_map(Result::ok).collect::<Vec<_>>(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.add(below, Some(error)),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        let is_daemon = entries
            .iter()
            .any(|entry| is_daemon_file(&entry.file_name()));
        for entry in entries {
            let name = entry.file_name();
            let path = below.join(&name);
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if is_daemon_file(&name) {
                self.file(&path);
            } else if let Some(refusal) = holds_daemons(text(&path).as_bytes())
                .then(|| foreign(&self.root.join(&path)))
                .flatten()
            {
                self.add(&path, Some(refusal));
            } else if kind.is_dir() && depth > 1 && !(is_daemon && is_support(&name)) {
                self.directory(&path, depth - 1);
            }
        }
    }

    fn file(&mut self, below: &Path) {
        if fs::symlink_metadata(self.root.join(below)).is_ok() {
            self.add(below, None);
        }
    }

    fn add(&mut self, below: &Path, refusal: Option<io::Error>) {
        let in_repository = text(below);
        self.acc.push(Found {
            shown: text(&self.shown.join(below)),
            location: self.root.join(below),
            has_support_tree: is_daemon_path(&in_repository),
            in_repository,
            root: Some(self.root.to_owned()),
            refusal,
        });
    }
}

/// `DAEMON.md` in any case: a wrong one is worth a word.
fn is_daemon_file(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case("DAEMON.md")
}

/// Returns why the host reads nothing behind a path, if it is a link or the root of another repository.
fn foreign(path: &Path) -> Option<io::Error> {
    let kind = fs::symlink_metadata(path).ok()?;
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

fn is_support(name: &OsStr) -> bool {
    name == "scripts" || name == "references"
}

/// The way from `directory` up to `root`.
fn upwards(directory: &Path, root: &Path) -> PathBuf {
    let depth = directory
        .strip_prefix(root)
        .map_or(0, |below| below.components().count());
    std::iter::repeat_n("..", depth).collect()
}

/// A path as text with `/`, without a leading `./`.
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
