//! Access of one run to another, at each level.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use daemon_process::{
    ByteCount, ExitStatus, Network, Sandbox, SandboxLevel, SupervisedChild, Supervisor, Tool,
    VisibleUser, probe,
};

use crate::support::{exited, first_line, shell, story, unique};

/// Whether this machine supports a level; prints a message if not.
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
    }
}

/// Two runs of one user, and the files of a host.
struct Street {
    _scratch: tempfile::TempDir,
    root: PathBuf,
    supervisor: Supervisor,
    neighbour: SupervisedChild,
    _listener: UnixListener,
    _datagrams: UnixDatagram,
    memory: Shared,
    queue: Shared,
    named: NamedQueue,
    level: SandboxLevel,
}

/// Shared memory or a queue that every process of the user can find by its number.
struct Shared {
    kind: &'static str,
    id: String,
}

impl Shared {
    #[expect(
        clippy::disallowed_methods,
        reason = "what the machine's own tools make belongs to no run"
    )]
    fn new(kind: &'static str, size: &[&str]) -> Self {
        let made = Command::new("ipcmk")
            .args(["--mode", "0600", kind])
            .args(size)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let printed = String::from_utf8(made.stdout).unwrap();
        let id = printed
            .split_ascii_whitespace()
            .next_back()
            .unwrap()
            .to_owned();
        Self { kind, id }
    }
}

impl Drop for Shared {
    #[expect(
        clippy::disallowed_methods,
        reason = "what the machine's own tools make belongs to no run"
    )]
    fn drop(&mut self) {
        // The option in upper case takes a key instead of an id.
        let option = self.kind.to_ascii_lowercase();
        let removed = Command::new("ipcrm").args([&option, &self.id]).status();
        assert!(removed.is_ok_and(|status| status.success()));
    }
}

/// The numbers of the system calls on POSIX queues, for which no tool is installed everywhere.
const MQ_OPEN: &str = "$([ $(uname -m) = x86_64 ] && echo 240 || echo 180)";
const MQ_UNLINK: &str = "$([ $(uname -m) = x86_64 ] && echo 241 || echo 181)";

/// A POSIX message queue of the user, which every process of that user can find by its name.
struct NamedQueue {
    name: String,
}

impl NamedQueue {
    fn new() -> Self {
        let made = Self {
            name: format!("test-{}", unique()),
        };
        assert!(made.call(MQ_OPEN, "0102, 0600, 0"));
        made
    }

    /// Makes a system call on the queue and returns whether it succeeded.
    fn call(&self, number: &str, arguments: &str) -> bool {
        let script = format!(
            "perl -e '$n=\"{}\"; exit(syscall($ARGV[0], $n, {arguments}) < 0)' {number}",
            self.name
        );
        let tool = Tool::new("/bin/sh")
            .env("PATH", "/usr/bin:/bin")
            .args(["-c", &script]);
        let output = tool.run(Duration::from_secs(20), ByteCount(10_000));
        output.unwrap().status.is_success()
    }
}

impl Drop for NamedQueue {
    fn drop(&mut self) {
        // A probe may have removed it.
        self.call(MQ_UNLINK, "0");
    }
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
        let datagrams = UnixDatagram::bind(root.join("datagrams")).unwrap();
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
            _datagrams: datagrams,
            memory: Shared::new("-M", &["16"]),
            queue: Shared::new("-Q", &[]),
            named: NamedQueue::new(),
            level,
        }
    }

    /// Whether a script of the other run succeeds.
    fn works(&self, script: &str) -> bool {
        let pid = self.neighbour.id().pid.to_string();
        let script = script
            .replace("PID", &pid)
            .replace("MEMORY", &self.memory.id)
            .replace("QUEUE", &self.queue.id)
            .replace("NAMED", &self.named.name)
            .replace("MQ_OPEN", MQ_OPEN)
            .replace("MQ_UNLINK", MQ_UNLINK);
        let mut launch = shell(&script);
        launch.cwd = self.root.join("own/session");
        launch.sandbox = sandbox(
            self.level,
            vec![self.root.join("own/context")],
            vec![self.root.join("own/session"), self.root.join("absent")],
        );
        let story = story(&mut self.supervisor.spawn(launch).unwrap());
        let worked = story.other == [exited(ExitStatus::Code(0))];
        println!("level {} {worked}: {script} {:?}", self.level, story.stderr);
        worked
    }
}

