//! GitHub: refs, releases and the repository itself.

use super::RowGuard::{Is, Present};
use super::github::{COMMON, kind};
use super::{ActionRow, EventKind, FieldPath, RowGuard};
use crate::field::Field as F;

pub(super) const PUSH: &[FieldPath] = paths! {
    "ref" Ref,
    "after" After,
    "created" Created,
    "deleted" Deleted,
    "forced" Forced,
    "commits[].message" Message,
    "commits[].added[]" AddedFiles,
    "commits[].removed[]" RemovedFiles,
    "commits[].modified[]",
    "head_commit.message",
    "changed_files[]",
    "pusher.name" Author,
};

/// A branch moved: neither a tag, nor a deletion.
const BRANCH_MOVED: &[RowGuard] = &[Is(F::Deleted, &["false"]), Is(F::RefType, &["branch"])];
const REWRITTEN: &[RowGuard] = &[
    Is(F::Deleted, &["false"]),
    Is(F::RefType, &["branch"]),
    Is(F::Forced, &["true"]),
];
pub(super) const PUSH_ROWS: &[ActionRow] = rows! {
    common_plain: Commit [Push Create Add] if BRANCH_MOVED;
    plain: Commit [ForcePush] if REWRITTEN;
    plain: Branch [Push Update Synchronize] if BRANCH_MOVED;
    plain: Branch [ForcePush] if REWRITTEN;
    plain: Tag [Push] if &[Is(F::Deleted, &["false"]), Is(F::RefType, &["tag"])];
    common_plain: File [Touch Create Add Delete Remove Push] if BRANCH_MOVED;
};

pub(super) static KINDS: &[&EventKind] = kinds! {
    "push" ["ref"] at ["head_commit.timestamp"]
    reads [COMMON, PUSH]
    rows { in PUSH_ROWS }

    "create" ["ref", "ref_type"] at []
    reads [COMMON] {
        "ref" Ref,
        "ref_type" RefType,
    }
    rows {
        plain: Branch [Create] if &[Is(F::RefType, &["branch"])];
        plain: Tag [Create Add Publish] if &[Is(F::RefType, &["tag"])];
    }

    "delete" ["ref", "ref_type"] at []
    reads [COMMON] {
        "ref" Ref,
        "ref_type" RefType,
    }
    rows {
        plain: Branch [Delete Remove] if &[Is(F::RefType, &["branch"])];
        plain: Tag [Delete Remove] if &[Is(F::RefType, &["tag"])];
    }

    "release" ["action", "release"] at ["release.published_at", "release.created_at"]
    reads [COMMON] {
        "release.tag_name" Tag,
        "release.name" Title,
        "release.body" Body,
        "release.draft" Draft,
        "release.prerelease" Prerelease,
        "release.target_commitish" Base,
        "release.author.login" Author,
        "release.author.type" AuthorKind,
        "changes.*" Changed,
    }
    rows {
        row "published": Release [Publish Release Push];
        row "created": Release [Create];
        row "edited": Release [Edit Update Change];
        row "deleted": Release [Delete Remove];
        row "prereleased": Release [Prerelease];
        row "released": Release [BecomeStable];
        row "unpublished": Release [Unpublish];
    }

    "milestone" ["action", "milestone"] at ["milestone.updated_at"]
    reads [COMMON] {
        "milestone.title" Milestone,
        "milestone.number" Number,
        "milestone.state" State,
    }
    rows {
        row "created": Milestone [Create Add];
        row "closed": Milestone [Close Complete];
        row "opened": Milestone [Reopen];
        row "edited": Milestone [Edit Update Change];
        row "deleted": Milestone [Delete Remove];
    }

    "label" ["action", "label"] at []
    reads [COMMON] {
        "label.name" Name,
        "changes.*" Changed,
    }
    rows {
        row "created": RepositoryLabel [Create Add];
        row "edited": RepositoryLabel [Edit Update Change Rename];
        row "deleted": RepositoryLabel [Delete Remove];
    }

    "repository" ["action", "repository"] at []
    reads [COMMON] {
        "changes.*" Changed,
    }
    rows {
        row "created": Repository [Create];
        row "renamed": Repository [Rename];
        row "archived": Repository [Archive];
        row "unarchived": Repository [Unarchive];
        row "deleted": Repository [Delete];
        row "transferred": Repository [Transfer];
        row "publicized": Repository [Publish MakePublic];
        row "privatized": Repository [MakePrivate];
        row "edited": Repository [Edit];
    }

    "fork" ["forkee"] at []
    reads [COMMON] {
        "forkee.full_name" Name,
    }
    rows {
        plain: Repository [ForkIt];
        plain: Fork [Create Add];
    }

    "star" ["action"] at ["starred_at"]
    reads [COMMON]
    rows {
        row "created": Repository [StarIt];
        row "created": Star [Add Create];
        row "deleted": Repository [Unstar];
        row "deleted": Star [Remove Delete];
    }

    "gollum" ["pages"] at []
    reads [COMMON] {
        "pages[].title" Name,
    }
    rows {
        plain: Wiki [Edit Update Change Create Publish] if &[Present(F::Name)];
    }

    "package" ["action", "package"] at ["package.updated_at"]
    reads [COMMON] {
        "package.name" Name,
    }
    rows {
        row "published": Package [Publish Release Create Push];
        row "updated": Package [Update Change];
    }

    "public" ["repository"] at []
    reads [COMMON]
    rows {
        plain: Repository [MakePublic];
    }

    "watch" ["action"] at []
    reads [COMMON]
    rows {
        row "started": Repository [WatchIt];
    }

    "registry_package" ["action", "registry_package"] at ["registry_package.updated_at"]
    reads [COMMON] {
        "registry_package.name" Name,
        "registry_package.ecosystem" Subtype,
        "registry_package.package_version.version" Tag,
    }
    rows {
        row "published": Package [Publish Release Create Push];
        row "updated": Package [Update Change];
    }

    "page_build" ["build"] at ["build.updated_at"]
    reads [COMMON] {
        "build.status" Conclusion,
        "build.commit" After,
        "build.pusher.login" Author,
    }
    rows {
        plain: PageBuild [Complete Change Update];
        plain: PageBuild [Fail] if &[Is(F::Conclusion, &["errored"])];
        plain: PageBuild [Succeed] if &[Is(F::Conclusion, &["built"])];
    }

    "repository_dispatch" ["action"] at []
    reads [COMMON] {
        "action" Name,
        "branch" Branch,
    }
    rows {
        plain: RepositoryDispatch [Create Post Fire Request Dispatch];
    }

    "repository_import" ["status"] at []
    reads [COMMON] {
        "status" Conclusion,
    }
    rows {
        plain: RepositoryImport [Complete];
        plain: RepositoryImport [Succeed] if &[Is(F::Conclusion, &["success"])];
        plain: RepositoryImport [Fail] if &[Is(F::Conclusion, &["failure"])];
        plain: RepositoryImport [Cancel] if &[Is(F::Conclusion, &["cancelled"])];
    }

    "ping" ["hook_id"] at []
    reads [COMMON]
    rows {
        plain: Webhook [Create Add];
    }
};
