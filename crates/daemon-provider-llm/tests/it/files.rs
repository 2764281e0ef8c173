//! Files that the tools reach, and paths that they refuse.

use std::fs;
use std::os::unix::fs::symlink;

use daemon_fakes::{Message, Reply};
use daemon_provider::{Outcome, Permissions};
use serde_json::{Value, json};

use crate::kit::{Bench, end};

/// Lets the model call these tools in one reply, and returns their results.
async fn uses(prepare: impl FnOnce(&Bench), calls: &[(&str, Value)]) -> (Bench, Vec<String>) {
    let all = calls
        .iter()
        .fold(Message::default(), |message, (name, arguments)| {
            message.and_call(*name, arguments.clone())
        });
    let bench = Bench::new([Reply::Message(all), Reply::text("ok")]);
    prepare(&bench);
    let mut request = bench.request();
    request.context = Some(bench.path("context"));
    let events = bench.story(bench.config("openai"), request).await;
    assert_eq!(end(&events), (Outcome::Done, "ok"));
    let results = bench.results();
    (bench, results)
}

#[tokio::test]
async fn paths_that_lead_out_are_refused_and_the_run_goes_on() {
    let prepare = |bench: &Bench| {
        fs::write(bench.path("secret"), "secret").unwrap();
        bench.write(".git/config", "secret");
        bench.write("docs/a.md", "one\n");
        let worktree = bench.path("worktree");
        symlink(bench.path("secret"), worktree.join("link")).unwrap();
        symlink(bench.path(""), worktree.join("up")).unwrap();
        symlink(worktree.join(".git"), worktree.join("inside")).unwrap();
    };
    let outside = [
        "../secret",
        "docs/../../secret",
        "/etc/passwd",
        "link",
        "up/secret",
        ".git/config",
        "inside/config",
    ];
    let mut calls: Vec<(&str, Value)> = outside
        .iter()
        .map(|path| ("read", json!({"path": path})))
        .collect();
    calls.extend(outside.map(|path| ("write", json!({"path": path, "content": "x"}))));
    calls.extend(outside.map(|path| ("edit", json!({"path": path, "old": "secret", "new": "x"}))));
    calls.extend(["..", "up", ".git"].map(|path| ("list", json!({"path": path}))));
    calls.extend(
        ["..", "up", ".git"].map(|path| ("search", json!({"path": path, "pattern": "secret"}))),
    );
    for path in [".agents/daemons/x/DAEMON.md", ".github/workflows/ci.yml"] {
        calls.push(("write", json!({"path": path, "content": "x"})));
    }
    let (bench, results) = uses(prepare, &calls).await;
    for ((name, arguments), result) in calls.iter().zip(&results) {
        assert!(
            result.starts_with("error: "),
            "{name} {arguments}: {result}"
        );
    }
    assert_eq!(results.len(), calls.len());
    assert_eq!(fs::read_to_string(bench.path("secret")).unwrap(), "secret");
    assert_eq!(bench.file(".git/config"), "secret");
    assert!(!bench.path("worktree/.agents").exists() && !bench.path("worktree/.github").exists());
}

#[tokio::test]
async fn files_are_read_listed_found_written_and_changed() {
    let prepare = |bench: &Bench| {
        bench.write("docs/a.md", "one\ntwo\n");
        bench.write("docs/b.txt", "two\n");
        bench.write(".git/two", "two\n");
        fs::create_dir(bench.path("context/support")).unwrap();
        fs::write(bench.path("context/support/guide.md"), "the guide").unwrap();
    };
    let calls = [
        ("list", json!({"recursive": true})),
        ("search", json!({"pattern": "^t.o$"})),
        (
            "search",
            json!({"pattern": "two", "path": "docs", "glob": "docs/*.md"}),
        ),
        ("read", json!({"path": "support/guide.md", "in": "context"})),
        ("write", json!({"path": "new/c.md", "content": "three\n"})),
        (
            "edit",
            json!({"path": "docs/a.md", "old": "two", "new": "2"}),
        ),
        ("read", json!({"path": "./docs/a.md"})),
        (
            "edit",
            json!({"path": "docs/a.md", "old": "two", "new": "2"}),
        ),
        ("edit", json!({"path": "docs/a.md", "old": "o", "new": "0"})),
        (
            "edit",
            json!({"path": "docs/a.md", "old": "absent", "new": "0"}),
        ),
        ("search", json!({"pattern": "("})),
    ];
    let (bench, results) = uses(prepare, &calls).await;
    assert_eq!(results[0], "docs/\ndocs/a.md\ndocs/b.txt");
    assert_eq!(results[1], "docs/a.md:2: two\ndocs/b.txt:1: two");
    assert_eq!(results[2], "docs/a.md:2: two");
    assert_eq!(results[3], "the guide");
    assert_eq!(results[4], "wrote 6 bytes to `new/c.md`");
    assert_eq!(
        results[5],
        "error: `docs/a.md` was not read in this run: read it first"
    );
    assert_eq!(results[7], "changed `docs/a.md`");
    assert_eq!(bench.file("docs/a.md"), "0ne\n2\n");
    assert_eq!(bench.file("new/c.md"), "three\n");
    assert_eq!(results[8], "changed `docs/a.md`");
    assert_eq!(
        results[9],
        "error: the text occurs 0 times in `docs/a.md`; it must occur exactly once"
    );
    assert!(
        results[10].starts_with("error: the pattern cannot be used: "),
        "{}",
        results[10]
    );
}

#[tokio::test]
async fn results_over_a_limit_are_cut_and_marked() {
    let prepare = |bench: &Bench| {
        // The limit splits a character of two bytes.
        bench.write("long", &format!("x{}", "é".repeat(200 << 10)));
        bench.write("binary", "");
        fs::write(bench.path("worktree/binary"), [0, 159, 146, 150]).unwrap();
        bench.write("lines", &"hit\n".repeat(300));
        for n in 0..1001 {
            bench.write(&format!("many/{n}"), "");
        }
    };
    let calls = [
        ("read", json!({"path": "long"})),
        ("read", json!({"path": "long", "offset": 262_143})),
        ("read", json!({"path": "binary"})),
        ("list", json!({"path": "many"})),
        ("search", json!({"pattern": "hit"})),
        (
            "write",
            json!({"path": "big", "content": "x".repeat((1 << 20) + 1)}),
        ),
    ];
    let (bench, results) = uses(prepare, &calls).await;
    let end = "...[truncated: 409601 bytes in all; go on with offset 262143]";
    assert!(results[0].starts_with("xé") && results[0].ends_with(end));
    assert!(results[1].starts_with('é') && results[1].ends_with('é'));
    assert_eq!(results[2], "error: `binary` is not UTF-8 text");
    assert_eq!(results[3].lines().count(), 1001);
    assert!(results[3].ends_with("...[truncated: more than 1000 entries; list a directory below]"));
    assert_eq!(results[4].lines().count(), 201);
    assert_eq!(
        results[5],
        "error: `big` would be, or is, larger than 1 MiB"
    );
    assert!(!bench.path("worktree/big").exists());
}

#[tokio::test]
async fn a_run_that_may_only_read_is_offered_no_change() {
    let bench = Bench::new([
        Reply::call("write", json!({"path": "a", "content": "x"})),
        Reply::text("ok"),
    ]);
    let mut request = bench.request();
    request.permissions = Permissions::Read;
    bench.story(bench.config("openai"), request).await;
    assert_eq!(bench.results(), ["error: tool not registered: `write`"]);
    assert!(!bench.path("worktree/a").exists());
}
