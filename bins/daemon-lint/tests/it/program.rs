//! Tests of the program: streams, environment and exit codes.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::world::{CLEAN, World};

fn program(world: &World, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_daemon-lint"));
    command
        .env_clear()
        .current_dir(world.root())
        .args(arguments)
        .stdin(Stdio::null());
    command
}

fn output(mut command: Command) -> Output {
    command.output().expect("the program starts")
}

#[test]
fn the_working_directory_is_linted_and_the_exit_code_reports_errors() {
    let clean = World::of_daemon(CLEAN);
    assert_eq!(output(program(&clean, &[])).status.code(), Some(0));
    let bad = World::of_daemon(&CLEAN.replace("id: tidy", "id: other"));
    let ran = output(program(&bad, &["--json"]));
    assert_eq!(
        (ran.status.code(), ran.stderr.as_slice()),
        (Some(1), b"".as_slice())
    );
    assert!(
        ran.stdout
            .starts_with(b"{\"schema_version\":1,\"ok\":false,")
    );
    assert_eq!(output(program(&bad, &["nowhere"])).status.code(), Some(66));
    assert_eq!(
        output(program(&bad, &["--nonsense"])).status.code(),
        Some(64)
    );
}

#[test]
fn standard_input_is_read() {
    let world = World::new("");
    let mut command = program(&world, &["--stdin", "--json"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(CLEAN.as_bytes())
        .unwrap();
    let ran = child.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(0));
    assert!(ran.stdout.starts_with(b"{\"schema_version\":1,\"ok\":true,\"files\":[{\"path\":\"<stdin>\",\"daemon_id\":\"tidy\""));
}

#[test]
fn without_a_terminal_colour_depends_on_the_environment() {
    let world = World::of_daemon(&CLEAN.replace("id: tidy", "id: other"));
    let is_coloured = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = program(&world, arguments);
        command.envs(variables.iter().copied());
        output(command).stdout.contains(&0x1b)
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

#[cfg(target_os = "linux")]
#[test]
fn a_closed_pipe_is_not_an_error_and_a_full_disk_is() {
    let world = World::of_daemon(&CLEAN.replace("id: tidy", "id: other"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = program(&world, &["--json"]);
    let ran = output_to(&mut command, writer.into());
    assert_eq!(
        (ran.status.code(), ran.stderr.as_slice()),
        (Some(0), b"".as_slice())
    );
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    assert_eq!(output_to(&mut command, full.into()).status.code(), Some(73));
}

#[cfg(target_os = "linux")]
fn output_to(command: &mut Command, stdout: Stdio) -> Output {
    let child = command
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.wait_with_output().expect("the program ends")
}
