//! A linter for DAEMON.md files, as a library: from arguments and streams to an exit code.
//!
//! ```
//! use daemon_lint::{StandardStreams, Surroundings, run};
//!
//! let text = "---\nid: pr-helper\npurpose: Fix: things\n---\n";
//! let surroundings = Surroundings {
//!     directory: "/".into(),
//!     now: "2026-11-20T09:00:00Z".parse()?,
//!     auto_colour: Default::default(),
//! };
//! let (mut output, mut notes) = (Vec::new(), Vec::new());
//! let mut streams = StandardStreams { input: &mut text.as_bytes(), output: &mut output, notes: &mut notes };
//!
//! let code = run(["daemon-lint", "--stdin", "--json"].map(Into::into), &surroundings, &mut streams);
//! assert_eq!(code, 1);
//!
//! let report: serde_json::Value = serde_json::from_slice(&output)?;
//! assert_eq!(report["files"][0]["diagnostics"][0]["code"], "D011");
//! assert_eq!(report["summary"]["files"], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - [`run`] parses the arguments of a process and lints. [`run_with`] accepts parsed arguments, for a
//!   program that has the linter as a command. [`command`] is the command line as data.
//! - [`check_files`] checks files that a program has read itself, as a runtime does at registration. It
//!   returns a [`CheckedFile`] for each [`FileInput`]. [`report_text`] checks one [`TextInput`] and returns the JSON report.
//! - [`Linting`] separates checking from printing, for a program that requests other wordings of unclear
//!   conditions in between. Every [`Wording`] is one that the interpreter reads as `mapped`.
//! - [`support_entries`] lists the directory of a daemon on disk for a [`FileInput`].
//! - [`replace`] replaces a file that was read, and [`write_new`] writes files where none are, for a program that makes daemons.
//! - [`Surroundings`] and [`StandardStreams`] pass the working directory, the time and the standard streams.
//!
//! # Example: checking files in memory
//!
//! ```
//! use daemon_cron::Zone;
//! use daemon_lint::{FileInput, check_files};
//!
//! let text = "---\nid: tidy\npurpose: Keeps issues tidy.\nwatch:\n  - when code quality is low\n\
//!             routines:\n  - label the issue\ndeny:\n  - close issues\n---\nBe brief.\n";
//! let input = FileInput {
//!     path: ".agents/daemons/tidy/DAEMON.md".to_owned(),
//!     directory: "tidy".to_owned(),
//!     bytes: text.as_bytes().to_vec(),
//!     support: Vec::new(),
//!     zone: Zone::utc(),
//! };
//! let checked = check_files(vec![input], "2026-11-20T09:00:00Z".parse()?);
//! let codes: Vec<String> = checked[0].diagnostics.iter().map(|found| found.code.to_string()).collect();
//! assert_eq!(codes, ["D310", "D301"]);
//! assert!(checked[0].is_registrable());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not do
//!
//! - It has no rules of its own: `daemon-spec` parses, `daemon-watch` interprets conditions and
//!   `daemon-validate` checks. This crate finds files, runs the three and prints the result.
//! - It reads no environment, no clock and no working directory; the caller passes them.
//! - It does not use a host or a store.
//!
//! # Guarantees
//!
//! - Only links of a support tree within the repository are followed. Pipes and devices are rejected
//!   without blocking.
//! - Linting writes nothing without `--fix`. With it only the linted files are replaced, each atomically.
//! - Every path is reported; a path that cannot be read has the code `D000`.
//!
//! # Features and versions
//!
//! The crate has no features. The minimum supported Rust version is the `rust-version` of its manifest.

mod arguments;
mod check;
mod conditions;
mod discovery;
mod disk;
mod embed;
pub mod exit;
mod fix;
mod interpretations;
mod lint;
mod new_files;
mod own_output;
mod report;
mod run;
mod suggestions;
mod support_tree;
mod surroundings;

pub use arguments::{ColorChoice, CommonArguments, Format, LintArguments, ProfileName, command};
pub use disk::{read_daemon_file, replace};
pub use embed::{CheckedFile, FileInput, TextInput, check_files, report_text};
pub use new_files::{NewFile, WriteError, write_new};
pub use run::{Linting, run, run_with};
pub use suggestions::{Suggestion, SuggestionFailure, Suggestions, UnclearCondition, Wording};
pub use support_tree::list as support_entries;
pub use surroundings::{AutoColour, StandardStreams, Surroundings};
