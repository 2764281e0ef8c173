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
fn completions_are_installed_for_the_shell_of_the_user() {
    let world = World::new();
    let run = |shell: &str, arguments: &[&str]| {
        let mut command = world.command(&[&["completions"], arguments].concat());
        world.ran(command.env("SHELL", shell).output().unwrap())
    };
    let user = world.root().join("user");
    let of_bash = ["daemon-run", "daemon-lint"].map(|name| {
        user.join(".local/share/bash-completion/completions")
            .join(name)
    });
    let ran = run("/bin/bash", &["--install"]);
    let [first, second] = of_bash.clone().map(|path| path.display().to_string());
    assert_eq!((ran.code, &*ran.notes), (0, ""));
    assert_eq!(ran.output, format!("wrote {first}\nwrote {second}\n"));
    for (path, name) in of_bash.iter().zip(["daemon-run", "daemon-lint"]) {
        let printed = world.run(&["completions", "bash", "--of", name]).output;
        assert_eq!(fs::read_to_string(path).unwrap(), printed);
    }
    let ran = run("/bin/bash", &["zsh", "--install"]);
    assert_eq!(
        ran.notes,
        format!(
            "add to ~/.zshrc, before compinit: fpath+=('{}/.local/share/zsh/site-functions')\n",
            user.display()
        )
    );
    let json = run(
        "/usr/bin/fish",
        &["--install", "--of", "daemon-run", "--json"],
    )
    .json();
    let fish = user.join(".config/fish/completions/daemon-run.fish");
    assert_eq!(
        json,
        serde_json::json!({"schema_version": 1, "paths": [fish]})
    );
    assert_eq!(
        run("/bin/false", &["--install", "--json"]).failure(),
        (64, "usage".to_owned())
    );
    fs::write(user.join(".config/elvish"), "").unwrap();
    let ran = run("/usr/bin/elvish", &["--install", "--json"]);
    assert_eq!(ran.failure(), (73, "unwritable".to_owned()));
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
    for (page, term) in [
        ("daemon-run", "75"),
        ("daemon-run-serve", "HOME/config.toml"),
        ("daemon-lint", "66"),
    ] {
        let text = fs::read_to_string(world.root().join(format!("pages/{page}.1"))).unwrap();
        let reference = text.split_once(".SH \"EXIT STATUS\"").unwrap().1;
        assert!(
            reference.contains(&format!(".TP\n\\fB{term}\\fR\n")),
            "{page}: {reference}"
        );
    }
    expected.sort_unstable();
    assert_eq!(pages, expected);
    world.write("taken", "");
    assert_eq!(
        world.run(&["man", "--out", "taken", "--json"]).failure(),
        (73, "unwritable".to_owned())
    );
}
