//! Rates: what says that a schedule exceeds them, and what says that an activation waits for them.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::http::pull_request_opened;
use crate::world::{World, check, eventually, until, watch};

#[test]
fn a_schedule_that_exceeds_its_rate_is_warned_of() {
    let world = World::new(&[
        ("minutely", "schedule: \"* * * * *\""),
        ("hourly", "schedule: \"0 * * * *\""),
    ]);
    world.configure("[limits]\nrate_daemon = 20\nrate_host = 60\n[host]\nhold = true\n");
    let host = world.serve();
    let detail = "the schedule `* * * * *` of `o/r:minutely` fires 60 times an hour and 1440 times a day, and \
                  `limits.rate_daemon` lets 20 activations an hour begin: the others wait";
    assert!(world.log().contains(detail), "{}", world.log());
    assert!(!world.log().contains("o/r:hourly` fires"));
    let of_host = "all schedules together fire up to 61 times an hour, and `limits.rate_host` lets 60 activations an hour \
                   begin: the others wait";
    let warnings = |doctor: &Value| {
        let of = |name: &str| {
            let check = check(doctor, name);
            assert_eq!(check["status"], "warn", "{check}");
            check["detail"].clone()
        };
        [of("rate o/r:minutely"), of("rate")]
    };
    assert_eq!(
        warnings(&host.get("doctor")),
        [json!(detail), json!(of_host)]
    );
    assert_eq!(host.stop().0, Some(0));
    let (_, doctor) = world.json(&["doctor"]);
    assert_eq!(
        warnings(&doctor),
        [json!(detail), json!(of_host)],
        "without a host"
    );
}

#[test]
fn an_activation_that_waits_for_a_rate_has_that_reason() {
    let world = World::new(&[
        ("opened", &watch(&["when a pull request is opened"])),
        ("settling", &watch(&["when a pull request is opened"])),
    ]);
    world.configure("[limits]\nrate_daemon = 1\n[policy.daemon.settling]\nsettle = \"2s\"\n");
    let host = world.serve();
    let succeeded = |n: usize| {
        until("the first have succeeded", || {
            let all = host.list("activations");
            let succeeded = all.iter().filter(|one| one["state"] == "succeeded");
            succeeded.count() == n
        });
    };
    let first = host.hook("pull_request", "d-1", &pull_request_opened(1));
    assert_eq!(first.status, 200);
    succeeded(2);
    let second = host.hook("pull_request", "d-2", &pull_request_opened(2));
    assert_eq!(second.status, 200);
    // The stored reason of the one that settles is `settle`, also once that is over.
    let mut waiting = eventually("both wait for their rates", || {
        let mut all = host.list("activations");
        all.retain(|one| one["state"] == "pending");
        (all.len() == 2 && all.iter().all(|one| one["reason"] == "rate")).then_some(all)
    });
    waiting.sort_by_key(|one| one["daemon_id"].to_string());
    let list = host.list("daemons");
    let last = list.iter().map(|one| &one["last_activation"]["reason"]);
    assert_eq!(last.collect::<Vec<_>>(), ["rate", "rate"], "{list:#?}");
    for one in &waiting {
        let id = one["id"].as_str().expect("an id");
        assert_eq!(host.get(&format!("activations/{id}"))["reason"], "rate");
    }
}

#[test]
fn settle_delays_the_first_event_and_joins_those_that_come_before_it_is_over() {
    const SETTLE: SignedDuration = SignedDuration::from_secs(3);
    let world = World::new(&[("settling", &watch(&["when a pull request is opened"]))]);
    world.configure("[policy.daemon.settling]\nsettle = \"3s\"\n");
    let host = world.serve();
    // A new body each time, about one pull request.
    for (first, titles) in [(0, ["One", "Two", "Three"]), (1, ["Four", "Five", "Six"])] {
        let mut ids = Vec::new();
        for title in titles {
            let mut body = pull_request_opened(1);
            body["pull_request"]["title"] = json!(title);
            let answer = host.hook("pull_request", title, &body);
            ids.push(answer.json()["event_ids"][0].clone());
        }
        eventually("it waits", || {
            let all = host.list("activations");
            all.iter()
                .any(|one| one["state"] == "pending" && one["reason"] == "settle")
                .then_some(())
        });
        let mut activations = host.settled(first + 1);
        assert_eq!(activations.len(), first + 1, "{activations:#?}");
        activations.sort_by_key(|one| one["id"].as_str().map(str::to_owned));
        let newest = &activations[first];
        assert_eq!(newest["trigger"]["event_ids"], json!(ids));
        let at = |name: &str| -> Timestamp {
            let text = newest[name].as_str().expect("a time");
            text.parse().expect("a time")
        };
        let waited = at("started_at").duration_since(at("created_at"));
        assert!(waited >= SETTLE, "{waited:?}: {newest:#}");
    }
}
