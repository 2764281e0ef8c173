//! Conversion of the YAML tree to the six fields.

use crate::file::{Fields, Layout};
use crate::frame::slice;
use crate::yaml::{NodeId, NodeKind, YamlNode, YamlTree};
use crate::{
    Diagnostic, Field, FieldList, ListEntry, Member, Mistyped, Shape, Span, Style, Text, codes,
};

// A merged mapping can itself have a merge key. The limit bounds the recursion.
const MERGE_DEPTH: usize = 8;

/// Reads the members of a tree into the fields that are still absent.
pub(crate) struct FieldReader<'t, 'a> {
    pub(crate) text: &'a str,
    pub(crate) tree: &'t YamlTree<'a>,
    pub(crate) fields: &'t mut Fields,
    pub(crate) acc: &'t mut Vec<Diagnostic>,
}

impl<'t> FieldReader<'t, '_> {
    /// Reads the mapping `root`. Reports a root of another type.
    pub(crate) fn read(&mut self, root: NodeId) {
        let node = self.tree.node(root);
        let NodeKind::Mapping {
            pairs,
            is_tagged: false,
            ..
        } = &node.kind
        else {
            self.acc.push(codes::not_a_mapping(node.span));
            return;
        };
        let mut merges = Vec::new();
        for &(key, value) in pairs {
            if self.key_text(key).is_some_and(|name| name == "<<") {
                self.acc.push(codes::merge_key(self.tree.node(key).span));
                merges.push(value);
            } else {
                self.member(key, value);
            }
        }
        // Merge keys come last, because a key of the front matter always wins over a merged one.
        for value in merges {
            self.merge(value, self.tree.node(value).span, MERGE_DEPTH);
        }
    }

    fn member(&mut self, key: NodeId, value: NodeId) {
        let node = self.tree.node(key);
        let Some((name, key)) = self
            .key_text(key)
            .map(|name| (name.to_owned(), self.words(key)))
        else {
            self.acc.push(codes::key_is_no_word(node.span));
            return;
        };
        let shape = self
            .tree
            .resolve(value)
            .map_or(Shape::Unreadable, |value| self.shape(value));
        let span = self.tree.node(value).span;
        if self.fields.add(Member {
            name: name.clone(),
            key,
            value: span,
            shape,
        }) {
            self.set(&name, key, value, None);
        } else {
            self.acc.push(codes::duplicate_key(key, &name));
        }
    }

    /// Fills the fields that are still absent from the mappings of a merge key.
    fn merge(&mut self, value: NodeId, at: Span, depth: usize) {
        let target = self.tree.resolve(value).filter(|_| depth > 0);
        match target.map(|target| &self.tree.node(target).kind) {
            Some(NodeKind::List { entries, .. }) => {
                for &entry in entries {
                    self.merge(entry, at, depth - 1);
                }
            }
            Some(NodeKind::Mapping { pairs, .. }) => {
                for &(key, value) in pairs {
                    match self.key_text(key) {
                        Some("<<") => self.merge(value, at, depth - 1),
                        Some(name) => self.set(name, at, value, Some(at)),
                        None => {}
                    }
                }
            }
            Some(NodeKind::Scalar { .. } | NodeKind::Alias(_)) | None => {
                self.acc.push(codes::merge_of_no_mapping(at));
            }
        }
    }

    /// Sets a field that is still absent. `at` is the merge key that provides the value.
    fn set(&mut self, name: &str, key: Span, value: NodeId, at: Option<Span>) {
        if self
            .fields
            .text_mut(name)
            .is_some_and(|field| field.is_absent())
        {
            let value = self.entry(value, at);
            if name == "purpose" {
                self.comments(&value);
            }
            if let Some(field) = self.fields.text_mut(name) {
                *field = Field::of_entry(key, value);
            }
        } else if self
            .fields
            .list_mut(name)
            .is_some_and(|field| field.is_absent())
        {
            let value = self.list_field(key, value, at);
            if let Some(field) = self.fields.list_mut(name) {
                *field = value;
            }
        }
    }

    fn list_field(&mut self, key: Span, value: NodeId, at: Option<Span>) -> Field<FieldList> {
        let target = self.tree.resolve(value);
        let at = at.or_else(|| self.reference(value));
        let Some(NodeKind::List {
            entries,
            is_flow,
            is_tagged: false,
        }) = target.map(|target| &self.tree.node(target).kind)
        else {
            return Field::Mistyped {
                key,
                value: self.mistyped(value, at),
            };
        };
        let layout = match at {
            Some(_) => Layout::Referenced,
            None if *is_flow => Layout::Flow,
            None => Layout::Block,
        };
        let span = at.unwrap_or_else(|| self.tree.node(value).span);
        let entries: Vec<_> = entries.iter().map(|&entry| self.entry(entry, at)).collect();
        for entry in &entries {
            self.comments(entry);
        }
        Field::Present {
            key,
            value: FieldList {
                span,
                layout,
                entries,
            },
        }
    }

    pub(crate) fn entry(&self, id: NodeId, at: Option<Span>) -> ListEntry {
        let at = at.or_else(|| self.reference(id));
        match self.scalar(id, at) {
            Some((text, Shape::Text)) => ListEntry::Text(text),
            _ => ListEntry::Mistyped(self.mistyped(id, at)),
        }
    }

    fn mistyped(&self, id: NodeId, at: Option<Span>) -> Mistyped {
        let shape = self
            .tree
            .resolve(id)
            .map_or(Shape::Unreadable, |target| self.shape(target));
        let span = at.unwrap_or_else(|| self.tree.node(id).span);
        Mistyped {
            span,
            shape,
            text: self.scalar(id, at).map(|(text, _)| text),
        }
    }

    /// Returns the string of a scalar node and its type. `at` is the reference that leads to it.
    fn scalar(&self, id: NodeId, at: Option<Span>) -> Option<(Text, Shape)> {
        let target = self.tree.resolve(id)?;
        let NodeKind::Scalar { text, style, shape } = &self.tree.node(target).kind else {
            return None;
        };
        // `~` and `null` are spellings of "no value", not words of the author.
        let value = if *shape == Shape::Null {
            String::new()
        } else {
            text.clone().into_owned()
        };
        let text = match at {
            Some(at) => Text {
                value,
                span: at,
                token: at,
                style: Style::Referenced,
            },
            None => Text {
                value,
                span: self.words(id),
                token: self.tree.node(id).span,
                style: *style,
            },
        };
        Some((text, *shape))
    }

    fn reference(&self, id: NodeId) -> Option<Span> {
        let node = self.tree.node(id);
        matches!(node.kind, NodeKind::Alias(_)).then_some(node.span)
    }

    fn shape(&self, id: NodeId) -> Shape {
        match &self.tree.node(id).kind {
            NodeKind::Scalar { shape, .. } => *shape,
            NodeKind::List {
                is_tagged: false, ..
            } => Shape::List,
            NodeKind::Mapping {
                is_tagged: false, ..
            } => Shape::Mapping,
            NodeKind::List { .. } | NodeKind::Mapping { .. } => Shape::Tagged,
            NodeKind::Alias(_) => Shape::Unreadable,
        }
    }

    fn key_text(&self, key: NodeId) -> Option<&'t str> {
        let tree: &'t YamlTree<'_> = self.tree;
        match &tree.node(key).kind {
            NodeKind::Scalar { text, .. } => Some(text),
            NodeKind::List { .. } | NodeKind::Mapping { .. } | NodeKind::Alias(_) => None,
        }
    }

    /// Returns the byte range of the words of a scalar: inside the quotes, or below the `|` or `>` of
    /// a block.
    fn words(&self, id: NodeId) -> Span {
        let YamlNode { span, kind } = self.tree.node(id);
        match kind {
            NodeKind::Scalar {
                style: Style::SingleQuoted | Style::DoubleQuoted,
                ..
            } => {
                // After a syntax error the second quote can be missing.
                Span::new(
                    span.start + 1,
                    span.end.saturating_sub(1).max(span.start + 1),
                )
            }
            NodeKind::Scalar {
                style: Style::Block,
                ..
            } => {
                let raw = slice(self.text, *span);
                let words = raw
                    .find(['\n', '\r'])
                    .map_or("", |end| raw[end..].trim_start());
                Span::new(span.end - words.len(), span.end)
            }
            _ => *span,
        }
    }
}

