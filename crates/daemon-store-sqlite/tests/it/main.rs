//! The SQLite store under the conformance suite, and what only files and processes can suffer.
// `cfg(test)` always holds here; it tells clippy that helpers, too, may unwrap.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod files;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod space;
