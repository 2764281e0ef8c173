//! Determines the isolation level that this machine supports.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::OnceLock;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::XattrFlags;
use rustix::process::{PidfdFlags, pidfd_open};

use super::confinement::{NETWORK_ABI, OLDEST_ABI, landlock_abi};
use super::filter::{Processes, filter};
use super::{
    Network, OverlayMount, Sandbox, SandboxLevel, UpperDirectory, VisibleUser,
    confinement::unsupported,
};
use crate::spawn::{Group, Image, Input, Recipe, end, reap, spawn};
use crate::supervisor::Leaders;
use crate::{ExitStatus, supervisor::ChildLimits};

/// The isolation that a machine supports, and the reason why not more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxReport {
    /// The highest supported level.
    pub level: SandboxLevel,
    /// The features that provide the level, and what is missing for the next one, as text for people.
    pub detail: String,
    /// The features that provide level 2, if it is supported.
    pub confined: Option<String>,
    /// Whether level 2 can restrict the ports of TCP connections.
    pub limits_ports: bool,
}

/// The timeout for a program that does nothing.
const PATIENCE: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};
const MARKER: &str = "sandbox-probe";

/// Determines the supported level by starting a child at each level; later calls return the first result.
///
/// Level 3 is tried with a network namespace, so that the result holds with and without one.
pub fn probe() -> SandboxReport {
    static REPORT: OnceLock<SandboxReport> = OnceLock::new();
    let found = || {
        let kernel = Kernel {
            abi: landlock_abi(),
            filter_error: filter(Processes::Shared, None)
                .err()
                .map(|error| error.to_string()),
        };
        let (readable, writable) = (Vec::new(), Vec::new());
        let confined = Sandbox::Confined {
            readable,
            writable,
            ports: None,
        };
        let (readable, writable) = (Vec::new(), Vec::new());
        let isolated = Sandbox::Isolated {
            readable,
            writable,
            overlays: Vec::new(),
            network: Network::Loopback,
            identity: VisibleUser::Same,
        };
        report(&kernel, || works(&confined), || works(&isolated))
    };
    REPORT.get_or_init(found).clone()
}

/// The kernel's name and release.
struct Kernel {
    abi: Option<i32>,
    filter_error: Option<String>,
}

/// The file systems that can be the upper directory of an overlay keep these.
const OPAQUE: &str = "user.overlay.opaque";

/// Determines whether isolated children can have overlays whose changes are kept in `directory`, by running one. It is tried in a new
/// directory there, which is removed.
///
/// # Errors
/// Returns the reason if not: the kernel or the file system does not support it, level 3 cannot be reached, or nothing can be made there.
pub fn probe_overlays(directory: &Path) -> io::Result<()> {
    let unique = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    let scratch = format!("overlay-probe-{}", unique.trim_end());
    let scratch = directory.canonicalize()?.join(scratch);
    fs::create_dir(&scratch)?;
    let tried = try_overlay(&scratch);
    for directory in ["", "incompat", "incompat/volatile"] {
        // Only root can remove what is in a directory of mode 0. None exists if nothing was mounted.
        let directory = scratch.join("work/work").join(directory);
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap_or(());
    }
    tried.and(fs::remove_dir_all(&scratch))
}

fn try_overlay(scratch: &Path) -> io::Result<()> {
    let [lower, upper, work, target] =
        ["lower", "upper", "work", "target"].map(|name| scratch.join(name));
    for path in [&lower.join("directory"), &upper, &work] {
        fs::create_dir_all(path)?;
    }
    fs::write(lower.join("file"), "")?;
    let set = rustix::fs::setxattr(&upper, "user.probe", b"y", XattrFlags::empty());
    set.map_err(|error| {
        let text = format!("the file system keeps no attributes of users: {error}");
        io::Error::new(error.kind(), text)
    })?;
    let sandbox = Sandbox::Isolated {
        readable: Vec::new(),
        writable: Vec::new(),
        overlays: vec![OverlayMount {
            lower: vec![lower],
            upper: Some(UpperDirectory {
                directory: upper.clone(),
                work,
            }),
            target,
        }],
        network: Network::Loopback,
        identity: VisibleUser::Same,
    };
    run(
        &sandbox,
        "rm -r file directory && mkdir directory",
        Some(&scratch.join("target")),
    )?;
    let deleted = fs::symlink_metadata(upper.join("file"))?;
    let mut opaque = [0; 1];
    let length = rustix::fs::getxattr(upper.join("directory"), OPAQUE, &mut opaque)?;
    if deleted.file_type().is_char_device() && deleted.rdev() == 0 && opaque[..length] == *b"y" {
        return Ok(());
    }
    Err(unsupported(
        "the upper directory of an overlay lacks changes",
    ))
}

/// Runs a program that does nothing in a sandbox.
fn works(sandbox: &Sandbox) -> io::Result<()> {
    run(sandbox, ":", None)
}

