//! Completion scripts, and where shells load them from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap_complete::{Shell, generate};

use crate::DocumentedProgram;

/// The folders of a user in which shells look for completions, as the base directory specification names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionFolders {
    /// `$XDG_DATA_HOME`, by default `~/.local/share`.
    pub data: PathBuf,
    /// `$XDG_CONFIG_HOME`, by default `~/.config`.
    pub config: PathBuf,
}

impl CompletionFolders {
    /// Returns the folders that variables of an environment name, or `None` without a home directory.
    ///
    /// A relative path in a variable is ignored, as the specification demands.
    #[must_use]
    pub fn from_environment(environment: &BTreeMap<String, String>) -> Option<Self> {
        let absolute = |name: &str| {
            let path = environment.get(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let user = absolute("HOME");
        let below = |path: &str| user.as_ref().map(|user| user.join(path));
        Some(Self {
            data: absolute("XDG_DATA_HOME").or_else(|| below(".local/share"))?,
            config: absolute("XDG_CONFIG_HOME").or_else(|| below(".config"))?,
        })
    }
}

/// A completion script that was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The file that was written.
    pub path: PathBuf,
    /// What the user has to add to a start-up file, unless the shell loads the script by itself.
    pub step: Option<String>,
}

/// Returns the completion script of a program.
#[must_use]
pub fn script(shell: Shell, program: &DocumentedProgram) -> Vec<u8> {
    let mut acc = Vec::new();
    generate(shell, &mut program.command.clone(), program.name, &mut acc);
    acc
}

/// Writes the completion scripts of programs to where the shell looks for them. They replace earlier ones.
///
/// # Errors
///
/// A folder or a file cannot be written; the error comes with the path.
pub fn install(
    shell: Shell,
    programs: &[DocumentedProgram],
    folders: &CompletionFolders,
) -> Result<Vec<Installation>, (PathBuf, io::Error)> {
    let installed = programs.iter().map(|program| {
        let installation = place(shell, program.name, folders);
        let path = &installation.path;
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(path, script(shell, program)))
            .map_err(|error| (path.clone(), error))?;
        Ok(installation)
    });
    installed.collect()
}

/// Returns where a shell loads the completions of a program from.
fn place(shell: Shell, name: &str, folders: &CompletionFolders) -> Installation {
    let CompletionFolders { data, config } = folders;
    let (path, step) = match shell {
        Shell::Bash => (data.join("bash-completion/completions").join(name), None),
        Shell::Fish => (config.join(format!("fish/completions/{name}.fish")), None),
        Shell::Zsh => {
            let folder = data.join("zsh/site-functions");
            let step = format!(
                "add to ~/.zshrc, before compinit: fpath+=({})",
                quoted(&folder)
            );
            (folder.join(format!("_{name}")), Some(step))
        }
        Shell::Elvish => {
            let path = config.join(format!("elvish/lib/{name}.elv"));
            (path, Some(format!("add to rc.elv: use {name}")))
        }
        // PowerShell, and shells that clap_complete adds.
        _ => {
            let path = config.join(format!("powershell/{name}.ps1"));
            let step = format!("add to $PROFILE: . {}", quoted(&path));
            (path, Some(step))
        }
    };
    Installation { path, step }
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;
    use crate::Reference;

    fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        let variables = variables.iter();
        variables
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn folders_come_from_absolute_variables_and_else_from_the_home() {
        let of = |variables: &[(&str, &str)]| {
            CompletionFolders::from_environment(&environment(variables)).map(|folders| {
                [folders.data, folders.config].map(|path| path.display().to_string())
            })
        };
        let expected = |data: &str, config: &str| Some([data.to_owned(), config.to_owned()]);
        assert_eq!(of(&[]), None);
        assert_eq!(
            of(&[("HOME", "/h"), ("XDG_DATA_HOME", "relative")]),
            expected("/h/.local/share", "/h/.config")
        );
        assert_eq!(
            of(&[("XDG_DATA_HOME", "/d"), ("XDG_CONFIG_HOME", "/c")]),
            expected("/d", "/c")
        );
    }

    #[test]
    fn each_shell_has_its_file_and_the_step_that_is_left() {
        let folders = CompletionFolders {
            data: PathBuf::from("/d"),
            config: PathBuf::from("/c o"),
        };
        let shown = |shell| {
            let Installation { path, step } = place(shell, "tool", &folders);
            (path.display().to_string(), step.unwrap_or_default())
        };
        let pair = |path: &str, step: &str| (path.to_owned(), step.to_owned());
        assert_eq!(
            shown(Shell::Bash),
            pair("/d/bash-completion/completions/tool", "")
        );
        assert_eq!(
            shown(Shell::Fish),
            pair("/c o/fish/completions/tool.fish", "")
        );
        assert_eq!(
            shown(Shell::Zsh),
            pair(
                "/d/zsh/site-functions/_tool",
                "add to ~/.zshrc, before compinit: fpath+=('/d/zsh/site-functions')"
            )
        );
        assert_eq!(
            shown(Shell::Elvish),
            pair("/c o/elvish/lib/tool.elv", "add to rc.elv: use tool")
        );
        assert_eq!(
            shown(Shell::PowerShell),
            pair(
                "/c o/powershell/tool.ps1",
                "add to $PROFILE: . '/c o/powershell/tool.ps1'"
            )
        );
    }

    #[test]
    fn a_script_is_installed_and_replaced_and_a_folder_that_is_a_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let folders = CompletionFolders {
            data: folder.path().join("data"),
            config: folder.path().join("config"),
        };
        let programs = [DocumentedProgram {
            name: "tool",
            command: Command::new("tool").subcommand(Command::new("run")),
            reference: Reference::default(),
        }];
        for _ in 0..2 {
            let installed = install(Shell::Bash, &programs, &folders).unwrap();
            let script = fs::read_to_string(&installed[0].path).unwrap();
            assert!(script.contains("complete -F _tool"), "{script}");
        }
        fs::write(&folders.config, "").unwrap();
        let (path, _) = install(Shell::Fish, &programs, &folders).unwrap_err();
        assert_eq!(path, folders.config.join("fish/completions/tool.fish"));
    }
}
