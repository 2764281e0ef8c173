//! The GitHub Action and the pre-commit hook, run as their runners run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Deserialize;

use crate::world::{CLEAN, World};

#[derive(Deserialize)]
struct Action {
    inputs: std::collections::BTreeMap<String, Input>,
    runs: Runs,
}

#[derive(Deserialize)]
struct Input {
    default: String,
}

#[derive(Deserialize)]
struct Runs {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    run: Option<String>,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Hook {
    entry: String,
    files: String,
}

fn file<T: for<'de> Deserialize<'de>>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    serde_yaml::from_slice(&fs::read(path).expect("the file is there")).expect("it is of its shape")
}

fn directory_of_program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_daemon-lint"));
    program.parent().expect("it is in a directory").to_owned()
}

/// Runs the scripts of the action in a repository, each as the runner does, and returns the output of the last.
fn act(world: &World, inputs: &[(&str, &str)]) -> Output {
    let action: Action = file("action.yml");
    let input = |expression: &str| {
        let name = expression
            .strip_prefix("${{ inputs.")?
            .strip_suffix(" }}")?;
        let given = inputs.iter().find(|(key, _)| *key == name);
        Some(given.map_or_else(
            || action.inputs[name].default.clone(),
            |(_, value)| (*value).to_owned(),
        ))
    };
    let runner = tempfile::tempdir().expect("a temporary directory");
    let mut last = None;
    for step in &action.runs.steps {
        let Some(script) = &step.run else { continue };
        assert!(
            !script.contains("${{"),
            "an input is part of a script: {script}"
        );
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(world.root())
            .env_clear()
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", directory_of_program().display()),
            )
            .env("RUNNER_TEMP", runner.path())
            .env("GITHUB_PATH", runner.path().join("path"))
            .env("GITHUB_ACTION_PATH", runner.path());
        for (name, expression) in &step.env {
            command.env(name, input(expression).expect("an input of the action"));
        }
        last = Some(command.output().expect("bash starts"));
    }
    last.expect("the action runs a script")
}

#[test]
fn the_action_annotates_the_lines_of_errors_and_fails() {
    let clean = act(&World::of_daemon(CLEAN), &[]);
    assert_eq!(
        (clean.status.code(), clean.stdout.as_slice()),
        (Some(0), &b""[..])
    );
    let bad = World::of_daemon(&CLEAN.replace("id: tidy", "id: other"));
    let ran = act(&bad, &[]);
    let output = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{output}");
    let annotation = "::error file=.agents/daemons/tidy/DAEMON.md,line=2,";
    assert!(output.starts_with(annotation), "{output}");
}

#[test]
fn an_input_of_the_action_is_never_a_shell_word() {
    let world = World::of_daemon(CLEAN);
    let hostile = "$(touch made)\n; touch made\n--fix\n";
    let ran = act(&world, &[("paths", hostile)]);
    assert_eq!(ran.status.code(), Some(66), "{ran:?}");
    assert!(!world.root().join("made").exists());
    let ran = act(&world, &[("profile", "spec; touch made")]);
    assert_eq!(ran.status.code(), Some(64), "{ran:?}");
    assert!(!world.root().join("made").exists());
}

#[test]
fn warnings_fail_the_action_only_if_that_is_asked_for() {
    let world = World::of_daemon(&CLEAN.replace("deny:", "deny:\n  - merge pull requests"));
    assert_eq!(act(&world, &[]).status.code(), Some(0));
    let strict = act(
        &world,
        &[
            ("deny-warnings", "true"),
            ("paths", ".agents/daemons/tidy\n"),
        ],
    );
    assert_eq!(strict.status.code(), Some(1));
}

#[test]
fn the_hook_lints_the_repository_if_a_file_of_a_daemon_changes() {
    let [hook]: [Hook; 1] = file::<Vec<Hook>>(".pre-commit-hooks.yaml")
        .try_into()
        .ok()
        .unwrap();
    assert_eq!(hook.files, r"(^|/)\.agents/daemons/");
    let run = |world: &World| {
        let mut words = hook.entry.split(' ');
        let program = directory_of_program().join(words.next().unwrap());
        let mut command = Command::new(program);
        command.args(words).current_dir(world.root()).env_clear();
        command.output().unwrap().status.code()
    };
    assert_eq!(run(&World::of_daemon(CLEAN)), Some(0));
    assert_eq!(
        run(&World::of_daemon(&CLEAN.replace("id: tidy", "id: other"))),
        Some(1)
    );
}
