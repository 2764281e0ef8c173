//! From the library's events to a tree, within the budget.

use std::borrow::Cow;

use serde_saphyr::granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, StructureStyle, Tag,
};

use super::hint::hint;
use super::{Kind, Node, NodeId, Note, NoteKind, SyntaxError, Tree};
use crate::frame::is_blank;
use crate::limits::{MAX_DEPTH, MAX_LIST_ENTRIES, MAX_NODES, MAX_STRING_BYTES};
use crate::{Shape, Span, Style, shape};

/// Reads `text`, which begins at byte `base` of the file.
pub(crate) fn compose(text: &str, base: usize) -> Tree<'_> {
    let mut options = Options::default();
    options.emit_unresolved_aliases = true;
    options.emit_anchor_events = true;
    options.disallow_directives = true;
    // Block collections meet the limit here, with the node's place. Flow ones are scanned ahead.
    options.block_nesting_limit = MAX_DEPTH + 1;
    options.flow_nesting_limit = MAX_DEPTH;
    options.set_emit_comments(false);
    let mut composer = Composer {
        text,
        base,
        ..Composer::default()
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let is_going_on = match event {
            Ok((event, span)) => {
                let range = span.byte_range().unwrap_or(0..0);
                let tag = span.tag_span().and_then(|tag| tag.byte_range());
                composer.take(event, Span::new(range.start, range.end), tag)
            }
            Err(error) => composer.fail(&error),
        };
        if !is_going_on {
            break;
        }
    }
    composer.finish()
}

#[derive(Default)]
struct Composer<'a> {
    text: &'a str,
    base: usize,
    tree: Tree<'a>,
    open: Vec<Open>,
    /// Per anchor id: the node, and how many nodes it stands for; `None` while it is open.
    anchors: Vec<(usize, NodeId, Option<usize>)>,
    /// Nodes so far, with aliases written out.
    n_nodes: usize,
    n_documents: usize,
}

struct Open {
    id: NodeId,
    anchor: usize,
    key: Option<NodeId>,
    n_nodes_before: usize,
}

impl<'a> Composer<'a> {
    /// Takes one event; false when nothing after it is to be read.
    fn take(&mut self, event: Event<'a>, span: Span, tag: Option<std::ops::Range<usize>>) -> bool {
        if let Some(tag) = tag {
            self.note(NoteKind::Tag, Span::new(tag.start, tag.end));
        }
        match event {
            Event::DocumentStart(..) => self.document(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::UnresolvedAlias(_) => {
                self.note(NoteKind::UnknownAlias, span);
                self.leaf(span, Kind::Alias(None), 1).is_some()
            }
            Event::Anchor(..) => {
                self.note(NoteKind::Anchor, span);
                true
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(span, text, style, anchor, tag.as_deref())
            }
            Event::SequenceStart(style, anchor, tag) => {
                let is_flow = style == StructureStyle::Flow;
                let is_tagged = tag.is_some_and(|tag| tag.core_suffix() != Some("seq"));
                self.begin(
                    span,
                    Kind::List {
                        entries: Vec::new(),
                        is_flow,
                        is_tagged,
                    },
                    anchor,
                )
            }
            Event::MappingStart(style, anchor, tag) => {
                let is_flow = style == StructureStyle::Flow;
                let is_tagged = tag.is_some_and(|tag| tag.core_suffix() != Some("map"));
                self.begin(
                    span,
                    Kind::Mapping {
                        pairs: Vec::new(),
                        is_flow,
                        is_tagged,
                    },
                    anchor,
                )
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.end(span);
                true
            }
            _ => true,
        }
    }

    /// Counts a document; false at a second one.
    fn document(&mut self, span: Span) -> bool {
        self.n_documents += 1;
        if self.n_documents > 1 {
            self.tree.error = Some(SyntaxError {
                span: self.char_at(span.start),
                reason: "a second YAML document begins here".to_owned(),
                hint: "`...` and `---` end the YAML: delete the line",
            });
            return false;
        }
        true
    }

    fn scalar(
        &mut self,
        span: Span,
        text: Cow<'a, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> bool {
        if text.len() > MAX_STRING_BYTES {
            self.note(NoteKind::LongString, span);
        }
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::SingleQuoted,
            ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
            _ => Style::Block,
        };
        let shape = match tag {
            Some(tag) => tagged_shape(tag),
            None if style == Style::Plain && span.is_empty() => Shape::Null,
            None if style == Style::Plain => shape::of_plain(&text),
            None => Shape::Text,
        };
        let span = match style {
            Style::Block => self.block(span),
            Style::Plain if span.is_empty() => self.left_out(span.start),
            _ => span,
        };
        let Some(id) = self.leaf(span, Kind::Scalar { text, style, shape }, 1) else {
            return false;
        };
        if anchor != 0 {
            self.anchors.push((anchor, id, Some(1)));
        }
        true
    }

