//! What a run can reach of its neighbour, level by level.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use daemon_process::{
    ExitStatus, Network, Sandbox, SandboxLevel, SupervisedChild, Supervisor, probe,
};

use crate::support::{exited, first_line, shell, story};

/// Returns whether children can be given a level here, and says loudly if not.
pub(crate) fn is_offered(level: SandboxLevel) -> bool {
    let report = probe();
    if report.level < level {
        println!(
            "skipped: level {level} cannot be reached: {}",
            report.detail
        );
    }
    report.level >= level
}

pub(crate) fn sandbox(
    level: SandboxLevel,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
) -> Sandbox {
    match level {
        SandboxLevel::Isolated => Sandbox::Isolated {
            readable,
            writable,
            network: Network::Shared,
        },
        SandboxLevel::Confined => Sandbox::Confined { readable, writable },
        _ => Sandbox::Contained,
    }
}

/// Two runs beside each other, and a host's own files.
struct Street {
    _scratch: tempfile::TempDir,
    root: PathBuf,
    supervisor: Supervisor,
    neighbour: SupervisedChild,
    _listener: UnixListener,
    level: SandboxLevel,
}

impl Street {
    fn new(level: SandboxLevel) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        for directory in [
            "own/session",
            "own/context",
            "next/worktree",
            "next/session",
        ] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in [
            "own/session/file",
            "own/context/file",
            "next/worktree/file",
            "next/session/secret",
            "state.db",
            "token",
        ] {
            fs::write(root.join(file), file).unwrap();
        }
        let listener = UnixListener::bind(root.join("socket")).unwrap();
        let supervisor = Supervisor::start().unwrap();
        let mut launch = shell("exec 3< session/secret; echo up; exec sleep 1000");
        launch.env.push(("SECRET".into(), "kept".into()));
        launch.cwd = root.join("next");
        launch.sandbox = sandbox(level, Vec::new(), vec![root.join("next")]);
        let mut neighbour = supervisor.spawn(launch).unwrap();
        assert_eq!(first_line(&mut neighbour), "up");
        Self {
            _scratch: scratch,
            root,
            supervisor,
            neighbour,
            _listener: listener,
            level,
        }
    }

    /// Returns whether a script of the other run ends well.
    fn works(&self, script: &str) -> bool {
        let pid = self.neighbour.id().pid.to_string();
        let script = script.replace("PID", &pid);
        let mut launch = shell(&script);
        launch.cwd = self.root.join("own/session");
        launch.sandbox = sandbox(
            self.level,
            vec![self.root.join("own/context")],
            vec![self.root.join("own/session"), self.root.join("absent")],
        );
        let told = story(&mut self.supervisor.spawn(launch).unwrap());
        let worked = told.other == [exited(ExitStatus::Code(0))];
        println!("level {} {worked}: {script} {:?}", self.level, told.stderr);
        worked
    }
}

/// What one run may try at another and at the host. Each works where only the user stands between the two, so that what
/// fails at a higher level fails because of it.
const PROBES: [&str; 30] = [
    "cat ../../next/worktree/file",
    "ls ../../next/worktree",
    "echo more >> ../../next/worktree/file",
    "echo new > ../../next/worktree/file",
    "truncate -s 0 ../../next/worktree/file",
    "touch ../../next/worktree/new",
    "mkdir ../../next/worktree/directory",
    "mkfifo ../../next/worktree/pipe",
    "ln -s /etc/passwd ../../next/worktree/link",
    "ln ../../next/worktree/file taken",
    "ln -s ../../next/worktree/file through && cat through",
    "mv ../../next/worktree/file moved && mv moved ../../next/worktree/file",
    "rm ../../next/worktree/new",
    "cp /bin/true ../../next/worktree/run && ../../next/worktree/run",
    "cat ../../next/session/secret",
    "echo x >> ../../next/session/secret",
    "cat ../../state.db",
    "echo x >> ../../state.db",
    "cat ../../token",
    "ls ../..",
    "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(\"../../socket\") or die $!'",
    "grep -a SECRET=kept /proc/PID/environ",
    "readlink /proc/PID/fd/3",
    "cat /proc/PID/fd/3",
    "cat /proc/PID/cwd/worktree/file",
    "cat /proc/PID/root/etc/passwd",
    "perl -e 'open M,\"</proc/PID/maps\" or die $!; <M> =~ /^([0-9a-f]+)/; open F,\"</proc/PID/mem\" or die $!; \
     sysseek(F,hex($1),0); sysread(F,$b,1)==1 or die $!'",
    "kill -CONT PID",
    "prlimit --pid PID --nofile=512:512",
    "renice -n 15 -p PID",
];

