//! `outputs prune`: the branches of daemons that have served their purpose are removed, and no others.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::serve_github::world_with;
use crate::serve_rolling::{send, wake};
use crate::world::{World, until, watch};

/// Writes a new file each time, and asks for a pull request.
const WRITES: &str = r#"cat > /dev/null
echo note > "note-$(date +%s%N).md"
echo '{"daemon":"output","output":{"v":1,"verb":"open_pull_request","title":"A note","body":"One more."}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
"#;

/// Returns each branch of a listing with the reason and whether it was removed.
fn rows(answer: &Value) -> BTreeSet<(String, String, bool)> {
    let rows = answer["branches"].as_array().expect("branches").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    rows.map(|row| {
        assert_eq!(row["error"], json!(null));
        let is_removed = row["removed"] == true;
        (text(&row["branch"]), text(&row["reason"]), is_removed)
    })
    .collect()
}

#[test]
fn only_own_branches_that_are_merged_or_closed_are_removed() {
    let (world, api) = world_with("when a pull request is opened", WRITES, "");
    let host = world.serve();
    let branches: Vec<String> = (1..=4)
        .map(|n| {
            let id = wake(&world, &host, n)["id"].as_str().map(str::to_owned);
            format!("daemon/helper/{}", id.expect("an id"))
        })
        .collect();
    let [closed, merged, open, continued] = &branches[..] else {
        unreachable!("there are four")
    };
    let close = |number: u64| {
        let path = format!("/repos/o/r/pulls/{number}");
        let (status, _) = api.act("ann", "PATCH", &path, &json!({"state": "closed"}));
        assert_eq!(status, 200);
    };
    close(3);
    close(6);
    world.git(&["merge", "--quiet", "--no-ff", merged]);
    // A person's commit on a branch of a closed pull request, and a person's branch with the name of a daemon's.
    world.git(&["checkout", "--quiet", continued]);
    world.commit("by hand");
    world.git(&["checkout", "--quiet", "main"]);
    let theirs = "daemon/helper/01ARZ3NDEKTSV4RRFFQ69G5FAV";
    world.git(&["branch", theirs, "main"]);

    let expected = |is_removed| {
        BTreeSet::from([
            (closed.clone(), "pull request closed".to_owned(), is_removed),
            (merged.clone(), "merged".to_owned(), is_removed),
        ])
    };
    let (code, dry) = world.json(&["outputs", "prune", "--dry-run"]);
    assert_eq!((code, rows(&dry)), (0, expected(false)), "{dry}");
    for narrow in [["--daemon", "other"], ["--older", "1h"]] {
        let (code, none) = world.json(&[&["outputs", "prune"][..], &narrow].concat());
        assert_eq!((code, rows(&none)), (0, BTreeSet::new()), "{narrow:?}");
    }
    assert_eq!(world.branches().len(), 5);
    drop(host);
    // Without a host the command owns the home.
    let (code, done) = world.json(&["outputs", "prune", "--daemon", "helper"]);
    assert_eq!((code, rows(&done)), (0, expected(true)), "{done}");
    let left: BTreeSet<String> = world.branches().into_iter().collect();
    let kept = [open.as_str(), continued, theirs].map(|branch| format!("refs/heads/{branch}"));
    assert_eq!(left, BTreeSet::from(kept));
    let again = world.run(&["outputs", "prune"]);
    assert_eq!(
        String::from_utf8_lossy(&again.stdout),
        "no branch of a daemon is merged or has a closed pull request\n"
    );
}

#[test]
fn a_rolling_branch_stays_while_an_activation_may_push_to_it() {
    let rolling = "[policy.daemon.helper]\nrolling = true\n";
    let (world, _api) = world_with("when a pull request is opened", WRITES, rolling);
    let host = world.serve();
    wake(&world, &host, 1);
    world.script("cat > /dev/null\nwhile true; do sleep 1; done\n");
    send(&world, &host, 2);
    let running = host.activation_in("running");
    // The branch is merged after the run began at it.
    world.git(&["merge", "--quiet", "--no-ff", "daemon/helper/rolling"]);
    let (code, kept) = world.json(&["outputs", "prune"]);
    assert_eq!((code, &kept["branches"]), (69, &json!([])), "{kept}");
    let why = "`refs/heads/daemon/helper/rolling`: an activation of its daemon is not finished; prune again after it";
    assert_eq!(kept["problems"], json!([why]));
    let id = running["id"].as_str().expect("an id");
    assert_eq!(world.json(&["cancel", id, "--yes"]).0, 0);
    until("nothing runs", || {
        let rows = host.list("activations");
        rows.iter().all(|row| row["finished_at"].is_string())
    });
    let (code, done) = world.json(&["outputs", "prune"]);
    let expected = (
        "daemon/helper/rolling".to_owned(),
        "merged".to_owned(),
        true,
    );
    assert_eq!(
        (code, rows(&done)),
        (0, BTreeSet::from([expected])),
        "{done}"
    );
}

#[test]
fn a_wrong_argument_is_reported_before_a_missing_store() {
    let world = World::new(&[("helper", &watch(&["when a pull request is opened"]))]);
    let (code, answer) = world.json(&["outputs", "prune", "--older", "nonsense"]);
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("`older` must be"), "{answer}");
    assert_eq!(code, 64, "{answer}");
}
