//! Everything through the public interface.

mod catalogue;
mod fixes;
mod kit;
mod oracles;
mod places;
mod properties;
mod schema;
