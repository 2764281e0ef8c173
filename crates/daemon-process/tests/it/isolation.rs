//! Level 3, if the kernel supports it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon_process::{
    ByteCount, ExitStatus, Launch, Network, PortServer, ProcessId, RUN_MARKER, Sandbox,
    SandboxLevel, Supervisor, Tool, VisibleUser, end_orphans,
};

use rustix::process::{Pid, WaitOptions, waitpid};

use crate::confinement::is_offered;
use crate::support::{Story, assert_dies, exited, first_line, is_alive, shell, stopped, story};

fn isolated(script: &str, home: &Path, network: Network) -> Launch {
    let mut launch = shell(script);
    launch.cwd = home.to_owned();
    launch.sandbox = Sandbox::Isolated {
        readable: Vec::new(),
        writable: vec![home.to_owned()],
        overlays: Vec::new(),
        network,
        identity: VisibleUser::Same,
    };
    launch
}

fn home() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().canonicalize().unwrap();
    (scratch, home)
}

fn run(script: &str, network: Network) -> Story {
    let (_scratch, home) = home();
    let launch = isolated(script, &home, network);
    story(&mut Supervisor::start().unwrap().spawn(launch).unwrap())
}

/// Returns the processes with a marker, as seen from outside.
fn marked(marker: &str) -> Vec<i32> {
    let wanted = format!("{RUN_MARKER}={marker}");
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid = entry.unwrap().file_name().to_str()?.parse::<i32>().ok()?;
        let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let is_marked = environ
            .split(|byte| *byte == 0)
            .any(|entry| entry == wanted.as_bytes());
        is_marked.then_some(pid)
    });
    pids.collect()
}

#[test]
fn an_isolated_child_sees_its_own_tree_its_own_paths_and_the_system() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let (_scratch, home) = home();
    let script = "echo $$; ls -d /proc/[0-9]* | sort | head -2 | xargs; stat -c %n /root /var 2>&1; id -u; id -g; \
                  touch made; test -r /etc/passwd && test -c /dev/null && echo system; touch /new 2>&1 || echo sealed; \
                  cat /dev/fd/0; ulimit -n; nice";
    let mut launch = isolated(script, &home, Network::Shared);
    launch.stdin = b"read\n".to_vec();
    let found = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
    let ids = [
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    ];
    let expected = [
        "2",
        "/proc/1 /proc/2",
        "stat: cannot statx '/root': No such file or directory",
        "stat: cannot statx '/var': No such file or directory",
        &ids[0].to_string(),
        &ids[1].to_string(),
        "system",
        "touch: cannot touch '/new': Read-only file system",
        "sealed",
        "read",
        "1024",
        "10",
    ];
    assert_eq!(found.stdout, expected);
    assert!(home.join("made").exists());
}

#[test]
fn an_isolated_child_reports_its_own_exit_code_or_signal() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let ends = |script| run(script, Network::Shared).other;
    assert_eq!(ends("exit 7"), [exited(ExitStatus::Code(7))]);
    assert_eq!(ends("kill -TERM $$"), [exited(ExitStatus::Signal(15))]);
    assert_eq!(ends("kill -KILL $$"), [exited(ExitStatus::Signal(9))]);
    assert_eq!(ends("kill -KILL 1; exit 3"), [exited(ExitStatus::Code(3))]);
}

#[test]
fn an_isolated_child_is_identified_and_stopped_from_outside() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let (_scratch, home) = home();
    let script =
        "exec 2>/dev/null; trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done";
    let launch = isolated(script, &home, Network::Shared);
    let marker = launch.marker.clone();
    let mut child = Supervisor::start().unwrap().spawn(launch).unwrap();
    assert_eq!(first_line(&mut child), "up");
    let ProcessId { pid, .. } = child.id();
    let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(command.contains("echo bye"), "{command}");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    let group = rest.split(' ').nth(2).unwrap();
    assert_eq!(group, pid.to_string(), "it leads its group");
    assert!(marked(&marker).contains(&pid));
    child.stop();
    let found = story(&mut child);
    assert_eq!(found.stdout, ["bye"]);
    assert_eq!(found.other, [stopped(ExitStatus::Code(7))]);
    assert_eq!(marked(&marker), Vec::<i32>::new());
    assert!(
        !fs::exists(format!("/proc/{pid}")).unwrap(),
        "it was reaped"
    );
}

/// Every process starts two more in sessions of their own, ignores SIGTERM, drops its marker, and outlives its parent.
const WILD: &str = "trap '' TERM\n\
    if [ $1 -gt 0 ]; then for i in 1 2; do (env -i setsid sh $0 $(($1 - 1)) &); done; fi\n\
    echo $$\n\
    exec sleep 1000\n";

