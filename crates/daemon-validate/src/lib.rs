//! Rules with stable codes over a parsed daemon file.
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
//! let mended = daemon_spec::apply_fixes(text.as_bytes(), found[0].fix.as_ref());
//! let parse = daemon_spec::parse(mended.bytes);
//! assert_eq!(validate(&Subject::new(&parse).in_directory("pr-helper"), Profile::Spec), []);
//!
//! let entry = rule(found[0].code).expect("each code has a row");
//! assert_eq!(entry.name(), "field-count");
//! assert!(entry.page().starts_with("# D201: field-count"));
//! ```
//!
//! [`validate`] runs all rules over a [`Subject`]: a `daemon_spec::Parse` and what the caller knows
//! besides, such as the directory's name, the support tree ([`SupportEntry`]) and what an
//! interpreter made of the conditions ([`ConditionVerdict`]). [`validate_repository`] compares the
//! files of one repository. [`rules`] is the whole table as data; each [`RuleEntry`] is a [`Rule`] that
//! can be run alone, and has a [`page`] of explanation.
//!
//! # What this crate does not do
//! It opens no file, reads no directory and no clock, and prints nothing. It does not interpret
//! conditions: without verdicts nothing is said about them. It enforces nothing: `routines` and
//! `deny` are prose for the model, and the rules about them only advise.
//!
//! # Guarantees
//! - Every finding of a file is reported at once, in the order of its places, and no input panics.
//! - Codes and names never change their meaning; severities are those of the table.
//! - A fix, once applied, leaves a file that still parses and no longer has the finding.
//! - What is not known to the caller silences rules; it never makes them guess.

mod pages;
mod profile;
mod prose;
mod report;
mod repository;
mod rules;
mod subject;
mod support_entry;
mod support_links;
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
pub use support_links::{holds, resolve_link};
pub use table::{Mend, RuleEntry, rule, rules};
pub use unseen::{is_unseen, push_code, visible, visible_line, visible_styled};
pub use validate::{MAX_PER_CODE, Rule, registrable, validate, weigh};
pub use verdict::{ConditionStatus, ConditionVerdict, Correction};
