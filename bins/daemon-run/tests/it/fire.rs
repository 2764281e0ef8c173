//! `fire`: the plan of a dry run, and the real path from a trigger to a branch.

use serde_json::{Value, json};

use crate::world::{OPENED, PULL_REQUEST, Ran, TIDY, World};

/// A provider that changes the worktree.
const WRITER: &str = "[provider]\ndefault = \"writer\"\n[provider.writer]\ncommand = \"sh\"\n\
args = [\"-c\", \"cat > /dev/null; echo mended > mended.md; echo done\"]\n";

fn activation(trigger: &Value) -> Value {
    json!({"id": "[ID]", "daemon_id": "tidy", "repo": "lamp", "rev": "[SHA256]", "trigger": trigger, "state": "succeeded", "reported": true,
        "attempts": 1, "run_lease": 1, "created_at": "[TIME]", "started_at": "[TIME]", "finished_at": "[TIME]",
        "reason": null, "outputs": [], "tokens": null, "cost_usd": null})
}

fn run() -> Value {
    let report = "builtin: no model ran; routines were not interpreted\n0 links repaired, 0 links left for a human, 0 headings skip a level";
    json!({"id": "[RUN]", "activation_id": "[ID]", "daemon_id": "tidy", "attempt": 1, "provider": "builtin", "state": "done", "reported": true,
        "started_at": "[TIME]", "finished_at": "[TIME]", "elapsed_s": "[SECONDS]", "turn": 0, "tool_call_count": 0,
        "current_tool": null, "tokens": {"input": 0, "output": 0}, "cost_usd": null, "last_output_at": null,
        "result_preview": report, "result_path": "[ROOT]/state/daemons/[RUN]/result.txt", "error": null,
        "folder": "[ROOT]/state/daemons/[RUN]"})
}

fn person() -> Value {
    json!({"kind": "person", "key": "person:[HEX]", "event_ids": [], "scheduled_at": null, "conditions": [],
        "by": "a person"})
}

fn ids(ran: &Ran) -> (Value, Value, Value) {
    let object = ran.json();
    (
        object["activation"]["id"].clone(),
        object["runs"][0]["id"].clone(),
        object["duplicate"].clone(),
    )
}

#[test]
fn a_person_wakes_a_daemon_and_sees_the_end() {
    let world = World::of_daemon(TIDY);
    let ran = world.run(&["fire", "tidy", "--json"]);
    assert_eq!(
        (ran.code, ran.masked(), ran.notes.as_str()),
        (
            0,
            json!({"schema_version": 1, "dry_run": false, "wakes": true, "duplicate": false, "plan": null,
                "activation": activation(&person()), "runs": [run()], "outputs": []}),
            ""
        )
    );
    let again = world.run(&["fire", "tidy", "--json"]);
    assert_ne!(
        ids(&ran).0,
        ids(&again).0,
        "a person's wish is never a duplicate"
    );
    let text = world.run(&["fire", "tidy"]);
    assert!(text.output.starts_with("activation  01"), "{}", text.output);
    assert!(
        text.output.contains("\nresult      builtin: no model ran"),
        "{}",
        text.output
    );
}

#[test]
fn the_same_event_twice_is_one_activation() {
    let world = World::of_daemon(TIDY);
    let first = world.run_opened(&["fire", "tidy", "--json"]);
    let trigger = json!({"kind": "event", "key": "event:[ID]", "event_ids": ["[ID]"], "scheduled_at": null, "conditions": [0],
        "by": "a person"});
    assert_eq!(
        (first.code, first.masked()),
        (
            0,
            json!({"schema_version": 1, "dry_run": false, "wakes": true, "duplicate": false, "plan": null,
                "activation": activation(&trigger), "runs": [run()], "outputs": []})
        )
    );
    let second = world.run_opened(&["fire", "tidy", "--json"]);
    let (activation, run, _) = ids(&first);
    assert_eq!(
        (second.code, ids(&second)),
        (0, (activation, run, json!(true)))
    );
    let other = OPENED.replace("\"number\":7", "\"number\":8");
    let start = ["fire", "tidy", "--json", "--event", "-"];
    let third = world.run_with_input(&[&start, &PULL_REQUEST[..]].concat(), &other);
    assert_eq!((third.code, ids(&third).2), (0, json!(false)));
}

