//! Checks of daemon files: rules with stable codes over a parsed file.
//!
//! ```
//! use daemon_validate::{Profile, Subject, registrable, rule, validate};
//!
//! let text = "---\nid: pr-helper\npurpose: Keeps pull requests ready to merge.\n\
//!             schedule: \"0 30 14 * * 1-5\"\nroutines:\n  - list stale pull requests\n---\n## Limits\n- Ten.\n";
//! let parse = daemon_spec::parse(text.as_bytes().to_vec());
//!
//! let found = validate(&Subject::new(&parse).in_directory("pr-helper"), Profile::Spec);
//! assert_eq!(found.len(), 1);
//! assert_eq!(found[0].code.to_string(), "D201");
//! assert_eq!(found[0].message, "`schedule` must have five fields, found six");
//! assert!(!registrable(&found));
//!
//! let fixed = daemon_spec::apply_fixes(text.as_bytes(), found[0].fix.as_ref());
//! let parse = daemon_spec::parse(fixed.bytes);
//! assert_eq!(validate(&Subject::new(&parse).in_directory("pr-helper"), Profile::Spec), []);
//!
//! let entry = rule(found[0].code).expect("each code has a row");
//! assert_eq!(entry.name(), "field-count");
//! assert!(entry.page().starts_with("# D201: field-count"));
//! ```
//!
//! # Overview
//!
//! - [`validate`] runs all rules over a [`Subject`] and returns the diagnostics. Comments of the file
//!   suppress some (`# daemon-lint: allow D305`); [`validation`] counts them.
//! - [`Subject`] is a `daemon_spec::Parse` with optional context: the directory's name, the path, the
//!   support tree ([`SupportEntry`]), the time zone, and an interpreter's [`ConditionVerdict`]s.
//! - [`Profile`] selects the severities: `spec` follows the public format, `strict` the strictest known
//!   reader.
//! - [`registrable`] decides whether a runtime may register the daemon.
//! - [`validate_repository`] finds problems between the files of a repository.
//! - [`rules`] is the table of all rules. Each [`RuleEntry`] is a [`Rule`] that can be run separately,
//!   and has a [`page`] that explains it.
//! - [`find_secret`], [`secret_ranges`] and [`without_secrets`] find tokens and private keys in any
//!   text. [`visible`] escapes hidden characters. A runtime uses them for logs and output.
//!
//! # Example: profiles and codes
//!
//! The profile changes severities, not findings. A program can look up each rule by its code.
//!
//! ```
//! use daemon_spec::{Code, Severity};
//! use daemon_validate::{Fixability, Profile, Subject, rule, validate};
//!
//! let text = "---\nid: pr-helper\npurpose: Keeps pull requests tidy.\nwatch:\n  - when a PR opens\n\
//!             routines:\n  - label the pull request\ndeny:\n  - merge anything\nowner: me\n---\nBe brief.\n";
//! let parse = daemon_spec::parse(text.as_bytes().to_vec());
//! let subject = Subject::new(&parse).in_directory("pr-helper");
//!
//! for (profile, severity) in [(Profile::Spec, Severity::Warning), (Profile::Strict, Severity::Error)] {
//!     let found = validate(&subject, profile);
//!     assert_eq!(found.len(), 1);
//!     assert_eq!(found[0].message, "`owner` is not a field");
//!     assert_eq!((found[0].code, found[0].severity), (Code::new(100), severity));
//! }
//!
//! let entry = rule(Code::new(100)).expect("the code has a rule");
//! assert_eq!((entry.name(), entry.fixability()), ("unknown-field", Fixability::ByHand));
//! ```
//!
//! # What this crate does not do
//!
//! - It opens no file, reads no directory and no clock, and prints nothing. `daemon-lint` does.
//! - It does not interpret conditions: it reports on them only if the caller passes verdicts, which
//!   `daemon-watch` produces.
//! - It enforces nothing. `routines` and `deny` are prose for a model, and the rules about them only
//!   give advice.
//!
//! # Guarantees
//!
//! - All diagnostics of a file are reported at once, ordered by position. No input panics.
//! - The meaning of a code or a name never changes, and codes are not reused.
//! - After a fix the file still parses and no longer has the diagnostic.
//! - Missing context disables rules; no rule guesses.
//! - Time is linear in the size of the file.
//!
//! # Features and versions
//!
//! The crate has no features. `daemon_spec::Diagnostic`, `daemon_cron::Zone` and [`jiff::Timestamp`]
//! are part of its public API. The minimum supported Rust version is the `rust-version` of its
//! manifest.

mod pages;
mod profile;
mod prose;
mod report;
mod repository;
mod rules;
mod subject;
mod support_entry;
mod support_links;
mod suppress;
mod table;
mod unseen;
mod validate;
mod verdict;

pub use pages::page;
pub use profile::{Profile, ProfileError};
pub use repository::validate_repository;
pub use rules::hidden_text::is_hidden;
pub use rules::placement::{holds_daemons, is_daemon_path};
pub use rules::secrets::{
    MAX_KEY_BYTES, ends_in_key_beginning, find_secret, is_base64, is_open_key_in_base64,
    may_begin_secret, open_key, secret_at_start, secret_ranges, without_secrets,
};
pub use rules::support::{
    MAX_SUPPORT_BYTES, MAX_SUPPORT_DEPTH, MAX_SUPPORT_FILE_BYTES, MAX_SUPPORT_FILES,
};
pub use subject::Subject;
pub use support_entry::{SupportEntry, SupportKind};
pub use support_links::{is_ancestor, resolve_link};
pub use table::{Fixability, RuleEntry, rule, rules};
pub use unseen::{is_unseen, push_code, visible, visible_line, visible_styled, without_unseen};
pub use validate::{
    MAX_PER_CODE, Rule, Validation, apply_severity, registrable, validate, validation,
};
pub use verdict::{ConditionStatus, ConditionVerdict, SpellingCorrection};
