//! The SQLite store under the conformance suite, and what only files can suffer.

mod conformance;
