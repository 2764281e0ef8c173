//! `demo --serve`: from a signed webhook to a pull request and a comment that a person sees, until Ctrl-C.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::http::{Answer, ask};
use crate::world::{cleared, end, eventually, send};

/// A demonstration that serves, killed where a test leaves it.
struct Demo {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    scratch: tempfile::TempDir,
}

impl Demo {
    fn start() -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let mut child = cleared(env!("CARGO_BIN_EXE_daemon-run"))
            .args(["demo", "--serve", "--json"])
            .current_dir(&scratch)
            .env("TMPDIR", scratch.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        Self {
            child,
            stdout,
            scratch,
        }
    }

    /// Reads the next object.
    fn object(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it is text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Reads until the object with a name, and returns its detail and URL.
    fn told(&mut self, name: &str) -> (String, String) {
        loop {
            let object = self.object();
            if object["name"] == name {
                let text = |member: &str| object[member].as_str().expect("text").to_owned();
                return (text("detail"), text("url"));
            }
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Returns the address and the path of a URL.
fn parts(url: &str) -> (&str, String) {
    let rest = url.strip_prefix("http://").expect("it is HTTP");
    let (address, path) = rest.split_once('/').expect("it has a path");
    let path = path.split('#').next().unwrap_or_default();
    (address, format!("/{path}"))
}

fn get(url: &str) -> Answer {
    let (address, path) = parts(url);
    ask(address, "GET", &path, &[], b"")
}

#[test]
fn a_signed_webhook_becomes_a_pull_request_and_a_comment_and_ctrl_c_ends_all() {
    let mut demo = Demo::start();
    let tour = demo.object();
    assert_eq!(tour["ok"], true, "{tour}");
    let (_, github) = demo.told("github");
    let (_, login) = demo.told("host");
    let (detail, _) = demo.told("pull request");
    assert_eq!(detail, "alice opened #1");
    let (detail, pull) = demo.told("pull request");
    assert_eq!(detail, "lantern-bot opened #2");
    let (detail, comment) = demo.told("comment");
    assert_eq!(detail, "lantern-bot commented on #1");

    let page = get(&pull);
    assert_eq!(page.status, 200);
    for text in [
        "Spell Lantern correctly",
        "wants to merge <code>daemon/spelling/",
        "into <code>wick-care</code>",
        "Written by the daemon",
        "<ins>+The Lantern burns",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    let page = get(&comment).body;
    assert_eq!(
        page.matches("Found 2 misspelled words").count(),
        1,
        "{page}"
    );
    assert!(get(&github).body.contains("Spell Lantern correctly"));
    assert_eq!(get(&login).status, 303);

    send(&demo.child, rustix::process::Signal::INT);
    let status = eventually("the demonstration has ended", || {
        demo.child.try_wait().expect("it can be waited for")
    });
    assert_eq!(status.code(), Some(0));
    for url in [&github, &login] {
        assert!(TcpStream::connect(parts(url).0).is_err(), "{url} is closed");
    }
    let mut rest = String::new();
    demo.stdout.read_to_string(&mut rest).expect("it is text");
    assert_eq!(rest, "", "nothing happened after the comment");
    assert_eq!(left(demo.scratch.path()), [""; 0]);
}

fn left(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("it exists");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("it is read").file_name();
    entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect()
}