#[test]
fn an_isolated_tree_ends_completely_within_ten_seconds() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let (_scratch, home) = home();
    fs::write(home.join("wild"), WILD).unwrap();
    let mut launch = isolated("exec sh ./wild 4", &home, Network::Shared);
    let unique = home.file_name().unwrap().to_str().unwrap().to_owned();
    launch.env.push(("HERE".into(), unique.into()));
    let mut child = Supervisor::start().unwrap().spawn(launch).unwrap();
    for _ in 0..31 {
        first_line(&mut child);
    }
    let namespace = fs::read_link(format!("/proc/{}/ns/pid", child.id().pid)).unwrap();
    assert_eq!(
        in_namespace(&namespace).len(),
        32,
        "the tree, and what keeps it"
    );
    #[expect(
        clippy::disallowed_methods,
        reason = "the time a stop takes is what is tested"
    )]
    let begun = Instant::now();
    child.stop();
    assert_eq!(story(&mut child).other, [stopped(ExitStatus::Signal(9))]);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(in_namespace(&namespace), Vec::<i32>::new());
}

/// Returns the living processes of a process namespace.
fn in_namespace(namespace: &Path) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid = entry.unwrap().file_name().to_str()?.parse::<i32>().ok()?;
        let found = fs::read_link(format!("/proc/{pid}/ns/pid")).ok()?;
        (found == namespace && is_alive(&pid.to_string())).then_some(pid)
    });
    pids.collect()
}

#[test]
fn isolated_trees_of_a_dropped_child_and_of_a_dead_host_end_completely() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let (_scratch, home) = home();
    let script = "(env -i setsid sleep 1000 &); echo up; exec sleep 1000";
    let supervisor = Supervisor::start().unwrap();
    let launch = isolated(script, &home, Network::Shared);
    let marker = launch.marker.clone();
    let mut child = supervisor.spawn(launch).unwrap();
    assert_eq!(first_line(&mut child), "up");
    let namespace = fs::read_link(format!("/proc/{}/ns/pid", child.id().pid)).unwrap();
    assert_eq!(end_orphans(None, &marker).unwrap().survivors, []);
    assert_eq!(story(&mut child).other, [exited(ExitStatus::Signal(9))]);
    assert_eq!(in_namespace(&namespace), Vec::<i32>::new());

    let mut child = supervisor
        .spawn(isolated(script, &home, Network::Shared))
        .unwrap();
    assert_eq!(first_line(&mut child), "up");
    let namespace = fs::read_link(format!("/proc/{}/ns/pid", child.id().pid)).unwrap();
    let pids = in_namespace(&namespace);
    drop(child);
    drop(supervisor);
    for pid in pids {
        assert_dies(&pid.to_string());
    }
}

const ROLE: &str = "DAEMON_PROCESS_TEST_ROLE";

/// The host that dies, if the next test starts this program again.
#[test]
fn a_host_of_an_isolated_child_that_kills_itself() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let home = Path::new(".").canonicalize().unwrap();
    // No process in it can be found by marker, group or session.
    let script = "(env -i setsid sleep 1000 &); echo up; exec env -i sleep 1000";
    let supervisor = Supervisor::start().unwrap();
    let mut child = supervisor
        .spawn(isolated(script, &home, Network::Shared))
        .unwrap();
    assert_eq!(first_line(&mut child), "up");
    let namespace = fs::read_link(format!("/proc/{}/ns/pid", child.id().pid)).unwrap();
    fs::write("namespace", namespace.to_str().unwrap()).unwrap();
    fs::write("child", child.id().pid.to_string()).unwrap();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .unwrap();
}

#[test]
fn an_isolated_tree_dies_with_the_process_that_started_it() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let (_scratch, home) = home();
    // The namespace disappears only after its processes are reaped, which the first process of a container may never do.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let output = Tool::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "isolation::a_host_of_an_isolated_child_that_kills_itself",
        ])
        .env(ROLE, "host")
        .cwd(&home)
        .run(Duration::from_secs(60), ByteCount(10_000))
        .unwrap();
    assert_eq!(output.status, ExitStatus::Signal(9), "{output:?}");
    let namespace = PathBuf::from(fs::read_to_string(home.join("namespace")).unwrap());
    let child = fs::read_to_string(home.join("child")).unwrap();
    assert_dies(&child);
    // A supervisor of this process may have reaped it already.
    waitpid(Pid::from_raw(child.parse().unwrap()), WaitOptions::empty()).unwrap_or(None);
    for pid in in_namespace(&namespace) {
        assert_dies(&pid.to_string());
    }
    assert_eq!(in_namespace(&namespace), Vec::<i32>::new());
}

