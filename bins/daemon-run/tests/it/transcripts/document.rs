//! The text of a transcript: blocks of files, blocks of commands, and prose around them.

use snapbox::{Assert, Data};

/// A part of a transcript, with the number of its first line.
pub(super) struct Block<'a> {
    pub(super) line: usize,
    pub(super) kind: Kind<'a>,
}

pub(super) enum Kind<'a> {
    /// Lines that are kept as they are, fences included.
    Prose(Vec<&'a str>),
    /// A heading of the second level: the next blocks run in a new world.
    Section(&'a str),
    /// Files that are written; those of a `repository` block are also committed.
    Files {
        is_committed: bool,
        lines: Vec<&'a str>,
    },
    Commands(Vec<Command<'a>>),
}

/// A command with the lines that are expected of it.
pub(super) struct Command<'a> {
    pub(super) line: usize,
    /// The lines of the command, without `$ ` and `> `.
    pub(super) input: Vec<&'a str>,
    pub(super) expected: Vec<&'a str>,
}

impl Command<'_> {
    pub(super) fn text(&self) -> String {
        self.input.join("\n")
    }
}

/// Splits a transcript into its blocks.
pub(super) fn parse(text: &str) -> Result<Vec<Block<'_>>, String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((first, line)) = lines.next() {
        let fence = first.strip_prefix("```");
        let kind = match fence {
            Some("console" | "files" | "repository") => {
                let mut inner = Vec::new();
                loop {
                    match lines.next() {
                        Some(("```", _)) => break,
                        Some((text, _)) => inner.push(text),
                        None => return Err(format!("line {line}: the block has no end")),
                    }
                }
                match fence {
                    Some("console") => Kind::Commands(commands(&inner, line + 1)?),
                    name => Kind::Files {
                        is_committed: name == Some("repository"),
                        lines: inner,
                    },
                }
            }
            _ if first.starts_with("## ") => Kind::Section(first),
            _ => Kind::Prose(vec![first]),
        };
        blocks.push(Block { line, kind });
    }
    Ok(blocks)
}

/// Reads the commands of a block whose first line has a number.
fn commands<'a>(lines: &[&'a str], number: usize) -> Result<Vec<Command<'a>>, String> {
    let mut commands: Vec<Command<'_>> = Vec::new();
    for (&text, line) in lines.iter().zip(number..) {
        if let Some(input) = text.strip_prefix("$ ") {
            commands.push(Command {
                line,
                input: vec![input],
                expected: Vec::new(),
            });
            continue;
        }
        let command = commands
            .last_mut()
            .ok_or_else(|| format!("line {line}: output before the first command"))?;
        match text.strip_prefix("> ") {
            Some(input) if command.expected.is_empty() => command.input.push(input),
            _ => command.expected.push(text),
        }
    }
    Ok(commands)
}

/// Writes a command with its output.
pub(super) fn render_command(command: &Command<'_>, output: &[String], document: &mut Vec<String>) {
    let prefixes = std::iter::once("$ ").chain(std::iter::repeat("> "));
    for (prefix, input) in prefixes.zip(&command.input) {
        document.push(format!("{prefix}{input}"));
    }
    // What matches is kept as it is written, so that an update keeps its `...`.
    if compare(&command.expected.join("\n"), &output.join("\n")).is_ok() {
        document.extend(command.expected.iter().map(|&line| line.to_owned()));
    } else {
        document.extend(output.iter().cloned());
    }
}

/// Marks a line of standard output that would otherwise be read as something else.
pub(super) fn quoted(line: &str) -> String {
    let is_special = ["$ ", "> ", "! ", "? ", "| ", "```"]
        .iter()
        .any(|mark| line.starts_with(mark));
    if is_special || line == "..." {
        format!("| {line}")
    } else {
        line.to_owned()
    }
}

/// Compares an expected and an actual document; a line `...` of the expected one matches any lines.
///
/// # Errors
/// The difference, for people to read.
pub(super) fn compare(expected: &str, actual: &str) -> Result<(), String> {
    Assert::new()
        .normalize_paths(false)
        .try_eq(
            Some(&"the program"),
            Data::text(actual),
            Data::text(expected),
        )
        .map_err(|difference| difference.to_string())
}
