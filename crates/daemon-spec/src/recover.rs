//! After a syntax error: what can still be read, and what each error probably is.
//!
//! The front matter is cut at its top-level keys, and a list at its dashes; every piece is read by
//! the YAML library on its own. One bad entry then costs that entry, and each bad piece is reported.

use crate::fields::FieldReader;
use crate::file::{Fields, Layout};
use crate::frame::{Line, is_blank, lines, slice};
use crate::yaml::{Kind, NoteKind, SyntaxError, Tree, compose};
use crate::{Diagnostic, Entry, Field, List, Member, Mistyped, Shape, Span, Style, Text, codes};

/// Reads what can be read of the broken YAML at `yaml`, and reports why the rest cannot.
pub(crate) fn recover(
    text: &str,
    yaml: Span,
    whole: &SyntaxError,
    fields: &mut Fields,
    acc: &mut Vec<Diagnostic>,
) {
    let mut recovery = Recovery {
        text,
        yaml,
        fields,
        acc,
        n_errors: 0,
    };
    for piece in pieces(text, yaml, |line| key_length(line).is_some()) {
        recovery.piece(piece);
    }
    if recovery.n_errors == 0 {
        acc.push(codes::syntax(whole));
    }
}

/// Cuts `span` before every line that `begins` a piece; what stands before the first is one, too.
fn pieces(text: &str, span: Span, begins: impl Fn(&str) -> bool) -> Vec<Span> {
    let mut acc: Vec<Span> = Vec::new();
    for Line { text: line, next } in lines(text, span.start, span.end) {
        match acc.last_mut() {
            Some(last) if !begins(slice(text, line)) => last.end = next,
            _ => acc.push(Span::new(line.start, next)),
        }
    }
    acc
}

/// The length of the key a line begins with, when it has the form `word:` or `word: …`.
pub(crate) fn key_length(line: &str) -> Option<usize> {
    let length = line
        .bytes()
        .position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'))?;
    let rest = line.get(length..)?.strip_prefix(':')?;
    (length > 0 && !line.starts_with('-') && (rest.is_empty() || rest.starts_with([' ', '\t'])))
        .then_some(length)
}

struct Recovery<'t> {
    text: &'t str,
    yaml: Span,
    fields: &'t mut Fields,
    acc: &'t mut Vec<Diagnostic>,
    n_errors: usize,
}