    fn alias(&mut self, anchor: usize, span: Span) -> bool {
        self.note(NoteKind::Alias, span);
        match self.anchor(anchor).map(|slot| *slot) {
            Some((_, target, Some(size))) => {
                self.leaf(span, Kind::Alias(Some(target)), size).is_some()
            }
            // An alias inside the node it names would never end when written out.
            Some((_, _, None)) | None => {
                self.note(NoteKind::TooManyNodes, span);
                false
            }
        }
    }

    /// Finds an anchor; the library numbers them in the order of their nodes.
    fn anchor(&mut self, id: usize) -> Option<&mut (usize, NodeId, Option<usize>)> {
        let index = self
            .anchors
            .binary_search_by_key(&id, |anchor| anchor.0)
            .ok()?;
        self.anchors.get_mut(index)
    }

    fn begin(&mut self, span: Span, kind: Kind<'a>, anchor: usize) -> bool {
        if self.open.len() >= MAX_DEPTH {
            self.note(NoteKind::TooDeep, span);
            return false;
        }
        let n_nodes_before = self.n_nodes;
        let Some(id) = self.leaf(span, kind, 1) else {
            return false;
        };
        if anchor != 0 {
            self.anchors.push((anchor, id, None));
        }
        self.open.push(Open {
            id,
            anchor,
            key: None,
            n_nodes_before,
        });
        true
    }

    fn end(&mut self, span: Span) {
        let Some(open) = self.open.pop() else { return };
        if open.anchor != 0 {
            let size = self.n_nodes - open.n_nodes_before;
            if let Some((_, _, slot)) = self.anchor(open.anchor) {
                *slot = Some(size);
            }
        }
        let (last, is_flow, n_entries) = match &self.tree.node(open.id).kind {
            Kind::List {
                entries, is_flow, ..
            } => (entries.last().copied(), *is_flow, entries.len()),
            Kind::Mapping { pairs, is_flow, .. } => (pairs.last().map(|pair| pair.1), *is_flow, 0),
            Kind::Scalar { .. } | Kind::Alias(_) => (None, false, 0),
        };
        // The library ends a block collection where the next token begins; its text ends earlier.
        let end = match last {
            Some(last) if !is_flow => self.tree.node(last).span.end,
            _ => self.base + span.end,
        };
        let is_block_list = n_entries > 0 && !is_flow;
        let start = self.tree.node(open.id).span.start;
        let start = if is_block_list {
            self.dash_before(start)
        } else {
            start
        };
        let node = &mut self.tree.nodes[open.id];
        node.span.start = start;
        node.span.end = end.max(node.span.start);
        let span = node.span;
        if n_entries > MAX_LIST_ENTRIES {
            self.tree.notes.push(Note {
                span,
                kind: NoteKind::LongList,
            });
        }
    }

    /// Adds a node below the open collection; `None` when the budget is spent.
    fn leaf(&mut self, span: Span, kind: Kind<'a>, size: usize) -> Option<NodeId> {
        self.n_nodes = self.n_nodes.saturating_add(size);
        if self.n_nodes > MAX_NODES {
            self.note(NoteKind::TooManyNodes, span);
            return None;
        }
        let id = self.tree.nodes.len();
        let span = Span::new(self.base + span.start, self.base + span.end);
        self.tree.nodes.push(Node { span, kind });
        let Some(open) = self.open.last_mut() else {
            self.tree.root.get_or_insert(id);
            return Some(id);
        };
        match &mut self.tree.nodes[open.id].kind {
            Kind::List { entries, .. } => entries.push(id),
            Kind::Mapping { pairs, .. } => match open.key.take() {
                None => open.key = Some(id),
                Some(key) => pairs.push((key, id)),
            },
            Kind::Scalar { .. } | Kind::Alias(_) => {}
        }
        Some(id)
    }

