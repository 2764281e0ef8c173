//! Tests of the public API.

mod catalogue;
mod fixes;
mod kit;
mod oracles;
mod places;
mod properties;
mod schema;