/// Attempts of one run to access another and the host. Each succeeds where only the user id separates the two, so a failure at a
/// higher level is due to that level.
const PROBES: [&str; 39] = [
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
    "taskset -p 1 PID",
    "chrt --idle -p 0 PID",
    "ionice -c 3 -p PID",
    "perl -MSocket -e 'socketpair(A,B,AF_UNIX,SOCK_DGRAM,0) or die $!; send(A,1,0,pack_sockaddr_un(\"../../datagrams\")) or die $!'",
    "perl -MSocket -e 'socketpair(A,B,AF_UNIX,SOCK_RAW,0) or die $!; send(A,1,0,pack_sockaddr_un(\"../../datagrams\")) or die $!'",
    "perl -e 'shmread(MEMORY,$b,0,1) or die $!'",
    "perl -e 'msgsnd(QUEUE,pack(\"l! a*\",1,\"text\"),0) or die $!'",
    "perl -e '$n=\"NAMED\"; syscall($ARGV[0], $n, 2, 0, 0) >= 0 or die $!' MQ_OPEN",
    "perl -e '$n=\"NAMED\"; syscall($ARGV[0], $n) == 0 or die $!' MQ_UNLINK",
];

fn failed_at(level: SandboxLevel) -> Option<Vec<&'static str>> {
    if !is_offered(level) {
        return None;
    }
    let street = Street::new(level);
    let own = "cat file ../context/file; echo changed > file; rm file; ls | wc -l; kill -CONT $$; \
               cat /proc/self/environ > /dev/null; \
               perl -MSocket -e 'socketpair(A,B,AF_UNIX,SOCK_STREAM,0) or die $!' && nice true && ionice -c 2 -n 5 true";
    assert!(street.works(own), "a run can use what is its own");
    let failed = PROBES.into_iter().filter(|probe| !street.works(probe));
    let failed = failed.collect();
    assert!(street.neighbour.id().is_alive());
    Some(failed)
}

#[test]
fn at_level_1_only_the_user_id_separates_two_runs() {
    // A kernel may deny processes of one user access to each other's memory by itself.
    let kept = |probe: &&str| !probe.contains("/mem");
    let failed = failed_at(SandboxLevel::Contained).unwrap_or_default();
    let failed: Vec<&str> = failed.into_iter().filter(kept).collect();
    assert_eq!(failed, Vec::<&str>::new());
}

#[test]
fn at_level_2_every_access_to_another_run_fails() {
    if let Some(failed) = failed_at(SandboxLevel::Confined) {
        assert_eq!(failed, PROBES);
    }
}

#[test]
fn at_level_3_every_access_to_another_run_fails() {
    if let Some(failed) = failed_at(SandboxLevel::Isolated) {
        assert_eq!(failed, PROBES);
    }
}

/// Operations of a run on its own processes and threads by number, as programs with threads use them.
const OWN_NUMBER: [&str; 6] = [
    "taskset -p 1 $$",
    "renice -n 15 -p $$",
    "chrt --idle -p 0 $$",
    "ionice -c 3 -p $$",
    "prlimit --pid $$ --nofile=512:512",
    "sleep 1000 & renice -n 15 -p $!; worked=$?; kill $!; exit $worked",
];

/// A system-call filter cannot recognise the caller's own number; in a process namespace all numbers belong to the run.
#[test]
fn at_level_3_a_run_schedules_its_own_processes_by_their_numbers() {
    for level in [SandboxLevel::Contained, SandboxLevel::Isolated] {
        if is_offered(level) {
            let street = Street::new(level);
            let failed = OWN_NUMBER
                .into_iter()
                .filter(|script| !street.works(script));
            assert_eq!(
                failed.collect::<Vec<_>>(),
                Vec::<&str>::new(),
                "level {level}"
            );
        }
    }
}

