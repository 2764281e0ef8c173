//! Backups of a home: a directory with its files, its databases as they are at one moment, and a list with the hash of each.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use daemon_host::home::Home;
use daemon_records::clock;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_run_folder::write_atomic;
use daemon_store_sqlite::{SqliteStore, snapshot};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The list of the files of a backup.
const LIST: &str = "backup.json";
/// The version of the list.
const VERSION: u32 = 1;
/// What a host makes again: its lock and sockets, checkouts, its log, and the space that it reserves.
const LEFT_OUT: [&str; 5] = ["logs", "reserve", "run", "trees", "worktrees"];
/// The beginning of every database of SQLite.
const DATABASE: &[u8] = b"SQLite format 3\0";
/// What SQLite and the store keep in files of their own as long as a database is in use.
const PARTS: [&str; 4] = ["-journal", "-mark", "-shm", "-wal"];

/// A backup that was made, or restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Its directory.
    pub directory: PathBuf,
    /// The home.
    pub home: PathBuf,
    /// When it was made, in RFC 3339.
    pub created_at: String,
    /// How many files it has.
    pub n_files: usize,
    /// The bytes of the files.
    pub n_bytes: u64,
    /// Whether the store of the home is among them; one that hosts share is not.
    pub has_store: bool,
}

impl Backup {
    /// Returns the object on the wire.
    pub fn json(&self) -> Value {
        json!({
            "directory": self.directory, "home": self.home, "created_at": self.created_at,
            "files": self.n_files, "bytes": self.n_bytes, "store": self.has_store,
        })
    }
}

impl fmt::Display for Backup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            directory,
            home,
            created_at,
            n_files,
            n_bytes,
            has_store,
        } = self;
        let (directory, home) = (directory.display(), home.display());
        writeln!(f, "backup  {directory}")?;
        writeln!(f, "home    {home}")?;
        writeln!(f, "made    {created_at}")?;
        writeln!(f, "files   {n_files}, {n_bytes} bytes, every hash compared")?;
        if !has_store {
            writeln!(
                f,
                "The store of this home is a database that hosts share: it is not in the backup."
            )?;
        }
        Ok(())
    }
}

/// The list of a backup, as its file has it.
#[derive(Debug, Deserialize, Serialize)]
struct List {
    version: u32,
    created_at: String,
    files: Vec<Listed>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Listed {
    /// The path below the home.
    path: String,
    bytes: u64,
    sha256: String,
}

/// Copies a home to a new directory while its host may be running. The call blocks.
///
/// Databases are copied as they are at one moment, and every page of the copies is checked. The store is copied first, so that each
/// run that it names has its folder in the backup. Symbolic links and the files of [`LEFT_OUT`] are left out. The directory gets its
/// name when the backup is complete.
///
/// # Errors
/// `NotFound` without a home; `Conflict` if the directory exists; `InvalidParams` if it would be in the home; `Damaged` for a database with a wrong page; `Unavailable` if a file
/// cannot be read or written.
pub fn back_up(home: &Home, directory: &Path) -> Result<Backup, OpError> {
    let root = home.root();
    if !root.is_dir() {
        let message = format!("`{}` is no home", root.display());
        return Err(OpError::new(OpErrorKind::NotFound, "no-home", message));
    }
    refuse_within(
        directory,
        root,
        "a backup cannot be in the home that it copies",
    )?;
    let partial = begin(directory)?;
    let copied = Copying {
        root,
        store: home.store(),
        to: &partial,
        files: Vec::new(),
    }
    .all()
    .and_then(|files| {
        let list = List {
            version: VERSION,
            created_at: format!("{:.0}", clock::now()),
            files,
        };
        let text = serde_json::to_vec_pretty(&list)
            .map_err(|error| damaged(&partial.join(LIST), &error.to_string()))?;
        write_atomic(&partial.join(LIST), &text).map_err(failed("write", &partial.join(LIST)))?;
        finish(&partial, directory)?;
        Ok(list)
    });
    match copied {
        Ok(list) => Ok(summary(&list, root, directory)),
        Err(error) => {
            // The first error is the useful one.
            drop(fs::remove_dir_all(&partial));
            Err(error)
        }
    }
}

/// Makes a home from a backup. Nothing is there until every file has the hash of the list. The call blocks.
///
/// # Errors
/// `NotFound` if the directory is no backup; `Conflict` if there is something in place of the home; `InvalidParams` if the home would
/// be in the backup; `Damaged` if a file is missing or
/// has another content, or the list names a file outside of the home; `Unavailable` if a file cannot be read or written.
pub fn restore(home: &Home, directory: &Path) -> Result<Backup, OpError> {
    let root = home.root();
    let path = directory.join(LIST);
    let text = fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let message = format!("`{}` is no backup: it has no {LIST}", directory.display());
            OpError::new(OpErrorKind::NotFound, "no-backup", message)
        }
        _ => failed("read", &path)(error),
    })?;
    let list: List = serde_json::from_slice(&text)
        .map_err(|error| damaged(&path, &format!("it is no list of a backup: {error}")))?;
    if list.version != VERSION {
        let problem = format!("version {} is of another release", list.version);
        return Err(damaged(&path, &problem));
    }
    // An empty directory is what a volume begins with.
    if root.is_dir() {
        let mut entries = fs::read_dir(root).map_err(failed("read", root))?;
        if entries.next().is_none() {
            fs::remove_dir(root).map_err(failed("replace", root))?;
        }
    }
    refuse_within(
        root,
        directory,
        "a home cannot be in the backup that it is made from",
    )?;
    let partial = begin(root)?;
    let copied = list
        .files
        .iter()
        .try_for_each(|listed| restore_file(directory, &partial, listed))
        .and_then(|()| finish(&partial, root));
    match copied {
        Ok(()) => Ok(summary(&list, root, directory)),
        Err(error) => {
            drop(fs::remove_dir_all(&partial));
            Err(error)
        }
    }
}

