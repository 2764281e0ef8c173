//! `completions` and `man`, for both binaries.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap_complete::Shell;
use daemon_manual::{
    CompletionFolders, DocumentedProgram, Reference, install, page, script, write_pages,
};
use serde_json::json;

use crate::cli::{self, Binary, CompletionsArgs, ManArgs};
use crate::failure::CommandFailure;
use crate::out::Out;
use crate::place::Place;

/// Prints a completion script, or installs those of both programs.
pub(crate) fn completions(
    args: &CompletionsArgs,
    place: &Place,
    out: Out,
) -> Result<(), CommandFailure> {
    let of_user = place.environment.get("SHELL");
    let of_user = of_user.and_then(Shell::from_shell_path);
    let shell = args.shell.or(of_user).ok_or_else(|| {
        let failure = CommandFailure::usage("SHELL names no shell that has completions");
        failure.help("daemon-run completions bash --install")
    })?;
    if !args.install {
        let program = program(args.of.unwrap_or(Binary::DaemonRun));
        return out.bytes(&script(shell, &program));
    }
    let folders = CompletionFolders::from_environment(&place.environment);
    let folders = folders.ok_or_else(|| CommandFailure::usage("HOME is not set"))?;
    let programs = args.of.map_or_else(both, |binary| vec![program(binary)]);
    let installed = install(shell, &programs, &folders).map_err(unwritable)?;
    let steps: BTreeSet<&str> = (installed.iter())
        .filter_map(|one| one.step.as_deref())
        .collect();
    steps.into_iter().for_each(|step| out.note(step));
    let paths = installed.iter().map(|one| one.path.display().to_string());
    let paths: Vec<String> = paths.collect();
    let text = format!("wrote {}", paths.join("\nwrote "));
    out.either(json!({"paths": paths}), &text)
}

/// Prints the manual page, or writes one for every command.
pub(crate) fn man(args: &ManArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let Some(directory) = &args.out else {
        let page = page(&program(Binary::DaemonRun)).map_err(|error| {
            CommandFailure::bug(format!("a manual page cannot be written: {error}"))
        })?;
        return out.bytes(&page);
    };
    let directory = place.directory.join(directory);
    let written = write_pages(&both(), &directory).map_err(unwritable)?;
    out.text(&format!("wrote {written} pages to {}", directory.display()))
}

fn both() -> Vec<DocumentedProgram> {
    [Binary::DaemonRun, Binary::DaemonLint].map(program).into()
}

fn program(binary: Binary) -> DocumentedProgram {
    let (name, command, reference) = match binary {
        Binary::DaemonRun => (
            "daemon-run",
            cli::command(),
            include_str!("../cli/manual.txt"),
        ),
        Binary::DaemonLint => (
            "daemon-lint",
            daemon_lint::command(),
            include_str!("../cli/manual-lint.txt"),
        ),
    };
    DocumentedProgram {
        name,
        command,
        reference: Reference::parse(reference),
    }
}

fn unwritable((path, error): (PathBuf, std::io::Error)) -> CommandFailure {
    CommandFailure::unwritable(&path, &error)
}
