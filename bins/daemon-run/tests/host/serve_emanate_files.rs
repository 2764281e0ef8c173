//! Runs as read from their folders, with a host and without one.

use std::fs;
use std::num::NonZeroU32;

use daemon_run_folder::{Folder, Handle, Outcome, Owner, RunStart, Writer};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{World, no_process_of};

/// The process that owned runs of long ago.
fn nobody() -> Owner {
    Owner {
        pid: 1,
        boot_id: "another-start-of-the-machine".to_owned(),
        start: 1,
    }
}

fn earlier(days: i64) -> Timestamp {
    Timestamp::now() - SignedDuration::from_hours(24 * days)
}

impl World {
    /// Begins the folder of a run without executing it.
    fn begin_run(&self, n: u32, started: Timestamp, owner: Owner) -> Writer {
        fs::create_dir_all(self.home.join("daemons")).expect("a directory");
        let handle = Handle(NonZeroU32::new(n).expect("it is not zero"));
        let reserved =
            Folder::reserve(&self.home.join("daemons"), handle, started).expect("a folder");
        let prompt = b"Task:\nlook back".to_vec();
        let parent = format!("cli:{}", rustix::process::geteuid().as_raw());
        let start = RunStart::new(&parent, owner, "sh", "look back", prompt);
        Writer::start(reserved, start, started).expect("it is written")
    }

    /// Makes the folder of a run that ended and was announced.
    fn past_run(&self, n: u32, days: i64) -> String {
        let started = earlier(days);
        let mut writer = self.begin_run(n, started, nobody());
        writer
            .provider_ended(&Outcome::Done, "seen", started)
            .expect("its end");
        writer.finish(&Outcome::Done, started).expect("its end");
        writer.published(1, started).expect("its number");
        writer.folder().id().to_string()
    }
}

#[test]
fn a_name_that_several_runs_had_means_the_newest_for_a_check_and_is_ambiguous_for_a_change() {
    let world = World::pushed();
    let runs = [1, 2, 3].map(|days| world.past_run(5, days));
    for host in [None, Some(world.serve())] {
        let run = world.check("em-5");
        shows!(run, {"run_id": runs[0], "source": "history", "ambiguous": true, "match_count": 3});
        let others: Vec<Value> = runs[1..]
            .iter()
            .map(|run| json!(world.home.join("daemons").join(run)))
            .collect();
        assert_eq!(run["other_run_dirs"], json!(others));
        let exact = world.check(&runs[2]);
        shows!(exact, {"run_id": runs[2], "ambiguous": null});
        for id in ["em-6", "em-0", "../x", &runs[0].replace("em-5", "em-4")] {
            let (code, reply) = world.json(&["emanate", "check", id]);
            let words = format!("Unknown emanation: {id}");
            assert_eq!((code, &reply["error"]["message"]), (66, &json!(words)));
        }
        if host.is_none() {
            continue;
        }
        let words = "Ambiguous emanation: em-5 (3 runs); pass a full run_id";
        for args in [
            &["emanate", "ask", "em-5", "so?"][..],
            &["emanate", "reclaim", "em-5"],
            &["ask", "em-5", "so?"],
        ] {
            shows!(world.json(args), {"$?": 66, "error.message": words}, "{args:?}");
        }
    }
}

#[test]
fn without_a_host_folders_are_read_and_nothing_else_is_done() {
    let world = World::pushed();
    shows!(world.json(&["emanate", "list"]), {"$?": 0, "emanations": [], "index": "daemon_run_dirs"});
    let old = world.past_run(1, 1);
    let running = world
        .begin_run(2, earlier(1), nobody())
        .folder()
        .id()
        .to_string();
    let before = fs::read(world.file(&running, "daemon.json")).expect("it is there");
    let (_, list) = world.json(&["emanate", "list"]);
    let shown: Vec<Value> = list["emanations"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| json!([run["run_id"], run["status"], run["orphan_suspected"]]))
        .collect();
    let expected = [
        json!([running, "running", true]),
        json!([old, "done", null]),
    ];
    assert_eq!(shown, expected);
    shows!(list, {"running": 1, "max_emanations": 100});
    assert_eq!(world.check("em-2")["orphan_suspected"], true);
    assert_eq!(
        fs::read(world.file(&running, "daemon.json")).expect("it is there"),
        before
    );
    for args in [
        &["emanate", "reclaim"][..],
        &["emanate", "ask", "em-1", "x"],
        &["ask", &old, "x"],
    ] {
        let (code, reply) = world.json(args);
        let words = "No host is running for this home";
        assert_eq!(
            (code, &reply["error"]["message"]),
            (69, &json!(words)),
            "{args:?}"
        );
    }
    shows!(world.tool(&json!({"tasks": [{"task": "x"}]})), {"$?": 69});
}

