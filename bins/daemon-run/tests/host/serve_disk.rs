//! A home whose disk fills up: nothing starts, then nothing is taken in, and both come back by themselves.

use std::fs::File;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::http;
use crate::world::{Host, World, cleared, daemon_file, eventually, until, watch};

const MIB: u64 = 1 << 20;

/// A world whose home is a file system of its own, of 600 MiB.
struct Small {
    world: World,
    filler: PathBuf,
}

impl Small {
    /// `None` where this user may not mount.
    #[expect(
        clippy::print_stdout,
        reason = "the runner counts what is skipped from this line"
    )]
    fn new() -> Option<Self> {
        let world = World::pushed();
        let config = std::fs::read(world.home.join("config.toml")).expect("the configuration");
        let mounted = cleared("mount")
            .args(["-t", "tmpfs", "-o", "size=600m,mode=700", "none"])
            .arg(&world.home)
            .output();
        let mounted = mounted.expect("mount can be started");
        if !mounted.status.success() {
            println!("skipped: no file system can be mounted: {mounted:?}");
            return None;
        }
        let filler = world.home.join("filler");
        std::fs::write(world.home.join("config.toml"), config).expect("the configuration");
        std::fs::write(world.home.join("hook-secret"), crate::world::SECRET).expect("the secret");
        Some(Self { world, filler })
    }

    fn free(&self) -> u64 {
        let status = rustix::fs::statvfs(&self.world.home).expect("it is mounted");
        status.f_bavail * status.f_frsize
    }

    /// Fills the disk except for a number of bytes.
    fn leave(&self, bytes: u64) {
        let filler = File::options()
            .create(true)
            .append(true)
            .open(&self.filler)
            .expect("a file");
        let has = filler.metadata().expect("its size").len();
        let wanted = (has + self.free()).saturating_sub(bytes);
        if wanted > has {
            rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, wanted)
                .expect("there is room");
        } else {
            filler.set_len(wanted).expect("it can be cut");
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let unmounted = cleared("umount").arg("-l").arg(&self.world.home).status();
        assert!(unmounted.expect("umount can be started").success());
    }
}

fn readyz(host: &Host) -> (u16, Value) {
    let answer = host.open("GET", "/readyz", &[]);
    (answer.status, answer.json()["parts"]["disk"].clone())
}

/// Writes the body of a push of what the repository has.
fn push(world: &World, number: u32) -> Value {
    let before = number.to_string().repeat(40);
    http::push("o/r", &before, world.git(&["rev-parse", "HEAD"]).trim())
}

/// Fires with an `Idempotency-Key`, and returns the status and the object.
fn fired_as(host: &Host, key: &str) -> (u16, Value) {
    let bearer = format!("Bearer {}", host.token());
    let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key)];
    let answer = host.open("POST", "/api/v1/daemons/pusher/fire", &headers);
    (answer.status, answer.json())
}

/// Checks what a host does on a disk with too little room for intake, after it has fired once with the key `k-1`.
fn only_new_work_is_refused(world: &World, host: &Host, first: &Value) {
    let refused = host.hook("push", "d-2", &push(world, 2));
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    // A repeated request returns its activation, and an unknown id is unknown; neither needs the disk.
    let again = fired_as(host, "k-1");
    assert_eq!(
        (again.0, &again.1["duplicate"]),
        (202, &json!(true)),
        "{again:?}"
    );
    assert_eq!(again.1["activation"]["id"], first["activation"]["id"]);
    assert_eq!(fired_as(host, "k-2").0, 409);
    assert_eq!(world.json(&["fire", "pusher"]).0, 75);
    assert_eq!(world.json(&["fire", "nobody"]).0, 66);
    let events = host.list("events");
    let of_hooks = events.iter().filter(|one| one["source"] == "github");
    assert_eq!(
        of_hooks.count(),
        1,
        "what was refused is not stored, what was stored is read"
    );
}

