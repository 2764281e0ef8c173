//! The native module of the Python package `daemon_md`: the calls of `daemon-ffi`, with JSON as the result.
//!
//! ```
//! // What `daemon_md.next_fires("0 9 * * 1-5", after=..., count=1)` receives from this module.
//! let json = daemon_ffi::next_json("0 9 * * 1-5", "UTC", "2026-11-21T00:00:00Z".parse()?, 1)?;
//! assert!(json.contains("2026-11-23T09:00:00Z"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Python imports it as `daemon_md._native`; `python/daemon_md/__init__.py` turns the JSON into typed values and exceptions.
//!
//! # What this crate does not do
//!
//! It opens no file and keeps no state. It is built into a wheel with maturin and is no library for Rust: `daemon-ffi` is.
//!
//! # Guarantees
//!
//! - It uses the stable ABI of CPython 3.9, so one build serves all newer versions.
//! - The interpreter lock is released during a call.
//!
//! # Features and versions
//!
//! The crate has no features. The minimum supported Rust version is the `rust-version` of its manifest.

mod module;
