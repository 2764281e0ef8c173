//! Times in which webhooks may be lost: `doctor` shows them, and a service that can be compared is compared because of them.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::serve_reconciled::{compared, deliver, hook, open_pull, world_compared};
use crate::serve_sources::{now, sentry, sentry_issue, slack_at, slack_message};
use crate::world::{Host, World, eventually};

/// How long after a refusal a service sends again: 5 s, and more for a busy machine.
const AGAIN: Duration = Duration::from_secs(60);
/// The services that cannot be asked for what they sent.
const SILENT: [&str; 2] = ["slack", "sentry"];

/// Makes a world that receives webhooks of the services that cannot be asked.
fn world() -> World {
    let world = World::new(&[]);
    let sections =
        SILENT.map(|source| format!("[sources.{source}]\nsecret_file = \"hook-secret\"\n"));
    world.configure(&sections.concat());
    world
}

/// Returns the check of a gap, if there is one.
fn gap(host: &Host, source: &str) -> Option<Value> {
    let name = format!("{source} gap");
    let mut doctor = host.get("doctor");
    let checks = doctor["checks"].as_array_mut()?;
    let at = checks
        .iter()
        .position(|check| check["name"] == name.as_str())?;
    Some(checks.swap_remove(at))
}

/// Returns the gap of a service that repeats nothing after some minutes, once it is shown: when it began and ended.
fn shown(host: &Host, source: &str) -> (Timestamp, Timestamp) {
    let check = eventually("the gap is shown", || gap(host, source));
    assert_eq!(check["status"], "warn", "{check}");
    let remedy = check["remedy"].as_str().expect("a text");
    assert!(
        remedy.contains("look there for what happened then"),
        "{remedy}"
    );
    let detail = check["detail"].as_str().expect("a text");
    let times = detail.strip_prefix("webhooks may be missing that were sent between ");
    let times = times.and_then(|times| times.split_once(" and "));
    let (since, until) = times.unwrap_or_else(|| panic!("two times: {detail}"));
    let at = |text: &str| text.parse().expect("a time");
    (at(since), at(until))
}

#[test]
fn the_time_without_a_host_is_a_gap_of_services_that_cannot_be_asked() {
    let world = world();
    let begun = Timestamp::now();
    let host = world.serve();
    assert_eq!(SILENT.map(|source| gap(&host, source)), [None, None]);
    let stopped = Timestamp::now();
    assert_eq!(host.stop().0, Some(0));
    let host = world.serve();
    let ready = Timestamp::now();
    // A running host stores the time every minute, and nothing when it stops.
    for source in SILENT {
        let (since, until) = shown(&host, source);
        assert!(
            begun <= since && since <= stopped && stopped < until,
            "{source}: {begun} {since} {stopped} {until}"
        );
        assert!(until <= ready, "{source}: {until} {ready}");
    }
}

/// Sends with a store that cannot be written meanwhile, and returns the status of the answer.
fn refused(world: &World, send: impl FnOnce() -> u16) -> u16 {
    let store = world.store();
    store.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let status = send();
    store.execute_batch("ROLLBACK").expect("it is locked");
    status
}

#[test]
fn a_refused_webhook_is_a_gap_of_its_service_alone() {
    for source in SILENT {
        let world = world();
        let host = world.serve();
        let before = Timestamp::now();
        let status = refused(&world, || match source {
            "slack" => slack_at(&host, now(), &slack_message("Ev1")).status,
            _ => sentry(&host, "s-1", &sentry_issue()).status,
        });
        assert_eq!(status, 503, "{source}");
        let (since, until) = shown(&host, source);
        assert!(
            before <= since && since <= until,
            "{source}: {before} {since} {until}"
        );
        let other = SILENT.iter().find(|other| **other != source);
        assert_eq!(gap(&host, other.expect("there are two")), None, "{source}");
    }
}

#[test]
fn a_refused_webhook_lets_its_service_be_compared_before_the_interval_is_over() {
    let (world, api) = world_compared("1h");
    let sent = hook(&api, 503);
    let host = world.serve();
    compared(&host);
    open_pull(&api);
    let lost = sent.recv().expect("it was sent");
    let body: Value = serde_json::from_str(&lost.body).expect("JSON");
    let status = refused(&world, || host.hook(&lost.event, &lost.guid, &body).status);
    assert_eq!(status, 503);
    // The service is asked to send again what failed.
    let again = sent.recv_timeout(AGAIN).expect("it is sent again");
    assert_eq!(again, lost);
    deliver(&host, &again);
    assert_eq!(host.settled(1).len(), 1);
}
