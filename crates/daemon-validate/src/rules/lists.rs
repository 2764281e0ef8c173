//! D130 to D133: the three lists and their entries.

use daemon_spec::{
    DaemonFile, Diagnostic, Field, FieldList, Fix, ListEntry, Mistyped, Shape, SourceText, Span,
    Style, Text, quoted,
};

use super::identity::line_ending;
use crate::Subject;
use crate::prose::folded;
use crate::report::report;

/// Returns the list fields of a file with their names.
pub(crate) fn lists(file: &DaemonFile) -> [(&'static str, &Field<FieldList>); 3] {
    [
        ("watch", file.watch()),
        ("routines", file.routines()),
        ("deny", file.deny()),
    ]
}

/// Returns `true` if a list has an entry that is not empty.
pub(crate) fn says_something(list: &FieldList) -> bool {
    list.entries.iter().any(|entry| !is_blank(entry))
}

pub(crate) fn list_type(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    for (name, field) in lists(file) {
        let Field::Mistyped { key, value } = field else {
            continue;
        };
        // The parser already reported the syntax error that hides the value.
        if value.shape == Shape::Unreadable {
            continue;
        }
        // A missing value has no text to point at.
        let span = if value.span.is_empty() {
            *key
        } else {
            value.span
        };
        let found = report(
            130,
            span,
            format!("`{name}` is {}, not a list", value.shape.describe()),
        )
        .with_help("write one entry a line, each after `- `");
        acc.push(match listing(file, *key, value) {
            Some(fix) => found.with_fix(fix),
            None => found,
        });
    }
}

pub(crate) fn entry_type(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let source = subject.file().source();
    for (name, index, entry) in entries(subject.file()) {
        let ListEntry::Mistyped(value) = entry else {
            continue;
        };
        // An empty entry has the code D132, and a syntax error one of the parser.
        if matches!(value.shape, Shape::Null | Shape::Unreadable) {
            continue;
        }
        let message = format!(
            "entry {} of `{name}` is {}, not text",
            index + 1,
            value.shape.describe()
        );
        let found = report(131, value.span, message).with_help("quote it");
        acc.push(match quotable(source, value) {
            Some(span) => {
                found.with_fix(Fix::replace("quote it", span, quoted(source.slice(span))))
            }
            None => found,
        });
    }
}

/// Returns the byte range to quote so that an entry on one line becomes text.
fn quotable(source: &SourceText, value: &Mistyped) -> Option<Span> {
    let raw = source.slice(value.span);
    if raw.is_empty() || raw.contains(['\n', '\r']) || value.shape == Shape::Tagged {
        return None;
    }
    let line = source.line_at(value.span.start);
    let rest = source.slice(Span::new(value.span.end, line.end));
    // The span of a key without a value ends before its colon.
    let is_open = value.shape == Shape::Mapping && !raw.starts_with('{');
    let tail = rest.trim_end();
    if is_open && tail.trim_start().starts_with(':') {
        let is_whole = tail.trim_start() == ":";
        return is_whole.then(|| Span::new(value.span.start, value.span.end + tail.len()));
    }
    Some(value.span)
}

pub(crate) fn entry_empty(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    for (name, field) in lists(file) {
        let Field::Present { key, value: list } = field else {
            continue;
        };
        for (index, entry) in list
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| is_blank(entry))
        {
            let found = report(
                132,
                entry.token(),
                format!("entry {} of `{name}` is empty", index + 1),
            )
            .with_help("delete it");
            // A list without entries is null and no longer a list, so the whole field goes. The required
            // `routines` cannot go.
            let removal = if says_something(list) {
                file.entry_removal(list, index)
            } else if name == "routines" {
                None
            } else {
                file.member_removal(*key)
            };
            acc.push(match removal {
                Some(span) => found.with_fix(Fix::replace("delete the entry", span, "")),
                None => found,
            });
        }
    }
}

