//! Git: the branches and tags of a watched repository.

use super::RowGuard::Is;
use super::github::COMMON;
use super::github_repository::{PUSH, PUSH_ROWS};
use super::{ActionRow, EventKind, FieldPath};
use crate::event::Source;
use crate::field::Field as F;

const REF: &[FieldPath] = paths! {
    "ref" Ref,
    "ref_type" RefType,
    "after" After,
    "created" Created,
    "deleted" Deleted,
};

/// Returns a kind of git's.
const fn kind(
    name: &'static str,
    required: &'static [&'static str],
    reads: &'static [&'static [FieldPath]],
    rows: &'static [ActionRow],
) -> EventKind {
    EventKind {
        source: Source::Git,
        name,
        required,
        reads,
        times: &["head_commit.timestamp"],
        rows,
    }
}

pub(super) static KINDS: &[&EventKind] = kinds! {
    "push" ["ref", "repository"]
    reads [COMMON, PUSH]
    rows { in PUSH_ROWS }

    "create" ["ref", "repository"]
    reads [COMMON, REF]
    rows {
        plain: Branch [Create] if &[Is(F::RefType, &["branch"])];
        plain: Tag [Create Add Publish] if &[Is(F::RefType, &["tag"])];
    }

    "delete" ["ref", "repository"]
    reads [COMMON, REF]
    rows {
        plain: Branch [Delete Remove] if &[Is(F::RefType, &["branch"])];
        plain: Tag [Delete Remove] if &[Is(F::RefType, &["tag"])];
    }

    "merge" ["ref", "repository"]
    reads [COMMON, PUSH]
    rows {
        common_plain: PullRequest [Merge] if &[Is(F::Merged, &["true"])];
    }
};
