//! Checks what the documentation names: commands with their options, and keys of the configuration.

use std::fs;
use std::path::Path;

use clap::error::ErrorKind;

/// Pages whose blocks of TOML configure another program, or are another file of the home.
const OTHER_TOML: [&str; 2] = ["docs/editors.md", "docs/runs.md"];

struct Page {
    path: String,
    text: String,
}

/// Returns the front page of the repository and every page of the book.
fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: String| Page {
        text: fs::read_to_string(root.join(&path)).expect("a readable page"),
        path,
    };
    let mut pages = vec![read("README.md".to_owned())];
    for directory in ["docs", "docs/errors"] {
        let entries = fs::read_dir(root.join(directory)).expect("the directory exists");
        for entry in entries {
            let name = entry.expect("a readable entry").file_name();
            let name = name.to_str().expect("a name of ASCII");
            if name.ends_with(".md") {
                pages.push(read(format!("{directory}/{name}")));
            }
        }
    }
    pages
}

/// A line of a page, and the name of the fenced block that it is in.
struct Line<'a> {
    number: usize,
    fence: Option<&'a str>,
    text: &'a str,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut fence = None;
    text.lines().zip(1..).filter_map(move |(text, number)| {
        let Some(name) = text.strip_prefix("```") else {
            return Some(Line {
                number,
                fence,
                text,
            });
        };
        fence = match fence {
            None => Some(name),
            Some(_) => None,
        };
        None
    })
}

/// Returns the commands of a line: what a block shows, or the spans of code in prose.
fn commands(line: &Line<'_>) -> Vec<Vec<String>> {
    let shown = match line.fence {
        Some(_) => vec![line.text.strip_prefix("$ ").unwrap_or(line.text)],
        None => line.text.split('`').skip(1).step_by(2).collect(),
    };
    let all = shown.into_iter().flat_map(simple_commands);
    all.filter(|words| words.first().is_some_and(|word| word == "daemon-run"))
        .collect()
}

/// Splits a line of a shell at its operators, and each command into its words.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match c {
            _ if quote == Some(c) => quote = None,
            _ if quote.is_some() => word.get_or_insert_default().push(c),
            '\'' | '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            // Brackets mark what may be left out.
            '[' | ']' => {}
            '#' if word.is_none() => break,
            '…' => break,
            ' ' | ';' | '|' | '&' | '<' | '>' | '(' | ')' => {
                let last = commands.last_mut().expect("there is a command");
                last.extend(word.take());
                if c != ' ' {
                    commands.push(Vec::new());
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    let last = commands.last_mut().expect("there is a command");
    last.extend(word);
    commands
}

/// Returns why the program has no such command or option. Values are often placeholders and are not checked.
fn problem(words: &[String]) -> Option<String> {
    if words.get(1).is_some_and(|word| word == "help") {
        return None;
    }
    let error = daemon_run::command().try_get_matches_from(words).err()?;
    let is_unknown = matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand
    );
    is_unknown.then(|| error.to_string())
}

#[test]
fn the_documentation_names_commands_and_options_that_exist() {
    let mut n_commands = 0;
    let mut problems = Vec::new();
    // The page of the commands is written from them, with placeholders such as `[OPTIONS]`.
    let pages = pages().into_iter();
    for page in pages.filter(|page| page.path != "docs/commands.md") {
        for line in lines(&page.text) {
            for words in commands(&line) {
                n_commands += 1;
                if let Some(problem) = problem(&words) {
                    problems.push(format!("{}:{}: {problem}", page.path, line.number));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.concat());
    assert!(n_commands > 150, "only {n_commands} commands were found");
}

#[test]
fn the_configuration_of_the_documentation_is_accepted() {
    let mut n_blocks = 0;
    let pages = pages();
    for page in &pages {
        if OTHER_TOML.contains(&page.path.as_str()) {
            continue;
        }
        for block in page.text.split("```toml\n").skip(1) {
            let (block, _) = block.split_once("```").expect("the block ends");
            n_blocks += 1;
            if let Err(error) = daemon_host::config::parse(block) {
                panic!("{}: {error}\n{block}", page.path);
            }
        }
    }
    assert!(n_blocks > 15, "only {n_blocks} blocks were found");
}

#[test]
fn an_unknown_command_or_option_is_found_in_blocks_and_in_prose() {
    let text = "Run `daemon-run serve --nowhere` or `daemon-run list`.\n```sh\n$ true; daemon-run nothing | cat # daemon-run never\n\
                daemon-run fire ID --event 'a b; c' [--dry-run]\n```\n";
    let found: Vec<(usize, Vec<String>)> = lines(text)
        .flat_map(|line| {
            commands(&line)
                .into_iter()
                .map(move |words| (line.number, words))
        })
        .collect();
    let shown: Vec<String> = found
        .iter()
        .map(|(line, words)| {
            let problem = problem(words).is_some();
            format!("{line} {} {problem}", words.join("|"))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "1 daemon-run|serve|--nowhere true",
            "1 daemon-run|list false",
            "3 daemon-run|nothing true",
            "4 daemon-run|fire|ID|--event|a b; c|--dry-run false",
        ]
    );
}