impl Recovery<'_> {
    fn piece(&mut self, piece: Span) {
        let tree = compose(slice(self.text, piece), piece.start);
        let Some(error) = &tree.error else {
            self.take(&tree);
            return;
        };
        let first_line = lines(self.text, piece.start, piece.end).next();
        let line = first_line
            .map(|line| slice(self.text, line.text))
            .unwrap_or_default();
        let Some(length) = key_length(line) else {
            self.syntax(error);
            return;
        };
        let key = Span::new(piece.start, piece.start + length);
        let value = self.value_span(Span::new(key.end + 1, piece.end));
        let value_line = slice(self.text, value);
        let items = first_line.map(|line| Span::new(line.next, piece.end));
        match items.filter(|_| is_blank(&line[length + 1..]) && is_item(value_line)) {
            Some(items) => self.list(key, items),
            None => {
                let value = self.entry(value, error);
                self.member(key, value.token(), value.shape());
                self.set_text(key, value);
            }
        }
    }

    /// Takes over a piece that reads on its own.
    fn take(&mut self, tree: &Tree<'_>) {
        self.notes(tree);
        let Some(root) = tree.root else { return };
        // Stray words before the first key are part of the error that is reported anyway.
        if matches!(tree.node(root).kind, Kind::Mapping { .. }) {
            FieldReader {
                text: self.text,
                tree,
                fields: self.fields,
                acc: self.acc,
            }
            .read(root);
        }
    }

    fn notes(&mut self, tree: &Tree<'_>) {
        for note in &tree.notes {
            let word = slice(self.text, note.span);
            // The anchor may stand in another piece.
            let is_known = note.kind == NoteKind::UnknownAlias
                && word
                    .strip_prefix('*')
                    .is_some_and(|name| slice(self.text, self.yaml).contains(&format!("&{name}")));
            if !is_known {
                self.acc.push(codes::note(*note, word));
            }
        }
    }

    fn list(&mut self, key: Span, items: Span) {
        let indent = lines(self.text, items.start, items.end)
            .map(|line| slice(self.text, line.text))
            .find(|line| is_item(line.trim_start_matches(' ')))
            .map_or(0, |line| line.len() - line.trim_start_matches(' ').len());
        let begins = |line: &str| {
            line.len() - line.trim_start_matches(' ').len() == indent
                && is_item(line.trim_start_matches(' '))
        };
        let mut entries = Vec::new();
        for item in pieces(self.text, items, begins) {
            if begins(
                slice(self.text, item)
                    .split(['\n', '\r'])
                    .next()
                    .unwrap_or_default(),
            ) {
                entries.push(self.item(Span::new(item.start + indent + 1, item.end), item));
            } else if !slice(self.text, item).trim().is_empty() {
                self.take(&compose(slice(self.text, item), item.start));
            }
        }
        let start = entries
            .first()
            .map_or(items.start, |entry| entry.token().start);
        let span = Span::new(
            start,
            entries.last().map_or(start, |entry| entry.token().end),
        );
        self.member(key, span, Shape::List);
        self.set_list(
            key,
            List {
                span,
                layout: Layout::Block,
                entries,
            },
        );
    }

    /// Reads one entry; `rest` is what follows its dash.
    fn item(&mut self, rest: Span, item: Span) -> Entry {
        let tree = compose(slice(self.text, item), item.start);
        let Some(error) = &tree.error else {
            self.notes(&tree);
            let entry = match tree.root.map(|root| &tree.node(root).kind) {
                Some(Kind::List { entries, .. }) => entries.first().copied(),
                _ => None,
            };
            let mut reader = FieldReader {
                text: self.text,
                tree: &tree,
                fields: self.fields,
                acc: self.acc,
            };
            return entry.map_or_else(
                || unreadable(item),
                |entry| {
                    let entry = reader.entry(entry, None);
                    reader.comments(&entry);
                    entry
                },
            );
        };
        self.entry(self.value_span(rest), error)
    }

    /// Reads the value at `value` as the text it was probably meant to be, or reports `error`.
    fn entry(&mut self, value: Span, error: &SyntaxError) -> Entry {
        self.n_errors += 1;
        let raw = slice(self.text, value);
        let found = if begins_with_indicator(raw) {
            Some(codes::unquoted_indicator(value, raw))
        } else if has_key_sign(raw) {
            Some(codes::unquoted_colon(value, raw))
        } else {
            None
        };
        match found.filter(mends) {
            Some(found) => {
                self.acc.push(found);
                let words = raw.split_whitespace().collect::<Vec<_>>();
                let is_one_line = !raw.contains(['\n', '\r']);
                let meant = if is_one_line {
                    raw.to_owned()
                } else {
                    words.join(" ")
                };
                Entry::Text(Text {
                    value: meant,
                    span: value,
                    token: value,
                    style: Style::Plain,
                })
            }
            None => {
                let mut error = error.clone();
                // A quote that never closes is noticed far behind the place to mend.
                if raw.starts_with(['"', '\'']) || !value.contains(error.span) {
                    error.span = Span::new(
                        value.start,
                        value.start + raw.chars().next().map_or(0, char::len_utf8),
                    );
                }
                self.acc.push(codes::syntax(&error));
                unreadable(value)
            }
        }
    }

    fn syntax(&mut self, error: &SyntaxError) {
        self.n_errors += 1;
        self.acc.push(codes::syntax(error));
    }

    /// The value's text: without the blanks around it and without a comment at its end.
    fn value_span(&self, span: Span) -> Span {
        let raw = slice(self.text, span);
        let start = span.start + raw.len() - raw.trim_start().len();
        let trimmed = raw.trim();
        let last_line = trimmed.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let comment = trimmed[last_line..].find(" # ").map(|at| last_line + at);
        let length = comment
            .map_or(trimmed, |at| &trimmed[..at])
            .trim_end()
            .len();
        Span::new(start.min(span.end), start.min(span.end) + length)
    }

    fn member(&mut self, key: Span, value: Span, shape: Shape) {
        let name = slice(self.text, key).to_owned();
        if self.fields.members.iter().any(|member| member.name == name) {
            self.acc.push(codes::duplicate_key(key, &name));
        }
        self.fields.members.push(Member {
            name,
            key,
            value,
            shape,
        });
    }

    fn set_text(&mut self, key: Span, value: Entry) {
        let name = slice(self.text, key);
        let hidden = |span| Mistyped {
            span,
            shape: Shape::Unreadable,
            text: None,
        };
        let list = match name {
            "watch" => &mut self.fields.watch,
            "routines" => &mut self.fields.routines,
            "deny" => &mut self.fields.deny,
            _ => {
                let Some(field) = self.text_field(name) else {
                    return;
                };
                if field.is_absent() {
                    *field = match value {
                        Entry::Text(value) => Field::Present { key, value },
                        Entry::Mistyped(value) => Field::Mistyped { key, value },
                    };
                }
                return;
            }
        };
        if list.is_absent() {
            let value = match value {
                Entry::Text(text) => Mistyped {
                    span: text.token,
                    shape: Shape::Text,
                    text: Some(text),
                },
                Entry::Mistyped(value) => hidden(value.span),
            };
            *list = Field::Mistyped { key, value };
        }
    }

    fn set_list(&mut self, key: Span, value: List) {
        let name = slice(self.text, key);
        let list = match name {
            "watch" => &mut self.fields.watch,
            "routines" => &mut self.fields.routines,
            "deny" => &mut self.fields.deny,
            _ => {
                let Some(field) = self.text_field(name) else {
                    return;
                };
                if field.is_absent() {
                    let value = Mistyped {
                        span: value.span,
                        shape: Shape::List,
                        text: None,
                    };
                    *field = Field::Mistyped { key, value };
                }
                return;
            }
        };
        if list.is_absent() {
            *list = Field::Present { key, value };
        }
    }

    fn text_field(&mut self, name: &str) -> Option<&mut Field<Text>> {
        match name {
            "id" => Some(&mut self.fields.id),
            "purpose" => Some(&mut self.fields.purpose),
            "schedule" => Some(&mut self.fields.schedule),
            _ => None,
        }
    }
}

