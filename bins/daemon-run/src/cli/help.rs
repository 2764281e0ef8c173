//! The help: the commands in groups by task, each with an example.

use std::sync::LazyLock;

use clap::builder::{StyledStr, Styles};
use clap::{Command, CommandFactory as _};

use super::CommandLine;
use crate::out::put;

/// Commands of one task.
struct Group {
    title: &'static str,
    /// The commands with an example of each.
    commands: Vec<(&'static str, &'static str)>,
}

/// The groups, each with an example of every command.
static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let mut groups: Vec<Group> = Vec::new();
    for line in include_str!("help.txt").lines() {
        match (line.strip_prefix("  "), groups.last_mut()) {
            (Some(example), Some(group)) => {
                let name = example.split(' ').nth(1).expect("an example has a command");
                group.commands.push((name, example));
            }
            _ => groups.push(Group {
                title: line,
                commands: Vec::new(),
            }),
        }
    }
    groups
});

/// Returns the command line with its help.
pub(crate) fn command() -> Command {
    let command = CommandLine::command();
    let header = *Styles::styled().get_header();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n{}\n{header}Options of every command:{header:#}\n{{options}}{{after-help}}",
        listed(&command)
    );
    let examples = GROUPS.iter().flat_map(|group| &group.commands);
    let command = command.help_template(StyledStr::from(template));
    examples.fold(command, |command, (name, example)| {
        let text = format!("{header}Example:{header:#}\n  {example}");
        command.mut_subcommand(name, |command| command.after_help(StyledStr::from(text)))
    })
}

/// Lists the commands under the titles of their groups.
fn listed(command: &Command) -> String {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let names = GROUPS.iter().flat_map(|group| &group.commands);
    let width = names.map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for group in GROUPS.iter() {
        put!(text, "\n{header}{}:{header:#}\n", group.title);
        for (name, _) in &group.commands {
            let about = command
                .find_subcommand(name)
                .and_then(Command::get_about)
                .expect("each command of a group exists and is described");
            put!(text, "  {literal}{name:<width$}{literal:#}  {about}\n");
        }
    }
    text
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
        let grouped = GROUPS.iter().flat_map(|group| &group.commands);
        let mut grouped: Vec<&str> = grouped.map(|(name, _)| *name).collect();
        known.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn every_example_is_a_command_line_of_its_command() {
        for (name, example) in GROUPS.iter().flat_map(|group| &group.commands) {
            let parsed = command().try_get_matches_from(words(example));
            let parsed = parsed.unwrap_or_else(|error| panic!("{example}: {error}"));
            assert_eq!(parsed.subcommand_name(), Some(*name), "{example}");
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
