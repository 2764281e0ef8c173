//! Git: the branches and tags of a watched repository.

use super::Noun as N;
use super::RowGuard::Is;
use super::Verb as V;
use super::github::COMMON;
use super::github_repository::{PUSH, PUSH_ROWS};
use super::{ActionRow, EventKind, FieldPath, Portability, at, plain};
use crate::event::Source;
use crate::field::Field as F;

const REF: &[FieldPath] = &[
    at("ref", F::Ref),
    at("ref_type", F::RefType),
    at("after", F::After),
    at("created", F::Created),
    at("deleted", F::Deleted),
];

const fn kind(
    name: &'static str,
    reads: &'static [&'static [FieldPath]],
    rows: &'static [ActionRow],
) -> EventKind {
    EventKind {
        source: Source::Git,
        name,
        required: &["ref", "repository"],
        reads,
        times: &["head_commit.timestamp"],
        rows,
    }
}

/// A row that the format's own examples name.
const fn common(row: ActionRow) -> ActionRow {
    ActionRow {
        portability: Portability::Common,
        ..row
    }
}

pub(super) static KINDS: &[&EventKind] = &[
    &kind("push", &[COMMON, PUSH], PUSH_ROWS),
    &kind(
        "create",
        &[COMMON, REF],
        &[
            plain(N::Branch, &[V::Create], &[Is(F::RefType, &["branch"])]),
            plain(
                N::Tag,
                &[V::Create, V::Add, V::Publish],
                &[Is(F::RefType, &["tag"])],
            ),
        ],
    ),
    &kind(
        "delete",
        &[COMMON, REF],
        &[
            plain(
                N::Branch,
                &[V::Delete, V::Remove],
                &[Is(F::RefType, &["branch"])],
            ),
            plain(N::Tag, &[V::Delete, V::Remove], &[Is(F::RefType, &["tag"])]),
        ],
    ),
    &kind(
        "merge",
        &[COMMON, PUSH],
        &[common(plain(
            N::PullRequest,
            &[V::Merge],
            &[Is(F::Merged, &["true"])],
        ))],
    ),
];