#[test]
fn filters_of_a_list_combine() {
    let world = World::pushed();
    world.script("if grep -q slow; then sleep 1000; fi\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"ok\"}'\n");
    let _host = world.serve();
    let quick = world.dispatch(&["Alpha", "beta"]);
    for run in &quick {
        world.announced(run);
    }
    let slow = world.dispatch_within(&["slow ALPHA"], 5).remove(0);
    let group = world.check(&slow).text("group_id");
    let list = |args: &[&str]| {
        let mut reply = shown!(world.json(&[&["emanate", "list"], args].concat()), {"$?": 0});
        let runs = reply["emanations"].as_array().expect("a list");
        let ids: Vec<String> = runs.iter().map(|run| run.text("run_id")).collect();
        reply["emanations"].take();
        (ids, reply)
    };
    let (ids, reply) = list(&[]);
    assert_eq!(ids, [slow.clone(), quick[1].clone(), quick[0].clone()]);
    assert_eq!(
        reply,
        json!({"schema_version": 1, "emanations": null, "running": 1, "max_emanations": 100, "history_included": true,
            "index": "daemon_run_dirs", "total_before_filter": 3, "total_matches": 3, "showing": 3})
    );
    let seq = |run: &str| world.check(run)["notified_seq"].as_u64().expect("a number");
    let later = if seq(&quick[0]) < seq(&quick[1]) {
        &quick[1]
    } else {
        &quick[0]
    };
    let rows: [(&[&str], &[&String]); 6] = [
        (&["--contains", "alpha"], &[&slow, &quick[0]]),
        (&["--contains", "alpha", "--status", "done"], &[&quick[0]]),
        (&["--group-id", &group], &[&slow]),
        (&["--include-done", "false"], &[&slow]),
        (&["--last", "1"], &[&slow]),
        (&["--after-seq", "1"], &[later]),
    ];
    for (args, ids) in rows {
        assert_eq!(list(args).0.iter().collect::<Vec<_>>(), ids, "{args:?}");
    }
    shows!(list(&["--include-done", "false"]).1, {"history_included": false});
    shows!(list(&["--last", "1"]).1, {"showing": 1, "total_matches": 3});
    let ended = world.announced(&slow);
    assert_eq!(ended["status"], "timeout");
    assert_eq!(list(&["--status", "timeout"]).0, [slow]);
    shows!(world.json(&["emanate", "list", "--last", "0"]), {
        "$?": 64, "error.message": "last must be an integer of at least 1",
    });
}

#[test]
fn a_damaged_document_is_rebuilt_by_a_list_and_never_by_a_check() {
    let world = World::pushed();
    let spoil: [(&str, Option<&str>); 4] = [
        ("daemon_json_missing", None),
        ("daemon_json_invalid", Some("{torn")),
        ("daemon_json_not_object", Some("[1]")),
        (
            "daemon_json_data_version_mismatch",
            Some("{\"data_version\":0,\"extra\":7}"),
        ),
    ];
    let runs: Vec<String> = (1..=5).map(|n| world.past_run(n, 1)).collect();
    let host = world.serve();
    let (_, list) = world.json(&["emanate", "list"]);
    assert_eq!(list["total_matches"], 5);
    for (run, (_, text)) in runs.iter().zip(spoil) {
        let path = world.file(run, "daemon.json");
        match text {
            Some(text) => fs::write(path, text).expect("it is spoilt"),
            None => fs::remove_file(path).expect("it is gone"),
        }
    }
    let newer = "{\"data_version\":2,\"run_id\":\"x\",\"state\":\"paused\",\"task\":\"later\"}";
    fs::write(world.file(&runs[4], "daemon.json"), newer).expect("a later version");
    let seen = world.check(&runs[0]);
    shows!(seen, {"status": "done", "task": "look back"});
    assert!(
        !world.file(&runs[0], "daemon.json").exists(),
        "a check changes nothing"
    );
    let (_, list) = world.json(&["emanate", "list"]);
    let entries = list["emanations"].as_array().expect("a list");
    for (run, (reason, _)) in runs.iter().zip(spoil) {
        let entry = entries
            .iter()
            .find(|entry| entry["run_id"] == run.as_str())
            .expect("it is listed");
        shows!(entry, {
            "status": "done", "task": "look back", "migration.reason": reason,
            "migration.source": "daemon_list_best_effort",
        });
        assert_eq!(world.document(run)["state"], "done");
    }
    shows!(world.document(&runs[3]), {"extra": 7}, "unknown keys are kept");
    let later = entries
        .iter()
        .find(|entry| entry["status"] == "paused")
        .expect("it is shown");
    assert_eq!(later["task"], "later");
    assert_eq!(
        fs::read_to_string(world.file(&runs[4], "daemon.json")).expect("it is there"),
        newer
    );
    drop(host);
}

#[test]
fn a_host_that_was_killed_leaves_no_process_and_its_runs_are_announced_once() {
    let world = World::pushed();
    world.script("cat > /dev/null\n(setsid sleep 1000 &)\nsleep 1001 & echo begun\nwait\n");
    let host = world.serve();
    let runs = world.dispatch(&["one", "two"]);
    for run in &runs {
        world.begun(run);
    }
    host.kill();
    // The owner of this one lives: it is this very test.
    let me = daemon_process::ProcessId::current().expect("this process");
    let owner = Owner {
        pid: me.pid,
        boot_id: daemon_process::boot_id().expect("this start of the machine"),
        start: me.start,
    };
    let kept = world
        .begin_run(9, earlier(0), owner.clone())
        .folder()
        .id()
        .to_string();
    // The number of this one's owner belongs to another process by now.
    let reused = Owner { start: 1, ..owner };
    let lost = world
        .begin_run(8, earlier(0), reused)
        .folder()
        .id()
        .to_string();
    let host = world.serve();
    for run in runs.iter().chain([&lost]) {
        let ended = world.announced(run);
        shows!(ended, {"status": "failed", "error.type": "DaemonOrphaned", "error.class": "retryable"});
        no_process_of(run);
    }
    assert_eq!(world.document(&kept)["state"], "running");
    let keys = |world: &World| {
        let mut keys: Vec<String> = world
            .events()
            .iter()
            .map(|event| event.text("run_id"))
            .collect();
        keys.sort();
        keys
    };
    let mut expected = [runs.clone(), vec![lost]].concat();
    expected.sort();
    assert_eq!(keys(&world), expected);
    host.kill();
    let _host = world.serve();
    let next = world.dispatch(&["three"]).remove(0);
    assert!(next.starts_with("em-1-"), "{next}");
    assert_eq!(keys(&world), expected, "nothing is announced again");
}
