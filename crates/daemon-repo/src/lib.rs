//! Git repositories: discovery of daemons, moves of refs as events, and work trees for runs.
//!
//! ```
//! use daemon_repo::{DaemonContent, ObjectFormat, discover_working_tree};
//!
//! let root = tempfile::tempdir()?;
//! let daemon = root.path().join(".agents/daemons/pr-helper");
//! std::fs::create_dir_all(daemon.join("scripts"))?;
//! std::fs::write(daemon.join("DAEMON.md"), "---\nid: pr-helper\n---\n")?;
//! std::fs::write(daemon.join("scripts/check.sh"), "#!/bin/sh\n")?;
//!
//! let found = discover_working_tree(root.path(), ObjectFormat::Sha1)?;
//! let [pr_helper] = found.daemons.as_slice() else { panic!("one daemon") };
//! assert_eq!(pr_helper.path(), ".agents/daemons/pr-helper/DAEMON.md");
//! assert_eq!(pr_helper.content, DaemonContent::Text((*b"---\nid: pr-helper\n---\n").into()));
//! assert!(pr_helper.support.files[0].lacks_mode);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - A [`Repository`] reads a repository on disk: the daemons of a commit ([`Repository::discover`]), the refs
//!   ([`Repository::refs`]), the paths that a pull request changes ([`Repository::pull_request_files`]).
//! - [`RefPositions`] compares the refs with those reported last; [`Repository::events_of`] converts a [`RefMove`] into
//!   [`GitEvent`]s. [`lifecycle`] compares two states of a repository's daemons. Both are plain values without git.
//! - A [`Worktree`] has the files of one run and a repository of its own. Its [`WorktreeChanges`] become a commit with a
//!   [`CommitMark`], which [`Repository::create_branch`] publishes and [`Repository::branch_status`] finds again.
//!
//! # What this crate does not do
//!
//! It does not parse or validate daemon files. It stores nothing: the caller keeps the positions of refs and the states of
//! daemons. It has no clock and no threads; a call that starts git blocks until git has exited.
//!
//! # Guarantees
//!
//! - Git starts no program that a repository names: it runs with an environment of its own, reads only the repository's
//!   configuration, and every setting for a hook, filter, text conversion, file monitor or pager is overridden.
//! - A name that was read from a repository is never parsed as an option.
//! - Equal trees give equal revisions, whether read from objects or from files.
//! - A move of a ref gives the same events with the same delivery ids each time it is read.
//! - A branch is created or rejected, never moved.

mod advance;
mod bare;
mod branch;
mod caller;
mod changed_paths;
mod changes;
mod delivery;
mod discover;
mod error;
mod event;
mod fingerprint;
mod git;
mod history;
mod instructions;
mod kept_tree;
mod layers;
mod lifecycle;
mod links;
mod mark;
mod materialise;
mod merging;
mod object;
mod object_store;
mod objects;
mod own_commits;
mod partial;
mod path;
mod private_git;
mod ref_files;
mod refs;
mod remote_token;
mod removal;
mod repository;
mod sparse;
mod support;
mod tree;
mod uncommitted;
mod working_tree;
mod worktree;

pub use advance::{BranchPosition, BranchTip};
pub use bare::bare_repository;
pub use branch::{BranchStatus, Remote, RemoteName};
pub use changes::{FileChange, WorktreeChanges};
pub use delivery::BranchDoubt;
pub use discover::{
    DAEMON_FILE, DAEMONS_DIR, DaemonContent, DaemonSource, Discovery, MAX_DAEMON_FILE, MAX_DAEMONS,
};
pub use error::{GitError, GitProblem};
pub use event::GitEvent;
pub use fingerprint::RefsFingerprint;
pub use git::Git;
pub use history::{ChangedFiles, GitCommit, MAX_CHANGED_FILES, MAX_COMMITS, Person};
pub use instructions::{
    InstructionFile, Instructions, MAX_INSTRUCTION_FILE, UnusedInstructions, WhyUnused,
};
pub use kept_tree::{KeptTree, TreeContent, TreeStart, TreeTrust};
pub use layers::Layers;
pub use lifecycle::{
    DirectoryState, DirectoryStates, FileValidity, LifecycleChange, LifecycleKind, lifecycle,
};
pub use mark::{Author, CommitMark, DaemonBranch, daemon_branch, decode, encode, rolling_branch};
pub use merging::Merge;
pub use object::{InvalidName, ObjectFormat, ObjectId, RefKind, RefName};
pub use object_store::FetchSource;
pub use own_commits::OwnCommit;
pub use path::TreePath;
pub use refs::{RefChange, RefMove, RefPosition, RefPositions, RefSnapshot};
pub use remote_token::RemoteToken;
pub use removal::remove_tree;
pub use repository::Repository;
pub use sparse::SparsePatterns;
pub use support::{
    EntryRefusal, LeftOutFile, MAX_SUPPORT_DEPTH, MAX_SUPPORT_FILE, MAX_SUPPORT_FILES,
    MAX_SUPPORT_TREE, RefusedEntry, Rev, SupportFile, SupportTree,
};
pub use tree::EntryKind;
pub use uncommitted::UncommittedDirectory;
pub use working_tree::{UnreadableDirectory, discover_working_tree};
pub use worktree::{Checkout, Worktree};
