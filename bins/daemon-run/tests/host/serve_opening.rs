//! What a start waits for: its store, and a git that does not even open a repository. The listener and a stop do not wait.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::http::{self, pull_request_opened};
use crate::slow_git::{GitEnd, SlowGit};
use crate::world::{Host, World, cleared, daemon_file, eventually, until, watch};

/// How soon a host is ready whose repository cannot be opened: 5 s, and more for a busy machine.
const READY: Duration = Duration::from_secs(20);
/// How soon a host ends that is not ready yet.
const STOPPED: Duration = Duration::from_secs(5);

/// A store that cannot be opened until a test releases it: the mark next to it is a pipe.
struct ShutStore(PathBuf);

impl ShutStore {
    fn new(world: &World) -> Self {
        // A home without a store and with a mark has lost its store, so that a host serves there first.
        assert_eq!(world.serve().stop().0, Some(0), "{}", world.log());
        fs::remove_file(world.beside("serve.log")).expect("its log");
        let mark = world.home.join("state.db-mark");
        assert!(!mark.exists(), "an orderly stop closes the store");
        let made = cleared("mkfifo").arg(&mark).status().expect("mkfifo runs");
        assert!(made.success(), "{made}");
        Self(mark)
    }

    fn release(self) {
        let writer = File::options().write(true).open(&self.0);
        fs::remove_file(&self.0).expect("the pipe");
        drop(writer.expect("the host reads the mark"));
    }
}

#[test]
fn the_listener_answers_while_the_store_is_opened() {
    let world = World::pushed();
    let store = ShutStore::new(&world);
    let starting = world.starting(&[], &[]);
    let address = world.listening();
    assert_eq!(http::ask(&address, "GET", "/healthz", &[], b"").status, 200);
    let ready = eventually("the host says what it waits for", || {
        let ready = http::ask(&address, "GET", "/readyz", &[], b"");
        ready.body.contains("the store").then_some(ready)
    });
    assert_eq!(ready.status, 503, "{ready:?}");
    shows!(ready, {
        "parts.start": "the host is starting: the store is being opened, and converted if an older version wrote it",
    });
    let refused = http::ask(&address, "POST", "/webhooks/github", &[], b"{}");
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    store.release();
    let host = Host::wait_for(&world, starting).unwrap_or_else(|ended| panic!("{ended:?}"));
    assert_eq!(host.open("GET", "/readyz", &[]).status, 200);
}

#[test]
fn a_stop_ends_a_host_whose_store_is_being_opened() {
    let world = World::pushed();
    let _store = ShutStore::new(&world);
    let starting = world.starting(&[], &[]);
    world.listening();
    let (code, took) = starting.stop();
    assert_eq!(code, Some(0), "{}", world.log());
    assert!(took < STOPPED, "the stop took {took:?}");
}

#[test]
fn a_host_owns_its_home_as_long_as_a_stop_ends_its_start() {
    let world = World::pushed();
    let _store = ShutStore::new(&world);
    let starting = world.starting(&[], &[]);
    let address = world.listening();
    // A request that is not whole yet holds the stop.
    let mut client = TcpStream::connect(&address).expect("a connection");
    client
        .write_all(b"GET /healthz HTTP/1.1\r\n")
        .expect("half a request");
    let stopped = std::thread::scope(|scope| {
        let stopping = scope.spawn(|| starting.stop());
        until("the host stops", || {
            let log = world.log();
            log.contains("stopping before the host is ready")
        });
        let lock = File::open(world.home.join("run/host.lock")).expect("the lock");
        let own = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        assert_eq!(own, Err(rustix::io::Errno::WOULDBLOCK));
        drop(client);
        stopping.join().expect("it ends")
    });
    assert_eq!(stopped.0, Some(0), "{}", world.log());
}

fn opened() -> String {
    daemon_file("slow-opened", &watch(&["when a pull request is opened"]))
}

/// Makes a world, and a second repository that git does not open.
fn world() -> (World, SlowGit) {
    let world = World::new(&[("opened", &watch(&["when a pull request is opened"]))]);
    let slow = SlowGit::unopened(&world, "slow-opened", &opened());
    (world, slow)
}

fn watch_slow(world: &World, slow: &SlowGit, name: &str) {
    let path = slow.repo.display().to_string();
    world.configure(&format!("[[repo]]\npath = {path:?}\n{name}\n"));
}

#[test]
fn a_repository_that_git_does_not_open_holds_no_ready_line_and_loses_no_event() {
    let (world, slow) = world();
    slow.git(&["remote", "add", "origin", "https://github.com/o/slow.git"]);
    // Without a configured name it goes by that of its folder until git can be asked.
    for (name, shown) in [("name = \"o/slow\"", "o/slow"), ("", "slow")] {
        slow.shut();
        watch_slow(&world, &slow, name);
        fs::remove_file(world.home.join("state.db")).unwrap_or_default();
        for file in ["state.db-wal", "state.db-mark"] {
            fs::remove_file(world.home.join(file)).unwrap_or_default();
        }
        let begun = Instant::now();
        let host = world.serve_with(&[], &[("PATH", &slow.search_path())]);
        let took = begun.elapsed();
        assert!(took < READY, "the ready line came after {took:?}");
        let ready = host.open("GET", "/readyz", &[]).json();
        let repositories = &ready["parts"]["repositories"];
        assert_eq!(*repositories, format!("not read yet: {shown}"), "{ready}");
        let (_, listed) = world.json(&["list"]);
        assert_eq!(listed["unread"][0]["repo"], shown, "{listed}");
        assert_eq!(listed["daemons"][0]["id"], "opened", "{listed}");

        // Named or not, its events wait for it, and those of the other repository do not.
        let mut of_slow = pull_request_opened(1);
        of_slow["repository"]["full_name"] = json!("o/slow");
        assert_eq!(host.hook("pull_request", "d-1", &of_slow).status, 200);
        let of_other = pull_request_opened(2);
        assert_eq!(host.hook("pull_request", "d-2", &of_other).status, 200);
        host.activation_in("succeeded");
        assert_eq!(host.get("stats")["unmatched"], 1, "{shown}");
        slow.release();
        let ended = host.settled(2);
        let woken = |id: &str| ended.iter().filter(|one| one["daemon_id"] == id).count();
        assert_eq!(
            (woken("opened"), woken("slow-opened")),
            (1, 1),
            "{ended:#?}"
        );
        assert_eq!(world.json(&["list"]).1["unread"], json!([]));
        assert_eq!(host.stop().0, Some(0));
    }
}

