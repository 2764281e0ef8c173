//! Tests of the public interface, on repositories created by the real git.

#[cfg(test)]
mod caller;
#[cfg(test)]
mod delivery;
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod events;
mod instructions;
#[cfg(test)]
mod kept_trees;
#[cfg(test)]
mod merging;
#[cfg(test)]
mod object_store;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod own_commits;
#[cfg(test)]
mod partial;
#[cfg(test)]
mod private_git;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod removal;
#[cfg(test)]
mod scratch;
#[cfg(test)]
mod sparse;
#[cfg(test)]
mod uncommitted;
#[cfg(test)]
mod worktrees;
