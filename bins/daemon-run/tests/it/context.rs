//! `context`: the bytes that a provider receives.

use serde_json::json;

use crate::world::{TIDY, World};

#[test]
fn the_file_stands_in_the_context_byte_for_byte() {
    let text = format!(
        "{}Smörgås \u{1f56f}\u{fe0f}\r\n",
        TIDY.replace('\n', "\r\n")
    );
    let world = World::of_daemon(&text);
    let ran = world.run(&["context", "tidy"]);
    assert_eq!((ran.code, ran.notes.as_str()), (0, ""));
    assert!(ran.output.contains(&text), "{}", ran.output);
}

#[test]
fn the_object_measures_what_it_holds() {
    let world = World::of_daemon(TIDY);
    let ran = world.run_opened(&["context", "tidy", "--json"]);
    let object = ran.json();
    let text = object["text"].as_str().unwrap();
    assert_eq!(object["bytes"], text.len());
    let sections = object["sections"].as_array().unwrap();
    let names: Vec<(&str, bool)> = sections
        .iter()
        .map(|section| {
            (
                section["name"].as_str().unwrap(),
                section["trusted"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("contract", true),
            ("daemon-file", true),
            ("why", true),
            ("remainder", true),
            ("payload", false),
            ("state", false),
            ("support-tree", true),
            ("capability", true),
        ]
    );
    let sum: u64 = sections
        .iter()
        .map(|section| section["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(object["bytes"], sum);
    assert!(text.contains("Add a wick"), "the payload is told");
    let masked = ran.masked();
    assert_eq!(
        (&masked["sha256"], &masked["daemon_file_sha256"]),
        (&json!("[SHA256]"), &json!("[SHA256]"))
    );
    let mut names: Vec<&String> = object.as_object().unwrap().keys().collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "bytes",
            "daemon_file_sha256",
            "schema_version",
            "sections",
            "sha256",
            "text"
        ]
    );
}

#[test]
fn the_working_tree_is_read_and_policy_is_told() {
    let world = World::new();
    world.configure("[policy.daemon.tidy]\ncapability = \"read\"\n");
    world.write(".agents/daemons/tidy/DAEMON.md", TIDY);
    world.write(".agents/daemons/tidy/scripts/check.sh", "#!/bin/sh\n");
    let text = world
        .run(&["context", "tidy", "--tick", "2026-11-20T14:30:00Z"])
        .output;
    for words in [
        "of the repository \"lamp\"",
        "scripts/check.sh",
        "2026-11-20T14:30:00Z",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let verbs = text.split("# What you may do").last().unwrap();
    assert!(!verbs.contains("push_branch"), "{verbs}");
}

#[test]
fn what_no_provider_would_receive_is_refused() {
    let world =
        World::of_daemon(&TIDY.replace("routines:\n  - list broken links in one comment\n", ""));
    assert_eq!(
        world.run(&["context", "tidy", "--json"]).failure(),
        (65, "invalid-daemon".to_owned())
    );
    assert_eq!(
        world.run(&["context", "nobody", "--json"]).failure(),
        (66, "unknown-daemon".to_owned())
    );
    let world = World::of_daemon(TIDY);
    assert_eq!(
        world
            .run(&["context", "tidy", "--json", "--tick", "noon"])
            .failure(),
        (64, "usage".to_owned())
    );
    assert_eq!(
        world
            .run(&[
                "context",
                "tidy",
                "--json",
                "--tick",
                "2026-11-20T14:30:30Z"
            ])
            .failure(),
        (64, "invalid-argument".to_owned())
    );
    world.configure("[provider.builtin]\ncontext_bytes = 100\n");
    assert_eq!(
        world.run(&["context", "tidy", "--json"]).failure(),
        (77, "context-too-large".to_owned())
    );
}
