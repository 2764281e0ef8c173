//! What a stop leaves in the home: everything as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use daemon_fakes::Reply;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::json;

use crate::conversing::{api, call, world};
use crate::rpc::Rpc;
use crate::world::{World, until};

/// What is only there while a host runs. `-mark`, `-shm` and `-wal` belong to a store whose log is not merged.
const OF_A_RUNNING_HOST: [&str; 5] = [
    "run/daemon.sock",
    "run/host.running",
    "state.db-mark",
    "state.db-shm",
    "state.db-wal",
];

/// Reads the entries of a directory: files with their bytes, databases with the rows of their tables.
fn read(directory: &Path, root: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        let (path, kind) = (entry.path(), entry.file_type().expect("its type"));
        let name = path.strip_prefix(root).expect("it is in the home");
        let name = name.display().to_string();
        if kind.is_dir() {
            read(&path, root, found);
            found.insert(name, Vec::new());
        } else if name.ends_with(".db") {
            found.insert(name, rows(&path));
        } else if !kind.is_file() || name.ends_with("-shm") || name.ends_with("-wal") {
            found.insert(name, Vec::new());
        } else {
            found.insert(name, fs::read(&path).expect("its bytes"));
        }
    }
}

/// Returns the rows of all tables of a database, one per line.
fn rows(path: &Path) -> Vec<u8> {
    let database = Connection::open(path).expect("a database");
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
    let mut tables = database.prepare(sql).expect("it has tables");
    let names = tables.query_map([], |row| row.get(0)).expect("names");
    let names: Result<Vec<String>, _> = names.collect();
    let mut text = String::new();
    for name in names.expect("names") {
        let mut table = database
            .prepare(&format!("SELECT * FROM \"{name}\""))
            .expect("a table");
        let columns = table.column_count();
        let mut rows = table.query([]).expect("its rows");
        while let Some(row) = rows.next().expect("a row") {
            text += &name;
            for column in 0..columns {
                let value = match row.get_ref(column).expect("a value") {
                    ValueRef::Null => "null".to_owned(),
                    ValueRef::Integer(value) => value.to_string(),
                    ValueRef::Real(value) => value.to_string(),
                    ValueRef::Text(bytes) => {
                        String::from_utf8_lossy(bytes).escape_debug().to_string()
                    }
                    ValueRef::Blob(bytes) => format!("{bytes:?}"),
                };
                text.push(' ');
                text += &value;
            }
            text.push('\n');
        }
    }
    text.into_bytes()
}

fn contents(world: &World) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    read(&world.home, &world.home, &mut found);
    for name in OF_A_RUNNING_HOST {
        found.remove(name);
    }
    found.retain(|name, _| !name.starts_with("memory/scout.db-"));
    found
}

#[test]
fn a_stop_changes_no_file_of_the_home() {
    let remember = json!({"name": "n1", "content": "A word."});
    let api = api([
        Reply::call("remember", remember),
        Reply::text("Kept."),
        Reply::text("Done."),
    ]);
    let world = world(&api, "");
    let host = world.serve();
    let answer = call(&host, "conversation/send", &json!({"content": "Keep it."}));
    shows!(answer, {"result.outcome": "done"});
    let mut rpc = Rpc::initialized(host.socket());
    let source = json!({"source": "deploy", "target_agent": "scout"});
    shows!(rpc.call("subscription/create", &source), {"result.subscription.id": 1});
    let run = world.dispatch(&["one"]).remove(0);
    world.announced(&run);
    until("the row of the run is the last one", || {
        let row = world.store().query_row(
            "SELECT count(*) FROM run WHERE object LIKE '%notified_seq%'",
            [],
            |row| row.get(0),
        );
        row == Ok(1)
    });
    let before = contents(&world);
    for name in [
        "run/host.lock",
        "state.db",
        "memory/scout.db",
        "events/subscriptions.toml",
        ".notification/system.json",
    ] {
        assert!(before.contains_key(name), "{name}");
    }
    assert_eq!(host.stop().0, Some(0));
    let after = contents(&world);
    assert_unchanged(&before, &after);
    for name in OF_A_RUNNING_HOST {
        assert!(!world.home.join(name).exists(), "{name}");
    }
    // The next host knows that this one was stopped.
    let host = world.serve();
    assert!(!world.log().contains("did not stop in order"));
    host.kill();
    assert!(world.home.join("run/host.running").exists());
    let _host = world.serve();
    assert!(world.log().contains("did not stop in order"));
}

/// Checks that a home has the same files with the same content.
#[track_caller]
fn assert_unchanged(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in before {
        let lines = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.lines()
                .map(str::to_owned)
                .collect::<BTreeSet<String>>()
        };
        let now = after.get(name).unwrap_or_else(|| panic!("{name} is gone"));
        let (was, is) = (lines(bytes), lines(now));
        let changed: Vec<_> = was.symmetric_difference(&is).collect();
        assert_eq!(changed, Vec::<&String>::new(), "{name}");
        assert!(bytes == now, "{name}");
    }
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
}