    fn fail(&mut self, error: &ScanError) -> bool {
        let at = error
            .marker()
            .byte_offset()
            .unwrap_or(self.text.len())
            .min(self.text.len());
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => {
                self.note(NoteKind::TooDeep, Span::at(at));
            }
            kind => {
                self.tree.error = Some(SyntaxError {
                    span: self.char_at(at),
                    reason: error.info().to_string(),
                    hint: hint(kind),
                });
            }
        }
        false
    }

    fn finish(mut self) -> Tree<'a> {
        // What a syntax error left open is still part of the tree.
        while let Some(open) = self.open.last() {
            let end = self.tree.node(open.id).span.end - self.base;
            self.end(Span::at(end));
        }
        self.tree
    }

    fn note(&mut self, kind: NoteKind, span: Span) {
        let span = Span::new(self.base + span.start, self.base + span.end);
        self.tree.notes.push(Note { span, kind });
    }

    /// The library begins a list without indentation after its first dash.
    fn dash_before(&self, start: usize) -> usize {
        let before = self.text.get(..start - self.base).unwrap_or_default();
        let trimmed = before.trim_end_matches([' ', '\t']);
        if trimmed.ends_with('-') && !self.text[start - self.base..].starts_with("- ") {
            self.base + trimmed.len() - 1
        } else {
            start
        }
    }

    /// The place of the character at `at` of the text.
    fn char_at(&self, at: usize) -> Span {
        let first = self.text.get(at..).and_then(|rest| rest.chars().next());
        let length = first
            .filter(|c| !matches!(c, '\n' | '\r'))
            .map_or(0, char::len_utf8);
        Span::new(self.base + at, self.base + at + length)
    }

    /// Where a value that is left out would stand: right after its colon or dash.
    ///
    /// The library places it after the comment lines that follow.
    fn left_out(&self, at: usize) -> Span {
        let mut before = self.text.get(..at).unwrap_or_default();
        loop {
            let line_start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
            let line = &before[line_start..];
            let is_after_sign =
                |before: &str| before.trim_end().ends_with(['-', ':', '?', ',', '[', '{']);
            let comment = if line.starts_with('#') {
                Some(0)
            } else {
                line.match_indices(" #")
                    .map(|(at, _)| at)
                    .find(|&at| is_after_sign(&line[..at]) || is_blank(&line[..at]))
            };
            let words = comment.map_or(line, |at| &line[..at]).trim_end();
            if !words.is_empty() || line_start == 0 {
                return Span::at(line_start + words.len());
            }
            before = &before[..line_start - 1];
        }
    }

    /// A block scalar from its sign to its last word; the library gives the lines below the sign,
    /// with the blank ones after them.
    fn block(&self, span: Span) -> Span {
        let words = self.text.get(span.range()).unwrap_or_default().trim_end();
        let before = self.text.get(..span.start).unwrap_or_default();
        let head = before.trim_end();
        let line_start = head.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let sign = head[line_start..]
            .match_indices(['|', '>'])
            .find(|&(at, _)| {
                let rest = head[line_start + at + 1..]
                    .trim_start_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
                rest.is_empty()
                    || rest.trim_start().starts_with('#') && rest.starts_with([' ', '\t'])
            });
        let start = sign.map_or(span.start, |(at, _)| line_start + at);
        Span::new(
            start,
            if words.is_empty() {
                head.len().max(start)
            } else {
                span.start + words.len()
            },
        )
    }
}

fn tagged_shape(tag: &Tag) -> Shape {
    match tag.core_suffix() {
        Some("str") => Shape::Text,
        Some("null") => Shape::Null,
        Some("bool") => Shape::Boolean,
        Some("int" | "float") => Shape::Number,
        _ => Shape::Tagged,
    }
}
