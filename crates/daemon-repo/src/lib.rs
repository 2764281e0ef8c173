//! Git repositories: discovery, lifecycle, events, worktrees.
//!
//! A [`Repository`] answers from its objects: which daemons a commit holds ([`Repository::discover`]), which refs there are
//! ([`Repository::refs`]), what a moved ref means ([`Repository::events_of`]), what a pull request changes. A [`RefCursor`]
//! remembers what was told of the refs, and [`lifecycle`] compares two states of the daemons; both are plain values. A
//! [`Worktree`] holds the files of one activation, and its [`Changes`] become a commit with the [`Mark`] of the daemon, which
//! [`Repository::create_branch`] publishes and [`Repository::standing`] finds again.
//!
//! ```
//! use daemon_repo::{Content, ObjectFormat, discover_working_tree};
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
//! assert_eq!(pr_helper.content, Content::Text((*b"---\nid: pr-helper\n---\n").into()));
//! assert!(pr_helper.support.files[0].lacks_mode);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not do
//! It parses no daemon file and judges none: whoever validates files says which are valid. It stores nothing: cursors and
//! registries are the caller's to keep. It has no clock and no thread; every call that starts git blocks until git has ended.
//!
//! # Guarantees
//! Git runs with an environment of its own, no configuration but the repository's, and every setting of that which could start
//! a program overridden: no hook, filter, text conversion, file monitor or pager runs. Names that were read never become options.
//! Equal trees give equal revisions, from objects and from files alike. Moves of refs told from the same cursor are the same
//! events under the same delivery ids. A branch is created or refused, never moved.

mod branch;
mod changes;
mod delivery;
mod discover;
mod error;
mod event;
mod fingerprint;
mod git;
mod history;
mod lifecycle;
mod links;
mod mark;
mod materialise;
mod object;
mod objects;
mod path;
mod ref_files;
mod refs;
mod repository;
mod support;
mod tree;
mod working_tree;
mod worktree;

pub use branch::{Remote, RemoteName, Standing};
pub use changes::{Changes, FileChange};
pub use delivery::Doubt;
pub use discover::{
    Content, DAEMON_FILE, DAEMONS_DIR, DaemonSource, Discovery, MAX_DAEMON_FILE, MAX_DAEMONS,
};
pub use error::{GitError, Problem};
pub use event::GitEvent;
pub use fingerprint::RefsFingerprint;
pub use git::Git;
pub use history::{ChangedFiles, Commit, MAX_CHANGED_FILES, MAX_COMMITS, Person};
pub use lifecycle::{LifecycleChange, LifecycleKind, Registration, Registry, Validity, lifecycle};
pub use mark::{Mark, daemon_branch, encode};
pub use object::{InvalidName, ObjectFormat, ObjectId, RefKind, RefName};
pub use path::TreePath;
pub use refs::{RefCursor, RefMove, RefPosition, RefSnapshot, Step};
pub use repository::Repository;
pub use support::{
    MAX_SUPPORT_DEPTH, MAX_SUPPORT_FILE, MAX_SUPPORT_FILES, MAX_SUPPORT_TREE, Refusal,
    RefusedEntry, Rev, SupportFile, SupportTree,
};
pub use tree::EntryKind;
pub use working_tree::{UnreadableDirectory, discover_working_tree};
pub use worktree::{Worktree, WorktreeRecord};
