//! A YAML document beside a daemon file, read by the same reader and within the same budget.

use std::fmt;

use crate::limits::{MAX_DEPTH, MAX_NODES};
use crate::yaml::{Kind, NodeId, NoteKind, Tree, compose};
use crate::{Shape, Span};

/// A YAML document whose every value keeps its place.
///
/// It is for files that belong to daemons without being one, such as an author's tests. What two YAML readers take for
/// different things, and what stands for text elsewhere, is refused: tags, anchors and aliases.
///
/// ```
/// use daemon_spec::{Document, NodeValue};
///
/// let text = "- name: first\n";
/// let document = Document::read(text)?;
/// let Some(NodeValue::List(entries)) = document.root().map(|root| root.value()) else { panic!("a list") };
/// let NodeValue::Mapping(pairs) = entries[0].value() else { panic!("a mapping") };
/// assert_eq!(&text[pairs[0].1.span().range()], "first");
/// # Ok::<(), daemon_spec::DocumentError>(())
/// ```
#[derive(Debug)]
pub struct Document<'a> {
    tree: Tree<'a>,
}

/// One value of a document.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    tree: &'t Tree<'t>,
    id: NodeId,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum NodeValue<'t> {
    /// A word, a number, a text.
    Scalar {
        /// What it says, without quotes.
        text: &'t str,
        /// What it is to YAML readers.
        shape: Shape,
    },
    /// A list.
    List(Vec<Node<'t>>),
    /// Keys and their values, as written: a key may be there twice.
    Mapping(Vec<(Node<'t>, Node<'t>)>),
}

/// Why a text is no such document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DocumentError {}

impl<'a> Document<'a> {
    /// Reads one document.
    ///
    /// # Errors
    /// The first place that is not YAML, is beyond the [`limits`](crate::limits), or is a tag, an anchor or an alias.
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

    /// Returns the outermost value; none for a document without one.
    pub fn root(&self) -> Option<Node<'_>> {
        let id = self.tree.root?;
        Some(Node {
            tree: &self.tree,
            id,
        })
    }
}

impl<'t> Node<'t> {
    /// Returns its place, quotes and brackets included.
    pub fn span(self) -> Span {
        self.tree.node(self.id).span
    }

    /// Reports whether it is a list or mapping in brackets.
    pub fn is_flow(self) -> bool {
        match &self.tree.node(self.id).kind {
            Kind::List { is_flow, .. } | Kind::Mapping { is_flow, .. } => *is_flow,
            Kind::Scalar { .. } | Kind::Alias(_) => false,
        }
    }

    /// Returns what it is.
    pub fn value(self) -> NodeValue<'t> {
        let tree = self.tree;
        let at = |id: &NodeId| Node { tree, id: *id };
        match &tree.node(self.id).kind {
            Kind::Scalar { text, shape, .. } => NodeValue::Scalar {
                text,
                shape: *shape,
            },
            Kind::List { entries, .. } => NodeValue::List(entries.iter().map(at).collect()),
            Kind::Mapping { pairs, .. } => NodeValue::Mapping(
                pairs
                    .iter()
                    .map(|(key, value)| (at(key), at(value)))
                    .collect(),
            ),
            // `read` refuses them.
            Kind::Alias(_) => NodeValue::Scalar {
                text: "",
                shape: Shape::Unreadable,
            },
        }
    }
}

fn refusal(kind: NoteKind) -> Option<(String, String)> {
    let (message, help) = match kind {
        NoteKind::Anchor => (
            "an anchor is not read here".to_owned(),
            "write the value out",
        ),
        NoteKind::Alias | NoteKind::UnknownAlias => (
            "an alias is not read here".to_owned(),
            "write the value out",
        ),
        NoteKind::Tag => ("a tag is not read here".to_owned(), "delete it"),
        NoteKind::TooManyNodes => (
            format!("the document has more than {MAX_NODES} values"),
            "split it into several files",
        ),
        NoteKind::TooDeep => (
            format!("values are nested deeper than {MAX_DEPTH} levels"),
            "move them to a file of their own",
        ),
        // They bound the fields of a daemon file; a document is bounded by its values.
        NoteKind::LongString | NoteKind::LongList => return None,
    };
    Some((message, help.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Document, Node, NodeValue};

    fn shown(node: Node<'_>, text: &str) -> String {
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
    fn every_value_keeps_its_place_and_its_shape() {
        let text = "- a: 'b'   # c\n  d: [true, 7]\n- \n";
        let document = Document::read(text).expect("it is YAML");
        let root = document.root().expect("it holds a list");
        assert_eq!(
            shown(root, text),
            "[{a<Text a>: b<Text 'b'>, d<Text d>: [true<Boolean true>, 7<Number 7>]}, ~<Null >]"
        );
        assert!(
            Document::read("# nothing\n")
                .expect("it is YAML")
                .root()
                .is_none()
        );
    }

    #[test]
    fn what_readers_take_for_different_things_is_refused_with_its_place() {
        let refused = |text: &str| {
            let error = Document::read(text).expect_err(text);
            (error.span.start, error.message)
        };
        assert_eq!(
            refused("a: &x 1\nb: *x\n"),
            (3, "an anchor is not read here".to_owned())
        );
        assert_eq!(
            refused("a: *y\n"),
            (3, "an alias is not read here".to_owned())
        );
        assert_eq!(
            refused("a: !x 1\n"),
            (3, "a tag is not read here".to_owned())
        );
        assert_eq!(refused("a: [b\n").0, 3);
        let deep = "[".repeat(20) + &"]".repeat(20);
        assert_eq!(refused(&deep).1, "values are nested deeper than 16 levels");
        let long = format!("- {}\n", "x".repeat(20_000));
        assert!(Document::read(&long).is_ok());
    }
}
