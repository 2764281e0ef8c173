//! `completions` and `man`, for both binaries.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;

use crate::cli::{Binary, Cli, Completions, Man};
use crate::failure::Failure;
use crate::out::Out;
use crate::place::Place;

/// Prints a completion script.
pub(crate) fn completions(args: &Completions, out: Out) -> Result<(), Failure> {
    let (mut command, name) = match args.of {
        Binary::DaemonRun => (Cli::command(), "daemon-run"),
        Binary::DaemonLint => (daemon_lint::command(), "daemon-lint"),
    };
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    out.bytes(&script)
}

/// Prints the manual page, or writes one for every command.
pub(crate) fn man(args: &Man, place: &Place, out: Out) -> Result<(), Failure> {
    match &args.out {
        None => out.bytes(&page(Cli::command())?),
        Some(directory) => {
            let directory = place.directory.join(directory);
            fs::create_dir_all(&directory)
                .map_err(|error| Failure::unwritable(&directory, &error))?;
            let written = pages(Cli::command(), "daemon-run", &directory)?
                + pages(daemon_lint::command(), "daemon-lint", &directory)?;
            out.text(&format!("wrote {written} pages to {}", directory.display()))
        }
    }
}

fn pages(command: clap::Command, name: &str, directory: &Path) -> Result<usize, Failure> {
    let mut written = 1;
    for sub in command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
    {
        written += pages(
            sub.clone(),
            &format!("{name}-{}", sub.get_name()),
            directory,
        )?;
    }
    let path = directory.join(format!("{name}.1"));
    let bytes = page(command.name(name.to_owned().leak() as &'static str))?;
    fs::write(&path, bytes).map_err(|error| Failure::unwritable(&path, &error))?;
    Ok(written)
}

fn page(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut bytes)
        .map_err(|error| Failure::bug(format!("a manual page cannot be written: {error}")))?;
    Ok(bytes)
}
