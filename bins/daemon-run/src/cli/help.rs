//! The help: the commands in groups by task, each with an example.

use std::sync::LazyLock;

use clap::{Command, CommandFactory as _};
use daemon_manual::CommandGroups;

use super::CommandLine;

/// The groups, each with an example of every command.
static GROUPS: LazyLock<CommandGroups> =
    LazyLock::new(|| CommandGroups::parse(include_str!("help.txt")));

/// Returns the command line with its help.
pub(crate) fn command() -> Command {
    GROUPS.apply(CommandLine::command())
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, command};

    /// Splits a line into words, as a shell does with double quotes.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('"').enumerate();
        let words = parts.flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut known: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.examples().map(|(name, _)| name).collect();
        known.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn every_example_is_a_command_line_of_its_command() {
        for (name, example) in GROUPS.examples() {
            let parsed = command().try_get_matches_from(words(example));
            let parsed = parsed.unwrap_or_else(|error| panic!("{example}: {error}"));
            assert_eq!(parsed.subcommand_name(), Some(name), "{example}");
        }
    }

    #[test]
    fn the_help_fits_80_columns() {
        let mut command = command().term_width(80);
        let help = command.render_long_help().to_string();
        let long = help.lines().filter(|line| line.chars().count() > 80);
        assert_eq!(long.collect::<Vec<_>>(), [""; 0]);
    }
}
