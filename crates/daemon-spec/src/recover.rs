//! Recovery after a syntax error: the remaining fields, and the cause of each error.
//!
//! The front matter is divided at its top-level keys, and a list at its dashes. The YAML library parses
//! each piece separately. A bad entry then affects only itself, and each bad piece is reported.

use crate::cause::{BrokenPiece, PieceKind};
use crate::fields::FieldReader;
use crate::file::{Fields, Layout};
use crate::frame::{SourceLine, is_blank, lines, slice};
use crate::limits::MAX_LIST_ENTRIES;
use crate::yaml::{NodeKind, SyntaxError, YamlNote, YamlNoteKind, YamlTree, compose};
use crate::{
    Diagnostic, Field, FieldList, ListEntry, Member, Mistyped, Shape, Span, Style, Text, cause,
    codes,
};

/// Reads the valid parts of the invalid YAML at `yaml`, and reports the errors of the others.
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
    let all = pieces(text, yaml, |line| key_length(line).is_some());
    for piece in all.iter().take(MAX_PIECES) {
        recovery.piece(*piece);
    }
    if let Some(piece) = all.get(MAX_PIECES) {
        recovery.over_budget(*piece);
    }
    // Each piece can be valid although the whole is not. The error of the whole is then reported.
    if recovery.n_errors == 0 {
        acc.push(codes::syntax(whole));
    }
}

// Each piece is a run of the YAML library, so the number bounds the time.
const MAX_PIECES: usize = 500;

/// Divides `span` before every line for which `begins` returns `true`. The lines before the first one
/// are a piece too.
fn pieces(text: &str, span: Span, begins: impl Fn(&str) -> bool) -> Vec<Span> {
    let mut acc: Vec<Span> = Vec::new();
    for SourceLine { text: line, next } in lines(text, span.start, span.end) {
        // `...` ends a YAML document, so nothing after it belongs to a field.
        if slice(text, line).starts_with("...") {
            break;
        }
        match acc.last_mut() {
            Some(last) if !begins(slice(text, line)) => last.end = next,
            _ => acc.push(Span::new(line.start, next)),
        }
    }
    acc
}

/// Returns the length of the key at the start of a line of the form `word:` or `word: …`.
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

