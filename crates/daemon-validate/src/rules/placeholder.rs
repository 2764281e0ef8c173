//! D140: placeholders of a template.

use std::ops::Range;

use daemon_spec::{DaemonFile, Diagnostic, FieldList, Span, Text};

use super::lists::lists;
use crate::Subject;
use crate::prose::{Setting, settings};
use crate::report::report;

/// The placeholders of the public catalogue of daemons.
const ADAPTATION: &str = "{{adapt.";

pub(crate) fn placeholder(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    let is_open = |text: &&Text| memchr::memchr2(b'{', b'<', text.value.as_bytes()).is_some();
    for text in texts(file).filter(is_open) {
        for (setting, part) in settings(&text.value) {
            let words = text.value.get(part.clone()).unwrap_or_default();
            // In a code span `<number>` is usually the argument of a command, as in
            // `check --pr <number>`. It is a placeholder only if the span contains nothing else.
            let ranges: Vec<Range<usize>> = match setting {
                Setting::Prose => braces(words).chain(angles(words)).collect(),
                Setting::CodeSpan => braces(words).chain(whole_name(words)).collect(),
                Setting::CodeBlock => braces(words).collect(),
            };
            for range in ranges {
                let range = part.start + range.start..part.start + range.end;
                push(file, text.place(file.source(), range), acc);
            }
        }
    }
    in_body(file, acc);
}

fn in_body(file: &DaemonFile, acc: &mut Vec<Diagnostic>) {
    let body = file.body_text();
    // Most bodies contain no placeholder and need no division into code and prose.
    if memchr::memmem::find(body.as_bytes(), b"{{").is_none() && !body.contains("`<") {
        return;
    }
    for (setting, part) in settings(body) {
        let words = body.get(part.clone()).unwrap_or_default();
        // A fenced block often shows the form of the output with `{{…}}`, so only placeholders of the
        // catalogue count there.
        let ranges: Vec<Range<usize>> = match setting {
            Setting::Prose => braces(words).collect(),
            Setting::CodeSpan => braces(words).chain(whole_name(words)).collect(),
            Setting::CodeBlock => braces(words)
                .filter(|range| {
                    words
                        .get(range.start..)
                        .unwrap_or_default()
                        .starts_with(ADAPTATION)
                })
                .collect(),
        };
        let start = file.body().start + part.start;
        for range in ranges {
            push(file, Span::new(start + range.start, start + range.end), acc);
        }
    }
}

/// Returns the range of `words` if they are a single name such as `<source_globs>`.
fn whole_name(words: &str) -> Option<Range<usize>> {
    let name = words.strip_prefix('<')?.strip_suffix('>')?;
    let is_name = name.contains('_')
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    is_name.then_some(0..words.len())
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
        .flat_map(FieldList::texts);
    single.chain(listed)
}

/// Finds `{{…}}`, except workflow expressions such as `${{…}}`.
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

/// Finds `<word>` and `<two words>`, except addresses and HTML tags.
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
