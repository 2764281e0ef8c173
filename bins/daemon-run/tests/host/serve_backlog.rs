//! Events that wait for a repository while it cannot be read: 300 here, nearly as many as a host takes in the night tier. They
//! wake the oldest first, each daemon gets its turn, and the host does not need more memory for more of them.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::serve_crash::setting;
use crate::slow_git::SlowGit;
use crate::world::{Host, World, daemon_file, eventually_within, watch};

const REPO: &str = "o/slow";
/// How many events each of the other daemons has, all of them newer.
const OTHERS: u32 = 3;
/// How many KiB a host may need above what it needs without a backlog.
const MOST_KIB: u64 = 64 * 1024;
/// How long the events of the night tier may take to be matched.
const MATCHED: Duration = Duration::from_secs(3_600);

/// Makes a repository with three daemons that cannot be read at first, and a host that carries out one activation at a time.
fn world() -> (World, SlowGit) {
    let world = World::new(&[]);
    let daemon = |id: &str, condition: &str| daemon_file(id, &watch(&[condition]));
    let slow = SlowGit::new(
        &world,
        "busy",
        &daemon("busy", "when a pull request is opened"),
    );
    for (id, condition) in [
        ("closer", "when a pull request is closed"),
        ("reporter", "when an issue is opened"),
    ] {
        let file = slow.repo.join(format!(".agents/daemons/{id}/DAEMON.md"));
        fs::create_dir_all(file.parent().expect("it has a parent")).expect("a directory");
        fs::write(file, daemon(id, condition)).expect("a file");
    }
    slow.commit("two more");
    world.script("cat > /dev/null\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"seen\"}'\n");
    world.configure(&format!(
        "[[repo]]\npath = {:?}\nname = {REPO:?}\n\n\
         [limits]\nhost = 1\nrate_subject = 100000\nrate_daemon = 100000\nrate_host = 100000\n",
        slow.repo.display().to_string()
    ));
    (world, slow)
}

fn serve(world: &World, slow: &SlowGit) -> Host {
    world.serve_with(&[], &[("PATH", &slow.search_path())])
}

/// Returns kind and body of an event; each has another body.
fn event(action: &str, number: u32, n: u32) -> (&'static str, Value) {
    let ann = json!({"login": "ann", "type": "User"});
    let title = format!("{n} {}", "word ".repeat(100));
    let object =
        json!({"number": number, "title": title, "draft": false, "merged": false, "user": ann});
    let (kind, member, action) = match action {
        "reported" => ("issues", "issue", "opened"),
        action => ("pull_request", "pull_request", action),
    };
    let body = json!({
        "action": action, "number": number, member: object, "repository": {"full_name": REPO}, "sender": ann,
    });
    (kind, body)
}

/// Returns how many pull requests the events of the busy daemon are about; a daemon may have at most 1,000 pending activations.
fn n_subjects(n_events: u32) -> u32 {
    (n_events / 20).min(500)
}

/// Sends events one after the other, those of the busy daemon first, and returns their ids, the oldest first.
fn sent(host: &Host, n_events: u32) -> Vec<String> {
    let n_busy = n_events - 2 * OTHERS;
    let busy = (0..n_busy).map(|n| event("opened", n % n_subjects(n_events), n));
    let others = (0..OTHERS)
        .flat_map(|n| ["closed", "reported"].map(|action| event(action, 1_000 + n, n_busy + n)));
    let ids = busy.chain(others).zip(0..).map(|((kind, body), n)| {
        let answer = host.hook(kind, &format!("d-{n}"), &body);
        assert_eq!(answer.status, 200, "{n}: {answer:?}");
        answer.json()["event_ids"][0]
            .as_str()
            .expect("an id")
            .to_owned()
    });
    ids.collect()
}

/// Returns the peak of the host's memory, in KiB.
fn peak(host: &Host) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", host.pid())).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.expect("a number").parse().expect("a number")
}

/// Returns the daemon of each activation and the places of its events among all, in the order of the starts.
fn started(host: &Host, ids: &[String]) -> Vec<(String, Vec<usize>)> {
    let places: BTreeMap<&str, usize> = ids.iter().map(String::as_str).zip(0..).collect();
    let events: BTreeMap<String, Vec<usize>> = host
        .list("activations")
        .iter()
        .map(|one| {
            assert_eq!(one["state"], "succeeded", "{one:#}");
            let woken = one["trigger"]["event_ids"]
                .as_array()
                .expect("a list")
                .iter();
            let place = |id: &Value| places[id.as_str().expect("an id")];
            (one["id"].to_string(), woken.map(place).collect())
        })
        .collect();
    // They are listed newest first.
    let mut runs = host.list("runs");
    runs.reverse();
    let of_run = |run: &Value| {
        let daemon = run["daemon_id"].as_str().expect("an id").to_owned();
        (daemon, events[&run["activation_id"].to_string()].clone())
    };
    runs.iter().map(of_run).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "the numbers of the rig")]
fn events_of_an_outage_wake_the_oldest_first_in_fair_shares_and_bounded_memory() {
    let (world, slow) = world();
    let host = serve(&world, &slow);
    let n_events = setting("DAEMON_TEST_BACKLOG", 300);
    let ids = sent(&host, n_events);
    host.kill();
    let host = serve(&world, &slow);
    assert_eq!(host.get("stats")["unmatched"], n_events);
    let before = peak(&host);
    assert_eq!(world.json(&["hold"]).0, 0);
    slow.release();
    eventually_within(MATCHED, "all events are matched", || {
        match &host.get("stats")["unmatched"] {
            left if *left == 0 => Ok(()),
            left => Err(format!("{left} are not")),
        }
    });
    let more = peak(&host).saturating_sub(before);
    println!("backlog: {n_events} events, {more} KiB more at the most");
    assert!(more <= MOST_KIB, "{more} KiB for {n_events} events");

    assert_eq!(world.json(&["go"]).0, 0);
    let n_activations = usize::try_from(n_subjects(n_events) + 2 * OTHERS).expect("few");
    assert_eq!(host.settled(n_activations).len(), n_activations);
    let started = started(&host, &ids);
    let mut all: Vec<usize> = started
        .iter()
        .flat_map(|(_, events)| events)
        .copied()
        .collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..ids.len()), "each event wakes once");
    for daemon in ["busy", "closer", "reporter"] {
        let own = started.iter().zip(0..).filter(|((id, _), _)| id == daemon);
        let own: Vec<(usize, usize)> = own.map(|((_, events), turn)| (events[0], turn)).collect();
        assert!(own.is_sorted(), "{daemon} begins with the oldest: {own:?}");
        // Of three daemons, each has every third turn as long as all have something to do.
        let shares = own.iter().zip(0..).take(OTHERS.try_into().expect("few"));
        for ((_, turn), n) in shares {
            assert!((n * 3..n * 3 + 3).contains(turn), "{daemon}: {own:?}");
        }
    }
}
