//! Stores whose log lost something that was acknowledged: refused with what is lost, repaired when asked.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::http::pull_request_opened;
use crate::world::{World, check};

const EVENTS: u32 = 60;

/// Makes a home whose host was killed after it had acknowledged some webhooks that wake nothing.
fn killed() -> World {
    let (world, host) = World::serving();
    for number in 0..EVENTS {
        let body = pull_request_opened(number);
        let answer = host.hook("pull_request", &format!("d-{number}"), &body);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    host.kill();
    world
}

fn log(world: &World) -> PathBuf {
    world.home.join("state.db-wal")
}

/// Cuts the log to the length that is made of its own.
fn cut(world: &World, left: impl FnOnce(u64) -> u64) {
    let file = fs::File::options()
        .write(true)
        .open(log(world))
        .expect("the log");
    let length = file.metadata().expect("its length").len();
    file.set_len(left(length)).expect("it can be cut");
}

/// Checks that a host refuses the store with these words, and that a repair lets the next one serve what is left.
fn check_refused(world: &World, expected: &str) {
    let before = fs::read(log(world)).expect("the log");
    let (code, answer) = world.json(&["serve", "--listen", "127.0.0.1:0"]);
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert_eq!((code, message.contains(expected)), (69, true), "{answer}");
    let help = answer["error"]["help"].as_str().unwrap_or_default();
    assert!(help.contains("daemon-run doctor --repair"), "{answer}");
    let (_, doctor) = world.json(&["doctor"]);
    assert_eq!(check(&doctor, "store")["status"], "fail", "{doctor}");
    assert!(
        before == fs::read(log(world)).expect("the log"),
        "it was left as it was"
    );

    let (_, doctor) = world.json(&["doctor", "--repair"]);
    let repair = check(&doctor, "repair");
    let detail = repair["detail"].as_str().unwrap_or_default();
    assert_eq!(
        (&repair["status"], detail.contains(expected)),
        (&Value::from("ok"), true),
        "{doctor}"
    );
    assert_eq!(check(&doctor, "store")["status"], "ok", "{doctor}");
    let kept = fs::read_dir(&world.home).expect("the home").flatten();
    let kept = kept
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().contains("damaged-"))
        .expect("a copy was kept");
    assert!(
        before == fs::read(kept.join("state.db-wal")).expect("its log"),
        "the copy is what was there"
    );
    let host = world.serve();
    let left = host.list("events").len();
    let all = usize::try_from(EVENTS).expect("few");
    assert!(0 < left && left < all, "{left} of {all}");
}

#[test]
fn a_log_that_was_cut_in_half_is_refused_and_repaired() {
    let world = killed();
    cut(&world, |length| length / 2);
    check_refused(&world, "its write-ahead log ends after");
}

#[test]
fn a_log_with_64_bytes_overwritten_is_refused_and_repaired() {
    let world = killed();
    let mut bytes = fs::read(log(&world)).expect("the log");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xA5);
    fs::write(log(&world), bytes).expect("it can be written");
    check_refused(&world, "its write-ahead log is damaged at byte");
}

#[test]
fn a_log_with_a_torn_end_is_no_reason_to_refuse() {
    let world = killed();
    cut(&world, |length| length - 10);
    let host = world.serve();
    let all = usize::try_from(EVENTS).expect("few");
    assert!(host.list("events").len() >= all - 1);
}

#[test]
fn a_lost_store_is_not_replaced_by_an_empty_one() {
    let world = killed();
    for file in ["state.db", "state.db-wal"] {
        fs::remove_file(world.home.join(file)).expect("it can be removed");
    }
    let expected = "it was in use, as its mark (`-mark`) says, and is gone";
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["events"]] {
        let (code, answer) = world.json(command);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert_eq!((code, message.contains(expected)), (69, true), "{answer}");
    }
    assert!(!world.home.join("state.db").exists());
}