#[test]
fn a_disk_that_fills_up_stops_first_the_runs_then_the_intake_and_neither_for_longer() {
    let Some(small) = Small::new() else { return };
    let world = &small.world;
    let host = world.serve();
    assert_eq!(readyz(&host), (200, json!("ok")));
    let first = fired_as(&host, "k-1");
    assert_eq!(first.0, 202, "{first:?}");
    host.settled(1);

    small.leave(200 * MIB);
    until("the host is not ready", || readyz(&host).0 == 503);
    shows!(host.hook("push", "d-1", &push(world, 1)), {"HTTP": 200}, "intake goes on");
    let waiting = eventually("the activation waits for the disk", || {
        let mut all = host.list("activations").into_iter();
        let waits = |one: &Value| {
            let reason = one["reason"].as_str();
            reason.is_some_and(|reason| reason.starts_with("disk: "))
        };
        all.find(waits)
    });
    assert_eq!(waiting["state"], "pending");
    assert_eq!(host.list("runs").len(), 1, "none but the first");
    let (_, disk) = world.examined("disk");
    assert_eq!(disk["status"], "fail", "{disk}");
    let (_, listed) = world.json(&["list"]);
    assert!(
        listed["pause"]
            .as_str()
            .is_some_and(|why| why.starts_with("disk: ")),
        "{listed}"
    );

    small.leave(40 * MIB);
    only_new_work_is_refused(world, &host, &first.1);

    small.leave(500 * MIB);
    assert_eq!(host.hook("push", "d-2", &push(world, 2)).status, 200);
    let begun = std::time::Instant::now();
    let ended = host.settled(2);
    assert!(
        ended.iter().all(|one| one["state"] == "succeeded"),
        "{ended:#?}"
    );
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(readyz(&host), (200, json!("ok")));
}

#[test]
fn a_run_under_way_is_finished_while_nothing_starts() {
    let Some(small) = Small::new() else { return };
    let world = &small.world;
    let gate = world.beside("gate");
    world.script(&format!(
        "cat > /dev/null\nwhile [ ! -e '{}' ]; do :; done\necho '{{\"daemon\":\"result\",\"ok\":true,\"text\":\"done\"}}'\n",
        gate.display()
    ));
    world.unconfined();
    let host = world.serve();
    let fire = world.begin(&["fire", "pusher", "--json"]);
    host.activation_in("running");
    small.leave(100 * MIB);
    std::fs::write(&gate, "").expect("a file");
    shows!(fire.json(), {"$?": 0, "activation.state": "succeeded"});
}

#[test]
fn a_host_starts_on_a_full_disk_and_answers_reads() {
    let Some(small) = Small::new() else { return };
    let world = &small.world;
    let host = world.serve();
    assert_eq!(world.json(&["fire", "pusher"]).0, 0);
    assert_eq!(host.stop().0, Some(0));
    small.leave(0);
    assert!(small.free() < MIB, "{} bytes are free", small.free());

    let host = world.serve();
    assert_eq!(host.list("activations").len(), 1);
    assert_eq!(host.list("daemons").len(), 1);
    assert_eq!(host.hook("push", "d-1", &push(world, 1)).status, 503);
    assert_eq!(readyz(&host).0, 503);

    // A daemon that comes while the disk is full is there when it no longer is.
    world.write_daemon(
        "later",
        &daemon_file("later", &watch(&["when a pull request is opened"])),
    );
    let commit = world.commit("later");
    small.leave(500 * MIB);
    host.registered(&commit);
    let ended = host.settled(2);
    assert!(
        ended.iter().all(|one| one["state"] == "succeeded"),
        "{ended:#?}"
    );
}

#[test]
fn large_bodies_do_not_take_the_disk_below_what_intake_leaves() {
    let Some(small) = Small::new() else { return };
    let world = &small.world;
    let host = world.serve();
    small.leave(160 * MIB);
    let large = &|n: u32| {
        let mut body = push(world, n);
        body["pad"] = json!("x".repeat(20 << 20));
        host.hook("push", &format!("d-{n}"), &body)
    };
    let answers = std::thread::scope(|scope| {
        let sent: Vec<_> = (1..=6).map(|n| scope.spawn(move || large(n))).collect();
        let ended = sent
            .into_iter()
            .map(|one| one.join().expect("it is answered"));
        ended.collect::<Vec<_>>()
    });
    let n_taken = answers.iter().filter(|one| one.status == 200).count();
    assert!(
        (1..6).contains(&n_taken),
        "{n_taken} of 6 bodies were taken"
    );
    for refused in answers.iter().filter(|one| one.status != 200) {
        assert_eq!(refused.status, 503, "{refused:?}");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    }
    shows!(host.hook("push", "d-7", &push(world, 7)), {"HTTP": 200}, "there is room for a small one");
    let free = small.free() / MIB;
    assert!(free >= 64, "{free} MiB are free");
}
