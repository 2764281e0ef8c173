//! The real binary over real parts: files, git, the embedded store.

mod author_tests;
mod context;
mod listings;
mod mcp;
mod pages;
mod streams;
mod transcripts;
#[path = "../host/world/waiting.rs"]
mod waiting;
mod world;
