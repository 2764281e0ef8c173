//! What is printed from tables: schemas, rules, completions, manual pages.

use std::fs;

use serde_json::{Value, json};

use crate::world::{TIDY, World};

fn schema(world: &World, of: &str) -> Value {
    let ran = world.run(&["schema", of]);
    assert_eq!((ran.code, ran.notes.as_str()), (0, ""));
    let schema: Value = serde_json::from_str(&ran.output).expect("a schema is JSON");
    assert_eq!(
        schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
        "{of}"
    );
    assert!(jsonschema::meta::is_valid(&schema), "{of}");
    schema
}

#[test]
fn every_schema_is_valid_and_rejects_a_bad_example() {
    let world = World::new();
    let good_config = json!({"host": {"listen": "127.0.0.1:0"}, "policy": {"capability": "read"}});
    let table = [
        (
            "daemon",
            json!({"id": "tidy", "purpose": "Tidies.", "watch": ["when a pull request is opened"], "routines": ["tidy"]}),
            json!({"id": "tidy"}),
        ),
        (
            "output",
            json!({"v": 1, "verb": "state", "set": {"a": 1}}),
            json!({"v": 1, "verb": "merge"}),
        ),
        ("config", good_config, json!({"host": {"lisden": "x"}})),
    ];
    for (of, good, bad) in table {
        let schema = schema(&world, of);
        assert!(jsonschema::is_valid(&schema, &good), "{of}");
        assert!(!jsonschema::is_valid(&schema, &bad), "{of}");
    }
    let reading = schema(&world, "interpretation");
    let explain = [
        "explain",
        "--json",
        "--condition",
        "when a non-draft pull request is opened",
    ];
    let printed = world.run(&explain).json();
    assert!(jsonschema::is_valid(&reading, &printed), "{printed}");
    assert!(!jsonschema::is_valid(
        &reading,
        &json!({"status": "mapped"})
    ));
    world.write(
        ".agents/daemons/tidy/DAEMON.md",
        &TIDY.replace("when a pull", "when a large pull"),
    );
    world.configure(
        "[provider]\ndefault = \"w\"\n[provider.w]\ncommand = \"sh\"\n\
                     args = [\"-c\", \"echo when a pull request is opened\"]\n",
    );
    let report = world.run(&["lint", "--suggest", "--json"]).json();
    let suggested = &report["suggestions"][0]["wordings"][0]["reading"];
    assert!(jsonschema::is_valid(&reading, suggested), "{report}");
    schema(&world, "protocol");
    assert_eq!(
        world.run(&["schema"]).output,
        world.run(&["schema", "daemon"]).output
    );
    assert_eq!(
        world.run(&["schema", "nothing", "--json"]).failure(),
        (64, "usage".to_owned())
    );
}

#[test]
fn completions_exist_for_every_shell_and_both_binaries() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        for (binary, word) in [
            ("daemon-run", "activations"),
            ("daemon-lint", "--deny-warnings"),
        ] {
            let ran = world.run(&["completions", shell, "--of", binary]);
            let script = &ran.output;
            let word = if shell == "fish" {
                word.trim_start_matches("--")
            } else {
                word
            };
            assert!(
                ran.code == 0 && script.contains(word) && script.contains(binary),
                "{shell} {binary}"
            );
        }
    }
    assert_eq!(
        world.run(&["completions", "tcsh", "--json"]).failure(),
        (64, "usage".to_owned())
    );
}

#[test]
fn a_manual_page_is_written_for_every_command_of_both_binaries() {
    let world = World::new();
    assert!(world.run(&["man"]).output.contains(".TH daemon-run 1"));
    let ran = world.run(&["-C", "..", "man", "--out", "pages"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut pages: Vec<String> = fs::read_dir(world.root().join("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort_unstable();
    let mut expected = vec!["daemon-lint.1".to_owned()];
    let mut commands = vec![("daemon-run".to_owned(), daemon_run::command())];
    while let Some((name, command)) = commands.pop() {
        let below = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        commands.extend(below.map(|sub| (format!("{name}-{}", sub.get_name()), sub.clone())));
        expected.push(format!("{name}.1"));
    }
    assert!(expected.contains(&"daemon-run-emanate-check.1".to_owned()));
    expected.sort_unstable();
    assert_eq!(pages, expected);
    world.write("taken", "");
    assert_eq!(
        world.run(&["man", "--out", "taken", "--json"]).failure(),
        (73, "unwritable".to_owned())
    );
}
