//! Reloads: by the signal as by the method, and what only a start can change.

use std::fs;

use serde_json::{Value, json};

use crate::conversing::{api, world};
use crate::rpc::Rpc;
use crate::world::{Host, World, until};

fn ask(host: &Host, method: &str) -> Value {
    Rpc::initialized(host.socket()).call(method, &json!({}))
}

#[test]
fn the_signal_reads_the_files_of_the_home_as_the_method_does() {
    let api = api([]);
    let world = world(&api, "");
    let crons = world.home.join("cron/crons.toml");
    fs::create_dir_all(world.home.join("cron")).expect("a directory");
    fs::write(&crons, "[[cron]\n").expect("a file");
    let host = world.serve();
    shows!(ask(&host, "cron/list"), {"error.data.code": "storage-failed"});
    let good = fs::read_to_string(world.home.join("config.toml")).expect("it exists");

    // The configuration is wrong, and the file of crons is repaired.
    world.write_config("[host\n");
    fs::write(&crons, "next_id = 9\n").expect("a file");
    host.signal(rustix::process::Signal::HUP);
    until("the reload is refused", || {
        world.log().contains("the old one stays")
    });
    shows!(ask(&host, "cron/list"), {"result.crons": []});
    shows!(ask(&host, "host/stats"), {"result.registered_agents": 1});

    world.write_config(&format!("{good}\n[limits]\nhost = 3\n"));
    host.signal(rustix::process::Signal::HUP);
    until("the configuration is in force", || {
        ask(&host, "host/reload")["result"]["changed"] == false
    });
    shows!(ask(&host, "host/reload"), {"result.needs_restart": []});
}

#[test]
fn a_reload_names_what_only_a_start_can_change() {
    let (world, host) = World::serving();
    fs::write(world.home.join("token"), "t".repeat(40)).expect("a file");
    for (key, section) in [
        ("host.name", "[host]\nname = \"other\"\n"),
        (
            "host.store",
            "[host]\nstore = \"postgres://a@127.0.0.1:1/b\"\n",
        ),
        ("host.token_file", "[host]\ntoken_file = \"other\"\n"),
        ("host.clients", "[host]\nclients = 7\n"),
        ("host.dispatches", "[host]\ndispatches = 7\n"),
        ("host.workers", "[host]\nworkers = 7\n"),
        ("uds.path", "[uds]\npath = \"run/other.sock\"\n"),
        ("tcp.listen", "[tcp]\nlisten = \"127.0.0.1:1\"\n"),
        (
            "tcp.public",
            "[tcp]\nlisten = \"127.0.0.1:1\"\npublic = true\n",
        ),
    ] {
        world.configure(section);
        let reloaded = ask(&host, "host/reload");
        let named = &reloaded["result"]["needs_restart"];
        let names = named.as_array().map_or(&[][..], Vec::as_slice);
        assert!(names.contains(&json!(key)), "{section}: {reloaded}");
    }
    world.configure("");
    shows!(ask(&host, "host/reload"), {"result.needs_restart": []});
}
