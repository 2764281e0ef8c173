//! The crate by its public API.

mod corpus;
mod dropped;
mod fixtures;
mod guards;
mod page;
mod phrasing;
mod readings;
mod robust;
mod sentences;
mod sources;
mod told;
mod wire;
