//! The SQLite store under the conformance suite, and what only files and processes can suffer.
// `cfg(test)` is always true here; with it, clippy allows `unwrap` in helpers too.

#[cfg(test)]
mod agent_memory;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod files;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod roster;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod space;