/// Runs a script in a sandbox, and in a directory.
fn run(sandbox: &Sandbox, script: &str, directory: Option<&Path>) -> io::Result<()> {
    let args = ["-c".into(), script.into()];
    let env = [("PATH".into(), "/usr/bin:/bin".into())];
    let recipe = Recipe {
        image: Image::new(Path::new("/bin/sh"), &args, &env, directory)?,
        input: Input::Null,
        group: Group::Session,
        limits: Some(ChildLimits::default()),
        mark: None,
        control_group: None,
        sandbox: sandbox.prepare(MARKER, &[])?,
    };
    // Locked until the end, so that no supervisor of this process takes the child for an orphan and reaps it.
    let _leaders = Leaders::lock();
    let spawned = spawn(&recipe)?;
    let process = pidfd_open(spawned.pid, PidfdFlags::empty())?;
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    let is_late = poll(&mut fds, Some(&PATIENCE)).unwrap_or(0) == 0;
    let status = if is_late {
        end(spawned.pid).map(|()| None)
    } else {
        reap(spawned.pid).map(Some)
    };
    if let Some(keeper) = spawned.keeper {
        end(keeper.pid)?;
    }
    match status? {
        Some(ExitStatus::Code(0)) => Ok(()),
        Some(status) => Err(io::Error::other(format!("a shell ended with {status}"))),
        None => Err(io::Error::other("a shell that does nothing did not end")),
    }
}

fn report(
    kernel: &Kernel,
    confined: impl FnOnce() -> io::Result<()>,
    isolated: impl FnOnce() -> io::Result<()>,
) -> SandboxReport {
    let mut base = None;
    let (level, detail) = match (kernel.abi, &kernel.filter_error) {
        (None, _) => contained("the kernel offers no Landlock"),
        (Some(abi), _) if abi < OLDEST_ABI => contained(&format!(
            "Landlock has ABI {abi}, and below {OLDEST_ABI} it cannot keep a file from being truncated"
        )),
        (Some(_), Some(error)) => contained(&format!("no system-call filter: {error}")),
        (Some(abi), None) => {
            let base = base.insert(format!(
                "Landlock ABI {abi}, no new privileges, system-call filter"
            ));
            match confined().map(|()| isolated()) {
                Err(error) => contained(&format!("a child could not be confined: {error}")),
                Ok(Err(error)) => (
                    SandboxLevel::Confined,
                    format!("{base}; no namespaces: {error}"),
                ),
                Ok(Ok(())) => (
                    SandboxLevel::Isolated,
                    format!("{base}; user, mount and process namespaces"),
                ),
            }
        }
    };
    SandboxReport {
        confined: base.filter(|_| level >= SandboxLevel::Confined),
        limits_ports: kernel.abi.is_some_and(|abi| abi >= NETWORK_ABI),
        level,
        detail,
    }
}

fn contained(missing: &str) -> (SandboxLevel, String) {
    let detail = format!("limits, process group, clean environment; {missing}");
    (SandboxLevel::Contained, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_what_the_kernel_offers() {
        type Tried = Result<(), &'static str>;
        let check = |abi, error: Option<&str>, tried: (Tried, Tried)| {
            let kernel = Kernel {
                abi,
                filter_error: error.map(str::to_owned),
            };
            let (confined, isolated) = tried;
            let found = report(
                &kernel,
                || confined.map_err(io::Error::other),
                || isolated.map_err(io::Error::other),
            );
            (found.level.number(), found.detail)
        };
        let works = (Ok(()), Ok(()));
        let prefix = "limits, process group, clean environment; ";
        let base = "Landlock ABI 7, no new privileges, system-call filter; ";
        let table = [
            (
                check(None, None, works),
                1,
                format!("{prefix}the kernel offers no Landlock"),
            ),
            (
                check(Some(1), None, works),
                1,
                format!(
                    "{prefix}Landlock has ABI 1, and below 3 it cannot keep a file from being truncated"
                ),
            ),
            (
                check(Some(3), Some("invalid"), works),
                1,
                format!("{prefix}no system-call filter: invalid"),
            ),
            (
                check(Some(7), None, (Err("refused"), Ok(()))),
                1,
                format!("{prefix}a child could not be confined: refused"),
            ),
            (
                check(Some(7), None, (Ok(()), Err("refused"))),
                2,
                format!("{base}no namespaces: refused"),
            ),
            (
                check(Some(7), None, works),
                3,
                format!("{base}user, mount and process namespaces"),
            ),
        ];
        for (found, level, detail) in table {
            assert_eq!(found, (level, detail));
        }
    }

    #[test]
    fn the_level_found_here_is_offered() {
        let report = probe();
        let (readable, writable) = (Vec::new(), Vec::new());
        let sandbox = match report.level {
            SandboxLevel::Isolated => Sandbox::Isolated {
                readable,
                writable,
                overlays: Vec::new(),
                network: Network::Shared,
                identity: VisibleUser::Same,
            },
            SandboxLevel::Confined => Sandbox::Confined {
                readable,
                writable,
                ports: None,
            },
            _ => Sandbox::Contained,
        };
        assert_eq!(sandbox.level(), report.level);
        works(&sandbox).unwrap();
    }
}
