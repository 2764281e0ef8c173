//! YAML documents that are not daemon files, parsed by the same parser within the same limits.

use std::fmt;

use crate::limits::{MAX_DEPTH, MAX_NODES};
use crate::yaml::{NodeId, NodeKind, YamlNoteKind, YamlTree, compose};
use crate::{Shape, Span};

/// A YAML document with the span of every value.
///
/// It is for files that belong to a daemon but are not daemon files, such as an author's tests. Tags,
/// anchors and aliases are rejected, because YAML parsers treat them differently.
///
/// # Examples
///
/// ```
/// use daemon_spec::{YamlDocument, NodeValue};
///
/// let text = "- name: first\n";
/// let document = YamlDocument::read(text)?;
/// let Some(NodeValue::List(entries)) = document.root().map(|root| root.value()) else { panic!("a list") };
/// let NodeValue::Mapping(pairs) = entries[0].value() else { panic!("a mapping") };
/// assert_eq!(&text[pairs[0].1.span().range()], "first");
/// # Ok::<(), daemon_spec::DocumentError>(())
/// ```
#[derive(Debug)]
pub struct YamlDocument<'a> {
    tree: YamlTree<'a>,
}

/// A value of a document.
#[derive(Clone, Copy, Debug)]
pub struct DocumentNode<'t> {
    tree: &'t YamlTree<'t>,
    id: NodeId,
}

/// The content of a document's value.
#[derive(Clone, Debug)]
pub enum NodeValue<'t> {
    /// A string, number, boolean, date or null.
    Scalar {
        /// The string after YAML's escapes, without quotes.
        text: &'t str,
        /// The type that YAML parsers give the value.
        shape: Shape,
    },
    /// A list, in source order.
    List(Vec<DocumentNode<'t>>),
    /// Pairs of key and value, in source order. A key can occur twice.
    Mapping(Vec<(DocumentNode<'t>, DocumentNode<'t>)>),
}

/// The error of a string that [`YamlDocument::read`] rejects. `Display` prints the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// The byte range of the problem in the input.
    pub span: Span,
    /// The problem, in lower case and without a trailing period.
    pub message: String,
    /// Advice for the author, in the imperative.
    pub help: String,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DocumentError {}

impl<'a> YamlDocument<'a> {
    /// Parses a document.
    ///
    /// # Errors
    ///
    /// Returns an error for the first problem: invalid YAML, a value above the
    /// [`limits`](crate::limits), or a tag, an anchor or an alias.
    pub fn read(text: &'a str) -> Result<Self, DocumentError> {
        let tree = compose(text, 0);
        if let Some(error) = &tree.error {
            return Err(DocumentError {
                span: error.span,
                message: error.reason.clone(),
                help: error.hint.to_owned(),
            });
        }
        let refused = tree
            .notes
            .iter()
            .find_map(|note| Some((note.span, refusal(note.kind)?)));
        match refused {
            Some((span, (message, help))) => Err(DocumentError {
                span,
                message,
                help,
            }),
            None => Ok(Self { tree }),
        }
    }

    /// Returns the outermost value, or `None` if the document is empty.
    pub fn root(&self) -> Option<DocumentNode<'_>> {
        let id = self.tree.root?;
        Some(DocumentNode {
            tree: &self.tree,
            id,
        })
    }
}

impl<'t> DocumentNode<'t> {
    /// Returns the byte range of the value, including quotes and brackets.
    pub fn span(self) -> Span {
        self.tree.node(self.id).span
    }

    /// Returns `true` if the value is a list or mapping in brackets.
    pub fn is_flow(self) -> bool {
        match &self.tree.node(self.id).kind {
            NodeKind::List { is_flow, .. } | NodeKind::Mapping { is_flow, .. } => *is_flow,
            NodeKind::Scalar { .. } | NodeKind::Alias(_) => false,
        }
    }

