//! Attempts at files and processes. Each leaves its target as it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit, setpriority_process};

/// Succeeds if one of the attempts did, else fails as the first one.
pub(super) fn any<const N: usize>(attempts: [io::Result<()>; N]) -> io::Result<()> {
    if attempts.iter().any(Result::is_ok) {
        return Ok(());
    }
    attempts.into_iter().collect()
}

pub(super) fn reads(path: &Path) -> io::Result<()> {
    let mut byte = [0];
    File::open(path)?.read_exact(&mut byte)
}

/// Opens a file for appending, and appends nothing.
pub(super) fn append(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).open(path).map(drop)
}

pub(super) fn creates_file(path: &Path) -> io::Result<()> {
    File::create_new(path)?;
    fs::remove_file(path)
}

pub(super) fn creates_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::remove_dir(path)
}

/// Reads a file by a hard link, else by a symbolic link, in the current directory.
pub(super) fn links(path: &Path) -> io::Result<()> {
    let own = Path::new("link");
    let through = |linked: io::Result<()>| {
        let read = linked.and_then(|()| reads(own));
        // It does not exist if the link failed.
        fs::remove_file(own).and(read)
    };
    any([
        through(fs::hard_link(path, own)),
        through(std::os::unix::fs::symlink(path, own)),
    ])
}

fn entry(pid: i32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

pub(super) fn reads_environment(pid: i32) -> io::Result<()> {
    reads(&entry(pid, "environ"))
}

/// Resolves an entry of a process that links to a file.
pub(super) fn follows(pid: i32, name: &str) -> io::Result<()> {
    fs::read_link(entry(pid, name)).map(drop)
}

/// Reads the first byte of the first mapping of a process.
pub(super) fn reads_memory(pid: i32) -> io::Result<()> {
    let maps = fs::read_to_string(entry(pid, "maps"))?;
    let start = maps.split('-').next().unwrap_or_default();
    let start = u64::from_str_radix(start, 16).map_err(io::Error::other)?;
    let mut memory = File::open(entry(pid, "mem"))?;
    memory.seek(SeekFrom::Start(start))?;
    let mut byte = [0];
    memory.read_exact(&mut byte)
}

fn process(pid: i32) -> io::Result<Pid> {
    Pid::from_raw(pid).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Sends a signal that does nothing to a process that is not stopped.
pub(super) fn signals(pid: i32) -> io::Result<()> {
    Ok(kill_process(process(pid)?, Signal::CONT)?)
}

pub(super) fn limits(pid: i32) -> io::Result<()> {
    const LOWEST: i32 = 19;
    let pid = process(pid)?;
    let no_core = Rlimit {
        current: Some(0),
        maximum: None,
    };
    any([
        prlimit(Some(pid), Resource::Core, no_core)
            .map(drop)
            .map_err(Into::into),
        setpriority_process(Some(pid), LOWEST).map_err(Into::into),
    ])
}
