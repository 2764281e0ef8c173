//! YAML text to a tree with byte offsets. This is the only module that uses the YAML library.
//!
//! It uses the events of the library, which have byte spans, anchors and tags and borrow the text. The
//! serde layer of the library cannot return the span of a list entry together with a wrong type.

mod composer;
mod hint;

use std::borrow::Cow;

use crate::limits::MAX_DEPTH;
use crate::{Shape, Span, Style};

pub(crate) use composer::compose;

/// Index of a node in its tree.
pub(crate) type NodeId = usize;

/// A YAML document, up to the first syntax error.
#[derive(Debug, Default)]
pub(crate) struct YamlTree<'a> {
    nodes: Vec<YamlNode<'a>>,
    pub(crate) root: Option<NodeId>,
    /// Constructs that a daemon file should not contain.
    pub(crate) notes: Vec<YamlNote>,
    /// The error at which parsing stopped.
    pub(crate) error: Option<SyntaxError>,
}

/// A node with its position and content.
#[derive(Debug)]
pub(crate) struct YamlNode<'a> {
    /// The byte range of the node in the file, with quotes and without anchor and tag.
    pub(crate) span: Span,
    pub(crate) kind: NodeKind<'a>,
}

#[derive(Debug)]
pub(crate) enum NodeKind<'a> {
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

/// A note on a construct at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct YamlNote {
    pub(crate) span: Span,
    pub(crate) kind: YamlNoteKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YamlNoteKind {
    Anchor,
    Alias,
    UnknownAlias,
    Tag,
    TooManyNodes,
    TooDeep,
    LongString,
    LongList,
}

/// A syntax error of the YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// The character at which the library reported it. Empty at the end of a line.
    pub(crate) span: Span,
    pub(crate) reason: String,
    /// The usual correction.
    pub(crate) hint: &'static str,
}

impl<'a> YamlTree<'a> {
    pub(crate) fn node(&self, id: NodeId) -> &YamlNode<'a> {
        &self.nodes[id]
    }

    /// Returns `true` if a scalar has exactly this byte range.
    pub(crate) fn has_scalar(&self, span: Span) -> bool {
        self.nodes
            .iter()
            .any(|node| node.span == span && matches!(node.kind, NodeKind::Scalar { .. }))
    }

    /// Follows aliases to the node that they refer to. Returns `None` for an unknown anchor.
    pub(crate) fn resolve(&self, id: NodeId) -> Option<NodeId> {
        let mut id = id;
        // Bounded, in case an alias leads to itself.
        for _ in 0..MAX_DEPTH {
            match self.node(id).kind {
                NodeKind::Alias(target) => id = target?,
                NodeKind::Scalar { .. } | NodeKind::List { .. } | NodeKind::Mapping { .. } => {
                    return Some(id);
                }
            }
        }
        None
    }
}
