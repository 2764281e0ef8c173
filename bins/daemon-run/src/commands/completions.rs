//! `completions` and `man`, for both binaries.

use std::fs;
use std::path::Path;

use crate::cli::{self, Binary, CompletionsArgs, ManArgs};
use crate::failure::CommandFailure;
use crate::out::Out;
use crate::place::Place;

/// Prints a completion script.
pub(crate) fn completions(args: &CompletionsArgs, out: Out) -> Result<(), CommandFailure> {
    let (mut command, name) = match args.of {
        Binary::DaemonRun => (cli::command(), "daemon-run"),
        Binary::DaemonLint => (daemon_lint::command(), "daemon-lint"),
    };
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    out.bytes(&script)
}

/// Prints the manual page, or writes one for every command.
pub(crate) fn man(args: &ManArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    match &args.out {
        None => out.bytes(&page(cli::command())?),
        Some(directory) => {
            let directory = place.directory.join(directory);
            fs::create_dir_all(&directory)
                .map_err(|error| CommandFailure::unwritable(&directory, &error))?;
            let written = pages(cli::command(), "daemon-run", &directory)?
                + pages(daemon_lint::command(), "daemon-lint", &directory)?;
            out.text(&format!("wrote {written} pages to {}", directory.display()))
        }
    }
}

fn pages(command: clap::Command, name: &str, directory: &Path) -> Result<usize, CommandFailure> {
    let mut written = 1;
    for sub in command
        .get_subcommands()
        // clap generates `help`, and hidden commands are not for users.
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
    {
        written += pages(
            sub.clone(),
            &format!("{name}-{}", sub.get_name()),
            directory,
        )?;
    }
    let path = directory.join(format!("{name}.1"));
    // clap requires a static name. The leak ends with the process, after a few dozen pages.
    let bytes = page(command.name(name.to_owned().leak() as &'static str))?;
    fs::write(&path, bytes).map_err(|error| CommandFailure::unwritable(&path, &error))?;
    Ok(written)
}

fn page(command: clap::Command) -> Result<Vec<u8>, CommandFailure> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut bytes)
        .map_err(|error| {
            CommandFailure::bug(format!("a manual page cannot be written: {error}"))
        })?;
    Ok(bytes)
}
