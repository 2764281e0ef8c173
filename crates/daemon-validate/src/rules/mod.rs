//! The checks, one function for each code, grouped by the part of the file that they read.

pub(crate) mod activation;
pub(crate) mod assigned_secrets;
pub(crate) mod body;
pub(crate) mod conditions;
pub(crate) mod deny;
pub(crate) mod hidden_text;
pub(crate) mod identity;
pub(crate) mod keys;
pub(crate) mod lists;
pub(crate) mod machine_path;
pub(crate) mod placeholder;
pub(crate) mod placement;
pub(crate) mod purpose;
pub(crate) mod routines;
pub(crate) mod schedule;
pub(crate) mod secrets;
pub(crate) mod support;
