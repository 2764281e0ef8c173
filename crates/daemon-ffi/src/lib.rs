//! A C ABI over the reader, the linter, the interpreter and the schedules of DAEMON.md files, with JSON as the result.
//!
//! ```
//! use daemon_ffi::{interpret_json, next_json, parse_json};
//!
//! let text = "---\nid: link-janitor\npurpose: Keeps links alive.\nwatch:\n  - when docs change\n---\nBe brief.\n";
//! let parsed: serde_json::Value = serde_json::from_str(&parse_json(text.as_bytes()))?;
//! assert_eq!(parsed["ok"], true);
//! assert_eq!(parsed["fields"]["id"]["value"], "link-janitor");
//! assert_eq!(parsed["fields"]["watch"][0]["start"]["line"], 5);
//!
//! let meaning: serde_json::Value = serde_json::from_str(&interpret_json("when a pull request is opened"))?;
//! assert_eq!(meaning["status"], "mapped");
//!
//! let from = "2026-11-21T00:00:00Z".parse()?;
//! let next: serde_json::Value = serde_json::from_str(&next_json("30 14 * * 1-5", "UTC", from, 1)?)?;
//! assert_eq!(next["times"][0], "2026-11-23T14:30:00Z");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - The functions of [`abi`] are the C ABI: `daemon_md_parse`, `daemon_md_lint`, `daemon_md_interpret`, `daemon_md_next`,
//!   `daemon_md_version` and `daemon_md_free`. `include/daemon_md.h` declares them, and `examples/daemon_md.c` uses each.
//! - [`parse_json`], [`lint_json`], [`interpret_json`] and [`next_json`] are the same calls for Rust, without pointers. Bindings
//!   of other languages use them.
//! - [`ArgumentError`] is the error of an argument that cannot be used, with its place if it has one.
//!
//! # JSON
//!
//! Each result is one object with `"schema_version": 1`. Fields may be added to it; removing, renaming or retyping one raises the
//! version. Lines and columns count from 1, columns in code points; bytes count from 0.
//!
//! - Parse: `ok` (no diagnostic is an error), `completeness` (`whole`, `parts`, `nothing`), `fields`, `unknown` (keys that the
//!   format does not have), `body` (a range) and `diagnostics` as the linter prints them. A field is `null` if it is absent. A
//!   value has `value`, `shape`, `start` and `end`; a list is an array of values; `value` is `null` if the value is no text.
//! - Lint: the report of `daemon-lint --format json`.
//! - Interpret: the object of `daemon-run explain --condition`, without an event.
//! - Next: the object of `daemon-run next --cron`.
//! - An argument that cannot be used: `{"schema_version":1,"ok":false,"error":{"code","message","help","start","end"}}`, with
//!   `start` and `end` as bytes of the argument or `null`.
//!
//! # What this crate does not do
//!
//! It opens no file, starts no thread that outlives a call and keeps no state. It does not use a host or a store.
//!
//! # Guarantees
//!
//! - No panic crosses the boundary: it becomes an object with the error code `bug`.
//! - Every result is a NUL-terminated string in UTF-8 that the caller owns, until it passes it to `daemon_md_free`.
//! - Every function may be called from several threads at once.
//!
//! # Features and versions
//!
//! The crate has no features. [`jiff::Timestamp`] and `daemon_validate::Profile` are part of its public API. The minimum supported
//! Rust version is the `rust-version` of its manifest.

pub mod abi;
mod argument_error;
mod calls;
mod parsed;

pub use argument_error::ArgumentError;
pub use calls::{LintPlace, MAX_TIMES, interpret_json, lint_json, next_json};
pub use parsed::parse_json;