impl<'t> Recovery<'t> {
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
            Some(items) => self.list(key, items, error),
            None => {
                let value = self.entry(value, error, self.field(piece));
                self.set_text(key, value);
            }
        }
    }

    /// Adds the members of a piece that is valid YAML.
    fn take(&mut self, tree: &YamlTree<'_>) {
        self.notes(tree);
        let Some(root) = tree.root else { return };
        // Words before the first key belong to an error that is reported elsewhere.
        if matches!(tree.node(root).kind, NodeKind::Mapping { .. }) {
            FieldReader {
                text: self.text,
                tree,
                fields: self.fields,
                acc: self.acc,
            }
            .read(root);
        }
    }

    fn over_budget(&mut self, at: Span) {
        self.n_errors += 1;
        self.acc.push(codes::note(
            YamlNote {
                span: Span::at(at.start),
                kind: YamlNoteKind::TooManyNodes,
            },
            "",
        ));
    }

    fn notes(&mut self, tree: &YamlTree<'_>) {
        for note in &tree.notes {
            let word = slice(self.text, note.span);
            // The anchor may be in another piece, in which case the alias is valid.
            let is_known = note.kind == YamlNoteKind::UnknownAlias
                && word
                    .strip_prefix('*')
                    .is_some_and(|name| slice(self.text, self.yaml).contains(&format!("&{name}")));
            if !is_known {
                self.acc.push(codes::note(*note, word));
            }
        }
    }

    fn list(&mut self, key: Span, items: Span, error: &SyntaxError) {
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
            if entries.len() == MAX_LIST_ENTRIES {
                self.over_budget(item);
                break;
            }
            if begins(
                slice(self.text, item)
                    .split(['\n', '\r'])
                    .next()
                    .unwrap_or_default(),
            ) {
                entries.push(self.item(Span::new(item.start + indent + 1, item.end), item));
            } else if let Some(error) = compose(slice(self.text, item), item.start).error {
                self.syntax(&error);
            }
        }
        if entries.is_empty() {
            let field = Span::new(key.start, items.end);
            let value = self.entry(self.value_span(items), error, self.field(field));
            return self.set_text(key, value);
        }
        let start = entries
            .first()
            .map_or(items.start, |entry| entry.token().start);
        let span = Span::new(
            start,
            entries.last().map_or(start, |entry| entry.token().end),
        );
        self.set_list(
            key,
            FieldList {
                span,
                layout: Layout::Block,
                entries,
            },
        );
    }

    /// Reads an entry of a list. `rest` is the text after its dash.
    fn item(&mut self, rest: Span, item: Span) -> ListEntry {
        let tree = compose(slice(self.text, item), item.start);
        let Some(error) = &tree.error else {
            self.notes(&tree);
            let entry = match tree.root.map(|root| &tree.node(root).kind) {
                Some(NodeKind::List { entries, .. }) => entries.first().copied(),
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
        let piece = BrokenPiece {
            text: self.text,
            span: item,
            kind: PieceKind::Entry,
        };
        self.entry(self.value_span(rest), error, piece)
    }

    /// Reads the value at `value` as the string that quotes would make of it. If quotes do not fix the
    /// error, the entry is unreadable. The error is reported in both cases.
    fn entry(&mut self, value: Span, error: &SyntaxError, piece: BrokenPiece<'_>) -> ListEntry {
        self.n_errors += 1;
        let raw = slice(self.text, value);
        let found = cause::of(value, raw, error, piece);
        let is_text = found.fix.is_some();
        self.acc.push(found);
        if !is_text {
            return unreadable(value);
        }
        let is_one_line = !raw.contains(['\n', '\r']);
        let meant = if is_one_line {
            raw.to_owned()
        } else {
            raw.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        ListEntry::Text(Text {
            value: meant,
            span: value,
            token: value,
            style: Style::Plain,
        })
    }

    fn syntax(&mut self, error: &SyntaxError) {
        self.n_errors += 1;
        self.acc.push(codes::syntax(error));
    }

    fn field(&self, span: Span) -> BrokenPiece<'t> {
        BrokenPiece {
            text: self.text,
            span,
            kind: PieceKind::Field,
        }
    }

    /// Returns the byte range of a value without surrounding blanks and without a trailing comment.
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

    fn set_text(&mut self, key: Span, value: ListEntry) {
        let name = slice(self.text, key);
        let is_first = self.member(name, key, value.token(), value.shape());
        if let Some(field) = self.fields.text_mut(name).filter(|_| is_first) {
            *field = Field::of_entry(key, value);
        } else if let Some(field) = self.fields.list_mut(name).filter(|_| is_first) {
            let value = match value {
                ListEntry::Text(text) => Mistyped {
                    span: text.token,
                    shape: Shape::Text,
                    text: Some(text),
                },
                ListEntry::Mistyped(value) => value,
            };
            *field = Field::Mistyped { key, value };
        }
    }

    fn set_list(&mut self, key: Span, value: FieldList) {
        let name = slice(self.text, key);
        let is_first = self.member(name, key, value.span, Shape::List);
        if let Some(field) = self.fields.list_mut(name).filter(|_| is_first) {
            *field = Field::Present { key, value };
        } else if let Some(field) = self.fields.text_mut(name).filter(|_| is_first) {
            let value = Mistyped {
                span: value.span,
                shape: Shape::List,
                text: None,
            };
            *field = Field::Mistyped { key, value };
        }
    }

    /// Adds a member. Returns `false` and reports the key if it occurred before.
    fn member(&mut self, name: &str, key: Span, value: Span, shape: Shape) -> bool {
        let is_first = self.fields.add(Member {
            name: name.to_owned(),
            key,
            value,
            shape,
        });
        if !is_first {
            self.acc.push(codes::duplicate_key(key, name));
        }
        is_first
    }
}

fn unreadable(span: Span) -> ListEntry {
    ListEntry::Mistyped(Mistyped {
        span,
        shape: Shape::Unreadable,
        text: None,
    })
}

fn is_item(line: &str) -> bool {
    line.strip_prefix('-')
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}
