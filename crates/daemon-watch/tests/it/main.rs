//! The crate by its public API.

mod corpus;
mod dropped;
mod eventless;
mod fixtures;
mod generated;
mod github;
mod guards;
mod linear;
mod page;
mod parse;
mod phrasing;
mod reader;
mod readings;
mod robust;
mod sentences;
mod sentry;
mod slack;
mod suite;
mod table;
mod wire;