    /// Returns the content of the value.
    pub fn value(self) -> NodeValue<'t> {
        let tree = self.tree;
        let at = |id: &NodeId| DocumentNode { tree, id: *id };
        match &tree.node(self.id).kind {
            NodeKind::Scalar { text, shape, .. } => NodeValue::Scalar {
                text,
                shape: *shape,
            },
            NodeKind::List { entries, .. } => NodeValue::List(entries.iter().map(at).collect()),
            NodeKind::Mapping { pairs, .. } => NodeValue::Mapping(
                pairs
                    .iter()
                    .map(|(key, value)| (at(key), at(value)))
                    .collect(),
            ),
            // `read` rejects every document with an alias.
            NodeKind::Alias(_) => NodeValue::Scalar {
                text: "",
                shape: Shape::Unreadable,
            },
        }
    }
}

fn refusal(kind: YamlNoteKind) -> Option<(String, String)> {
    let (message, help) = match kind {
        YamlNoteKind::Anchor => (
            "an anchor is not supported here".to_owned(),
            "write the value out",
        ),
        YamlNoteKind::Alias | YamlNoteKind::UnknownAlias => (
            "an alias is not supported here".to_owned(),
            "write the value out",
        ),
        YamlNoteKind::Tag => ("a tag is not supported here".to_owned(), "delete it"),
        YamlNoteKind::TooManyNodes => (
            format!("the document has more than {MAX_NODES} values"),
            "split it into several files",
        ),
        YamlNoteKind::TooDeep => (
            format!("values are nested deeper than {MAX_DEPTH} levels"),
            "move them to a file of their own",
        ),
        // These limits apply to the fields of a daemon file. A document is limited by its number of
        // values.
        YamlNoteKind::LongString | YamlNoteKind::LongList => return None,
    };
    Some((message, help.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{DocumentNode, NodeValue, YamlDocument};

    fn shown(node: DocumentNode<'_>, text: &str) -> String {
        let place = &text[node.span().range()];
        match node.value() {
            NodeValue::Scalar { text, shape } => format!("{text}<{shape:?} {place}>"),
            NodeValue::List(entries) => {
                let entries: Vec<String> = entries
                    .into_iter()
                    .map(|entry| shown(entry, text))
                    .collect();
                format!("[{}]", entries.join(", "))
            }
            NodeValue::Mapping(pairs) => {
                let pairs: Vec<String> = pairs
                    .into_iter()
                    .map(|(key, value)| format!("{}: {}", shown(key, text), shown(value, text)))
                    .collect();
                format!("{{{}}}", pairs.join(", "))
            }
        }
    }

    #[test]
    fn every_value_has_its_span_and_type() {
        let text = "- a: 'b'   # c\n  d: [true, 7]\n- \n";
        let document = YamlDocument::read(text).expect("the text is YAML");
        let root = document.root().expect("the document is a list");
        assert_eq!(
            shown(root, text),
            "[{a<Text a>: b<Text 'b'>, d<Text d>: [true<Boolean true>, 7<Number 7>]}, ~<Null >]"
        );
        assert!(
            YamlDocument::read("# nothing\n")
                .expect("a comment is YAML")
                .root()
                .is_none()
        );
    }

    #[test]
    fn anchors_aliases_tags_and_deep_nesting_are_rejected_with_their_span() {
        let refused = |text: &str| {
            let error = YamlDocument::read(text).expect_err(text);
            (error.span.start, error.message)
        };
        assert_eq!(
            refused("a: &x 1\nb: *x\n"),
            (3, "an anchor is not supported here".to_owned())
        );
        assert_eq!(
            refused("a: *y\n"),
            (3, "an alias is not supported here".to_owned())
        );
        assert_eq!(
            refused("a: !x 1\n"),
            (3, "a tag is not supported here".to_owned())
        );
        assert_eq!(refused("a: [b\n").0, 3);
        let deep = "[".repeat(20) + &"]".repeat(20);
        assert_eq!(refused(&deep).1, "values are nested deeper than 16 levels");
        let long = format!("- {}\n", "x".repeat(20_000));
        assert!(YamlDocument::read(&long).is_ok());
    }
}
