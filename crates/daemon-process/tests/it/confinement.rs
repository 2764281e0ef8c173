//! Level 2, where the kernel offers it.

use std::fs;
use std::os::unix::net::UnixListener;

use daemon_process::{ExitStatus, Sandbox, SandboxLevel, Supervisor, probe};

use crate::support::{exited, shell, story};

#[test]
fn a_confined_child_works_in_its_own_directories_only() {
    if probe().level < SandboxLevel::Confined {
        eprintln!("skipped: the kernel offers no confinement");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    for name in ["own", "context", "neighbour"] {
        fs::create_dir(home.join(name)).unwrap();
        fs::write(home.join(name).join("file"), name).unwrap();
    }
    let _listener = UnixListener::bind(home.join("own/socket")).unwrap();
    let supervisor = Supervisor::start().unwrap();
    let mut neighbour = supervisor.spawn(shell("echo $$; exec sleep 1000")).unwrap();
    let pid = crate::support::first_line(&mut neighbour);

    let probes = [
        (
            "cat file ../context/file; echo; echo changed > file; cat file; rm file; ls | wc -l",
            true,
        ),
        ("echo x > ../context/file", false),
        ("cat ../neighbour/file", false),
        ("ls ../neighbour", false),
        ("echo x > ../neighbour/file", false),
        ("truncate -s 0 ../neighbour/file", false),
        ("rm ../neighbour/file", false),
        ("mv ../neighbour/file taken", false),
        ("ln ../neighbour/file taken", false),
        ("ln -s ../neighbour/file link; cat link", false),
        ("touch ../new", false),
        ("cat /root/.bashrc /home/*/.bashrc", false),
        (&*format!("cat /proc/{pid}/environ"), false),
        (&*format!("ls /proc/{pid}/cwd/"), false),
        (&*format!("ls /proc/{pid}/root/"), false),
        (&*format!("head -c 1 /proc/{pid}/mem"), false),
        (&*format!("kill -9 {pid}"), false),
        (
            "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(\"socket\") or exit 1'",
            false,
        ),
        ("mount -t tmpfs none .", false),
    ];
    for (script, works) in probes {
        let mut launch = shell(script);
        launch.cwd = home.join("own");
        launch.sandbox = Sandbox::Confined {
            readable: vec![home.join("context")],
            writable: vec![home.join("own"), home.join("absent")],
        };
        let told = story(&mut supervisor.spawn(launch).unwrap());
        let succeeded = told.other == [exited(ExitStatus::Code(0))];
        assert_eq!(succeeded, works, "{script}: {told:?}");
    }
    assert_eq!(
        fs::read_to_string(home.join("neighbour/file")).unwrap(),
        "neighbour"
    );
    assert_eq!(
        fs::read_to_string(home.join("context/file")).unwrap(),
        "context"
    );
    assert!(neighbour.id().is_alive());
}
