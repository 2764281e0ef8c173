//! Streams: pipes that close, colour, quietness, failures as objects.

use std::process::Stdio;

use serde_json::json;

use crate::world::{TIDY, World};

#[test]
fn a_closed_pipe_ends_quietly_and_a_full_disk_does_not() {
    let world = World::of_daemon(TIDY);
    for arguments in [
        &["rule"][..],
        &["explain"],
        &["next", "--json"],
        &["schema"],
        &["lint", "--json"],
        &["context", "tidy"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.command(arguments);
        let ended = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ran = world.ran(ended.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.notes.as_str()), (0, ""), "{arguments:?}");

        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = world.command(arguments);
        let ended = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(
            world.ran(ended.wait_with_output().unwrap()).code,
            73,
            "{arguments:?}"
        );
    }
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let world = World::of_daemon(&TIDY.replace("id: tidy", "id: other"));
    let is_coloured = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = world.command(&[&["lint"], arguments].concat());
        command.envs(variables.iter().copied());
        world
            .ran(command.output().unwrap())
            .output
            .contains('\u{1b}')
    };
    assert!(!is_coloured(&[], &[]));
    assert!(is_coloured(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!is_coloured(
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
        &[]
    ));
    assert!(is_coloured(&[("NO_COLOR", "1")], &["--color", "always"]));
    assert!(!is_coloured(
        &[("CLICOLOR_FORCE", "1")],
        &["--color", "never"]
    ));
}

#[test]
fn quietness_leaves_results_and_errors() {
    let world = World::of_daemon(TIDY);
    let ran = world.run(&["-q", "explain", "tidy"]);
    assert_eq!((ran.code, ran.notes.as_str()), (0, ""));
    assert!(ran.output.starts_with("tidy\n"), "{}", ran.output);
    let failed = world.run(&["-q", "explain", "nobody"]);
    assert!(
        failed.notes.starts_with("error: no daemon `nobody`"),
        "{}",
        failed.notes
    );
}

#[test]
fn logs_are_asked_for_and_keep_out_of_the_data() {
    let world = World::of_daemon(TIDY);
    let silent = world.run(&["fire", "tidy", "--json"]);
    assert_eq!((silent.code, silent.notes.as_str()), (0, ""));
    let loud = world.run(&["-v", "fire", "tidy", "--json"]);
    assert_eq!((loud.code, &loud.json()["wakes"]), (0, &json!(true)));
    assert!(loud.notes.contains("INFO registered"), "{}", loud.notes);
    let mut command = world.command(&["list", "--json"]);
    let wrong = command.env("DAEMON_LOG", "a=b=c").output().unwrap();
    assert_eq!(world.ran(wrong).failure(), (78, "log-level".to_owned()));
}

#[test]
fn a_wrong_command_line_exits_with_64_in_words_or_as_an_object() {
    let world = World::of_daemon(TIDY);
    let table: [(&[&str], &str); 9] = [
        (&[], "a command is missing"),
        (&["nonsense"], "unrecognized subcommand 'nonsense'"),
        (&["lits"], "unrecognized subcommand 'lits'"),
        (
            &["list", "--nonsense"],
            "unexpected argument '--nonsense' found",
        ),
        (
            &["list", "--limit", "many"],
            "invalid value 'many' for '--limit <LIMIT>': invalid digit found in string",
        ),
        (
            &["show"],
            "the following required arguments were not provided: <ID>",
        ),
        (
            &["list", "--color", "sometimes"],
            "invalid value 'sometimes' for '--color <WHEN>' [possible values: auto, always, never]",
        ),
        (
            &["context", "tidy", "extra"],
            "unexpected argument 'extra' found",
        ),
        (&["list", "--limit", "-1"], "unexpected argument '-1' found"),
    ];
    for (arguments, message) in table {
        let ran = world.run(&[arguments, &["--json"]].concat());
        let expected = json!({"schema_version": 1, "ok": false,
            "error": {"code": "usage", "message": message, "help": "see `daemon-run --help`"}});
        assert_eq!(
            (ran.code, ran.json(), ran.notes.as_str()),
            (64, expected, ""),
            "{arguments:?}"
        );
        let text = world.run(arguments);
        assert_eq!((text.code, text.output.as_str()), (64, ""), "{arguments:?}");
        assert!(!text.notes.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_and_version_are_data_and_every_command_has_help() {
    let world = World::new();
    assert_eq!(
        world.run(&["-V"]).output,
        concat!("daemon-run ", env!("CARGO_PKG_VERSION"), "\n")
    );
    for sub in daemon_run::command().get_subcommands() {
        let ran = world.run(&[sub.get_name(), "--help"]);
        assert_eq!(
            (ran.code, ran.notes.as_str()),
            (0, ""),
            "{}",
            sub.get_name()
        );
        assert!(ran.output.contains("Usage: daemon-run"), "{}", ran.output);
    }
    daemon_run::command().debug_assert();
}
