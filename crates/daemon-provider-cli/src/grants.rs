//! Files of its installation that the program of a run may read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use daemon_process::resolve_program;
use serde_json::Value;

/// The manifest of a package.
#[derive(Debug, Clone, Copy)]
enum Manifest {
    /// `package.json` of a Node.js package.
    Node,
    /// `pyproject.toml` of a Python project.
    Python,
    /// `pyvenv.cfg` of a Python virtual environment.
    Environment,
}

const PACKAGE: [Manifest; 3] = [Manifest::Node, Manifest::Python, Manifest::Environment];
/// Manifests considered for an interpreter, which may be inside a project that it does not belong to.
const INTERPRETER: [Manifest; 1] = [Manifest::Environment];
/// The most bytes read of a manifest.
const MOST_MANIFEST: u64 = 1 << 20;
/// The directory in which npm and similar programs install packages.
const SIBLINGS: &str = "node_modules";
/// The most bytes that the kernel reads of a `#!` line.
const MOST_LINE: u64 = 256;
/// The most levels of interpreters that the kernel follows.
const MOST_INTERPRETERS: usize = 4;

/// A path that no run may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The absolute path of a file or directory.
    pub path: PathBuf,
    /// A description for error messages, such as "the host's home".
    pub what: String,
}

/// A directory that a run would be granted contains a guarded path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{directory}`, which its runs may read, holds {what} `{path}`: use a directory of its own",
    directory = directory.display(), path = path.display()
)]
pub struct GuardedPathError {
    directory: PathBuf,
    what: String,
    path: PathBuf,
}

/// Returns the files and directories that a run may read: the program, its package, and the same of its interpreters.
/// Interpreters are searched in `search`.
///
/// # Errors
/// Fails if one of them contains a guarded path.
pub(crate) fn grants(
    program: &Path,
    search: &OsStr,
    guarded: &[Guarded],
) -> Result<Vec<PathBuf>, GuardedPathError> {
    let mut acc = vec![program.to_owned()];
    acc.extend(installation(program, &PACKAGE));
    let mut file = program.to_owned();
    for _ in 0..MOST_INTERPRETERS {
        let Some(named) = interpreter(&file, search) else {
            break;
        };
        // A virtual environment links to an interpreter that is installed elsewhere: both places are needed.
        let Ok(resolved) = named.canonicalize() else {
            break;
        };
        for path in [&named, &resolved] {
            acc.push(path.clone());
            acc.extend(installation(path, &INTERPRETER));
        }
        file = resolved;
    }
    check_readable(&acc, guarded)?;
    Ok(acc)
}

/// Rejects paths for runs to read that contain something guarded, and directories with a user's SSH keys.
///
/// # Errors
/// Names the first such path.
pub fn check_readable(granted: &[PathBuf], guarded: &[Guarded]) -> Result<(), GuardedPathError> {
    // Rejected instead of left out of the grant: the program would fail later, and no message would say why.
    for directory in granted {
        let resolved = directory.canonicalize();
        let resolved = resolved.unwrap_or_else(|_| directory.clone());
        let held = guarded.iter().find(|guarded| {
            let path = guarded.path.canonicalize();
            path.is_ok_and(|path| path.starts_with(&resolved))
        });
        let keys = resolved.join(".ssh");
        let held = held.cloned().or_else(|| {
            keys.is_dir().then(|| Guarded {
                path: keys,
                what: "a user's SSH keys".to_owned(),
            })
        });
        if let Some(Guarded { path, what }) = held {
            return Err(GuardedPathError {
                directory: resolved,
                what,
                path,
            });
        }
    }
    Ok(())
}

/// Returns the directory that a file is installed in: the outermost `node_modules` above it, else the nearest package, else
/// the directory of its version.
fn installation(file: &Path, manifests: &[Manifest]) -> Option<PathBuf> {
    let above = || file.ancestors().skip(1);
    let siblings = above().filter(|path| path.file_name() == Some(OsStr::new(SIBLINGS)));
    // The whole `node_modules`: packages import each other from it.
    if let Some(siblings) = siblings.last() {
        return Some(siblings.to_owned());
    }
    let is_package = |path: &&Path| {
        // Any user could create a manifest in a world-writable directory such as `/tmp` and so have it granted.
        let is_own = |path: &Path| {
            path.metadata()
                .is_ok_and(|meta| meta.permissions().mode() & 0o002 == 0)
        };
        manifests.iter().any(|manifest| manifest.holds(path, file)) && is_own(path)
    };
    let package = above().find(is_package);
    package.or_else(|| version(file)).map(Path::to_owned)
}

