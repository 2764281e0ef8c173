//! D140: what a template left for its user.

use std::ops::Range;

use daemon_spec::{DaemonFile, Diagnostic, List, Span, Text};

use super::lists::lists;
use crate::Subject;
use crate::prose::outside_code;
use crate::report::report;

pub(crate) fn placeholder(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    for text in texts(file) {
        for range in braces(&text.value).chain(angles(&text.value)) {
            push(file, text.place(file.source(), range), acc);
        }
    }
    // An output format may well show its shape with braces inside code.
    let body = file.body_text();
    if !body.contains("{{") {
        return;
    }
    for part in outside_code(body) {
        let words = body.get(part.clone()).unwrap_or_default();
        for range in braces(words) {
            let start = file.body().start + part.start;
            push(file, Span::new(start + range.start, start + range.end), acc);
        }
    }
}

fn push(file: &DaemonFile, span: Span, acc: &mut Vec<Diagnostic>) {
    let shown = file.source().slice(span);
    acc.push(
        report(
            140,
            span,
            format!("`{shown}` is a placeholder of a template"),
        )
        .with_help("fill it in"),
    );
}

fn texts(file: &DaemonFile) -> impl Iterator<Item = &Text> {
    let single = [file.id(), file.purpose(), file.schedule()]
        .into_iter()
        .filter_map(|field| field.value());
    let listed = lists(file)
        .into_iter()
        .filter_map(|(_, field)| field.value())
        .flat_map(List::texts);
    single.chain(listed)
}

/// Finds `{{…}}`, except the expressions of a workflow, `${{…}}`.
fn braces(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text.get(at..)?.find("{{")?;
            let end = start + text.get(start..)?.find("}}")? + 2;
            at = end;
            let is_expression = text.get(..start)?.ends_with('$');
            let is_one_line = !text.get(start..end)?.contains('\n');
            if !is_expression && is_one_line {
                return Some(start..end);
            }
        }
    })
}

/// Finds `<word>` and `<two words>`, except addresses and the tags of a markup.
fn angles(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    const TAGS: &[&str] = &[
        "br", "hr", "b", "i", "p", "a", "code", "pre", "em", "strong", "details", "summary", "sub",
        "sup", "kbd",
    ];
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text.get(at..)?.find('<')?;
            let rest = text.get(start + 1..)?;
            let length = rest
                .find(|c: char| !(c.is_alphanumeric() || " _-".contains(c)))
                .unwrap_or(rest.len());
            at = start + 1 + length;
            let word = rest.get(..length)?;
            let is_word = word.starts_with(char::is_alphabetic)
                && word.ends_with(char::is_alphanumeric)
                && word.len() <= 40
                && !TAGS.contains(&word);
            if is_word && rest.get(length..)?.starts_with('>') {
                return Some(start..at + 1);
            }
        }
    })
}
