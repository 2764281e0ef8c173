//! The one module that knows the YAML library: text in, a tree with byte offsets out.
//!
//! The library is read at the level of its events, which carry byte spans, anchors and tags and
//! borrow the text; its serde layer has no place for a list entry's span beside a wrong type.

mod composer;
mod hint;

use std::borrow::Cow;

use crate::limits::MAX_DEPTH;
use crate::{Shape, Span, Style};

pub(crate) use composer::compose;

/// Index of a node in its tree.
pub(crate) type NodeId = usize;

/// A YAML document, or as much of it as could be read.
#[derive(Debug, Default)]
pub(crate) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    pub(crate) root: Option<NodeId>,
    /// What was met on the way that a daemon file should not hold.
    pub(crate) notes: Vec<Note>,
    /// Why reading stopped before the end.
    pub(crate) error: Option<SyntaxError>,
}

/// A node, its place and its content.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// The node's text in the file; quotes included, properties excluded.
    pub(crate) span: Span,
    pub(crate) kind: Kind<'a>,
}

#[derive(Debug)]
pub(crate) enum Kind<'a> {
    Scalar {
        text: Cow<'a, str>,
        style: Style,
        shape: Shape,
    },
    List {
        entries: Vec<NodeId>,
        is_flow: bool,
        is_tagged: bool,
    },
    Mapping {
        pairs: Vec<(NodeId, NodeId)>,
        is_flow: bool,
        is_tagged: bool,
    },
    Alias(Option<NodeId>),
}

/// A remark about one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) span: Span,
    pub(crate) kind: NoteKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    Anchor,
    Alias,
    UnknownAlias,
    Tag,
    TooManyNodes,
    TooDeep,
    LongString,
    LongList,
}

/// Why the YAML is not YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Where the library noticed: one character, or nothing at the end of a line.
    pub(crate) span: Span,
    pub(crate) reason: String,
    /// What usually causes it.
    pub(crate) hint: &'static str,
}

impl<'a> Tree<'a> {
    pub(crate) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id]
    }

    /// Follows aliases to the node that is meant; `None` for an alias to nothing or to itself.
    pub(crate) fn resolve(&self, id: NodeId) -> Option<NodeId> {
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            match self.node(id).kind {
                Kind::Alias(target) => id = target?,
                Kind::Scalar { .. } | Kind::List { .. } | Kind::Mapping { .. } => return Some(id),
            }
        }
        None
    }
}