impl Manifest {
    fn name(self) -> &'static str {
        match self {
            Self::Node => "package.json",
            Self::Python => "pyproject.toml",
            Self::Environment => "pyvenv.cfg",
        }
    }

    /// Reports whether a directory has this manifest and the file belongs to its package. Not every file below it does: a
    /// `package.json` in a home directory does not make the whole home one package.
    fn holds(self, directory: &Path, file: &Path) -> bool {
        let manifest = directory.join(self.name());
        let is_direct_child = || file.parent() == Some(directory);
        let has_sibling = |name| file.parent().is_some_and(|path| path.join(name).is_file());
        manifest.is_file()
            && match self {
                Self::Node => is_direct_child() || is_named(&manifest, directory, file),
                Self::Python => is_direct_child() || has_sibling("__init__.py"),
                Self::Environment => directory.join("bin/python").exists(),
            }
    }
}

/// Reports whether a `package.json` lists a file in `bin`.
fn is_named(manifest: &Path, directory: &Path, file: &Path) -> bool {
    let Some(manifest) = File::open(manifest).ok().and_then(read_json) else {
        return false;
    };
    let bin = manifest.get("bin");
    let named = bin.into_iter().filter_map(Value::as_object).flatten();
    let mut named = named
        .map(|(_, path)| path)
        .chain(bin)
        .filter_map(Value::as_str);
    named.any(|path| {
        let path = directory.join(path).canonicalize();
        path.is_ok_and(|path| path == file)
    })
}

/// Parses JSON of at most [`MOST_MANIFEST`] bytes; `None` for anything else.
fn read_json(source: impl Read) -> Option<Value> {
    let mut bytes = Vec::new();
    // `serde_json::from_reader` reads a file byte by byte, with one system call for each.
    source.take(MOST_MANIFEST).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Directories in which version managers keep versions, directly or below the name of a program.
const MANAGED: [&str; 8] = [
    "Cellar",
    "candidates",
    "image",
    "installs",
    "node-versions",
    "python",
    "toolchains",
    "versions",
];

/// Returns the directory of the version that a version manager installed: `<version>/bin/<program>`, or with one directory
/// between, as in `node-versions/v22.1.0/installation/bin/node`.
fn version(file: &Path) -> Option<&Path> {
    let directory = file.parent().filter(|path| path.ends_with("bin"))?;
    let mut above = directory.ancestors().skip(1).take(2);
    above.find(|path| {
        let mut managed = path.ancestors().skip(1).take(2);
        let is_managed = |path: &Path| MANAGED.iter().any(|name| path.ends_with(name));
        names_version(path) && managed.any(is_managed)
    })
}

/// Reports whether a directory is named like a version: `v22.1.0`, `21.0.1-tem` or `cpython-3.12.1-linux`.
fn names_version(directory: &Path) -> bool {
    let name = directory.file_name().and_then(OsStr::to_str);
    let name = name.unwrap_or_default();
    let number = name.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-');
    let mut parts = number.splitn(3, '.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let second = |part: &str| {
        let end = part.find(['-', '+', '_']).unwrap_or(part.len());
        part.get(..end).is_some_and(is_number)
    };
    parts.next().is_some_and(is_number) && parts.next().is_some_and(second)
}

/// Returns the interpreter of a file's `#!` line; a name after `env` is searched in `search`.
fn interpreter(file: &Path, search: &OsStr) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    let opened = File::open(file).ok()?;
    opened.take(MOST_LINE).read_to_end(&mut bytes).ok()?;
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n');
    let line = line.into_iter().next()?;
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(OsStr::from_bytes);
    let named = Path::new(words.next()?);
    if named.file_name() != Some(OsStr::new("env")) {
        return Some(named.to_owned());
    }
    let is_name =
        |word: &&OsStr| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'=');
    let name = words.find(is_name)?;
    let places = std::env::split_paths(search).map(|place| place.join(name));
    places
        .into_iter()
        .find(|path| resolve_program(path, OsStr::new(""), &[]).is_ok())
}

#[cfg(test)]
mod tests;
