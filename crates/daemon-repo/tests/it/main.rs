//! Repositories as the real git makes them.

#[cfg(test)]
mod delivery;
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod events;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod scratch;
#[cfg(test)]
mod worktrees;