/// Detection of text that YAML reads as a comment.
impl FieldReader<'_, '_> {
    pub(crate) fn comments(&mut self, entry: &ListEntry) {
        match entry {
            ListEntry::Text(text) if text.style == Style::Plain => self.comment_after(text),
            ListEntry::Mistyped(value) if value.shape == Shape::Null && value.span.is_empty() => {
                self.comment_instead(value.span);
            }
            ListEntry::Text(_) | ListEntry::Mistyped(_) => {}
        }
    }

    /// Reports `posted to #alerts`: a single space before `#`, and a word directly after it.
    fn comment_after(&mut self, text: &Text) {
        let rest = slice(self.text, Span::new(text.token.end, self.text.len()));
        if let Some(word) = rest.strip_prefix(' ').and_then(lost_word) {
            let lost = Span::new(
                text.token.end + 1,
                text.token.end + 1 + line_length(&rest[1..]),
            );
            let whole = Span::new(text.token.start, lost.end);
            self.acc.push(codes::lost_to_comment(
                whole,
                slice(self.text, whole),
                lost,
                word,
            ));
        }
    }

    /// Reports `- #alerts`, where the whole entry is read as a comment.
    fn comment_instead(&mut self, empty: Span) {
        let line = slice(self.text, Span::new(empty.start, self.text.len()));
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let rest = &line[blanks..];
        let is_separate = blanks > 0 || self.text[..empty.start].ends_with(' ');
        if let Some(word) = lost_word(rest).filter(|_| is_separate) {
            let start = empty.start + blanks;
            let lost = Span::new(start, start + line_length(rest));
            self.acc.push(codes::lost_to_comment(
                lost,
                slice(self.text, lost),
                lost,
                word,
            ));
        }
    }
}

/// Returns the word that directly follows a `#`, including the `#`.
fn lost_word(rest: &str) -> Option<&str> {
    // `# word`, with a space, is an ordinary comment.
    let name = rest.strip_prefix('#')?;
    let length = name
        .find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
        .unwrap_or(name.len());
    (length > 0).then(|| &rest[..=length])
}

/// Returns the number of bytes before the line break, without trailing blanks.
fn line_length(rest: &str) -> usize {
    rest.find(['\n', '\r'])
        .map_or(rest, |end| &rest[..end])
        .trim_end()
        .len()
}
