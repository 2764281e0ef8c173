//! From a line to drafts of clauses.

mod agents;
mod attributes;
mod clause;
pub(crate) mod draft;
mod guards;
mod labels;
mod late;
pub(crate) mod literals;
mod modifiers;
mod names;
mod paths;
mod people;
mod places;
pub(crate) mod reader;
mod sequence;
mod special;
mod texts;
pub(crate) mod verbs;
mod wholes;
