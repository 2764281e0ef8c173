//! Conversion of the library's events to a tree, within the limits.

use std::borrow::Cow;

use serde_saphyr::granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, StructureStyle, Tag,
};

use super::hint::hint;
use super::{NodeId, NodeKind, SyntaxError, YamlNode, YamlNote, YamlNoteKind, YamlTree};
use crate::frame::is_blank;
use crate::limits::{MAX_DEPTH, MAX_LIST_ENTRIES, MAX_NODES, MAX_STRING_BYTES};
use crate::{Shape, Span, Style, shape};

/// Parses `text`, which begins at byte `base` of the file.
pub(crate) fn compose(text: &str, base: usize) -> YamlTree<'_> {
    let mut options = Options::default();
    // Without this the library stops at an unknown alias. It is usually a value such as `*.md` that
    // needs quotes.
    options.emit_unresolved_aliases = true;
    options.emit_anchor_events = true;
    options.disallow_directives = true;
    // The composer enforces the limit for block collections, because it knows the position of the
    // node. Flow collections are scanned ahead, so the library must enforce it.
    options.block_nesting_limit = MAX_DEPTH + 1;
    options.flow_nesting_limit = MAX_DEPTH;
    options.set_emit_comments(false);
    let mut composer = Composer {
        text,
        base,
        ..Composer::default()
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let is_continued = match event {
            Ok((event, span)) => {
                let range = span.byte_range().unwrap_or(0..0);
                let tag = span.tag_span().and_then(|tag| tag.byte_range());
                composer.take(event, Span::new(range.start, range.end), tag)
            }
            Err(error) => composer.fail(&error),
        };
        if !is_continued {
            break;
        }
    }
    composer.finish()
}

#[derive(Default)]
struct Composer<'a> {
    text: &'a str,
    base: usize,
    tree: YamlTree<'a>,
    open: Vec<Open>,
    /// Anchor id, node, and the number of nodes that an alias to it counts as. `None` while the node
    /// is open.
    anchors: Vec<(usize, NodeId, Option<usize>)>,
    /// The number of nodes so far. An alias counts as the nodes that it refers to.
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
    /// Processes an event. Returns `false` if parsing is to stop.
    fn take(&mut self, event: Event<'a>, span: Span, tag: Option<std::ops::Range<usize>>) -> bool {
        if let Some(tag) = tag {
            self.note(YamlNoteKind::Tag, Span::new(tag.start, tag.end));
        }
        match event {
            Event::DocumentStart(..) => self.document(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::UnresolvedAlias(_) => {
                self.note(YamlNoteKind::UnknownAlias, span);
                self.leaf(span, NodeKind::Alias(None), 1).is_some()
            }
            Event::Anchor(..) => {
                self.note(YamlNoteKind::Anchor, span);
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
                    NodeKind::List {
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
                    NodeKind::Mapping {
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

    /// Counts a document. Returns `false` at the second one.
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
            self.note(YamlNoteKind::LongString, span);
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
        let Some(id) = self.leaf(span, NodeKind::Scalar { text, style, shape }, 1) else {
            return false;
        };
        if anchor != 0 {
            self.anchors.push((anchor, id, Some(1)));
        }
        true
    }

    fn alias(&mut self, anchor: usize, span: Span) -> bool {
        self.note(YamlNoteKind::Alias, span);
        match self.anchor(anchor).map(|slot| *slot) {
            Some((_, target, Some(size))) => self
                .leaf(span, NodeKind::Alias(Some(target)), size)
                .is_some(),
            // An alias inside the node that it refers to would expand without end.
            Some((_, _, None)) | None => {
                self.note(YamlNoteKind::TooManyNodes, span);
                false
            }
        }
    }

    /// Returns the entry of an anchor.
    fn anchor(&mut self, id: usize) -> Option<&mut (usize, NodeId, Option<usize>)> {
        // The library numbers anchors in the order of their nodes, so the list is sorted.
        let index = self
            .anchors
            .binary_search_by_key(&id, |anchor| anchor.0)
            .ok()?;
        self.anchors.get_mut(index)
    }

    fn begin(&mut self, span: Span, kind: NodeKind<'a>, anchor: usize) -> bool {
        if self.open.len() >= MAX_DEPTH {
            self.note(YamlNoteKind::TooDeep, span);
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
            NodeKind::List {
                entries, is_flow, ..
            } => (entries.last().copied(), *is_flow, entries.len()),
            NodeKind::Mapping { pairs, is_flow, .. } => {
                (pairs.last().map(|pair| pair.1), *is_flow, 0)
            }
            NodeKind::Scalar { .. } | NodeKind::Alias(_) => (None, false, 0),
        };
        // The library ends a block collection at the next token, which can be lines after its last
        // entry.
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
            self.tree.notes.push(YamlNote {
                span,
                kind: YamlNoteKind::LongList,
            });
        }
    }

    /// Adds a node to the open collection. Returns `None` if the limit of nodes is exceeded.
    fn leaf(&mut self, span: Span, kind: NodeKind<'a>, size: usize) -> Option<NodeId> {
        self.n_nodes = self.n_nodes.saturating_add(size);
        if self.n_nodes > MAX_NODES {
            self.note(YamlNoteKind::TooManyNodes, span);
            return None;
        }
        let id = self.tree.nodes.len();
        let span = Span::new(self.base + span.start, self.base + span.end);
        self.tree.nodes.push(YamlNode { span, kind });
        let Some(open) = self.open.last_mut() else {
            self.tree.root.get_or_insert(id);
            return Some(id);
        };
        match &mut self.tree.nodes[open.id].kind {
            NodeKind::List { entries, .. } => entries.push(id),
            NodeKind::Mapping { pairs, .. } => match open.key.take() {
                None => open.key = Some(id),
                Some(key) => pairs.push((key, id)),
            },
            NodeKind::Scalar { .. } | NodeKind::Alias(_) => {}
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
                self.note(YamlNoteKind::TooDeep, Span::at(at));
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

    fn finish(mut self) -> YamlTree<'a> {
        // Collections that a syntax error left open are part of the tree too.
        while let Some(open) = self.open.last() {
            let end = self.tree.node(open.id).span.end - self.base;
            self.end(Span::at(end));
        }
        self.tree
    }

    fn note(&mut self, kind: YamlNoteKind, span: Span) {
        let span = Span::new(self.base + span.start, self.base + span.end);
        self.tree.notes.push(YamlNote { span, kind });
    }

    /// Returns the offset of the dash directly before `start`, or `start` without one.
    fn dash_before(&self, start: usize) -> usize {
        // For a list without indentation the library reports the start after the first dash.
        let before = self.text.get(..start - self.base).unwrap_or_default();
        let trimmed = before.trim_end_matches([' ', '\t']);
        if trimmed.ends_with('-') && !self.text[start - self.base..].starts_with("- ") {
            self.base + trimmed.len() - 1
        } else {
            start
        }
    }

    /// Returns the byte range of the character at `at` of the text.
    fn char_at(&self, at: usize) -> Span {
        let first = self.text.get(at..).and_then(|rest| rest.chars().next());
        let length = first
            .filter(|c| !matches!(c, '\n' | '\r'))
            .map_or(0, char::len_utf8);
        Span::new(self.base + at, self.base + at + length)
    }

    /// Returns the position of a missing value: directly after its colon or dash.
    fn left_out(&self, at: usize) -> Span {
        // The library reports the position after the comment lines that follow.
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

    /// Returns the byte range of a block scalar from its `|` or `>` to its last word.
    fn block(&self, span: Span) -> Span {
        // The library reports the lines below the indicator, including trailing blank lines.
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
