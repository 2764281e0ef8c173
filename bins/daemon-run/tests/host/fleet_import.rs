//! The store of a home, imported into a database.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::fleet::{WAIT, database, join, number, report};
use crate::postgres::{runtime, server, with_client};
use crate::serve_roster::rows;
use crate::world::{World, until, watch};

/// Where an import dies, in order; each time it is continued.
const PLACES: &[&str] = match cfg!(feature = "internal-testing") {
    true => &["I1", "I2", "I3#1", "I3#5", "I3#4", "I4", "I5"],
    false => &[],
};

/// Tables that the home of the test has rows of.
const FILLED: &[&str] = &[
    "event",
    "activation",
    "output",
    "tick",
    "memory",
    "roster_row",
    "identity",
];

/// What commands print of a store.
fn listed(world: &World) -> Vec<(&'static str, Value)> {
    let plurals = ["list", "events", "activations", "runs", "ticks", "outputs"];
    let listings = plurals.map(|plural| {
        let (exit, mut answer) = world.json(&[plural]);
        assert_eq!(exit, 0, "{plural}: {answer}");
        // A run that has not ended becomes older.
        for run in answer["runs"].as_array_mut().into_iter().flatten() {
            run.as_object_mut().expect("a run").remove("elapsed_s");
        }
        (plural, answer)
    });
    let (_, roster) = world.json(&["roster", "list"]);
    listings
        .into_iter()
        .chain([("roster", without_ages(roster))])
        .collect()
}

/// Removes the members of roster rows that depend on when they are read.
fn without_ages(mut roster: Value) -> Value {
    let rows = roster["rows"].as_array_mut().expect("a list");
    for row in rows {
        let row = row.as_object_mut().expect("a row");
        row.retain(|name, _| ["id", "kind", "name", "project", "gate"].contains(&name.as_str()));
    }
    roster
}

/// Makes a home whose killed host leaves events, activations in several states, outputs, a tick, state and a roster.
fn used() -> World {
    let world = World::new(&[
        ("helper", &watch(&["when an issue is opened"])),
        ("hourly", "schedule: \"0 * * * *\""),
    ]);
    let (busy, go) = (world.beside("busy"), world.beside("go"));
    let state =
        "\necho '{\"v\":1,\"verb\":\"state\",\"set\":{\"seen\":1}}' >> \"$DAEMON_OUTPUTS\"\n";
    let script = WAIT
        .replace("$BUSY", &busy.display().to_string())
        .replace("$GO", &go.display().to_string())
        .replacen("\necho note", &format!("{state}echo note"), 1);
    world.script(&script);
    world.unconfined();
    std::fs::write(&go, "").expect("a file");
    drop(world.serve());
    world.rewind(Timestamp::now() - SignedDuration::from_mins(61));
    let host = world.serve();
    until("the host checked in", || rows(&world, "host").len() == 1);
    (1..=3).for_each(|n| drop(report(&host, n)));
    assert_eq!(host.settled(4).len(), 4);
    std::fs::remove_file(&go).expect("it is there");
    std::fs::remove_file(&busy).expect("it is there");
    report(&host, 4);
    until("the run has begun", || busy.exists());
    // One waits behind it.
    report(&host, 5);
    until("both are known", || host.list("activations").len() == 6);
    let (exit, answer) = world.json(&["import", "--store", "postgres:///nothing?host=/nowhere"]);
    assert_eq!((exit, &answer["error"]["code"]), (75, &json!("home-owned")));
    host.kill();
    std::fs::write(&go, "").expect("a file");
    world
}

/// Imports a home, and dies at every place on the way.
fn killed_everywhere(world: &World, store: &str) {
    for place in PLACES {
        let mut command = world.command(&["import", "--store", store]);
        let killed = command.env("DAEMON_FAILPOINT", place).output();
        let killed = killed.expect("the binary runs");
        assert_eq!(killed.status.code(), None, "{place}: {killed:?}");
        if *place == "I1" {
            continue;
        }
        let moved = world.refusal("store-moved");
        assert!(
            moved.ends_with(&format!("imported into `{store}`")),
            "{moved}"
        );
        let (exit, refused) = world.json(&["serve", "--listen", "127.0.0.1:0", "--store", store]);
        assert_eq!(exit, 69, "{place}: {refused}");
        assert!(refused.to_string().contains("has not ended"), "{refused}");
    }
}

/// Imports a home to the end, twice.
fn imported(world: &World, store: &str) {
    let import = ["import", "--store", store];
    let (exit, done) = world.json(&import);
    assert_eq!(exit, 0, "{done}");
    assert_eq!(done["continued"], json!(!PLACES.is_empty()));
    let tables = done["tables"].as_array().expect("a list");
    for name in FILLED {
        let mut found = tables.iter().filter(|table| table["name"] == *name);
        let n_rows = found.next().expect("it is listed")["rows"].as_i64();
        let stored = number(store, &format!("SELECT count(*) FROM {name}"));
        assert_eq!(n_rows, Some(stored), "{name}");
        assert!(stored > 0, "{name}");
    }
    // A complete import is not made again.
    let (exit, again) = world.json(&import);
    assert_eq!((exit, &again["tables"]), (0, &done["tables"]));
    let (exit, refused) = world.json(&["import", "--abandon"]);
    let code = &refused["error"]["code"];
    assert_eq!((exit, code), (75, &json!("not-importing")));
    let moved = world.refusal("store-moved");
    assert!(
        moved.ends_with(&format!("was imported into `{store}`")),
        "{moved}"
    );
}

