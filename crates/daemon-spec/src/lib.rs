//! Reads DAEMON.md files losslessly: the source, typed fields with spans, and diagnostics.
//!
//! ```
//! use daemon_spec::{Completeness, parse};
//!
//! let text = "---\nid: link-janitor\npurpose: Keeps links alive.\nwatch:\n  - when docs change\n\
//!             routines:\n  - repair relative links\n---\n## Policy\n- Be brief.\n";
//! let parsed = parse(text.as_bytes().to_vec());
//!
//! let file = &parsed.file;
//! assert_eq!(parsed.diagnostics, []);
//! assert_eq!(file.completeness(), Completeness::Whole);
//! assert_eq!(file.id().value().map(|id| id.value.as_str()), Some("link-janitor"));
//!
//! let watch = file.watch().value().expect("the field is a list");
//! let condition = watch.texts().next().expect("the list has an entry");
//! assert_eq!(file.source().slice(condition.span), "when docs change");
//! assert_eq!(file.source().position(condition.span.start).line, 5);
//!
//! assert_eq!(file.body_text(), "## Policy\n- Be brief.\n");
//! assert_eq!(file.source().as_bytes(), text.as_bytes());
//! ```
//!
//! # Overview
//!
//! - [`parse`] returns a [`Parse`]: a [`DaemonFile`] and the [`Diagnostic`]s of parsing, with the
//!   codes `D001` to `D016`.
//! - A [`Field`] is absent, present or mistyped. A present field contains a [`Text`] or a [`FieldList`].
//!   Each value, list entry and key has the [`Span`] of the author's text.
//! - [`SourceText`] stores the bytes of the file and converts byte offsets to lines and columns.
//!   [`Text::place`] maps an offset in a string to an offset in the file.
//! - [`Fix`] is a set of edits that removes a diagnostic. [`apply_fixes`] applies fixes and leaves
//!   all other bytes unchanged.
//! - [`Dialect`] is the trait for another parser of the same format.
//! - [`YamlDocument`] parses a different YAML file of a daemon, such as its tests, with the span of every
//!   value.
//! - `schema` (feature `schema`) returns the JSON Schema of the front matter, for editors.
//!
//! # Example: diagnostics and lossless edits
//!
//! Each diagnostic has a code, a span, a message and help. Many have a fix, which is a list of byte
//! edits, so the rest of the file keeps its comments, order and line ends.
//!
//! ```
//! use daemon_spec::{apply_fixes, parse};
//!
//! let text = "---\nid: link-janitor\npurpose: Links: alive.  # keep\n---\nBe brief.\n";
//! let parsed = parse(text.as_bytes().to_vec());
//!
//! let source = parsed.file.source();
//! let found = &parsed.diagnostics[0];
//! let place = source.position(found.span.start);
//! assert_eq!((found.code.to_string().as_str(), place.line, place.column), ("D011", 3, 10));
//! assert_eq!(found.message, "`: ` splits this text");
//! assert_eq!(source.slice(found.span), "Links: alive.");
//!
//! let fixes = parsed.diagnostics.iter().filter_map(|found| found.fix.as_ref());
//! let fixed = apply_fixes(source.as_bytes(), fixes);
//! assert_eq!(fixed.applied, 1);
//! assert_eq!(
//!     String::from_utf8(fixed.bytes)?,
//!     "---\nid: link-janitor\npurpose: \"Links: alive.\"  # keep\n---\nBe brief.\n",
//! );
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```
//!
//! # What this crate does not do
//!
//! - It does not check values. Whether an `id` matches its directory, a schedule is a cron expression
//!   or a required field is missing is checked by `daemon-validate`; conditions are interpreted by
//!   `daemon-watch`.
//! - It reads no directory, opens no file and writes nothing.
//! - It does not interpret `routines` and `deny`, which are prose for a model.
//!
//! # Guarantees
//!
//! - Parsing never fails and never panics. It returns everything that could be read, and reports every
//!   syntax error of a field in one pass.
//! - [`DaemonFile::source`] returns the bytes unchanged. Nothing is re-rendered, normalised or
//!   truncated; a file above the [`limits`] is rejected with a diagnostic.
//! - Spans are byte offsets in the stored file, including a byte order mark, on character boundaries.
//! - Time and memory are linear in the input and bounded by the limits, also with aliases.
//!
//! # Features and versions
//!
//! The feature `schema` adds the function `schema`, whose result makes `serde_json::Value` a part of the public API. Without it
//! the crate depends on its parser of YAML alone. The minimum supported Rust version is the `rust-version` of its manifest.

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
#[cfg(feature = "schema")]
mod schema;
mod shape;
mod source;
mod text;
mod yaml;

pub use diagnostic::{Code, CodeError, Diagnostic, Edit, Fix, Fixed, Severity, apply_fixes};
pub use document::{DocumentError, DocumentNode, NodeValue, YamlDocument};
pub use file::{
    Completeness, DaemonFile, FIELD_NAMES, Field, FieldList, Layout, ListEntry, Member, Mistyped,
};
pub use parse::{DaemonMd, Dialect, Parse, parse};
#[cfg(feature = "schema")]
pub use schema::schema;
pub use shape::Shape;
pub use source::{LineColumn, SourceText, Span};
pub use text::{Style, Text, quoted};
