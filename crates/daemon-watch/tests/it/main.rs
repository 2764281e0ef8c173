//! The crate by its public API.

mod corpus;
mod readings;
mod robust;