#[test]
fn what_is_registered_of_an_unopened_repository_stays_and_waits_for_it() {
    let (world, slow) = world();
    watch_slow(&world, &slow, "");
    slow.open();
    assert_eq!(world.serve().stop().0, Some(0));
    slow.shut();
    let host = world.serve_with(&[], &[("PATH", &slow.search_path())]);
    let (_, fired) = world.json(&["fire", "slow-opened"]);
    let activation = &fired["activation"];
    assert_eq!(activation["state"], "pending", "{fired:#}");
    let reason = activation["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("could not be read yet"), "{fired:#}");
    slow.release();
    let ended = host.settled(1);
    assert_eq!(ended[0]["state"], "succeeded", "{ended:#?}");
}

#[test]
fn a_stop_ends_a_start_and_a_reload_that_wait_for_git() {
    let (world, slow) = world();
    watch_slow(&world, &slow, "name = \"o/slow\"");
    let starting = world.starting(&[], &[("PATH", &slow.search_path())]);
    world.listening();
    let (code, took) = starting.stop();
    assert_eq!(code, Some(0), "{}", world.log());
    assert!(took < STOPPED, "the stop took {took:?}");
    assert!(!world.home.join("run/daemon.sock").exists());

    world.configure("");
    let host = world.serve_with(&[], &[("PATH", &slow.search_path())]);
    watch_slow(&world, &slow, "name = \"o/slow\"");
    host.signal(rustix::process::Signal::HUP);
    until("git is asked", || slow.is_asked());
    let begun = Instant::now();
    assert_eq!(host.stop().0, Some(0));
    let took = begun.elapsed();
    assert!(took < STOPPED, "the stop took {took:?}");
}

#[test]
fn policies_and_readings_wait_for_git_together_no_longer_than_one_of_them() {
    let world = World::new(&[("opened", &watch(&["when a pull request is opened"]))]);
    let slow = SlowGit::new(&world, "slow-opened", &opened());
    watch_slow(
        &world,
        &slow,
        "name = \"o/slow\"\n[policy.daemon.slow-opened]\ncapability = \"read\"",
    );
    let starting = world.starting(&[], &[("PATH", &slow.search_path())]);
    world.listening();
    let begun = Instant::now();
    let host = Host::wait_for(&world, starting).unwrap_or_else(|ended| panic!("{ended:?}"));
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(9),
        "the ready line came after {took:?}"
    );
    drop(host);
    let log = world.log();
    assert!(
        log.contains("a repository that cannot be read may have it"),
        "{log}"
    );
}

/// Serves a world with a second repository, in which each `git` waits until the test lets it open the repository.
fn serve_late() -> (World, SlowGit, Host) {
    let world = World::new(&[("opened", &watch(&["when a pull request is opened"]))]);
    let slow = SlowGit::only_unopened(&world, "slow-opened", &opened());
    watch_slow(&world, &slow, "name = \"o/slow\"");
    let host = world.serve_with(&[], &[("PATH", &slow.search_path())]);
    (world, slow, host)
}

/// Returns the repositories that are not read, each with the reason.
fn unread(world: &World) -> Vec<(String, String)> {
    let (_, listed) = world.json(&["list"]);
    let unread = listed["unread"].as_array().expect("a list").iter();
    let text = |one: &Value, key: &str| one[key].as_str().expect(key).to_owned();
    unread
        .map(|one| (text(one, "repo"), text(one, "problem")))
        .collect()
}

#[test]
fn a_repository_that_git_always_opens_late_is_taken_in_by_one_opening() {
    let (world, slow, _host) = serve_late();
    shows!(world.json(&["reload"]), {"$?": 0, "generation": 2});
    slow.answer(GitEnd::Answers);
    until("the repository is read", || unread(&world).is_empty());
    assert_eq!(
        slow.n_asked(),
        1,
        "the reload and the answer begin no other"
    );
    let (_, reloaded) = world.json(&["reload"]);
    assert_eq!(reloaded["generation"], 4, "the answer makes one generation");
}

#[test]
fn a_repository_that_git_refuses_late_is_named_with_the_reason() {
    let (world, slow, _host) = serve_late();
    slow.answer(GitEnd::Fails);
    let why = eventually("the refusal is named", || {
        let unread = unread(&world);
        let (_, why) = unread.into_iter().find(|(repo, _)| repo == "o/slow")?;
        why.contains("fatal: refused").then_some(why)
    });
    assert!(why.contains("slow`"), "{why}");
}

#[test]
fn a_repository_that_cannot_be_opened_any_more_holds_up_no_late_one() {
    let (world, slow, _host) = serve_late();
    fs::rename(world.repo.join(".git"), world.beside("moved")).expect("it is moved");
    slow.answer(GitEnd::Answers);
    until("the late repository is read", || {
        let unread = unread(&world);
        unread.iter().all(|(repo, _)| repo != "o/slow")
    });
}
