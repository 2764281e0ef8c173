//! From a line to drafts of clauses.

mod clause;
pub(crate) mod draft;
mod literals;
mod modifiers;
mod paths;
mod people;
pub(crate) mod reader;