#[test]
fn the_delivery_of_an_envelope_names_the_event() {
    let world = World::of_daemon(TIDY);
    let body: Value = serde_json::from_str(OPENED).unwrap();
    let envelope = |title: &str| {
        let mut body = body.clone();
        body["pull_request"]["title"] = json!(title);
        json!({"id": "delivery-1", "source": "github", "event": "pull_request", "headers": {}, "enrichment": {}, "body": body}).to_string()
    };
    world.write("one.json", &envelope("one"));
    world.write("two.json", &envelope("two"));
    let one = world.run(&["fire", "tidy", "--json", "--event", "one.json"]);
    let two = world.run(&["fire", "tidy", "--json", "--event", "two.json"]);
    assert_eq!(
        (two.code, ids(&two).2, ids(&two).0),
        (0, json!(true), ids(&one).0)
    );
}

#[test]
fn an_event_that_meets_no_condition_wakes_nobody_and_is_not_kept() {
    let world = World::of_daemon(TIDY);
    let closed = OPENED.replace("\"action\":\"opened\"", "\"action\":\"closed\"");
    let start = ["fire", "tidy", "--json", "--event", "-"];
    let ran = world.run_with_input(&[&start, &PULL_REQUEST[..]].concat(), &closed);
    assert_eq!(
        (ran.code, ran.json()),
        (
            1,
            json!({"schema_version": 1, "dry_run": false, "wakes": false, "duplicate": false, "activation": null,
                "runs": [], "outputs": [], "plan": null})
        )
    );
    let kinds = world.run(&["events", "--json"]).json();
    let github = kinds["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["source"] == "github");
    assert_eq!(github.count(), 0);
}

#[test]
fn a_tick_wakes_once() {
    let world = World::of_daemon(TIDY);
    let tick = ["fire", "tidy", "--tick", "2026-11-20T14:30:00Z", "--json"];
    let first = world.run(&tick);
    let trigger = json!({"kind": "tick", "key": "tick:2026-11-20T14:30:00Z", "event_ids": [], "scheduled_at": "[TIME]",
        "conditions": [], "by": "a person"});
    assert_eq!(
        (first.code, &first.masked()["activation"]),
        (0, &activation(&trigger))
    );
    assert_eq!(
        first.json()["activation"]["trigger"]["scheduled_at"],
        "2026-11-20T14:30:00Z"
    );
    let second = world.run(&tick);
    assert_eq!(
        (second.code, ids(&second).2, ids(&second).0),
        (0, json!(true), ids(&first).0)
    );
    world.write(
        ".agents/daemons/watcher/DAEMON.md",
        &TIDY
            .replace("id: tidy", "id: watcher")
            .replace("schedule: \"30 14 * * 1-5\"\n", ""),
    );
    world.commit("Add a daemon without a schedule");
    for dry in [&[][..], &["--dry-run"]] {
        let ran = world.run(
            &[
                &[
                    "fire",
                    "watcher",
                    "--tick",
                    "2026-11-20T14:30:00Z",
                    "--json",
                ],
                dry,
            ]
            .concat(),
        );
        assert_eq!(ran.failure(), (66, "no-schedule".to_owned()));
    }
}

#[test]
fn changes_of_the_worktree_become_a_branch() {
    let world = World::of_daemon(TIDY);
    world.configure(WRITER);
    let ran = world.run(&["fire", "tidy", "--json"]);
    let object = ran.masked();
    assert_eq!(ran.code, 0, "{object}");
    assert_eq!(object["runs"][0]["provider"], "writer");
    assert_eq!(
        object["outputs"],
        json!([{"key": "[KEY]", "activation_id": "[ID]", "daemon_id": "tidy", "ordinal": 0, "surface": "git",
            "target": "refs/heads/daemon/tidy/[ID]", "state": "confirmed",
            "remote_id": "refs/heads/daemon/tidy/[ID]@[COMMIT]", "url": null, "attempts": 1, "created_at": "[TIME]",
            "delivered_at": "[TIME]", "error": null}])
    );
    let whole = ran.json();
    assert_eq!(
        whole["activation"]["outputs"],
        json!([whole["outputs"][0]["key"]])
    );
    let branch = whole["outputs"][0]["target"].as_str().unwrap().to_owned();
    assert_eq!(
        world.git(&["show", &format!("{branch}:mended.md")]),
        "mended\n"
    );
    assert_eq!(
        world.git(&["status", "--porcelain"]),
        "",
        "the author's own tree is left alone"
    );
}

#[test]
fn a_failed_activation_exits_with_one() {
    let world = World::of_daemon(TIDY);
    world.configure("[provider.broken]\ncommand = \"false\"\n");
    let ran = world.run(&["fire", "tidy", "--provider", "broken", "--json"]);
    let object = ran.json();
    assert_eq!(
        (
            ran.code,
            &object["activation"]["state"],
            &object["runs"][0]["state"]
        ),
        (1, &json!("failed"), &json!("failed"))
    );
    assert!(
        object["runs"][0]["error"]["type"].is_string()
            && object["activation"]["reason"].is_string(),
        "{object}"
    );
}

#[test]
fn the_same_event_again_is_done_even_where_the_first_time_failed() {
    let world = World::of_daemon(TIDY);
    world.configure("[provider]\ndefault = \"broken\"\n[provider.broken]\ncommand = \"false\"\n");
    let first = world.run_opened(&["fire", "tidy", "--json"]);
    let second = world.run_opened(&["fire", "tidy", "--json"]);
    assert_eq!((first.code, second.code), (1, 0));
    assert_eq!(
        (ids(&second).2, ids(&second).0),
        (json!(true), ids(&first).0)
    );
    assert_eq!(second.json()["activation"]["state"], "failed");
}

#[test]
fn what_is_held_says_so_and_starts_nothing() {
    let world = World::of_daemon(TIDY);
    assert_eq!(world.run(&["fire", "tidy", "-q"]).code, 0);
    for (hold, go) in [
        (&["hold", "tidy"][..], &["go", "tidy"][..]),
        (&["hold"], &["go"]),
    ] {
        assert_eq!(world.run(hold).code, 0);
        assert_eq!(
            world.run(&["fire", "tidy", "--json"]).failure(),
            (75, "held".to_owned())
        );
        assert_eq!(world.run(go).code, 0);
        assert_eq!(world.run(&["fire", "tidy", "-q"]).code, 0);
    }
}

#[test]
fn what_cannot_be_fired_has_its_own_exit_code() {
    let world = World::of_daemon(&TIDY.replace("30 14 * * 1-5", "0 30 14 * * 1-5"));
    let failed = |arguments: &[&str]| {
        world
            .run(&[&["fire", "--json"], arguments].concat())
            .failure()
    };
    assert_eq!(failed(&["tidy"]), (65, "invalid-daemon".to_owned()));
    assert_eq!(
        failed(&["tidy", "--dry-run"]),
        (65, "invalid-daemon".to_owned())
    );
    assert_eq!(failed(&["nobody"]), (66, "unknown-daemon".to_owned()));
    assert_eq!(
        failed(&["nobody", "--dry-run"]),
        (66, "unknown-daemon".to_owned())
    );
    assert_eq!(
        failed(&["tidy", "--repo", "../nowhere"]),
        (66, "unreadable".to_owned())
    );
    assert_eq!(
        failed(&["tidy", "--repo", "../user"]),
        (66, "repository".to_owned())
    );
    assert_eq!(
        failed(&["tidy", "--provider", "nobody"]),
        (78, "unknown-provider".to_owned())
    );
    assert_eq!(
        failed(&["tidy", "--tick", "2026-11-20T14:30:01Z"]),
        (64, "invalid-argument".to_owned())
    );
    assert_eq!(
        failed(&["tidy", "--tick", "2026-11-20T14:30:00Z", "--event", "x"]),
        (64, "usage".to_owned())
    );
    assert_eq!(failed(&[]), (64, "usage".to_owned()));
    let bare = World::new();
    let outside = bare.run(&["fire", "tidy", "--repo", "../user", "--json"]);
    assert_eq!(outside.failure(), (66, "repository".to_owned()));
    assert!(
        !bare.home().exists(),
        "no home is made where nothing can be fired"
    );
    bare.write(".agents/daemons/tidy/DAEMON.md", TIDY);
    let unborn = bare.run(&["fire", "tidy", "--json"]);
    assert_eq!(unborn.code, 66, "there is no branch yet: {unborn:?}");
    assert_eq!(
        bare.run(&["fire", "tidy", "--dry-run", "-q"]).code,
        0,
        "the working tree has it"
    );
}

#[test]
fn the_default_branch_is_fired_and_the_working_tree_is_rehearsed() {
    let world = World::of_daemon(TIDY);
    world.write(
        ".agents/daemons/fresh/DAEMON.md",
        &TIDY.replace("id: tidy", "id: fresh"),
    );
    let ran = world.run(&["fire", "fresh"]);
    assert_eq!(
        (ran.code, ran.output.as_str(), ran.notes.as_str()),
        (
            66,
            "",
            "error: no daemon `fresh`\n  help: it is in the working tree only: commit it to the default branch, or use --dry-run\n"
        )
    );
    assert_eq!(world.run(&["fire", "fresh", "--dry-run", "-q"]).code, 0);
    world.commit("Add it");
    world.git(&["checkout", "--quiet", "-b", "elsewhere"]);
    world.git(&["rm", "--quiet", "-r", ".agents"]);
    world.commit("Remove all daemons here");
    assert_eq!(
        world.run(&["fire", "fresh", "-q"]).code,
        0,
        "main still has it"
    );
}

#[test]
fn a_dry_run_plans_and_writes_nothing() {
    let world = World::of_daemon(TIDY);
    let before = world.tree();
    let ran = world.run_opened(&["fire", "tidy", "--dry-run", "--json"]);
    let mut object = ran.masked();
    let context = object["plan"]["context"].take();
    assert_eq!(
        (ran.code, object),
        (
            0,
            json!({"schema_version": 1, "dry_run": true, "wakes": true, "duplicate": false, "activation": null, "runs": [],
                "outputs": [], "plan": {"daemon_id": "tidy", "rev": "[SHA256]", "conditions": [0], "provider": "builtin",
                    "capability": "propose", "sandbox": 1, "budget": {"activation_usd": 1.0}, "context": null,
                    "trigger": {"kind": "event", "key": "event:[ID]", "event_ids": ["[ID]"], "scheduled_at": null,
                        "conditions": [0], "by": null}}})
        )
    );
    assert_eq!(context["sha256"], "[SHA256]");
    let sections = context["sections"].as_array().unwrap();
    let sum: u64 = sections
        .iter()
        .map(|section| section["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(context["bytes"], sum);
    assert_eq!(world.tree(), before);

    assert_eq!(world.run(&["fire", "tidy", "-q"]).code, 0);
    let before = world.tree();
    for arguments in [
        &["--json"][..],
        &["--tick", "2026-11-20T14:30:00Z"],
        &["--provider", "builtin"],
    ] {
        let ran = world.run(&[&["fire", "tidy", "--dry-run"], arguments].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert_eq!(world.tree(), before, "nor where a home is there already");
}

#[test]
fn a_dry_run_follows_policy() {
    let world = World::of_daemon(TIDY);
    world.configure("[policy.daemon.tidy]\ncapability = \"read\"\nprovider = \"slow\"\n[provider.slow]\ncommand = \"true\"\n[budget]\nactivation_usd = 0.5\n");
    let plan = world.run(&["fire", "tidy", "--dry-run", "--json"]).json()["plan"].clone();
    assert_eq!(
        (
            &plan["provider"],
            &plan["capability"],
            &plan["budget"],
            &plan["trigger"]["kind"]
        ),
        (
            &json!("slow"),
            &json!("read"),
            &json!({"activation_usd": 0.5}),
            &json!("person")
        )
    );
    let nobody = world.run(&[
        "fire",
        "tidy",
        "--dry-run",
        "--provider",
        "nobody",
        "--json",
    ]);
    assert_eq!(nobody.failure(), (78, "unknown-provider".to_owned()));
    let closed = OPENED.replace("\"action\":\"opened\"", "\"action\":\"closed\"");
    let start = ["fire", "tidy", "--dry-run", "--json", "--event", "-"];
    let ran = world.run_with_input(&[&start, &PULL_REQUEST[..]].concat(), &closed);
    assert_eq!((ran.code, &ran.json()["wakes"]), (1, &json!(false)));
}

#[test]
fn two_owners_of_a_home_exclude_each_other() {
    let world = World::of_daemon(TIDY);
    world
        .configure("[provider.slow]\ncommand = \"sh\"\nargs = [\"-c\", \"read -r line < gate\"]\n");
    assert_eq!(world.run(&["fire", "tidy", "-q"]).code, 0);
    let lock = std::fs::File::open(world.home().join("run/host.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(
        world.run(&["fire", "tidy", "--json"]).failure(),
        (75, "home-owned".to_owned())
    );
    assert_eq!(
        world.run(&["hold", "--json"]).failure(),
        (75, "home-owned".to_owned())
    );
    assert_eq!(
        world.run(&["list", "-q"]).code,
        0,
        "looking needs no ownership"
    );
}
