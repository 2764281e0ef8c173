//! The PostgreSQL store under the conformance suite, and what only many hosts and servers can suffer.
// `cfg(test)` is always true here; with it, clippy allows `unwrap` in helpers too.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod history;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod upkeep;
#[cfg(test)]
mod wakeups;
