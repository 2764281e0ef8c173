//! Tests of the public API over whole files.

mod cases;
mod catalogue;
mod codes;
mod conditions;
mod fixes;
mod pages;
mod properties;
mod seeds;
mod support;
mod suppressions;

use daemon_spec::{Diagnostic, Parse, parse};
use daemon_validate::{Profile, Subject, validate};

/// A file without diagnostics. Tests change one part of it.
const CLEAN: &str = "---\nid: pr-helper\npurpose: Keeps pull requests ready to merge.\nwatch:\n  - when a pull request is opened\nroutines:\n  - propose clearer titles for pull requests\ndeny:\n  - merge pull requests\n---\n## Policy\n\nKeep changes small.\n";

/// The fields of [`CLEAN`], to complete a part of a front matter.
const FIELDS: [(&str, &str); 5] = [
    ("id", "id: pr-helper\n"),
    ("purpose", "purpose: Keeps pull requests ready to merge.\n"),
    ("watch", "watch:\n  - when a pull request is opened\n"),
    (
        "routines",
        "routines:\n  - propose clearer titles for pull requests\n",
    ),
    ("deny", "deny:\n  - merge pull requests\n"),
];

/// Adds the missing fields after a part of a front matter.
fn completed(part: &str) -> String {
    let lines: Vec<&str> = part.lines().collect();
    let rest: String = FIELDS
        .iter()
        .filter(|(name, _)| {
            !lines
                .iter()
                .any(|line| line.starts_with(&format!("{name}:")))
        })
        .map(|(_, field)| *field)
        .collect();
    format!(
        "---\n{}\n{rest}---\n## Policy\n\nKeep changes small.\n",
        part.trim_end_matches('\n')
    )
}

/// Completes a part of a front matter. A whole file is unchanged.
fn file(input: &str) -> String {
    if input.contains("---\n") || input.starts_with('#') {
        input.to_owned()
    } else {
        completed(input)
    }
}

fn read(text: &str) -> Parse {
    parse(text.as_bytes().to_vec())
}

fn lint(text: &str) -> Vec<Diagnostic> {
    validate(
        &Subject::new(&read(text)).in_directory("pr-helper"),
        Profile::Spec,
    )
}

/// Prints a diagnostic per line: severity, code, position, words, message and help.
fn shown(text: &str, found: &[Diagnostic]) -> String {
    let source = read(text).file.into_source();
    let line = |one: &Diagnostic| {
        let at = source.position(one.span.start);
        format!(
            "{} {} {}:{} [{}] {} | {}\n",
            one.severity,
            one.code,
            at.line,
            at.column,
            on_one_line(source.slice(one.span)),
            on_one_line(&one.message),
            on_one_line(one.help.as_deref().unwrap_or("-")),
        )
    };
    found.iter().map(line).collect()
}

fn on_one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

fn codes(found: &[Diagnostic]) -> Vec<String> {
    found.iter().map(|one| one.code.to_string()).collect()
}