fn failed_at(level: SandboxLevel) -> Option<Vec<&'static str>> {
    if !is_offered(level) {
        return None;
    }
    let street = Street::new(level);
    let own = "cat file ../context/file; echo changed > file; rm file; ls | wc -l; kill -CONT $$; \
               cat /proc/self/environ > /dev/null";
    assert!(street.works(own), "a run can use what is its own");
    let failed = PROBES.into_iter().filter(|probe| !street.works(probe));
    let failed = failed.collect();
    assert!(street.neighbour.id().is_alive());
    Some(failed)
}

#[test]
fn at_level_1_only_the_user_stands_between_two_runs() {
    // A kernel may keep processes of one user from each other's memory by itself.
    let kept = |probe: &&str| !probe.contains("/mem");
    let failed = failed_at(SandboxLevel::Contained).unwrap_or_default();
    let failed: Vec<&str> = failed.into_iter().filter(kept).collect();
    assert_eq!(failed, Vec::<&str>::new());
}

#[test]
fn at_level_2_every_probe_at_another_run_fails() {
    if let Some(failed) = failed_at(SandboxLevel::Confined) {
        assert_eq!(failed, PROBES);
    }
}

#[test]
fn at_level_3_every_probe_at_another_run_fails() {
    if let Some(failed) = failed_at(SandboxLevel::Isolated) {
        assert_eq!(failed, PROBES);
    }
}

/// What needs no neighbour: getting out, and up.
const ESCAPES: [&str; 7] = [
    "cat /root/.profile /home/*/.profile",
    "echo x > ../context/file",
    "mount -t tmpfs none .",
    "perl -e 'syscall($ARGV[0], 0x4206, PID, 0, 0) == 0 or die $!' $([ $(uname -m) = x86_64 ] && echo 101 || echo 117)",
    "unshare --user --map-root-user --mount true",
    "chroot . /bin/true",
    "su root -s /bin/true",
];

#[test]
fn a_confined_child_gains_nothing_it_was_not_given() {
    for level in [SandboxLevel::Confined, SandboxLevel::Isolated] {
        if !is_offered(level) {
            continue;
        }
        let street = Street::new(level);
        let worked: Vec<&str> = ESCAPES
            .into_iter()
            .filter(|escape| street.works(escape))
            .collect();
        assert_eq!(worked, Vec::<&str>::new(), "level {level}");
        let caps = "grep -q '^CapEff:.0000000000000000$' /proc/self/status && \
                    grep -q '^NoNewPrivs:.1$' /proc/self/status && grep -q '^Seccomp:.2$' /proc/self/status";
        assert!(street.works(caps));
    }
}

#[test]
fn a_path_inside_another_run_is_opened_by_no_name_it_has() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let street = Street::new(SandboxLevel::Isolated);
    let target = street.root.join("next/worktree/file");
    for script in ["stat", "chmod 600", "chown $(id -u)", "touch"] {
        let script = format!("{script} {}", target.display());
        assert!(!street.works(&script));
    }
    assert!(Path::new(&target).exists());
}

#[test]
fn a_confined_child_reads_nothing_of_the_machine_that_is_not_for_everybody() {
    let script = "for file in $(find /etc -xdev -type f ! -perm -o+r 2>/dev/null); do cat $file > /dev/null 2>&1 && echo $file; done; \
                  cat /etc/passwd > /dev/null && ls /etc > /dev/null && ls /etc/ssl/certs > /dev/null && echo usual";
    for level in [SandboxLevel::Confined, SandboxLevel::Isolated] {
        if !is_offered(level) {
            continue;
        }
        let mut launch = shell(script);
        launch.sandbox = sandbox(level, Vec::new(), Vec::new());
        let told = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
        assert_eq!(told.stdout, ["usual"], "level {level}");
    }
}
