//! Manual pages.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Command;
use clap_mangen::Man;

use crate::DocumentedProgram;

/// A manual page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualPage {
    /// The name of the file, such as `tool-run.1`.
    pub file: String,
    /// The page in roff.
    pub bytes: Vec<u8>,
}

/// Returns the page of a program, without those of its commands.
///
/// # Errors
///
/// The page cannot be rendered.
pub fn page(program: &DocumentedProgram) -> io::Result<Vec<u8>> {
    render(program.command.clone(), program)
}

/// Returns the page of a program and of every command below it that is not hidden.
///
/// # Errors
///
/// A page cannot be rendered.
pub fn pages(program: &DocumentedProgram) -> io::Result<Vec<ManualPage>> {
    let mut acc = Vec::new();
    add(&program.command, program.name, program, &mut acc)?;
    Ok(acc)
}

/// Writes the pages of programs into a directory, which is created, and returns their number.
///
/// # Errors
///
/// A page or the directory cannot be written; the error comes with the path.
pub fn write_pages(
    programs: &[DocumentedProgram],
    directory: &Path,
) -> Result<usize, (PathBuf, io::Error)> {
    let fault = |path: &Path, error| (path.to_owned(), error);
    fs::create_dir_all(directory).map_err(|error| fault(directory, error))?;
    let mut n_pages = 0;
    for program in programs {
        for page in pages(program).map_err(|error| fault(directory, error))? {
            let path = directory.join(&page.file);
            fs::write(&path, &page.bytes).map_err(|error| fault(&path, error))?;
            n_pages += 1;
        }
    }
    Ok(n_pages)
}

/// Adds the page of the command `name`, after those of the commands below it.
fn add(
    command: &Command,
    name: &str,
    program: &DocumentedProgram,
    acc: &mut Vec<ManualPage>,
) -> io::Result<()> {
    // clap generates `help`, and hidden commands are not for users.
    let below = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    for sub in below {
        let name = format!("{name}-{}", sub.get_name());
        add(sub, &name, program, acc)?;
    }
    // clap requires a static name. The leak is one name for each of a few dozen pages.
    let named = command.clone().name(name.to_owned().leak() as &'static str);
    acc.push(ManualPage {
        file: format!("{name}.1"),
        bytes: render(named, program)?,
    });
    Ok(())
}

fn render(command: Command, program: &DocumentedProgram) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Man::new(command).render(&mut bytes)?;
    bytes.extend_from_slice(program.reference.roff().as_bytes());
    Ok(bytes)
}