#[test]
fn an_import_that_is_killed_anywhere_is_continued_and_the_home_continues_on_the_database() {
    let Some(server) = server() else {
        return;
    };
    let world = used();
    let before = listed(&world);
    let store = database(&server);
    killed_everywhere(&world, &store);
    imported(&world, &store);
    join(&world, &store, "");
    world.unconfined();
    for (imported, own) in listed(&world).iter().zip(&before) {
        assert_eq!(imported, own);
    }
    let host = world.serve();
    (1..=5).for_each(|n| assert_eq!(report(&host, n)["duplicate"], json!(true), "{n}"));
    let activations = host.settled(6);
    let ended = activations
        .iter()
        .map(|one| (&one["state"], &one["attempts"]));
    let ended: Vec<_> = ended.collect();
    assert_eq!(ended, [(&json!("succeeded"), &json!(1)); 6]);
    // What is new is numbered behind what was imported.
    assert_eq!(report(&host, 6)["duplicate"], json!(false));
    until("it is listed first", || {
        host.list("events")[0]["delivery_id"] == "d-6"
    });
    assert_eq!(host.stop().0, Some(0));
    for (table, key) in [
        ("tick", "repo, daemon, scheduled_at"),
        ("wake", "daemon, key"),
    ] {
        let doubled = format!(
            "SELECT count(*) FROM (SELECT 1 FROM {table} GROUP BY {key} HAVING count(*) > 1) AS t"
        );
        assert_eq!(number(&store, &doubled), 0, "{table}");
    }
}

/// Returns the exit code and the code of the failure of a command.
fn failure(world: &World, args: &[&str]) -> (i32, String) {
    let (exit, answer) = world.json(args);
    let code = answer["error"]["code"].as_str().unwrap_or_default();
    (exit, code.to_owned())
}

fn execute(store: &str, sql: &str) {
    runtime().block_on(with_client(store, async |client| {
        client.batch_execute(sql).await.expect("a change");
    }));
}

/// Makes a home whose host has ended in order.
fn ended() -> World {
    let world = World::new(&[("helper", &watch(&["when an issue is opened"]))]);
    let host = world.serve();
    report(&host, 1);
    host.settled(1);
    assert_eq!(host.stop().0, Some(0));
    world
}

#[test]
fn an_import_is_refused_where_it_would_mix_stores() {
    let Some(server) = server() else {
        return;
    };
    let used = database(&server);
    let other = World::new(&[("helper", &watch(&["when an issue is opened"]))]);
    join(&other, &used, "");
    drop(other.serve());
    let code = |world: &World, args: &[&str]| failure(world, args);
    let failed = |exit: i32, code: &str| (exit, code.to_owned());
    let into_used = ["import", "--store", &used];
    assert_eq!(code(&other, &into_used), failed(66, "no-home"));
    let world = ended();
    assert_eq!(code(&world, &["import"]), failed(64, "no-target"));
    let paper = ["import", "--store", "paper"];
    assert_eq!(code(&world, &paper), failed(64, "usage"));
    assert_eq!(code(&world, &into_used), failed(78, "import-refused"));
    // Nothing was begun, so that the old store is still used.
    assert_eq!(world.serve().stop().0, Some(0));
}

/// Changes every event on its way into the table.
const SPOIL: &str = "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS \
     $$ BEGIN new.kind := 'other'; RETURN new; END $$; \
     CREATE TRIGGER spoil BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION spoil()";

#[test]
fn an_import_notices_what_is_not_as_it_was_sent_and_can_be_given_up() {
    let Some(server) = server() else {
        return;
    };
    let (store, elsewhere) = (database(&server), database(&server));
    let prepared = World::new(&[]);
    join(&prepared, &store, "");
    drop(prepared.serve());
    execute(
        &store,
        "TRUNCATE host, host_start, roster_row; UPDATE counter SET n = 0",
    );
    execute(&store, SPOIL);
    let world = ended();
    let import = ["import", "--store", &store];
    let failed = |exit: i32, code: &str| (exit, code.to_owned());
    assert_eq!(failure(&world, &import), failed(69, "import-differs"));
    world.refusal("store-moved");
    let other = ["import", "--store", &elsewhere];
    assert_eq!(failure(&world, &other), failed(78, "store-moved"));
    assert_eq!(failure(&world, &["import", "--abandon"]), failed(0, ""));
    let host = world.serve();
    report(&host, 2);
    host.settled(2);
    assert_eq!(host.stop().0, Some(0));
    // Begun again, it has what happened meanwhile.
    execute(&store, "DROP TRIGGER spoil ON event");
    let (exit, done) = world.json(&import);
    assert_eq!((exit, &done["continued"]), (0, &json!(false)), "{done}");
    let sql = "SELECT count(*) FROM event WHERE source = 'github'";
    assert_eq!(number(&store, sql), 2);
}
