//! Hosts that share a PostgreSQL database.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{repository, sender};
use crate::postgres::{Server, runtime, server, with_client};
use crate::world::{Host, World, eventually_within, until, watch};

/// A provider that waits for a file `go` of the repository, and notes which home it ran in.
pub(crate) const WAIT: &str = "cat > /dev/null\n: > \"$BUSY\"\nwhile ! [ -e \"$GO\" ]; do sleep 0.05; done\necho note >> NOTE.md\n\
                    echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"noted\"}'\n";

/// Makes an empty database, and returns its address as a URL.
pub(crate) fn database(server: &Server) -> String {
    let address = runtime().block_on(server.database());
    let part = |name: &str| {
        let (_, rest) = address.split_once(&format!("{name}=")).expect("it has it");
        rest.split(' ').next().expect("a word").to_owned()
    };
    let (socket, schema) = (part("host"), part("search_path"));
    let schema = schema.trim_end_matches('\'');
    format!("postgres://test@/postgres?host={socket}&options=-c%20search_path%3D{schema}")
}

/// Makes a world whose store is the database, with one daemon that is woken by new issues and by the clock.
fn world(store: &str) -> World {
    let world = World::new(&[("helper", &watch(&["when an issue is opened"]))]);
    join(&world, store, "");
    world
}

/// Makes a home use the database.
pub(crate) fn join(world: &World, store: &str, more: &str) {
    world.configure(&format!("[host]\nstore = {store:?}\n\n{more}"));
}

fn opened(number: usize) -> Value {
    json!({
        "action": "opened",
        "issue": {"number": number, "title": "A question", "state": "open", "user": sender(), "labels": []},
        "repository": repository("o/r"), "sender": sender(),
    })
}

