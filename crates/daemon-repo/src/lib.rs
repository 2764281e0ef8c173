//! Git repositories: discovery, lifecycle, events, worktrees.
