//! A host that is killed while it takes in webhooks: what it acknowledged is stored, and everything wakes once. A few kills
//! here, hundreds with `cargo xtask kills`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use crate::http::{pull_request_opened, push, try_raw, webhook};
use crate::serve_crash::setting;
use crate::world::{Host, SECRET, World, cleared, eventually, watch};

/// How many senders there are.
const SENDERS: usize = 8;
/// How many pull requests the webhooks are about; a daemon may have at most 1,000 pending activations.
const SUBJECTS: usize = 500;

/// What is sent, and how often the host is killed meanwhile.
struct Storm {
    name: &'static str,
    /// Webhooks of pull requests, each of its own.
    n_opened: usize,
    /// Webhooks of pushes, which local git reports too.
    n_pushed: usize,
    n_kills: usize,
    /// The maximum number of times that each is sent.
    copies: usize,
}

/// One webhook; it has the same bytes each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hook {
    Opened(usize),
    Pushed(usize),
}

/// The commits that every push moves its branch from and to.
struct Moves {
    before: String,
    after: String,
}

impl Hook {
    /// Sends it, and returns the id of the event if the host acknowledges it.
    fn send(self, address: &str, moves: &Moves) -> Option<String> {
        let (kind, delivery, body) = match self {
            Self::Opened(n) => {
                let number = u32::try_from(n % SUBJECTS).expect("few");
                let mut body = pull_request_opened(number + 1);
                body["pull_request"]["title"] = json!(format!("title {n}"));
                ("pull_request", format!("p-{n}"), body)
            }
            Self::Pushed(n) => {
                let mut body = push("o/r", &moves.before, &moves.after);
                body["ref"] = json!(branch(n));
                ("push", format!("m-{n}"), body)
            }
        };
        let body = body.to_string();
        let request = webhook(address, (kind, &delivery), SECRET, body.as_bytes());
        let answer = try_raw(address, &request).filter(|answer| answer.status == 200)?;
        answer.json()["event_ids"][0].as_str().map(str::to_owned)
    }
}

fn branch(n: usize) -> String {
    format!("refs/heads/b-{n}")
}

/// Moves branches all at once.
fn update(world: &World, branches: std::ops::Range<usize>, commit: &str) {
    let mut lines = String::new();
    for n in branches {
        writeln!(lines, "update {} {commit}", branch(n)).expect("a string takes it");
    }
    let mut git = cleared("git")
        .current_dir(&world.repo)
        .args(["update-ref", "--stdin"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git runs");
    let mut stdin = git.stdin.take().expect("it is piped");
    stdin.write_all(lines.as_bytes()).expect("git reads");
    drop(stdin);
    assert!(git.wait().expect("it ends").success());
}

/// What the senders know.
struct Senders<'a> {
    /// What is still to be sent, the next one last.
    waiting: Mutex<Vec<Hook>>,
    /// The event of each acknowledged webhook.
    acknowledged: Mutex<BTreeMap<Hook, String>>,
    /// Webhooks that were acknowledged with two events.
    double: Mutex<Vec<Hook>>,
    n_sent: Mutex<usize>,
    moves: &'a Moves,
}

impl Senders<'_> {
    /// Sends from all senders at once until nothing waits, or until `fatal` acknowledgements, which kill the host.
    fn storm(&self, host: Host, fatal: usize) -> Option<Host> {
        let address = host.address().to_owned();
        let victim = Mutex::new(Some(host));
        let is_dead = AtomicBool::new(false);
        let n_acknowledged = Mutex::new(0);
        std::thread::scope(|scope| {
            for _ in 0..SENDERS {
                scope.spawn(|| {
                    while !is_dead.load(Ordering::Relaxed) {
                        let Some(hook) = self.waiting.lock().expect("no holder panics").pop()
                        else {
                            return;
                        };
                        if !self.one(hook, &address) {
                            continue;
                        }
                        let mut n = n_acknowledged.lock().expect("no holder panics");
                        *n += 1;
                        if *n == fatal {
                            is_dead.store(true, Ordering::Relaxed);
                            let host = victim.lock().expect("no holder panics").take();
                            host.expect("it is killed once").kill();
                        }
                    }
                });
            }
        });
        victim.into_inner().expect("no holder panics")
    }

    /// Sends one webhook, and reports whether it was acknowledged; it is sent again otherwise.
    fn one(&self, hook: Hook, address: &str) -> bool {
        *self.n_sent.lock().expect("no holder panics") += 1;
        let Some(id) = hook.send(address, self.moves) else {
            self.waiting.lock().expect("no holder panics").push(hook);
            return false;
        };
        let mut acknowledged = self.acknowledged.lock().expect("no holder panics");
        if let Some(first) = acknowledged.insert(hook, id.clone())
            && first != id
        {
            self.double.lock().expect("no holder panics").push(hook);
        }
        true
    }
}

/// What a storm leaves.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    /// Stored events.
    events: usize,
    /// Events that were acknowledged and are not stored.
    lost: usize,
    /// Webhooks that were acknowledged as two events.
    double: usize,
    /// Stored events that woke no activation, or several.
    astray: usize,
    /// Pairs of an event and an activation.
    wakes: usize,
}

