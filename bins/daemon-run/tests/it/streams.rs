//! Streams: pipes that close, colour, quietness, failures as objects.

use std::process::Stdio;

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