pub(crate) fn report(host: &Host, number: usize) -> Value {
    let answer = host.hook("issues", &format!("d-{number}"), &opened(number));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Returns the ids of a listing, sorted.
fn ids(rows: &[Value], key: &str) -> Vec<String> {
    let id = |row: &Value| row[key].as_str().expect("an id").to_owned();
    let mut ids: Vec<_> = rows.iter().map(id).collect();
    ids.sort();
    ids
}

/// Asks the database for one number.
pub(crate) fn number(store: &str, sql: &str) -> i64 {
    runtime().block_on(with_client(store, async |client| {
        let row = client.query_one(sql, &[]).await.expect("a query");
        row.get(0)
    }))
}

/// Changes rows of the database.
pub(crate) fn execute(store: &str, sql: &str) {
    runtime().block_on(with_client(store, async |client| {
        client.batch_execute(sql).await.expect("a change");
    }));
}

/// Lets the last check-in of a host be as old as if a minute had passed: it is gone.
pub(crate) fn forget_check_in(world: &World, store: &str) {
    let home = world.home.display();
    let sql = format!("UPDATE host SET seen_at = seen_at - 60000000 WHERE name LIKE '%{home}'");
    execute(store, &sql);
}

#[test]
fn a_webhook_becomes_an_output_on_a_host_whose_store_is_a_database() {
    let Some(server) = server() else {
        return;
    };
    let store = database(&server);
    let world = world(&store);
    let host = world.serve();
    report(&host, 1);
    let activation = host.settled(1).remove(0);
    shows!(activation, {"daemon_id": "helper", "state": "succeeded", "attempts": 1});
    let output = host.list("outputs").remove(0);
    shows!(output, {"surface": "git", "state": "confirmed"});
    assert_eq!(world.branches().len(), 1);
    assert_eq!(report(&host, 1)["duplicate"], json!(true));
    let (_, stored) = world.examined("store");
    assert_eq!(stored["status"], "ok", "{stored}");
    assert_eq!(host.stop().0, Some(0));
    assert!(
        !world.home.join("state.db").exists(),
        "the home has no store of its own"
    );
    // Commands without a host open the database.
    let first = |plural: &str| {
        let (exit, mut answer) = world.json(&[plural]);
        assert_eq!(exit, 0, "{answer}");
        answer[plural][0].take()
    };
    assert_eq!(first("activations"), activation);
    assert_eq!(first("outputs"), output);
    assert_eq!(first("runs")["activation_id"], activation["id"]);
    shows!(world.json(&["show", "helper"]).1["daemon"], {"id": "helper", "repo": "o/r", "valid": true});
    let repo = world.repo.display().to_string();
    shows!(world.json(&["fire", "helper", "--repo", &repo]), {"$?": 0, "duplicate": false});
    assert_eq!(world.branches().len(), 2);
    let again = world.serve();
    assert_eq!(again.settled(2).len(), 2);
}

#[test]
fn an_event_is_one_activation_on_whichever_host_takes_it_and_every_host_lists_it() {
    let Some(server) = server() else {
        return;
    };
    let store = database(&server);
    let one = world(&store);
    let two = one.other_home();
    join(&two, &store, "");
    let hosts = [one.serve(), two.serve()];
    // Each delivery is sent to both hosts, as a sender that tries again at another address does.
    for n in 0..12 {
        let [first, second] = [&hosts[n % 2], &hosts[(n + 1) % 2]];
        let (new, repeated) = (report(first, n), report(second, n));
        assert_eq!(
            (&new["duplicate"], &repeated["duplicate"]),
            (&json!(false), &json!(true))
        );
        assert_eq!(new["event_ids"], repeated["event_ids"]);
    }
    let activations = hosts[0].settled(12);
    assert_eq!(activations.len(), 12);
    let states = activations
        .iter()
        .map(|one| (&one["state"], &one["attempts"]));
    assert!(
        states
            .clone()
            .all(|one| one == (&json!("succeeded"), &json!(1))),
        "{:?}",
        states.collect::<Vec<_>>()
    );
    for (plural, key) in [("activations", "id"), ("outputs", "key"), ("runs", "id")] {
        let [of_one, of_two] = [0, 1].map(|n| ids(&hosts[n].list(plural), key));
        assert_eq!((of_one.len(), &of_one), (12, &of_two), "{plural}");
    }
    assert_eq!(one.branches().len(), 12);
    for host in hosts {
        assert_eq!(host.stop().0, Some(0));
    }
    // Both hosts watch the repository: each of the twelve new branches is one event, too.
    for (source, expected) in [("github", 12), ("git", 12)] {
        let sql = format!("SELECT count(*) FROM event WHERE source = '{source}'");
        assert_eq!(number(&store, &sql), expected, "{source}");
    }
    assert_eq!(number(&store, "SELECT count(*) FROM host"), 2);
}

#[test]
fn a_host_that_watches_another_repository_ends_no_registration() {
    let Some(server) = server() else {
        return;
    };
    let store = database(&server);
    let (one, two) = (
        world(&store),
        World::new(&[("other", &watch(&["when an issue is opened"]))]),
    );
    join(&two, &store, "");
    let config = two.home.join("config.toml");
    let text = std::fs::read_to_string(&config).expect("the configuration");
    std::fs::write(config, text.replace("\"o/r\"", "\"o/s\"")).expect("a file");
    let first = one.serve();
    let second = two.serve();
    assert_eq!(second.stop().0, Some(0));
    let registered = |world: &World| {
        let (_, answer) = world.json(&["list"]);
        ids(answer["daemons"].as_array().expect("a list"), "id")
    };
    assert_eq!(registered(&two), ["helper", "other"]);
    report(&first, 1);
    shows!(first.settled(1)[0], {"daemon_id": "helper", "state": "succeeded"});
}

#[test]
fn the_work_of_a_host_that_is_killed_is_taken_over() {
    let Some(server) = server() else {
        return;
    };
    let store = database(&server);
    let one = world(&store);
    let (busy, go) = (one.beside("busy"), one.beside("go"));
    let script = WAIT
        .replace("$BUSY", &busy.display().to_string())
        .replace("$GO", &go.display().to_string());
    one.script(&script);
    one.unconfined();
    let first = one.serve();
    report(&first, 1);
    until("the run has begun", || busy.exists());
    let two = one.other_home();
    join(&two, &store, "");
    let second = two.serve();
    first.kill();
    // A lease lasts 60 s, and a host searches for expired ones every 15 s.
    let activation = eventually_within(Duration::from_secs(90), "it is taken over", || {
        let rows = second.list("activations");
        match rows[0]["state"] == "succeeded" {
            true => Ok(rows[0].clone()),
            false => Err(rows[0].to_string()),
        }
    });
    // What a dead host left is not an attempt of its daemon.
    shows!(activation, {"state": "succeeded", "attempts": 1, "run_lease": 2});
    let runs = second.list("runs");
    let states: Vec<_> = runs
        .iter()
        .map(|run| run["state"].as_str().expect("a state"))
        .collect();
    assert_eq!(states, ["done", "unknown"], "the newest first");
    shows!(runs[0], {"result_preview": "noted"});
    let folder = runs[0]["folder"].as_str().expect("a folder");
    assert!(
        std::path::Path::new(folder).starts_with(&two.home),
        "{folder}"
    );
    assert_eq!(one.branches().len(), 1);
    // The host that comes back finds nothing to do, and writes nothing.
    std::fs::write(&go, "").expect("a file");
    let back = one.serve();
    assert_eq!(back.settled(1), second.settled(1));
    assert_eq!(one.branches().len(), 1);
}

#[test]
fn a_tick_that_two_hosts_see_is_recorded_and_runs_once() {
    let Some(server) = server() else {
        return;
    };
    let store = database(&server);
    let one = World::new(&[("minutely", "schedule: \"* * * * *\"")]);
    join(&one, &store, "");
    let two = one.other_home();
    join(&two, &store, "");
    let hosts = [one.serve(), two.serve()];
    eventually_within(
        Duration::from_secs(120),
        "a minute has passed",
        || match hosts[0].list("ticks").is_empty() {
            true => Err("no tick is recorded"),
            false => Ok(()),
        },
    );
    let activations = hosts[1].settled(1);
    shows!(activations[0], {"state": "succeeded", "attempts": 1});
    // Each host looks at its clock once a second.
    let ticks = |host: &Host| host.list("ticks").pop().expect("the first one");
    assert_eq!(ticks(&hosts[0]), ticks(&hosts[1]));
    shows!(ticks(&hosts[0]), {"outcome": "enqueued", "count": 1});
    for host in hosts {
        assert_eq!(host.stop().0, Some(0));
    }
    // Another minute may have begun meanwhile.
    let n_instants = number(&store, "SELECT count(DISTINCT scheduled_at) FROM tick");
    assert_eq!(number(&store, "SELECT count(*) FROM tick"), n_instants);
    assert_eq!(
        number(&store, "SELECT count(*) FROM activation"),
        n_instants
    );
}

#[test]
fn a_database_that_cannot_be_used_is_refused_with_a_reason() {
    let Some(server) = server() else {
        return;
    };
    let store = database(&server);
    let one = world(&store);
    // Nothing was served yet, so that there is neither a home nor a schema.
    let (exit, answer) = one.json(&["activations"]);
    assert_eq!((exit, &answer["error"]["code"]), (69, &json!("no-home")));
    drop(one.serve());
    let failed = |world: &World| {
        let (exit, answer) = world.json(&["activations"]);
        let message = answer["error"]["message"]
            .as_str()
            .expect("a message")
            .to_owned();
        (exit, answer["error"]["code"].clone(), message)
    };
    let raise = "INSERT INTO schema_step (version, admits) VALUES (1000, 1000)";
    execute(&store, raise);
    let (exit, code, message) = failed(&one);
    assert_eq!((exit, code), (69, json!("store-failed")));
    assert!(message.contains("the store has version 1000"), "{message}");
    assert_eq!(one.refused(&[]).0, Some(69));
    execute(&store, "DELETE FROM schema_step WHERE version > 1");
    let (exit, _, message) = failed(&one);
    assert_eq!(exit, 69);
    assert!(message.contains("the tables have version 1"), "{message}");
    let gone = store.replace("/postgres?", "/nothing?");
    join(&one, &gone, "");
    let (exit, _, message) = failed(&one);
    assert_eq!(exit, 69);
    assert!(
        message.contains("database \"nothing\" does not exist"),
        "{message}"
    );
    let password = store.replace("test@", "test:hunter2@");
    join(&one, &password, "");
    let (exit, code, message) = failed(&one);
    assert_eq!((exit, code), (78, json!("config-invalid")));
    assert!(
        message.contains("`host.store` contains a password"),
        "{message}"
    );
    assert!(!message.contains("hunter2"), "{message}");
}
