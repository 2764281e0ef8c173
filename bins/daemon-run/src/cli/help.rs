//! The help: the commands in groups by task, each with an example.

use clap::builder::{StyledStr, Styles};
use clap::{Command, CommandFactory as _};

use super::CommandLine;
use crate::out::put;

/// Commands of one task.
struct Group {
    title: &'static str,
    /// The commands with an example of each.
    commands: &'static [(&'static str, &'static str)],
}

const GROUPS: [Group; 6] = [
    Group {
        title: "Begin",
        commands: &[
            ("demo", "daemon-run demo --serve"),
            ("init", "daemon-run init --yes"),
            ("doctor", "daemon-run doctor --repo ."),
        ],
    },
    Group {
        title: "Write daemons",
        commands: &[
            (
                "new",
                "daemon-run new docs --template librarian --set docs=handbook/",
            ),
            ("lint", "daemon-run lint --fix"),
            ("rule", "daemon-run rule D201"),
            (
                "explain",
                "daemon-run explain --condition \"when a pull request is opened\"",
            ),
            (
                "next",
                "daemon-run next --cron \"0 9 * * 1-5\" --tz Europe/Berlin",
            ),
            ("context", "daemon-run context librarian"),
            ("test", "daemon-run test librarian"),
        ],
    },
    Group {
        title: "Run daemons",
        commands: &[
            ("fire", "daemon-run fire librarian --working-tree"),
            ("serve", "daemon-run serve --repo ."),
            ("login", "daemon-run login"),
            ("reload", "daemon-run reload"),
            ("hold", "daemon-run hold librarian"),
            ("go", "daemon-run go librarian"),
            ("cancel", "daemon-run cancel 01M8GT2QQ8 --yes"),
            ("retry", "daemon-run retry 01M8GT2QQ8"),
        ],
    },
    Group {
        title: "See what happened",
        commands: &[
            ("list", "daemon-run list"),
            ("show", "daemon-run show librarian"),
            ("activations", "daemon-run activations --since 2h"),
            ("runs", "daemon-run runs --daemon librarian --limit 5"),
            ("run", "daemon-run run --last"),
            ("logs", "daemon-run logs --last --follow"),
            ("outputs", "daemon-run outputs prune --dry-run"),
            ("events", "daemon-run events --follow"),
            ("ticks", "daemon-run ticks --daemon librarian"),
        ],
    },
    Group {
        title: "Agents and one-off runs",
        commands: &[
            (
                "agent",
                "daemon-run agent new ada --description \"Answers questions about this project.\"",
            ),
            ("chat", "daemon-run chat ada"),
            ("emanate", "daemon-run emanate --call call.json"),
            (
                "ask",
                "daemon-run ask em-1-20261128-100913-be1e74 \"stop after this file\"",
            ),
            ("call", "daemon-run call conversation/list"),
        ],
    },
    Group {
        title: "Other programs",
        commands: &[
            ("mcp", "daemon-run mcp --read-only"),
            ("lsp", "daemon-run lsp"),
            ("schema", "daemon-run schema config"),
            ("completions", "daemon-run completions bash"),
            ("man", "daemon-run man --out man1"),
        ],
    },
];

/// Returns the command line with its help.
pub(crate) fn command() -> Command {
    let command = CommandLine::command();
    let header = *Styles::styled().get_header();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n{}\n{header}Options of every command:{header:#}\n{{options}}{{after-help}}",
        listed(&command)
    );
    let examples = GROUPS.iter().flat_map(|group| group.commands);
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
    let names = GROUPS.iter().flat_map(|group| group.commands);
    let width = names.map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for group in &GROUPS {
        put!(text, "\n{header}{}:{header:#}\n", group.title);
        for (name, _) in group.commands {
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
        let grouped = GROUPS.iter().flat_map(|group| group.commands);
        let mut grouped: Vec<&str> = grouped.map(|(name, _)| *name).collect();
        known.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn every_example_is_a_command_line_of_its_command() {
        for (name, example) in GROUPS.iter().flat_map(|group| group.commands) {
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
