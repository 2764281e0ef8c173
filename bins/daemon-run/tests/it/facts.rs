//! Facts that payloads lack, offline: local git tells what it has, and the rest is said to be missing.

use serde_json::{Value, json};

use crate::world::{OPENED, PULL_REQUEST, World};

const DOCS: &str = "when a pull request that touches docs/** is opened";

/// A repository with a branch that changes `path`, and the body that tells of its pull request.
fn proposed(path: &str) -> (World, String) {
    let daemon = crate::world::TIDY.replace("when a pull request is opened", DOCS);
    let world = World::of_daemon(&daemon);
    world.write("src/a.rs", "1");
    world.commit("base");
    let base = commit(&world, "main");
    world.git(&["checkout", "--quiet", "-b", "wick"]);
    world.write(path, "2");
    world.commit("propose");
    let head = commit(&world, "wick");
    world.git(&["checkout", "--quiet", "main"]);
    (world, between(&base, &head))
}

/// Returns the body of a pull request between two commits.
fn between(base: &str, head: &str) -> String {
    let named = format!(r#""head":{{"ref":"wick","sha":"{head}"}}"#);
    let body = OPENED.replace(r#""head":{"ref":"wick"}"#, &named);
    body.replace(&"2".repeat(40), base)
}

/// Returns the body of a pull request between commits that no repository has.
fn elsewhere() -> String {
    between(&"2".repeat(40), &"1".repeat(40))
}

fn commit(world: &World, name: &str) -> String {
    world.git(&["rev-parse", name]).trim().to_owned()
}

fn fact(facts: &Value, need: &str) -> Value {
    let mut all = facts.as_array().into_iter().flatten();
    let found = all.find(|fact| fact["need"] == need);
    found.cloned().unwrap_or_default()
}

fn told(state: &str, from: Option<&str>, note: Option<&str>) -> Value {
    json!({"need": "changed_files", "state": state, "from": from, "tries": 0, "next_try_at": null, "note": note})
}

#[test]
fn explain_reads_what_a_pull_request_changes_from_the_repository_that_is_named() {
    let explain = |world: &World, body: &str, more: &[&str]| {
        let start = ["explain", "--json", "--condition", DOCS, "--event", "-"];
        let all = [&start, &PULL_REQUEST[..], more].concat();
        let object = world.run_with_input(&all, body).json();
        let filter = &object["filters"][0];
        (
            object["wakes"].clone(),
            filter["got"].clone(),
            fact(&object["facts"], "changed_files"),
        )
    };
    let here = ["--repo", "."];
    let (world, body) = proposed("docs/a.md");
    let from_git = told("known", Some("local_git"), None);
    assert_eq!(
        explain(&world, &body, &here),
        (json!(true), json!("docs/a.md"), from_git.clone())
    );
    let given = ["--repo", ".", "--changed-file", "src/b.rs"];
    assert_eq!(
        explain(&world, &body, &given),
        (
            json!(false),
            json!("src/b.rs"),
            told("known", Some("given"), None)
        ),
        "what is given wins"
    );
    let absent = "local git does not have both commits; a host would ask the API of github";
    assert_eq!(
        explain(&world, &elsewhere(), &here),
        (
            json!(false),
            Value::Null,
            told("missing", None, Some(absent))
        )
    );
    let unasked = "a host would ask the API of github";
    assert_eq!(
        explain(&world, &body, &[]),
        (
            json!(false),
            Value::Null,
            told("missing", None, Some(unasked))
        ),
        "no repository is named"
    );
    let (world, body) = proposed("src/b.rs");
    assert_eq!(
        explain(&world, &body, &here),
        (json!(false), json!("src/b.rs"), from_git)
    );
}

#[test]
fn a_daemon_is_explained_with_where_its_facts_came_from() {
    let (world, body) = proposed("docs/a.md");
    let explain = |body: &str| {
        let all = [&["explain", "tidy", "--event", "-"], &PULL_REQUEST[..]].concat();
        world.run_with_input(&all, body).output
    };
    let woken = explain(&body);
    assert!(woken.contains("tidy  wakes on github"), "{woken}");
    assert!(
        woken.ends_with("  fact changed_files  from local git\n"),
        "{woken}"
    );
    let asleep = explain(&elsewhere());
    let why = "does not wake on github pull_request.opened by ada: a needed fact is missing: changed_files\n";
    assert!(asleep.contains(why), "{asleep}");
    let missing = "  fact changed_files  missing: local git does not have both commits; a host would ask the API of github\n";
    assert!(asleep.ends_with(missing), "{asleep}");
}

#[test]
fn fire_wakes_by_what_local_git_says() {
    for (path, wakes) in [("docs/a.md", true), ("src/b.rs", false)] {
        let (world, body) = proposed(path);
        let fire = |more: &[&str]| {
            let start = ["fire", "tidy", "--json", "--event", "-"];
            let all = [&start, &PULL_REQUEST[..], more].concat();
            let ran = world.run_with_input(&all, &body);
            (ran.code, ran.json()["wakes"].clone())
        };
        let expected = (i32::from(!wakes), json!(wakes));
        assert_eq!(fire(&["--dry-run"]), expected, "{path}");
        assert_eq!(fire(&[]), expected, "{path}");
        if wakes {
            let context = [&["context", "tidy", "--event", "-"], &PULL_REQUEST[..]].concat();
            let context = world.run_with_input(&context, &body).output;
            assert!(context.contains("docs/a.md"), "{context}");
        }
    }
}
