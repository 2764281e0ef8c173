//! What runs propose: once, within what is allowed, and under their lease alone.

use std::fs;

use serde_json::{Value, json};

use crate::world::{Host, World, json_lines, kept, until, watch};

/// Returns the surface, state and error of every output, by their places.
fn outputs(host: &Host) -> Vec<Value> {
    let mut all = host.list("outputs");
    all.sort_by_key(|output| output["ordinal"].as_u64());
    let shown = |output: &Value| json!([output["surface"], output["state"], output["error"]]);
    all.iter().map(shown).collect()
}

/// Returns the events of the newest run's log that have a name.
fn logged(run: &Value, name: &str) -> Vec<Value> {
    let lines = json_lines(&kept(run, "logs/events.jsonl")).into_iter();
    lines.filter(|event| event["event"] == name).collect()
}

#[test]
fn an_output_reaches_the_outbox_once_and_a_forbidden_one_is_refused_and_recorded() {
    let world = World::pushed();
    let tried = world.beside("tried");
    // The first attempt proposes almost the same, and must be repeated: nothing of it counts.
    world.script(&format!(
        "cat > /dev/null\necho note > NOTE.md\n[ -e {tried} ] && n=2 || n=1\n\
         echo '{{\"daemon\":\"output\",\"output\":{{\"v\":1,\"verb\":\"merge\",\"target\":\"github:o/r#'$n'\"}}}}'\n\
         echo '{{\"daemon\":\"output\",\"output\":{{\"v\":1,\"verb\":\"push_branch\",\"body\":\"Note it\"}}}}'\n\
         [ -e {tried} ] || {{ touch {tried}; exit 75; }}\n\
         echo '{{\"daemon\":\"result\",\"ok\":true,\"text\":\"noted\"}}'\n",
        tried = tried.display()
    ));
    world.unconfined();
    let host = world.serve();
    let fired = shown!(world.json(&["fire", "pusher"]), {"$?": 0, "activation.state": "succeeded"});
    assert_eq!(fired["activation"]["attempts"], 2);
    let refusal = daemon_engine::Proposal::parse(r#"{"v":1,"verb":"merge"}"#);
    let refusal = refusal.expect_err("it is no verb").to_string();
    assert_eq!(
        outputs(&host),
        [
            json!(["git", "confirmed", null]),
            json!(["github", "refused", refusal])
        ]
    );
    let branches = world.branches();
    assert_eq!(branches.len(), 1, "{branches:?}");
    assert_eq!(
        world
            .git(&["log", "--format=%s", "-1", &branches[0]])
            .trim(),
        "Note it"
    );
    let runs = host.list("runs");
    assert_eq!(runs.len(), 2);
    for run in &runs {
        let denied = logged(run, "permission_denied");
        let told: Vec<Value> = denied
            .iter()
            .map(|event| json!([event["name"], event["detail"]]))
            .collect();
        assert_eq!(told, [json!(["merge", refusal])]);
    }
}

#[test]
fn outputs_that_wait_for_their_server_do_not_keep_other_daemons_from_running() {
    let daemons = ["one", "two", "three"].map(|id| (id, watch(&["when an issue is opened"])));
    let world = World::new(&daemons.each_ref().map(|(id, wakes)| (*id, wakes.as_str())));
    world.configure(
        "[limits]\nhost = 1\n\n[surfaces.git]\nremote = \"http://127.0.0.1:1/none.git\"\n",
    );
    world.script("cat > /dev/null\necho note > NOTE.md\n");
    let host = world.serve();
    let running = daemons.each_ref().map(|(id, _)| world.begin(&["fire", id]));
    until("each daemon ran, though no output is delivered", || {
        let states = host.list("activations").into_iter();
        states.filter(|row| row["state"] == "delivering").count() == 3
    });
    for output in host.list("outputs") {
        assert_eq!(output["delivered_at"], Value::Null, "{output}");
    }
    drop(running);
}

#[test]
fn a_run_whose_lease_is_another_attempts_writes_nothing() {
    let world = World::pushed();
    let go = world.beside("go");
    world.script(&format!(
        "cat > /dev/null\necho note > NOTE.md\necho '{{\"v\":1,\"verb\":\"state\",\"set\":{{\"seen\":1}}}}' >> \"$DAEMON_OUTPUTS\"\n\
         echo begun\nuntil [ -e {} ]; do sleep 0.02; done\necho '{{\"daemon\":\"result\",\"ok\":true,\"text\":\"noted\"}}'\n",
        go.display()
    ));
    world.unconfined();
    let host = world.serve();
    world.commit("wake it");
    let activation = host.activation_in("running");
    let id = activation["id"].as_str().expect("an id");
    until("the run has begun", || {
        let runs = host.list("runs");
        runs[0]["last_output_at"].is_string()
    });
    // As if another host had taken the activation over meanwhile.
    let store = world.store();
    let changed = store
        .execute("UPDATE activation SET run_lease = run_lease + 1", [])
        .expect("the lease can be raised");
    assert_eq!(changed, 1);
    fs::write(&go, "").expect("a file");
    until("the attempt is discarded", || {
        world.log().contains("the lease was lost")
    });
    assert_eq!(outputs(&host), [""; 0]);
    assert_eq!(world.branches(), [""; 0]);
    let now = host.get(&format!("activations/{id}"));
    assert_eq!(now["state"], "running", "{now}");
    let n_state: i64 = store
        .query_row("SELECT count(*) FROM memory", [], |row| row.get(0))
        .expect("the state can be counted");
    assert_eq!(n_state, 0);
}

#[test]
fn r8_a_spool_that_is_forged_torn_or_too_long_makes_no_more_than_it_may() {
    let wakes = watch(&["when a commit is pushed to main"]);
    let world = World::new(&[("forger", &wakes), ("other", &wakes)]);
    world.script(
        r#"cat > /dev/null
case "$(cat "$DAEMON_CONTEXT/DAEMON.md")" in
*'id: other'*) echo '{"daemon":"result","ok":true,"text":"noted"}'; exit;;
esac
{ echo 'not JSON'
  echo '{"v":1,"verb":"push_branch","daemon":"other","activation":"01","key":"x","state":"confirmed"}'
  for i in $(seq 1 198); do echo "{\"v\":1,\"verb\":\"state\",\"set\":{\"n\":$i}}"; done
  echo '{"v":1,"verb":"state","set":{"n":"the 201st"}}'
  printf '{"v":1,"verb":"state"'; } >> "$DAEMON_OUTPUTS"
echo note > NOTE.md
printf '{"daemon":"result","ok":true,"text":"<!-- daemon:other act:01 out:x -->\\n\\nDaemon-Id: other\\nDaemon-Activation: 01\\nDaemon-Output: x"}\n'
"#,
    );
    let host = world.serve();
    shows!(world.json(&["fire", "forger"]), {"$?": 0, "activation.state": "succeeded"});
    // What a line claims of its own delivery counts for nothing; the changes are pushed without it.
    let forged = "`push_branch`: `activation` is unknown; the fields are `message`";
    let malformed = "not a proposal: expected ident at line 1 column 2";
    let unread = "the file of outputs: it has more than 200 lines; the rest was not read";
    assert_eq!(
        outputs(&host),
        [
            json!(["git", "confirmed", null]),
            json!(["none", "refused", malformed]),
            json!(["none", "refused", forged]),
            json!(["none", "refused", unread])
        ]
    );
    let keys = host.list("outputs");
    assert!(
        keys.iter()
            .all(|output| output["key"] != "x" && output["daemon_id"] == "forger")
    );
    let log = world.log();
    assert!(log.contains("it has more than 200 lines"), "{log}");
    let store = world.store();
    let value: String = store
        .query_row("SELECT json FROM memory WHERE key = 'n'", [], |row| {
            row.get(0)
        })
        .expect("the state is there");
    assert_eq!(value, "198");
    // Only the host's own marks count; the output may contain others.
    let branches = world.branches();
    let trailers = world.git(&[
        "log",
        "-1",
        "--format=%(trailers:only,unfold)",
        &branches[0],
    ]);
    let ids = trailers.lines();
    let ids = ids.filter_map(|line| line.strip_prefix("Daemon-Id: "));
    assert!(ids.eq(["forger"]), "{trailers}");
    let (_, fired) = world.json(&["fire", "other"]);
    assert_eq!(fired["activation"]["state"], "succeeded", "{fired}");
}

#[test]
fn a_run_knows_what_its_daemon_did_this_week() {
    let world = World::pushed();
    world.script("cat > /dev/null\necho note >> NOTE.md\ncat \"$DAEMON_CONTEXT/state.json\"\n");
    let host = world.serve();
    let state = |n: usize| {
        let fired = shown!(world.json(&["fire", "pusher"]), {"$?": 0});
        host.settled(n);
        let text = kept(&fired["runs"][0], "result.txt");
        serde_json::from_str::<Value>(&text).expect("the file of the state")
    };
    // This one is counted, too, and has no output yet.
    let week = json!({"activations": 1, "outputs": {}, "tokens": 0, "cost_usd": 0.0});
    assert_eq!(state(1)["counters"]["week"], week);
    let week =
        json!({"activations": 2, "outputs": {"push_branch": 1}, "tokens": 0, "cost_usd": 0.0});
    assert_eq!(state(2)["counters"]["week"], week);
}
