//! Git repositories: discovery, lifecycle, events, worktrees.
mod discover;
mod error;
mod fingerprint;
mod git;
mod lifecycle;
mod materialise;
mod object;
mod objects;
mod path;
mod refs;
mod repository;
mod support;
mod tree;
mod working_tree;

pub use discover::{
    Content, DAEMON_FILE, DAEMONS_DIR, DaemonSource, Discovery, MAX_DAEMON_FILE, MAX_DAEMONS,
};
pub use error::{GitError, Problem};
pub use fingerprint::RefsFingerprint;
pub use git::Git;
pub use lifecycle::{LifecycleChange, LifecycleKind, Registration, Registry, Validity, lifecycle};
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