fn restore_file(directory: &Path, partial: &Path, listed: &Listed) -> Result<(), OpError> {
    let below = Path::new(&listed.path);
    let is_below = below
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_below || listed.path.is_empty() {
        let problem = format!("`{}` is no file of a home", listed.path);
        return Err(damaged(&directory.join(LIST), &problem));
    }
    let (from, to) = (directory.join(below), partial.join(below));
    match fs::symlink_metadata(&from) {
        Ok(found) if found.is_file() => {}
        _ => return Err(damaged(&from, "it is missing")),
    }
    make_parents(&to)?;
    let (bytes, sha256) = copy_file(&from, &to)?;
    if (bytes, &sha256) != (listed.bytes, &listed.sha256) {
        return Err(damaged(&from, "its content is not that of the backup"));
    }
    Ok(())
}

/// A home that is being copied.
struct Copying<'h> {
    root: &'h Path,
    /// The store, which is copied before everything else.
    store: PathBuf,
    to: &'h Path,
    files: Vec<Listed>,
}

impl Copying<'_> {
    fn all(mut self) -> Result<Vec<Listed>, OpError> {
        let store = self.store.clone();
        if store.is_file() {
            // Refuses a store whose log has lost commits, which a copy would hide.
            SqliteStore::open_to_read(&store)
                .map_err(|error| crate::opening::failed(&store.display().to_string(), &error))?;
            self.file(&store)?;
        }
        self.directory(self.root)?;
        Ok(self.files)
    }

    fn directory(&mut self, directory: &Path) -> Result<(), OpError> {
        let entries = match fs::read_dir(directory) {
            // A run folder may be pruned meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(failed("read", directory))?,
        };
        let entries = entries.collect::<io::Result<Vec<_>>>();
        let mut entries = entries.map_err(failed("read", directory))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let name = entry.file_name();
            let is_left_out =
                directory == self.root && LEFT_OUT.iter().any(|left_out| name == *left_out);
            if is_left_out {
                continue;
            }
            match entry.file_type().map_err(failed("read", &path))? {
                kind if kind.is_dir() => self.directory(&path)?,
                kind if kind.is_file() && path != self.store && !is_part(&path) => {
                    self.file(&path)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn below<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(self.root).unwrap_or(path)
    }

    fn file(&mut self, path: &Path) -> Result<(), OpError> {
        let below = self.below(path);
        let to = self.to.join(below);
        make_parents(&to)?;
        let copied = if is_database(path) {
            snapshot(path, &to).map_err(|error| {
                OpError::new(OpErrorKind::Damaged, "damaged", error.to_string())
            })?;
            fs::set_permissions(&to, Permissions::from_mode(0o600))
                .map_err(failed("protect", &to))?;
            hashed(&to, io::sink()).map_err(failed("read", &to))
        } else {
            copy_file(path, &to)
        };
        let (bytes, sha256) = match copied {
            Err(_) if !path.exists() => return Ok(()),
            copied => copied?,
        };
        self.files.push(Listed {
            path: below.to_string_lossy().into_owned(),
            bytes,
            sha256,
        });
        Ok(())
    }
}

/// Whether a file belongs to a database, which its copy contains.
fn is_part(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let mut databases = PARTS.iter().filter_map(|part| name.strip_suffix(part));
    databases.any(|database| is_database(Path::new(database)))
}

fn is_database(path: &Path) -> bool {
    let mut begin = [0; DATABASE.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *DATABASE
}

/// Refuses a directory to be made that is another one or is in it, also behind links.
fn refuse_within(new: &Path, other: &Path, problem: &str) -> Result<(), OpError> {
    let parent = match new.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // A parent that does not exist is an error where the directory is made.
    let (Ok(parent), Ok(other)) = (parent.canonicalize(), other.canonicalize()) else {
        return Ok(());
    };
    if !parent.starts_with(&other) {
        return Ok(());
    }
    let message = format!("`{}`: {problem}", new.display());
    let error = OpError::new(OpErrorKind::InvalidParams, "within", message);
    Err(error.with_help(format!("name a directory outside of `{}`", other.display())))
}

/// Makes the directory that gets its name at the end.
fn begin(directory: &Path) -> Result<PathBuf, OpError> {
    if directory.symlink_metadata().is_ok() {
        let message = format!("`{}` exists", directory.display());
        let error = OpError::new(OpErrorKind::Conflict, "exists", message);
        return Err(error.with_help("name a directory that does not exist"));
    }
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let partial = directory.with_file_name(format!(".{name}.partial-{}", std::process::id()));
    let mut builder = DirBuilder::new();
    builder
        .mode(0o700)
        .create(&partial)
        .map_err(failed("create", &partial))?;
    Ok(partial)
}

fn finish(partial: &Path, directory: &Path) -> Result<(), OpError> {
    let rename = || {
        File::open(partial)?.sync_all()?;
        fs::rename(partial, directory)?;
        let parent = directory.parent().filter(|parent| *parent != Path::new(""));
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    };
    rename().map_err(failed("finish", directory))
}

fn make_parents(path: &Path) -> Result<(), OpError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(parent);
    made.map_err(failed("create", parent))
}

/// Copies a file to a new one of mode 0600, and returns its size and its hash.
fn copy_file(from: &Path, to: &Path) -> Result<(u64, String), OpError> {
    let mut options = OpenOptions::new();
    let target = options.write(true).create_new(true).mode(0o600).open(to);
    let target = target.map_err(failed("create", to))?;
    let copied = hashed(from, &target).map_err(failed("copy", from))?;
    target.sync_all().map_err(failed("write", to))?;
    Ok(copied)
}

/// Writes the content of a file to another place, and returns its size and its hash.
fn hashed(from: &Path, to: impl Write) -> io::Result<(u64, String)> {
    let mut hashing = Hashing {
        to,
        sum: Sha256::new(),
    };
    let n_bytes = io::copy(&mut File::open(from)?, &mut hashing)?;
    let sum = hashing.sum.finalize();
    Ok((
        n_bytes,
        sum.iter().map(|byte| format!("{byte:02x}")).collect(),
    ))
}

struct Hashing<W> {
    to: W,
    sum: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.to.write(bytes)?;
        self.sum.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn summary(list: &List, home: &Path, directory: &Path) -> Backup {
    Backup {
        directory: directory.to_owned(),
        home: home.to_owned(),
        created_at: list.created_at.clone(),
        n_files: list.files.len(),
        n_bytes: list.files.iter().map(|listed| listed.bytes).sum(),
        has_store: list.files.iter().any(|listed| listed.path == "state.db"),
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpError {
    let path = path.display().to_string();
    move |error| {
        let message = format!("failed to {what} `{path}`: {error}");
        OpError::new(OpErrorKind::Unavailable, "io", message)
    }
}

fn damaged(path: &Path, problem: &str) -> OpError {
    let message = format!("`{}`: {problem}", path.display());
    OpError::new(OpErrorKind::Damaged, "damaged", message)
}

#[cfg(test)]
mod tests;