#[test]
fn background_processes_of_an_isolated_program_end_with_it() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let found = run(
        "(setsid sleep 1000 > /dev/null 2>&1 &); (sh -c 'exit 3' &); exit 0",
        Network::Shared,
    );
    assert_eq!(found.other, [exited(ExitStatus::Code(0))]);
}

#[test]
fn the_error_names_an_isolated_program_that_cannot_start() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let (_scratch, home) = home();
    let mut launch = isolated("", &home, Network::Shared);
    launch.program = "/nonexistent/claude".into();
    let marker = launch.marker.clone();
    let error = Supervisor::start().unwrap().spawn(launch).unwrap_err();
    assert_eq!(error.to_string(), "cannot start `/nonexistent/claude`");
    assert_eq!(error.source.kind(), std::io::ErrorKind::NotFound);
    assert_eq!(marked(&marker), Vec::<i32>::new());
}

#[test]
fn without_a_network_a_child_reaches_only_its_own_loopback() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let dial = format!(
        "IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => {port}, Timeout => 5) or die $!"
    );
    let dial = format!("perl -MIO::Socket::INET -e \"{dial}\"");
    let ends = |script: &str, network| run(script, network).other;
    assert_eq!(ends(&dial, Network::Shared), [exited(ExitStatus::Code(0))]);
    assert_ne!(
        ends(&dial, Network::Loopback),
        [exited(ExitStatus::Code(0))]
    );
    let own = "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die $!; \
               IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport) or die $!'; \
               grep -c : /proc/net/dev";
    let found = run(own, Network::Loopback);
    assert_eq!(
        (found.stdout, found.stderr),
        (vec!["1".to_owned()], Vec::new())
    );
}

/// Sends each line back, until it is dropped.
#[derive(Debug)]
struct Echo(&'static [u16]);

impl PortServer for Echo {
    fn ports(&self) -> Vec<u16> {
        self.0.to_vec()
    }

    fn serve(&self, sockets: Vec<TcpListener>) -> Box<dyn Send + Sync> {
        // The ports stay taken after their one connection.
        let kept: Vec<TcpListener> = sockets
            .iter()
            .map(|listener| listener.try_clone().unwrap())
            .collect();
        for listener in sockets {
            listener.set_nonblocking(false).unwrap();
            std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                stream.write_all(line.as_bytes()).unwrap();
            });
        }
        Box::new(kept)
    }
}

#[test]
fn a_port_of_a_childs_network_is_served_from_outside() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let (_scratch, home) = home();
    let dial = "perl -MIO::Socket::INET -e '\
        for $port (3128, 80) { \
          $s = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $port) or die \"$port: $!\"; \
          print $s \"hello $port\\n\"; print scalar <$s>; } \
        IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\", LocalPort => 3128) and die \"taken\"'";
    let mut launch = isolated(dial, &home, Network::Loopback);
    launch.ports = Some(Arc::new(Echo(&[3128, 80])));
    let found = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
    assert_eq!(
        found.stdout,
        ["hello 3128", "hello 80"],
        "{:?}",
        found.stderr
    );
    assert_eq!(found.other, [exited(ExitStatus::Code(0))]);
}

#[test]
fn ports_are_served_only_in_a_network_of_its_own() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let (_scratch, home) = home();
    let shared = isolated("", &home, Network::Shared).sandbox;
    for sandbox in [shared, Sandbox::Contained] {
        let mut launch = shell("");
        launch.sandbox = sandbox;
        launch.ports = Some(Arc::new(Echo(&[3128])));
        let error = Supervisor::start().unwrap().spawn(launch).unwrap_err();
        assert_eq!(
            error.source.to_string(),
            "ports are served only in a network of its own"
        );
    }
}

#[test]
fn an_ordinary_identity_hides_root_and_keeps_its_files() {
    if !is_offered(SandboxLevel::Isolated) {
        return;
    }
    let (_scratch, home) = home();
    let script = "id -un; touch own && stat -c %U own; whoami > own && cat own";
    let mut launch = isolated(script, &home, Network::Shared);
    let Sandbox::Isolated { identity, .. } = &mut launch.sandbox else {
        unreachable!("it is isolated");
    };
    *identity = VisibleUser::Ordinary;
    let found = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
    let user = rustix::process::geteuid();
    let metadata = fs::metadata(home.join("own")).unwrap();
    assert_eq!(metadata.uid(), user.as_raw(), "outside it is its own user");
    if user.is_root() {
        assert_eq!(found.stdout, ["nobody"; 3], "{:?}", found.stderr);
    } else {
        assert_eq!(found.stdout.len(), 3, "{:?}", found.stderr);
    }
}
