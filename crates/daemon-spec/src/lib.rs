//! Reads DAEMON.md files losslessly: the source, typed fields with spans, and diagnostics.
//!
//! ```
//! use daemon_spec::{Reading, parse};
//!
//! let text = "---\nid: link-janitor\npurpose: Keeps links alive.\nwatch:\n  - when docs change\n\
//!             routines:\n  - repair relative links\n---\n## Policy\n- Be brief.\n";
//! let parsed = parse(text.as_bytes().to_vec());
//!
//! let file = &parsed.file;
//! assert_eq!(parsed.diagnostics, []);
//! assert_eq!(file.reading(), Reading::Whole);
//! assert_eq!(file.id().value().map(|id| id.value.as_str()), Some("link-janitor"));
//!
//! let watch = file.watch().value().expect("the list is there");
//! let condition = watch.texts().next().expect("with one entry");
//! assert_eq!(file.source().slice(condition.span), "when docs change");
//! assert_eq!(file.source().position(condition.span.start).line, 5);
//!
//! assert_eq!(file.body_text(), "## Policy\n- Be brief.\n");
//! assert_eq!(file.source().as_bytes(), text.as_bytes());
//! ```
//!
//! [`parse`] gives a [`Parse`]: a [`DaemonFile`] and the [`Diagnostic`]s of reading, codes `D001` to
//! `D016`. A [`Field`] is absent, present or mistyped; each value, list entry and key keeps the
//! [`Span`] of the author's text, and [`Text::place`] maps an offset inside a string back to the
//! file. [`Dialect`] is the seam for another reader of the same format. [`Document`] reads a YAML file
//! that stands beside a daemon, with the place of every value.
//!
//! # What this crate does not do
//! It does not judge values: whether an `id` matches its directory, a schedule is a cron expression
//! or a condition names an event is for the crates above. It reads no directory, opens no file and
//! writes nothing. `routines` and `deny` are prose, and nothing here looks inside them.
//!
//! # Guarantees
//! - Parsing never fails and never panics; whatever could be read is there, and every syntax error
//!   of a field is reported in one pass.
//! - The bytes come back as they went in. Nothing is re-rendered, normalised or cut; a file beyond
//!   the [`limits`] is refused with a diagnostic.
//! - Spans are byte offsets in the stored file, byte order mark included, on character borders.
//! - Time and memory are linear in the input and bounded by the limits, aliases included.

mod cause;
mod codes;
mod diagnostic;
mod document;
mod fields;
mod file;
mod frame;
pub mod limits;
mod parse;
mod recover;
mod schema;
mod shape;
mod source;
mod text;
mod yaml;

pub use diagnostic::{Code, CodeError, Diagnostic, Edit, Fix, Fixed, Severity, apply_fixes};
pub use document::{Document, DocumentError, Node, NodeValue};
pub use file::{DaemonFile, Entry, FIELD_NAMES, Field, Layout, List, Member, Mistyped, Reading};
pub use parse::{DaemonMd, Dialect, Parse, parse};
pub use schema::schema;
pub use shape::Shape;
pub use source::{Position, Source, Span};
pub use text::{Style, Text, quoted};
