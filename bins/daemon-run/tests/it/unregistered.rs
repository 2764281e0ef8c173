//! `list` and `show` where there is neither a host nor a store.

use serde_json::{Value, json};

use crate::world::{TIDY, World};

#[test]
fn without_a_store_daemons_are_read_from_the_default_branch() {
    let world = World::of_daemon(TIDY);
    world.write(
        ".agents/daemons/draft/DAEMON.md",
        &TIDY.replace("id: tidy", "id: draft"),
    );
    let listed = world.run(&["list", "--json"]);
    let ids: Vec<Value> = listed.json()["daemons"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|daemon| json!([daemon["id"], daemon["valid"], daemon["gate"]]))
        .collect();
    assert_eq!((listed.code, ids), (0, vec![json!(["tidy", true, "open"])]));
    let shown = world.run(&["show", "tidy", "--json"]);
    assert_eq!(
        (shown.code, &shown.json()["daemon"]["id"]),
        (0, &json!("tidy"))
    );
    for command in [&["list"][..], &["show", "tidy"]] {
        let ran = world.run(command);
        assert!(
            ran.notes.contains("`draft` is in the working tree only"),
            "{ran:?}"
        );
    }
    assert_eq!(
        world.run(&["show", "draft", "--json"]).failure(),
        (66, "unknown-daemon".to_owned())
    );
    assert!(!world.home().exists(), "looking makes no home");
}

#[test]
fn without_a_store_and_a_repository_there_are_no_daemons_to_list() {
    let world = World::new();
    let outside = world.home().parent().expect("a directory").to_owned();
    let outside = outside.to_str().expect("a path of UTF-8");
    assert_eq!(
        world.run(&["-C", outside, "list", "--json"]).failure(),
        (69, "no-home".to_owned())
    );
}