fn unreadable(span: Span) -> Entry {
    Entry::Mistyped(Mistyped {
        span,
        shape: Shape::Unreadable,
        text: None,
    })
}

fn is_item(line: &str) -> bool {
    line.strip_prefix('-')
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}

/// A fix is offered only if it does mend the value.
fn mends(found: &Diagnostic) -> bool {
    let edit = found.fix.as_ref().and_then(|fix| fix.edits.first());
    edit.is_some_and(|edit| compose(&format!("k: {}", edit.text), 0).error.is_none())
}

/// Text such as `*.md files`, `@team is asked`, `"help" is commented`, `[WIP] is removed`.
fn begins_with_indicator(raw: &str) -> bool {
    let Some(first) = raw.chars().next() else {
        return false;
    };
    match first {
        '*' | '&' | '!' | '`' | '@' | '%' | ',' | ']' | '}' => true,
        '|' | '>' => {
            raw[1..].starts_with(' ')
                && !raw[1..].trim_start().is_empty()
                && !raw.contains(['\n', '\r'])
        }
        '"' | '\'' => raw[1..]
            .find(first)
            .is_some_and(|end| !is_blank(&raw[end + 2..])),
        '{' => raw.starts_with("{{") || follows(raw, '}'),
        '[' => follows(raw, ']'),
        _ => false,
    }
}

/// Words stand after the bracket that closes.
fn follows(raw: &str, close: char) -> bool {
    raw.find(close)
        .is_some_and(|end| !is_blank(&raw[end + 1..]))
}

/// A colon that YAML takes for the end of a key.
fn has_key_sign(raw: &str) -> bool {
    raw.contains(": ") || raw.lines().any(|line| line.trim_end().ends_with(':'))
}
