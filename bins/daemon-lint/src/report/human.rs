//! Text for people, with the author's lines below each diagnostic.

use std::io::{self, Write};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use daemon_spec::{Diagnostic, Severity, SourceText, Span};
use daemon_validate::{visible_line, visible_styled};

use super::LintReport;
use crate::suggestions::Suggestion;

// Longer lines fill the terminal, so only their position is printed.
const MAX_SHOWN_BYTES: usize = 4_000;

pub(super) fn print(
    report: &LintReport<'_>,
    is_coloured: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let renderer = if is_coloured {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    for linted in report.files {
        let path = visible_line(&linted.path);
        for found in &linted.diagnostics {
            let group = match linted.source() {
                Some(source) => with_source(found, &path, source),
                None => without_lines(found, &path, 1, 1),
            };
            // The colours of the renderer stay. It escapes those of the author's text itself.
            writeln!(out, "{}\n", visible_styled(&renderer.render(&[group])))?;
        }
    }
    let given = report.suggestions.map(|suggestions| &suggestions.given);
    given
        .into_iter()
        .flatten()
        .try_for_each(|given| suggestion(given, out))
}

/// Prints the other wordings of a condition, each with its interpretation.
fn suggestion(given: &Suggestion, out: &mut dyn Write) -> io::Result<()> {
    let unclear = &given.unclear;
    let (path, line, column) = (visible_line(&unclear.path), unclear.line, unclear.column);
    let status = unclear.meaning.status.as_str();
    writeln!(out, "other wordings for {path}:{line}:{column}")?;
    writeln!(out, "  `{}` is {status}", unclear.shown())?;
    if given.wordings().is_empty() {
        writeln!(out, "    no wording that is read as `mapped`")?;
    }
    for wording in given.wordings() {
        writeln!(out, "    `{}`", wording.text())?;
        for alternative in wording.reading() {
            writeln!(out, "      wakes on {alternative}")?;
        }
    }
    writeln!(out)
}

fn with_source<'a>(found: &'a Diagnostic, path: &'a str, source: &'a SourceText) -> Group<'a> {
    let start = source.position(found.span.start);
    let lines = Span::new(
        source.line_at(found.span.start).start,
        source
            .line_at(found.span.end.saturating_sub(1).max(found.span.start))
            .end,
    );
    let shown = source.slice(lines);
    if shown.is_empty() || shown.len() > MAX_SHOWN_BYTES {
        return without_lines(found, path, start.line, start.column);
    }
    let place = found.span.start - lines.start..found.span.end - lines.start;
    let help = found.help.as_deref().filter(|help| !help.contains('\n'));
    let annotation = AnnotationKind::Primary
        .span(place)
        .label(help.map(|help| format!("help: {help}")));
    let snippet = Snippet::source(shown)
        .path(path)
        .line_start(start.line)
        .annotation(annotation);
    let group = title(found).element(snippet);
    match &found.help {
        Some(help) if help.contains('\n') => group.element(Level::HELP.message(help)),
        _ => group,
    }
}

fn without_lines<'a>(
    found: &'a Diagnostic,
    path: &'a str,
    line: usize,
    column: usize,
) -> Group<'a> {
    let group = title(found).element(Origin::path(path).line(line).char_column(column));
    match &found.help {
        Some(help) => group.element(Level::HELP.message(help)),
        None => group,
    }
}

fn title(found: &Diagnostic) -> annotate_snippets::Title<'_> {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Advice => Level::NOTE.with_name("advice"),
    };
    level
        .primary_title(&found.message)
        .id(found.code.to_string())
}