fn settle(host: &Host, senders: &Senders<'_>) -> Left {
    eventually("all is matched", || {
        (host.get("stats")["unmatched"] == 0).then_some(())
    });
    let text = |value: &Value| value.as_str().expect("an id").to_owned();
    let events = host.list("events");
    let stored: BTreeSet<String> = events.iter().map(|event| text(&event["id"])).collect();
    let mut wakes: BTreeMap<String, usize> = BTreeMap::new();
    for activation in host.list("activations") {
        let woken = activation["trigger"]["event_ids"].as_array();
        for id in woken.into_iter().flatten() {
            *wakes.entry(text(id)).or_default() += 1;
        }
    }
    let acknowledged = senders.acknowledged.lock().expect("no holder panics");
    let lost = acknowledged.values().filter(|id| !stored.contains(*id));
    Left {
        events: stored.len(),
        lost: lost.count(),
        double: senders.double.lock().expect("no holder panics").len(),
        astray: stored
            .iter()
            .filter(|id| wakes.get(*id) != Some(&1))
            .count(),
        wakes: wakes.values().sum(),
    }
}

/// Returns the webhooks in the order of sending: each several times, shuffled.
fn shuffled(storm: &Storm) -> Vec<Hook> {
    let opened = (0..storm.n_opened).map(Hook::Opened);
    let all = opened.chain((0..storm.n_pushed).map(Hook::Pushed));
    // A fixed order that looks random: multiplication by a large odd number scatters the places.
    let scattered = |place: usize| (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut hooks: Vec<(u64, Hook)> = Vec::new();
    for (number, hook) in all.enumerate() {
        let n_copies = 1 + number * 7_919 % storm.copies;
        let places = (0..n_copies).map(|copy| scattered(number * storm.copies + copy + 1));
        hooks.extend(places.map(|place| (place, hook)));
    }
    hooks.sort_unstable();
    hooks.into_iter().map(|(_, hook)| hook).collect()
}

/// Runs a storm, prints what it leaves, and checks that nothing is lost or doubled.
#[expect(clippy::print_stdout, reason = "the report of `cargo xtask kills`")]
fn check(storm: &Storm) {
    let world = World::new(&[
        ("pr-helper", &watch(&["when a pull request is opened"])),
        ("pusher", &watch(&["when a commit is pushed"])),
    ]);
    let before = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let tree = format!("{before}^{{tree}}");
    let after = world.git(&["commit-tree", &tree, "-p", &before, "-m", "more"]);
    let moves = Moves {
        after: after.trim().to_owned(),
        before,
    };
    update(&world, 0..storm.n_pushed, &moves.before);
    // Nothing runs, so that all time is the intake's; every wake is recorded.
    let mut host = world.serve_with(&["--hold"], &[]);
    let hooks = shuffled(storm);
    let n_hooks = hooks.len();
    let senders = Senders {
        waiting: Mutex::new(hooks),
        acknowledged: Mutex::default(),
        double: Mutex::default(),
        n_sent: Mutex::default(),
        moves: &moves,
    };
    let began = Instant::now();
    let mean = n_hooks / (storm.n_kills + 1);
    let mut n_told = 0;
    for kill in 0..storm.n_kills {
        // Git reports the same pushes, a part of them during each life of the host.
        let n_more = storm.n_pushed * (kill + 1) / storm.n_kills;
        update(&world, n_told..n_more, &moves.after);
        n_told = n_more;
        // Every kill comes at another moment.
        let fatal = 1 + mean / 4 + kill * 7_919 % mean.max(1);
        match senders.storm(host, fatal) {
            Some(_) => panic!("everything was sent before kill {kill}"),
            None => host = world.serve_with(&["--hold"], &[]),
        }
    }
    let host = senders.storm(host, usize::MAX).expect("nothing kills it");
    let left = settle(&host, &senders);
    let (name, seconds) = (storm.name, began.elapsed().as_secs_f64());
    let n_sent = *senders.n_sent.lock().expect("no holder panics");
    println!(
        "{name}: {} webhooks, sent {n_sent} times by {SENDERS} senders, {} of them pushes that git reports too, {} kills, {seconds:.0} s\n{name}: {left:?}",
        storm.n_opened + storm.n_pushed,
        storm.n_pushed,
        storm.n_kills,
    );
    let n = storm.n_opened + storm.n_pushed;
    let whole = Left {
        events: n,
        lost: 0,
        double: 0,
        astray: 0,
        wakes: n,
    };
    assert_eq!(left, whole);
}

fn count(name: &str, otherwise: u32) -> usize {
    usize::try_from(setting(name, otherwise)).expect("it fits")
}

#[test]
fn no_acknowledged_webhook_is_lost_and_none_wakes_twice() {
    check(&Storm {
        name: "intake",
        n_opened: count("DAEMON_TEST_INTAKE_HOOKS", 2_000),
        n_pushed: 0,
        n_kills: count("DAEMON_TEST_INTAKE_KILLS", 8),
        copies: 1,
    });
}

#[test]
fn webhooks_that_come_up_to_five_times_and_from_git_too_wake_once() {
    check(&Storm {
        name: "repeated",
        n_opened: count("DAEMON_TEST_REPEATED_HOOKS", 600),
        n_pushed: count("DAEMON_TEST_REPEATED_PUSHES", 40),
        n_kills: count("DAEMON_TEST_REPEATED_KILLS", 3),
        copies: 5,
    });
}
