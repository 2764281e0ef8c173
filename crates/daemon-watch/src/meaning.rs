//! The meaning of a condition before and after the vocabulary: formulas over statements, events, and the clauses emitted for them.

pub(crate) mod atom;
pub(crate) mod clauses;
pub(crate) mod emit;
pub(crate) mod event;
pub(crate) mod facts;
pub(crate) mod formula;
pub(crate) mod notes;
pub(crate) mod part;
pub(crate) mod spoken;
pub(crate) mod topic;
