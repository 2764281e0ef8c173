//! Which files of its own installation a program of a run may read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use daemon_process::resolve_program;
use serde_json::Value;

/// A file in which a package says what it is.
#[derive(Debug, Clone, Copy)]
enum Manifest {
    /// `package.json`, of a package of Node.
    Node,
    /// `pyproject.toml`, of a project in Python.
    Python,
    /// `pyvenv.cfg`, of a virtual environment of Python.
    Environment,
}

const PACKAGE: [Manifest; 3] = [Manifest::Node, Manifest::Python, Manifest::Environment];
/// The same for an interpreter, which a project may hold without belonging to it.
const INTERPRETER: [Manifest; 1] = [Manifest::Environment];
/// More than a manifest has.
const MOST_MANIFEST: u64 = 1 << 20;
/// The directory in which npm and similar programs install packages.
const SIBLINGS: &str = "node_modules";
/// As much of a first line as the kernel reads.
const MOST_LINE: u64 = 256;
/// How many interpreters of interpreters the kernel follows.
const MOST_INTERPRETERS: usize = 4;

/// A path that no run may read, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The path.
    pub path: PathBuf,
    /// What it is, such as "the host's home".
    pub what: String,
}

/// A directory that a run would be granted holds what no run may read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{directory}`, which its runs may read, holds {what} `{path}`: install it in a directory of its own",
    directory = directory.display(), path = path.display()
)]
pub(crate) struct GrantError {
    directory: PathBuf,
    what: String,
    path: PathBuf,
}

/// Returns what a run may read of a program's installation: the program, the package it belongs to, and the same of its
/// interpreters, which are looked up in `search`.
///
/// # Errors
/// One of them holds something guarded.
pub(crate) fn grants(
    program: &Path,
    search: &OsStr,
    guarded: &[Guarded],
) -> Result<Vec<PathBuf>, GrantError> {
    let mut acc = vec![program.to_owned()];
    acc.extend(installation(program, &PACKAGE));
    let mut file = program.to_owned();
    for _ in 0..MOST_INTERPRETERS {
        let Some(named) = interpreter(&file, search) else {
            break;
        };
        // A virtual environment holds links to an interpreter that is installed elsewhere: both places are needed.
        let Ok(resolved) = named.canonicalize() else {
            break;
        };
        for path in [&named, &resolved] {
            acc.push(path.clone());
            acc.extend(installation(path, &INTERPRETER));
        }
        file = resolved;
    }
    refuse(&acc, guarded)?;
    Ok(acc)
}

/// Refuses paths that hold something guarded, and directories that are a user's home.
///
/// # Errors
/// Names the first of them.
pub(crate) fn refuse(granted: &[PathBuf], guarded: &[Guarded]) -> Result<(), GrantError> {
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
            return Err(GrantError {
                directory: resolved,
                what,
                path,
            });
        }
    }
    Ok(())
}

/// Returns the directory of the package that a file is installed with: the `node_modules` that holds it, else the
/// nearest directory whose manifest it belongs to, else the directory of its version.
fn installation(file: &Path, manifests: &[Manifest]) -> Option<PathBuf> {
    let above = || file.ancestors().skip(1);
    let siblings = above().filter(|path| path.file_name() == Some(OsStr::new(SIBLINGS)));
    if let Some(siblings) = siblings.last() {
        return Some(siblings.to_owned());
    }
    let is_package = |path: &&Path| {
        // A directory that every user may write, such as `/tmp`, belongs to no package, whatever is put there.
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

    /// Reports whether a directory has this manifest and a file below it belongs to its package. One that lies in a home, say,
    /// makes no package of everything in it.
    fn holds(self, directory: &Path, file: &Path) -> bool {
        let manifest = directory.join(self.name());
        let is_beside = || file.parent() == Some(directory);
        let beside = |name| file.parent().is_some_and(|path| path.join(name).is_file());
        manifest.is_file()
            && match self {
                Self::Node => is_beside() || is_named(&manifest, directory, file),
                Self::Python => is_beside() || beside("__init__.py"),
                Self::Environment => directory.join("bin/python").exists(),
            }
    }
}

/// Reports whether a `package.json` names a file as one of the programs of its package.
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

/// Reads JSON that is no longer than a manifest; `None` for anything else.
fn read_json(source: impl Read) -> Option<Value> {
    let mut bytes = Vec::new();
    // `serde_json::from_reader` asks its source for one byte at a time, which is a system call each.
    source.take(MOST_MANIFEST).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// What version managers call the directory in which they keep versions, or kinds of programs with versions in each.
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

/// Returns the directory of a version that a version manager installed a program of: `<version>/bin/<program>`, or with one
/// directory between, as in `node-versions/v22.1.0/installation/bin/node`.
fn version(file: &Path) -> Option<&Path> {
    let directory = file.parent().filter(|path| path.ends_with("bin"))?;
    let mut above = directory.ancestors().skip(1).take(2);
    above.find(|path| {
        let mut managed = path.ancestors().skip(1).take(2);
        let is_managed = |path: &Path| MANAGED.iter().any(|name| path.ends_with(name));
        names_version(path) && managed.any(is_managed)
    })
}

/// Reports whether the name of a directory is that of a version, such as `v22.1.0`, `21.0.1-tem` or `cpython-3.12.1-linux`.
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

/// Returns the interpreter that the first line of a file names, as it is named or found.
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
