//! From a line to drafts of clauses.

mod agents;
mod attributes;
mod clause;
mod conditions;
pub(crate) mod draft;
mod guards;
mod joints;
mod labels;
mod late;
pub(crate) mod literals;
mod modifiers;
mod names;
mod paths;
mod people;
mod places;
mod proper;
pub(crate) mod reader;
mod sequence;
mod special;
mod texts;
mod values;
pub(crate) mod verbs;
mod wholes;
