//! The page of the commands, from the command lines of both programs.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::row;

const OPENING: &str = "\
# Commands

Every command of `daemon-run`, and `daemon-lint`, as their help prints them. `cargo xtask docs` writes this page from the code. Exit
codes, files and variables of the environment are in the manual page (`daemon-run man`).
";

pub(super) fn page() -> String {
    let mut acc = OPENING.to_owned();
    let mut program = daemon_run::command();
    program.build();
    acc.push_str("\n## Options of every command\n");
    push_table(&mut acc, program.get_arguments());
    for command in program.get_subcommands() {
        push_command(&mut acc, command, "##");
    }
    let mut linter = daemon_lint::command();
    linter.build();
    push_command(&mut acc, &linter, "##");
    acc
}

fn push_command(acc: &mut String, command: &Command, level: &str) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let about = command.get_about().map(ToString::to_string);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let usage: Vec<&str> = usage.lines().map(str::trim).collect();
    write!(
        acc,
        "\n{level} `{name}`\n\n{}.\n\n```text\n{}\n```\n",
        about.unwrap_or_default(),
        usage.join("\n")
    )
    .expect("a string takes it");
    push_table(
        acc,
        command
            .get_arguments()
            .filter(|argument| !argument.is_global_set()),
    );
    for command in command.get_subcommands() {
        push_command(acc, command, "###");
    }
}

fn push_table<'a>(acc: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    let shown = arguments.filter(|argument| {
        !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
    });
    let rows: String = shown
        .map(|argument| {
            row(&[
                &format!("`{}`", spelling(argument)),
                &escaped(&meaning(argument)),
            ])
        })
        .collect();
    if !rows.is_empty() {
        write!(acc, "\n| argument | meaning |\n|---|---|\n{rows}").expect("a string takes it");
    }
}

/// Returns `-n, --number <N>`, or `<ID>` for an argument without a name.
fn spelling(argument: &Arg) -> String {
    let names = argument.get_value_names();
    let values: Vec<String> = match argument.get_action().takes_values() {
        true => names
            .unwrap_or_else(|| panic!("`{}` has no name of its value", argument.get_id()))
            .iter()
            .map(|name| format!("<{name}>"))
            .collect(),
        false => Vec::new(),
    };
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let flags: Vec<String> = short.into_iter().chain(long).collect();
    format!("{} {}", flags.join(", "), values.join(" "))
        .trim()
        .to_owned()
}

fn meaning(argument: &Arg) -> String {
    let mut acc = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    if !argument.get_action().takes_values() {
        return acc;
    }
    let defaults = argument.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && !argument.is_hide_default_value_set() {
        write!(acc, " [default: {}]", defaults.join(" ")).expect("a string takes it");
    }
    let values = argument.get_possible_values();
    let values = values.iter().filter(|value| !value.is_hide_set());
    let values: Vec<&str> = values.map(clap::builder::PossibleValue::get_name).collect();
    if !values.is_empty() && !argument.is_hide_possible_values_set() {
        write!(acc, " [{}]", values.join(", ")).expect("a string takes it");
    }
    acc
}

/// Returns Markdown in which `<uid>` is no element of HTML.
fn escaped(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(n, part)| match n % 2 {
        0 => part.replace('<', "\\<"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}