/// Attempts to leave the sandbox or gain privileges.
const ESCAPES: [&str; 21] = [
    "cat /root/.profile /home/*/.profile",
    "echo x > ../context/file",
    "mount -t tmpfs none .",
    "perl -e 'syscall($ARGV[0], 0x4206, PID, 0, 0) == 0 or die $!' $([ $(uname -m) = x86_64 ] && echo 101 || echo 117)",
    "unshare --user --map-root-user --mount true",
    "chroot . /bin/true",
    "su root -s /bin/true",
    // Both address every process of the user, and change nothing for most.
    "perl -e 'setpriority(2, 0, 0) or die $!'",
    "ionice -c 2 -n 4 -u $(id -u)",
    // The x32 twin of a harmless call: denied, even if this kernel does not have it.
    "perl -e 'syscall($ARGV[0]); exit($! == 1)' $([ $(uname -m) = x86_64 ] && echo 1073741863 || echo 117)",
    // Sockets to the host of a virtual machine, of packets and of the kernel's cryptography: denied, also on a machine without them.
    "perl -e 'socket(S, 40, 1, 0); exit($! == 1)'",
    "perl -e 'socket(S, 17, 3, 0); exit($! == 1)'",
    "perl -e 'socket(S, 38, 5, 0); exit($! == 1)'",
    // Programs that give the user of the host to every user of the machine who starts them.
    "cp /bin/true setuid && chmod u+s setuid",
    "perl -e 'open(F, \">\", \"setuid\"); chmod(04755, *F) or die $!'",
    "perl -MFcntl -e 'sysopen(F, \"setuid-new\", O_WRONLY|O_CREAT, 04755) or die $!'",
    "perl -MFcntl -e 'sysopen(F, \".\", O_WRONLY|020200000, 04755) or die $!'",
    "perl -e '$a = pack(\"Q3\", 0101, 04755, 0); $n = \"setuid-2\"; syscall(437, -100, $n, $a, 24); exit($! == 38)'",
    // A user namespace has all privileges over others that it makes, and so opens more of the kernel to a run.
    "unshare --user true",
    "perl -e '$pid = syscall($ARGV[0], 0x10000011, 0, 0, 0, 0); exit($! == 1 || !$pid)' $([ $(uname -m) = x86_64 ] && echo 56 || echo 220)",
    // The arguments of this call are in memory, which a filter cannot read: programs find it missing, and use the other one.
    "perl -e '$a = pack(\"Q11\", 0x10000000, 0, 0, 0, 17); $pid = syscall(435, $a, 88); exit($! == 38 || !$pid)'",
];

#[test]
fn a_confined_child_cannot_leave_its_sandbox_or_gain_privileges() {
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
fn no_name_of_a_path_in_another_run_can_be_opened() {
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
fn a_confined_child_reads_only_public_files_of_the_machine() {
    let script = "for file in $(find /etc -xdev -type f ! -perm -o+r 2>/dev/null); do cat $file > /dev/null 2>&1 && echo $file; done; \
                  cat /etc/passwd > /dev/null && ls /etc > /dev/null && ls /etc/ssl/certs > /dev/null && echo usual";
    for level in [SandboxLevel::Confined, SandboxLevel::Isolated] {
        if !is_offered(level) {
            continue;
        }
        let mut launch = shell(script);
        launch.sandbox = sandbox(level, Vec::new(), Vec::new());
        let story = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
        assert_eq!(story.stdout, ["usual"], "level {level}");
    }
}

/// Ways to connect: usually, with data instead of `connect`, and by a protocol that falls back to TCP.
const DIALS: [&str; 3] = [
    "connect(S, $a)",
    "send(S, 1, 0x20000000, $a)",
    "socket(S, AF_INET, SOCK_STREAM, 262) && connect(S, $a)",
];

#[test]
fn a_confined_child_connects_only_to_permitted_ports() {
    if !is_offered(SandboxLevel::Confined) || !probe().limits_ports {
        return;
    }
    let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let [permitted, other] = listeners
        .each_ref()
        .map(|listener| listener.local_addr().unwrap().port());
    let connects = |dial: &str, port: u16, ports: Option<Vec<u16>>| {
        let mut launch = shell(&format!(
            "perl -MSocket -e '$a = pack_sockaddr_in({port}, INADDR_LOOPBACK); \
             socket(S, AF_INET, SOCK_STREAM, 0); {dial} or exit 9'"
        ));
        launch.cwd = PathBuf::from("/");
        launch.sandbox = Sandbox::Confined {
            readable: Vec::new(),
            writable: Vec::new(),
            ports,
        };
        let found = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
        found.other == [exited(ExitStatus::Code(0))]
    };
    let usual = DIALS[0];
    assert!(connects(usual, other, None));
    assert!(connects(usual, permitted, Some(vec![permitted])));
    let connected = DIALS.into_iter().filter(|dial| {
        connects(dial, other, Some(vec![permitted])) || connects(dial, permitted, Some(Vec::new()))
    });
    assert_eq!(connected.collect::<Vec<_>>(), Vec::<&str>::new());
    let listens = "socket(S, AF_INET, SOCK_STREAM, 0) && bind(S, pack_sockaddr_in(0, INADDR_ANY)) && listen(S, 1)";
    let sends = "socket(S, AF_INET, SOCK_DGRAM, 0) && send(S, 1, 0, $a)";
    for dial in [listens, sends] {
        assert!(connects(dial, other, Some(vec![permitted])), "{dial}");
        assert!(!connects(dial, other, Some(Vec::new())), "{dial}");
    }
}
