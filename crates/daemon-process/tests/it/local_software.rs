//! Access of a confined child to directories that an administrator fills.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_process::{ByteCount, SandboxLevel, Supervisor, Tool};
use tempfile::TempDir;

use crate::confinement::{is_offered, sandbox};
use crate::support::{as_ordinary_user_in, run_test_under, shell, story};

/// Software in a directory that is granted as a whole while nothing in it has to be hidden.
struct Software {
    scratch: TempDir,
}

impl Software {
    /// Installs a program in every such directory that this user can write to; most users cannot.
    fn in_every_place() -> Vec<Self> {
        let own = Path::new(".").canonicalize().unwrap();
        let own = own.starts_with("/opt").then_some(own);
        let places = ["/opt".into(), "/usr/local".into()].into_iter().chain(own);
        let install = |place: PathBuf| {
            let Ok(scratch) = tempfile::tempdir_in(&place) else {
                println!("skipped: `{}` cannot be written to", place.display());
                return None;
            };
            let software = Self { scratch };
            software.set_mode("", 0o755);
            software.add("app/program", 0o755);
            Some(software)
        };
        places.filter_map(install).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    fn add(&self, name: &str, mode: u32) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        self.set_mode(name, mode);
    }

    /// Returns the files that a child started now can read.
    fn read_by_a_child(&self, level: SandboxLevel, names: &[&str]) -> Vec<String> {
        let script = format!(
            "cd {} || exit; for file in {}; do cat $file > /dev/null 2>&1 && echo $file; done",
            self.scratch.path().display(),
            names.join(" ")
        );
        let mut launch = shell(&script);
        launch.sandbox = sandbox(level, Vec::new(), Vec::new());
        story(&mut Supervisor::start().unwrap().spawn(launch).unwrap()).stdout
    }
}

/// The levels at which a child cannot read everything that its user can.
fn confined_levels() -> impl Iterator<Item = SandboxLevel> {
    [SandboxLevel::Confined, SandboxLevel::Isolated]
        .into_iter()
        .filter(|level| is_offered(*level))
}

/// Files that a service may keep in a directory of the system, with their modes.
const HIDDEN: [(&str, u32); 3] = [
    ("app/settings", 0o600),
    (".ssh/id", 0o600),
    ("private/note", 0o644),
];

#[test]
fn private_files_are_hidden_from_the_next_child() {
    for level in confined_levels() {
        for software in Software::in_every_place() {
            let names = HIDDEN.map(|(name, _)| name);
            let names = [&["app/program"][..], &names].concat();
            let read = || software.read_by_a_child(level, &names);
            let place = software.scratch.path().display();
            assert_eq!(read(), ["app/program"], "{place}, level {level}");
            fs::create_dir(software.path("private")).unwrap();
            software.set_mode("private", 0o700);
            for (name, mode) in HIDDEN {
                software.add(name, mode);
            }
            assert_eq!(read(), ["app/program"], "{place}, level {level}");
            software.add("app/new", 0o644);
            software.set_mode("app/program", 0o600);
            let names = ["app/program", "app/new"];
            let read = software.read_by_a_child(level, &names);
            assert_eq!(read, ["app/new"], "{place}, level {level}");
        }
    }
}

#[test]
fn a_link_in_place_of_a_directory_does_not_grant_its_target() {
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().canonicalize().unwrap();
    fs::write(elsewhere.join("secret"), "").unwrap();
    let secret = elsewhere.join("secret").display().to_string();
    for level in confined_levels() {
        for software in Software::in_every_place() {
            // Because of the key, the other entries are granted one by one.
            software.add("app/key", 0o600);
            software.add("app/data/secret", 0o644);
            let names = ["app/key", "app/data/secret", &secret];
            let read = software.read_by_a_child(level, &names);
            assert_eq!(read, ["app/data/secret"], "level {level}");
            fs::remove_dir_all(software.path("app/data")).unwrap();
            symlink(&elsewhere, software.path("app/data")).unwrap();
            let read = software.read_by_a_child(level, &names);
            assert_eq!(read, Vec::<String>::new(), "level {level}");
        }
    }
}

#[test]
fn later_mounts_are_scanned() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).unwrap();
    let parent = rustix::process::getppid().unwrap().as_raw_nonzero();
    if namespace("self") == namespace(&parent.to_string()) {
        if !can_unshare() {
            println!("skipped: no mount namespace can be made here");
            return;
        }
        let unshare = Tool::new("/usr/bin/unshare").args(["--mount", "--propagation=private"]);
        let name = "local_software::later_mounts_are_scanned";
        return run_test_under(unshare, name);
    }
    for level in confined_levels() {
        for software in Software::in_every_place() {
            software.add("vault/other", 0o644);
            let names = ["app/program", "vault/key"];
            let read = || software.read_by_a_child(level, &names);
            assert_eq!(read(), ["app/program"], "level {level}");
            let vault = software.path("vault").display().to_string();
            let mounted = Tool::new("/usr/bin/mount")
                .args(["-t", "tmpfs", "-o", "mode=755", "none", &vault])
                .run(Duration::from_secs(20), ByteCount(10_000))
                .unwrap();
            assert!(mounted.status.is_success(), "{mounted:?}");
            software.add("vault/key", 0o600);
            let read = read();
            rustix::mount::unmount(vault, rustix::mount::UnmountFlags::DETACH).unwrap();
            assert_eq!(read, ["app/program"], "level {level}");
        }
    }
}

fn can_unshare() -> bool {
    let tried = Tool::new("/usr/bin/unshare").args(["--mount", "/bin/true"]);
    let tried = tried.run(Duration::from_secs(20), ByteCount(10_000));
    tried.is_ok_and(|output| output.status.is_success())
}

/// The same for a user who owns a directory in `/opt`.
#[test]
fn an_ordinary_users_child_reads_no_more_of_local_software() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let Ok(place) = tempfile::tempdir_in("/opt") else {
        println!("skipped: `/opt` cannot be written to");
        return;
    };
    chown(place.path(), Some(65534), Some(65534)).unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    for test in [
        "private_files_are_hidden_from_the_next_child",
        "a_link_in_place_of_a_directory_does_not_grant_its_target",
    ] {
        as_ordinary_user_in(place.path(), &format!("local_software::{test}"));
    }
}
