//! Documents whose examples are compiled and run as tests of the documentation.

#[doc = include_str!("../../../README.md")]
mod readme {}

#[doc = include_str!("../../../docs/embedding.md")]
mod embedding {}
