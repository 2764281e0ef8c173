//! The real binary over real parts: files, git, the embedded store.

mod author_tests;
mod context;
mod documents;
mod listings;
mod lsp;
mod mcp;
#[path = "../kit/mcp_client.rs"]
mod mcp_client;
mod pages;
#[path = "../kit/paths.rs"]
mod paths;
mod reference;
mod streams;
mod templates;
mod transcripts;
#[path = "../kit/waiting.rs"]
mod waiting;
mod world;
