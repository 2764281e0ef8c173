//! `context`: the bytes that a provider receives.

use crate::world::{TIDY, World};

#[test]
fn the_context_contains_the_file_byte_for_byte() {
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
            ("checkout", true),
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
    for name in ["sha256", "daemon_file_sha256"] {
        let hash = object[name].as_str().unwrap();
        assert!(
            hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{hash}"
        );
    }
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
fn the_plan_of_a_dry_run_measures_the_context_in_the_same_way() {
    let world = World::of_daemon(TIDY);
    let object = world
        .run_opened(&["fire", "tidy", "--dry-run", "--json"])
        .json();
    let context = &object["plan"]["context"];
    let sections = context["sections"].as_array().unwrap().iter();
    let sum: u64 = sections
        .map(|section| section["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(context["bytes"], sum);
}
