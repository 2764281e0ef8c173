//! `outputs prune`: the branches of daemons that have served their purpose are removed, and no others.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::serve_github::world_with;
use crate::serve_rolling::wake;

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
