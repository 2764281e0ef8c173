//! GitHub: refs, releases and the repository itself.

use super::Noun as N;
use super::RowGuard::{Is, Present};
use super::Verb as V;
use super::github::{COMMON, kind};
use super::{ActionRow, EventKind, FieldPath, Portability, RowGuard, at, plain, raw, row};
use crate::field::Field as F;

pub(super) const PUSH: &[FieldPath] = &[
    at("ref", F::Ref),
    at("after", F::After),
    at("created", F::Created),
    at("deleted", F::Deleted),
    at("forced", F::Forced),
    at("commits[].message", F::Message),
    at("commits[].added[]", F::AddedFiles),
    at("commits[].removed[]", F::RemovedFiles),
    raw("commits[].modified[]"),
    raw("head_commit.message"),
    raw("changed_files[]"),
    at("pusher.name", F::Author),
];

/// A branch moved: neither a tag, nor a deletion.
const BRANCH_MOVED: &[RowGuard] = &[Is(F::Deleted, &["false"]), Is(F::RefType, &["branch"])];
const REWRITTEN: &[RowGuard] = &[
    Is(F::Deleted, &["false"]),
    Is(F::RefType, &["branch"]),
    Is(F::Forced, &["true"]),
];
pub(super) const PUSH_ROWS: &[ActionRow] = &[
    ActionRow {
        portability: Portability::Common,
        ..plain(N::Commit, &[V::Push, V::Create, V::Add], BRANCH_MOVED)
    },
    plain(N::Commit, &[V::ForcePush], REWRITTEN),
    plain(
        N::Branch,
        &[V::Push, V::Update, V::Synchronize],
        BRANCH_MOVED,
    ),
    plain(N::Branch, &[V::ForcePush], REWRITTEN),
    plain(
        N::Tag,
        &[V::Push],
        &[Is(F::Deleted, &["false"]), Is(F::RefType, &["tag"])],
    ),
    ActionRow {
        portability: Portability::Common,
        ..plain(
            N::File,
            &[V::Touch, V::Create, V::Add, V::Delete, V::Remove, V::Push],
            BRANCH_MOVED,
        )
    },
];

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "push",
        &["ref"],
        &[COMMON, PUSH],
        &["head_commit.timestamp"],
        PUSH_ROWS,
    ),
    &kind(
        "create",
        &["ref", "ref_type"],
        &[COMMON, &[at("ref", F::Ref), at("ref_type", F::RefType)]],
        &[],
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
        &["ref", "ref_type"],
        &[COMMON, &[at("ref", F::Ref), at("ref_type", F::RefType)]],
        &[],
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
        "release",
        &["action", "release"],
        &[
            COMMON,
            &[
                at("release.tag_name", F::Tag),
                at("release.name", F::Title),
                at("release.body", F::Body),
                at("release.draft", F::Draft),
                at("release.prerelease", F::Prerelease),
                at("release.target_commitish", F::Base),
                at("release.author.login", F::Author),
                at("release.author.type", F::AuthorKind),
                at("changes.*", F::Changed),
            ],
        ],
        &["release.published_at", "release.created_at"],
        &[
            row(
                "published",
                N::Release,
                &[V::Publish, V::Release, V::Push],
                &[],
            ),
            row("created", N::Release, &[V::Create], &[]),
            row("edited", N::Release, &[V::Edit, V::Update, V::Change], &[]),
            row("deleted", N::Release, &[V::Delete, V::Remove], &[]),
            row("prereleased", N::Release, &[V::Prerelease], &[]),
            row("unpublished", N::Release, &[V::Unpublish], &[]),
        ],
    ),
    &kind(
        "milestone",
        &["action", "milestone"],
        &[
            COMMON,
            &[
                at("milestone.title", F::Milestone),
                at("milestone.number", F::Number),
                at("milestone.state", F::State),
            ],
        ],
        &["milestone.updated_at"],
        &[
            row("created", N::Milestone, &[V::Create, V::Add], &[]),
            row("closed", N::Milestone, &[V::Close, V::Complete], &[]),
            row("opened", N::Milestone, &[V::Reopen], &[]),
            row(
                "edited",
                N::Milestone,
                &[V::Edit, V::Update, V::Change],
                &[],
            ),
            row("deleted", N::Milestone, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "label",
        &["action", "label"],
        &[
            COMMON,
            &[at("label.name", F::Name), at("changes.*", F::Changed)],
        ],
        &[],
        &[
            row("created", N::RepositoryLabel, &[V::Create, V::Add], &[]),
            row(
                "edited",
                N::RepositoryLabel,
                &[V::Edit, V::Update, V::Change, V::Rename],
                &[],
            ),
            row("deleted", N::RepositoryLabel, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "repository",
        &["action", "repository"],
        &[COMMON, &[at("changes.*", F::Changed)]],
        &[],
        &[
            row("created", N::Repository, &[V::Create], &[]),
            row("renamed", N::Repository, &[V::Rename], &[]),
            row("archived", N::Repository, &[V::Archive], &[]),
            row("unarchived", N::Repository, &[V::Unarchive], &[]),
            row("deleted", N::Repository, &[V::Delete], &[]),
            row("transferred", N::Repository, &[V::Transfer], &[]),
            row(
                "publicized",
                N::Repository,
                &[V::Publish, V::MakePublic],
                &[],
            ),
            row("privatized", N::Repository, &[V::MakePrivate], &[]),
            row("edited", N::Repository, &[V::Edit], &[]),
        ],
    ),
    &kind(
        "fork",
        &["forkee"],
        &[COMMON, &[at("forkee.full_name", F::Name)]],
        &[],
        &[
            plain(N::Repository, &[V::ForkIt], &[]),
            plain(N::Fork, &[V::Create, V::Add], &[]),
        ],
    ),
    &kind(
        "star",
        &["action"],
        &[COMMON],
        &["starred_at"],
        &[
            row("created", N::Repository, &[V::StarIt], &[]),
            row("created", N::Star, &[V::Add, V::Create], &[]),
            row("deleted", N::Repository, &[V::Unstar], &[]),
            row("deleted", N::Star, &[V::Remove, V::Delete], &[]),
        ],
    ),
    &kind(
        "gollum",
        &["pages"],
        &[COMMON, &[at("pages[].title", F::Name)]],
        &[],
        &[plain(
            N::Wiki,
            &[V::Edit, V::Update, V::Change, V::Create, V::Publish],
            &[Present(F::Name)],
        )],
    ),
    &kind(
        "package",
        &["action", "package"],
        &[COMMON, &[at("package.name", F::Name)]],
        &["package.updated_at"],
        &[
            row(
                "published",
                N::Package,
                &[V::Publish, V::Release, V::Create, V::Push],
                &[],
            ),
            row("updated", N::Package, &[V::Update, V::Change], &[]),
        ],
    ),
    &kind(
        "public",
        &["repository"],
        &[COMMON],
        &[],
        &[plain(N::Repository, &[V::MakePublic], &[])],
    ),
    &kind(
        "watch",
        &["action"],
        &[COMMON],
        &[],
        &[row("started", N::Repository, &[V::WatchIt], &[])],
    ),
    &kind(
        "registry_package",
        &["action", "registry_package"],
        &[
            COMMON,
            &[
                at("registry_package.name", F::Name),
                at("registry_package.ecosystem", F::Subtype),
                at("registry_package.package_version.version", F::Tag),
            ],
        ],
        &["registry_package.updated_at"],
        &[
            row(
                "published",
                N::Package,
                &[V::Publish, V::Release, V::Create, V::Push],
                &[],
            ),
            row("updated", N::Package, &[V::Update, V::Change], &[]),
        ],
    ),
    &kind(
        "page_build",
        &["build"],
        &[
            COMMON,
            &[
                at("build.status", F::Conclusion),
                at("build.commit", F::After),
                at("build.pusher.login", F::Author),
            ],
        ],
        &["build.updated_at"],
        &[
            plain(N::PageBuild, &[V::Complete, V::Change, V::Update], &[]),
            plain(N::PageBuild, &[V::Fail], &[Is(F::Conclusion, &["errored"])]),
            plain(
                N::PageBuild,
                &[V::Succeed],
                &[Is(F::Conclusion, &["built"])],
            ),
        ],
    ),
    &kind(
        "repository_dispatch",
        &["action"],
        &[COMMON, &[at("action", F::Name), at("branch", F::Branch)]],
        &[],
        &[plain(
            N::RepositoryDispatch,
            &[V::Create, V::Post, V::Fire, V::Request, V::Dispatch],
            &[],
        )],
    ),
    &kind(
        "repository_import",
        &["status"],
        &[COMMON, &[at("status", F::Conclusion)]],
        &[],
        &[
            plain(N::RepositoryImport, &[V::Complete], &[]),
            plain(
                N::RepositoryImport,
                &[V::Succeed],
                &[Is(F::Conclusion, &["success"])],
            ),
            plain(
                N::RepositoryImport,
                &[V::Fail],
                &[Is(F::Conclusion, &["failure"])],
            ),
            plain(
                N::RepositoryImport,
                &[V::Cancel],
                &[Is(F::Conclusion, &["cancelled"])],
            ),
        ],
    ),
    &kind(
        "ping",
        &["hook_id"],
        &[COMMON],
        &[],
        &[plain(N::Webhook, &[V::Create, V::Add], &[])],
    ),
];
