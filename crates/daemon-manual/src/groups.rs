//! Help in which commands are in groups, each with an example.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::{StyledStr, Styles};

/// The commands of a program in groups by task, with an example of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandGroups {
    groups: Vec<CommandGroup>,
}

/// Commands of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CommandGroup {
    title: String,
    /// The commands with an example of each.
    commands: Vec<(String, String)>,
}

impl CommandGroups {
    /// Parses groups: a line that is not indented is a title, and an indented one is an example, whose second word is the command.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut groups: Vec<CommandGroup> = Vec::new();
        for line in text.lines() {
            match (line.strip_prefix("  "), groups.last_mut()) {
                (Some(example), Some(group)) => {
                    let name = example.split(' ').nth(1).unwrap_or_default();
                    group.commands.push((name.to_owned(), example.to_owned()));
                }
                _ => groups.push(CommandGroup {
                    title: line.to_owned(),
                    commands: Vec::new(),
                }),
            }
        }
        Self { groups }
    }

    /// Returns each command with its example.
    pub fn examples(&self) -> impl Iterator<Item = (&str, &str)> {
        let commands = self.groups.iter().flat_map(|group| &group.commands);
        commands.map(|(name, example)| (name.as_str(), example.as_str()))
    }

    /// Returns the command line with the groups in its help, and with an example in the help of each command.
    #[must_use]
    pub fn apply(&self, command: Command) -> Command {
        let header = *Styles::styled().get_header();
        let template = format!(
            "{{about}}\n\n{{usage-heading}} {{usage}}\n{}\n{header}Options of every command:{header:#}\n{{options}}{{after-help}}",
            self.listed(&command)
        );
        let command = command.help_template(StyledStr::from(template));
        self.examples().fold(command, |command, (name, example)| {
            let text = format!("{header}Example:{header:#}\n  {example}");
            command.mut_subcommand(name, |command| command.after_help(StyledStr::from(text)))
        })
    }

    /// Lists the commands under the titles of their groups.
    fn listed(&self, command: &Command) -> String {
        let styles = Styles::styled();
        let (header, literal) = (styles.get_header(), styles.get_literal());
        let width = self.examples().map(|(name, _)| name.len()).max();
        let width = width.unwrap_or_default();
        let mut text = String::new();
        for group in &self.groups {
            let title = &group.title;
            write!(text, "\n{header}{title}:{header:#}\n").expect("a string can be written");
            for (name, _) in &group.commands {
                let about = command.find_subcommand(name).and_then(Command::get_about);
                let about = about.cloned().unwrap_or_default();
                writeln!(text, "  {literal}{name:<width$}{literal:#}  {about}")
                    .expect("a string can be written");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_listed_under_titles_and_have_their_example() {
        let groups = CommandGroups::parse("Begin\n  tool run --now\nLook\n  tool show 7\n");
        let examples: Vec<_> = groups.examples().collect();
        assert_eq!(
            examples,
            [("run", "tool run --now"), ("show", "tool show 7")]
        );
        let command = Command::new("tool")
            .subcommand(Command::new("run").about("Runs it"))
            .subcommand(Command::new("show").about("Shows it"));
        let mut command = groups.apply(command);
        let help = command.render_help().to_string();
        assert!(
            help.contains("Begin:\n  run   Runs it\n\nLook:\n  show  Shows it\n"),
            "{help}"
        );
        let run = command.find_subcommand_mut("run").unwrap();
        assert!(
            run.render_help()
                .to_string()
                .ends_with("Example:\n  tool run --now\n")
        );
    }
}
