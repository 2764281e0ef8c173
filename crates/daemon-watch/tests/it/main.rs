//! The crate by its public API.

mod corpus;
mod fixtures;
mod readings;
mod robust;
