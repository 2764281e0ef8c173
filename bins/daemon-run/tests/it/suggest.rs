//! `lint --suggest`: a program is asked for other wordings, and only what is read as `mapped` is shown.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{TIDY, World};

/// A repository whose daemon waits for a pull request of a size that no event tells.
fn world() -> World {
    World::of_daemon(&TIDY.replace(
        "when a pull request is opened",
        "when a large pull request is opened",
    ))
}

/// Configures a program that answers this script.
fn answering(world: &World, script: &str) {
    let program = world.root().join("wordsmith");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
    world.configure(&format!(
        "[provider]\ndefault = \"wordsmith\"\n\n[provider.wordsmith]\ncommand = \"{}\"\nenv = [\"WORDSMITH_KEY\"]\n",
        program.display()
    ));
}

const TWO: &str = "cat > \"$HOME/question\"\n\
    echo '- when a pull request labeled \"size/XL\" is opened'\n\
    echo 'when an enormous pull request is opened'";

#[test]
fn a_program_is_asked_and_what_is_mapped_is_shown_with_its_reading() {
    let world = world();
    answering(&world, TWO);
    let before = world.tree();
    let ran = world.run(&["lint", "--suggest"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let from = ran.output.find("other wordings").expect("there are some");
    expect![[r#"
        other wordings for .agents/daemons/tidy/DAEMON.md:5:5
          `when a large pull request is opened` is partial
            `when a pull request labeled "size/XL" is opened`
              wakes on github pull_request.opened if labels is size/XL"#]]
    .assert_eq(ran.output[from..].trim_end());
    assert!(
        ran.notes.contains("asking `wordsmith` for other wordings"),
        "{ran:?}"
    );
    assert_eq!(world.tree(), before, "nothing is written");
}

#[test]
fn json_holds_each_line_with_its_wordings_and_their_readings() {
    let world = world();
    answering(&world, TWO);
    let report = world.run(&["lint", "--suggest", "--json"]).json();
    assert_eq!(report["ok"], true);
    assert_eq!(report["error"], Value::Null);
    assert_eq!(report["files"][0]["diagnostics"][0]["code"], "D305");
    let mut suggestions = report["suggestions"].clone();
    let reading = suggestions[0]["wordings"][0]["reading"].take();
    assert_eq!(
        suggestions,
        json!([{
            "path": ".agents/daemons/tidy/DAEMON.md", "daemon_id": "tidy", "line": 5, "column": 5,
            "condition": "when a large pull request is opened", "status": "partial",
            "wordings": [{"text": "when a pull request labeled \"size/XL\" is opened", "reading": null}],
        }])
    );
    assert_eq!(reading["status"], "mapped");
    assert_eq!(reading["filters"][0]["value"], "size/XL");
    let schema: Value =
        serde_json::from_str(&world.run(&["schema", "interpretation"]).output).unwrap();
    assert!(jsonschema::is_valid(&schema, &reading), "{reading}");
}

#[test]
fn without_the_flag_nothing_is_asked_and_nothing_is_said_of_it() {
    let world = world();
    answering(&world, "exit 9");
    let report = world.run(&["lint", "--json"]).json();
    assert_eq!(report.get("suggestions"), None);
    assert_eq!(report.get("error"), None);
}

#[test]
fn annotations_and_sarif_hold_what_is_suggested() {
    let world = world();
    answering(
        &world,
        "echo 'when a pull request with the \"100%, big\" label is opened'",
    );
    let ran = world.run(&["lint", "--suggest", "--format", "github"]);
    let last = ran.output.lines().last().unwrap_or_default();
    expect![[r#"::notice file=.agents/daemons/tidy/DAEMON.md,line=5,col=5,title=other wordings::when a pull request with the "100%25, big" label is opened%0A  wakes on github pull_request.opened if labels is "100%25, big""#]].assert_eq(last);
    let ran = world.run(&["lint", "--suggest", "--format", "sarif"]);
    let sarif: Value = serde_json::from_str(&ran.output).expect("one JSON object");
    assert_eq!(
        sarif["runs"][0]["properties"]["suggestions"][0]["wordings"][0]["text"],
        "when a pull request with the \"100%, big\" label is opened"
    );
}

#[test]
fn an_answer_that_attacks_the_terminal_is_not_shown() {
    let world = world();
    answering(
        &world,
        "printf 'when a pull request labeled \"\\033]0;owned\\007\" is opened\\n'\n\
         printf '::set-output name=x::y\\n'\n\
         printf 'when a pull request labeled \"::error::x\" is opened\\n'",
    );
    for format in ["human", "github", "json", "sarif"] {
        let ran = world.run(&["lint", "--suggest", "--format", format]);
        assert_eq!(ran.code, 0, "{ran:?}");
        for attack in ["\u{1b}", "\u{7}", "owned", "set-output", "::error::x"] {
            assert!(!ran.output.contains(attack), "{format}: {ran:?}");
        }
    }
}

#[test]
fn the_program_works_away_from_the_repository_with_nothing_but_the_question() {
    let world = world();
    answering(
        &world,
        "cat > /dev/null\n\
         { pwd; ls -A; env | cut -d= -f1 | sort | tr '\\n' ' '; echo; } > \"$WORDSMITH_KEY\"\n\
         echo 'when a pull request is opened'",
    );
    let told = world.root().join("told");
    let mut command = world.command(&["lint", "--suggest", "-q"]);
    command.env("WORDSMITH_KEY", &told).env("SECRET", "x");
    let ran = world.ran(command.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = fs::read_to_string(told).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    let &[directory, names] = &lines[..] else {
        panic!("the directory is not empty: {told}");
    };
    assert!(
        !directory.starts_with(world.root().to_str().unwrap()),
        "{directory}"
    );
    assert_eq!(
        names.trim(),
        "DAEMON_RUN_ID DAEMON_WORKTREE HOME LANG PATH PWD TMPDIR WORDSMITH_KEY"
    );
    assert!(
        !std::path::Path::new(directory).exists(),
        "the place is gone"
    );
}

#[test]
fn without_a_provider_that_can_word_anything_it_says_how_to_configure_one() {
    let world = world();
    for text in ["", "[provider]\ndefault = \"builtin\"\n"] {
        world.configure(text);
        let ran = world.run(&["lint", "--suggest"]);
        assert_eq!(ran.code, 78, "{ran:?}");
        assert!(
            ran.output.contains("D305"),
            "the report is printed first: {ran:?}"
        );
        assert!(
            ran.notes.contains("`builtin`, which runs no model"),
            "{ran:?}"
        );
        assert!(ran.notes.contains("config.toml"), "{ran:?}");
        let ran = world.run(&["lint", "--suggest", "--json"]);
        assert_eq!(ran.failure(), (78, "no-provider".to_owned()));
        assert_eq!(ran.json()["files"][0]["diagnostics"][0]["code"], "D305");
        assert_eq!(ran.json()["suggestions"], json!([]));
    }
    world.configure("[provider]\ndefault = \"nobody\"\n");
    let ran = world.run(&["lint", "--suggest", "--json"]);
    assert_eq!(ran.failure(), (78, "config-invalid".to_owned()));
}

#[test]
fn where_every_line_is_clear_no_provider_is_needed() {
    let world = World::of_daemon(TIDY);
    let report = world.run(&["lint", "--suggest", "--json"]).json();
    assert_eq!(
        (&report["ok"], &report["suggestions"]),
        (&json!(true), &json!([]))
    );
}

#[test]
fn a_program_that_fails_is_told_after_the_report() {
    let world = world();
    answering(&world, "echo 'no quota' >&2; exit 3");
    let ran = world.run(&["lint", "--suggest", "--json"]);
    assert_eq!(ran.failure(), (69, "provider-failed".to_owned()));
    assert_eq!(ran.json()["suggestions"], json!([]));
    assert_eq!(ran.json()["files"][0]["diagnostics"][0]["code"], "D305");
}

#[test]
fn a_program_of_the_linted_repository_is_not_run() {
    let world = world();
    world.write(
        "wordsmith",
        "#!/bin/sh\necho 'when a pull request is opened'\n",
    );
    let program = world.repository().join("wordsmith");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    world.configure(&format!(
        "[provider]\ndefault = \"w\"\n\n[provider.w]\ncommand = \"{}\"\n",
        program.display()
    ));
    let ran = world.run(&["lint", "--suggest", "--json"]);
    assert_eq!(ran.failure(), (78, "config-invalid".to_owned()));
}

#[test]
fn a_line_that_looks_like_a_secret_is_not_sent() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let world = World::of_daemon(&TIDY.replace(
        "when a pull request is opened",
        &format!("when a large pull request with {token} is opened"),
    ));
    answering(&world, "exit 9");
    let report = world.run(&["lint", "--suggest", "--json"]).json();
    assert_eq!(report["suggestions"], json!([]));
    assert_eq!(report["error"], Value::Null);
}

#[test]
fn standard_input_is_asked_about_too_and_fixes_and_suggestions_exclude_each_other() {
    let world = world();
    answering(&world, TWO);
    let text = TIDY.replace("is opened", "is opened by a wizard");
    let ran = world.run_with_input(&["lint", "--stdin", "--suggest", "--json"], &text);
    let suggestions = &ran.json()["suggestions"];
    assert_eq!(suggestions[0]["path"], "<stdin>");
    assert_eq!(suggestions[0]["wordings"][0]["reading"]["status"], "mapped");
    let ran = world.run(&["lint", "--suggest", "--fix", "--json"]);
    assert_eq!(ran.failure(), (64, "usage".to_owned()));
}