pub(crate) fn entry_duplicate(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    for (name, field) in lists(file) {
        let Some(list) = field.value() else { continue };
        let words: Vec<String> = list
            .entries
            .iter()
            .map(|entry| {
                entry
                    .text()
                    .map_or(String::new(), |text| folded(&text.value))
            })
            .collect();
        for (index, entry) in list.entries.iter().enumerate() {
            let Some(text) = words.get(index).filter(|text| !text.is_empty()) else {
                continue;
            };
            let Some(first) = words.iter().take(index).position(|other| other == text) else {
                continue;
            };
            let message = format!(
                "entry {} of `{name}` repeats entry {}",
                index + 1,
                first + 1
            );
            let found = report(133, entry.span(), message).with_help("delete it");
            acc.push(match file.entry_removal(list, index) {
                Some(span) => found.with_fix(Fix::replace("delete the entry", span, "")),
                None => found,
            });
        }
    }
}

/// Returns the entries of all lists, with the name of the field and the index of the entry.
fn entries(file: &DaemonFile) -> impl Iterator<Item = (&'static str, usize, &ListEntry)> {
    lists(file)
        .into_iter()
        .filter_map(|(name, field)| Some((name, field.value()?)))
        .flat_map(|(name, list)| {
            list.entries
                .iter()
                .enumerate()
                .map(move |(index, entry)| (name, index, entry))
        })
}

fn is_blank(entry: &ListEntry) -> bool {
    match entry {
        ListEntry::Text(text) => text.value.trim().is_empty(),
        ListEntry::Mistyped(value) => value.shape == Shape::Null,
    }
}

/// Returns a fix that turns the text of a field into a list, with one entry for each line of a block.
fn listing(file: &DaemonFile, key: Span, value: &Mistyped) -> Option<Fix> {
    let text = value.text.as_ref().filter(|_| value.shape == Shape::Text)?;
    let entries = entries_of_text(text);
    if entries.is_empty() {
        return None;
    }
    let title = "make it a list";
    let line = file.source().line_at(key.start);
    let indent = file.source().slice(Span::new(line.start, key.start));
    let gap = gap_after_colon(file, key, text);
    match gap {
        // Only a key at the start of its line can have a block list. In `{watch: x}` it cannot.
        Some(gap) if indent.bytes().all(|byte| byte == b' ') => {
            let ending = line_ending(file);
            let lines: String = entries
                .iter()
                .map(|entry| format!("{ending}{indent}  - {}", quoted(entry)))
                .collect();
            Some(Fix::replace(
                title,
                Span::new(gap.start, text.token.end),
                lines,
            ))
        }
        _ if text.style == Style::Block || text.style == Style::Referenced => None,
        _ => {
            let entries: Vec<String> = entries.iter().map(|entry| quoted(entry)).collect();
            Some(Fix::replace(
                title,
                text.token,
                format!("[{}]", entries.join(", ")),
            ))
        }
    }
}

fn entries_of_text(text: &Text) -> Vec<&str> {
    if text.style == Style::Block {
        text.value
            .lines()
            .map(|line| line.trim().trim_start_matches("- ").trim())
            .filter(|line| !line.is_empty() && *line != "-")
            .collect()
    } else {
        Some(text.value.trim())
            .filter(|value| !value.is_empty())
            .into_iter()
            .collect()
    }
}

/// Returns the byte range between the colon of a key and its value, if it contains only blanks, line
/// breaks and the header of a block scalar.
fn gap_after_colon(file: &DaemonFile, key: Span, text: &Text) -> Option<Span> {
    let between = Span::new(key.end, text.token.start);
    let colon = key.end + file.source().slice(between).find(':')? + 1;
    let gap = Span::new(colon, text.token.start);
    let rest = file.source().slice(gap).trim();
    // A comment or an anchor in the gap would be lost, so the fix is not offered.
    let is_header = rest
        .bytes()
        .all(|byte| matches!(byte, b'|' | b'>' | b'+' | b'-' | b'1'..=b'9'));
    (is_header && text.style != Style::Referenced).then_some(gap)
}
