//! Slack: members of the workspace, their profiles, and user groups.

use super::Noun as N;
use super::Verb as V;
use super::slack::{COMMON, kind};
use super::{EventKind, FieldPath, at, plain, raw};
use crate::field::Field as F;

const USER: &[FieldPath] = &[
    raw("event.type"),
    at("event.user.id", F::Actor),
    at("event.user.name", F::Name),
    at("event.user.profile.status_text", F::State),
];
const USER_GROUP: &[FieldPath] = &[
    raw("event.type"),
    at("event.subteam.id", F::Key),
    at("event.subteam.name", F::Name),
    at("event.subteam.handle", F::Team),
    at("event.subteam_id", F::Key),
];

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "team_join",
        &["event"],
        &[&[
            raw("event.type"),
            at("event.user.id", F::Actor),
            at("event.user.name", F::Name),
        ]],
        &[plain(N::Workspace, &[V::Join], &[])],
    ),
    &kind(
        "subteam_created",
        &["event"],
        &[USER_GROUP],
        &[plain(N::UserGroup, &[V::Create, V::Add], &[])],
    ),
    &kind(
        "subteam_updated",
        &["event"],
        &[USER_GROUP],
        &[plain(
            N::UserGroup,
            &[V::Update, V::Change, V::Edit, V::Rename],
            &[],
        )],
    ),
    &kind(
        "subteam_members_changed",
        &["event"],
        &[USER_GROUP],
        &[plain(
            N::UserGroupMember,
            &[V::Change, V::Update, V::Add, V::Remove],
            &[],
        )],
    ),
    &kind(
        "subteam_self_added",
        &["event"],
        &[USER_GROUP],
        &[plain(N::UserGroup, &[V::Join], &[])],
    ),
    &kind(
        "subteam_self_removed",
        &["event"],
        &[USER_GROUP],
        &[plain(N::UserGroup, &[V::Leave], &[])],
    ),
    &kind(
        "user_change",
        &["event"],
        &[USER],
        &[plain(
            N::WorkspaceMember,
            &[V::Update, V::Change, V::Edit],
            &[],
        )],
    ),
    &kind(
        "user_profile_changed",
        &["event"],
        &[USER],
        &[plain(N::UserProfile, &[V::Update, V::Change, V::Edit], &[])],
    ),
    &kind(
        "user_status_changed",
        &["event"],
        &[USER],
        &[plain(
            N::UserStatus,
            &[V::Update, V::Change, V::Edit, V::Move],
            &[],
        )],
    ),
    &kind(
        "user_huddle_changed",
        &["event"],
        &[USER],
        &[plain(N::Huddle, &[V::Join, V::Leave, V::Change], &[])],
    ),
    &kind(
        "user_connection",
        &["event"],
        &[USER],
        &[plain(N::UserConnection, &[V::Change, V::Update], &[])],
    ),
    &kind(
        "dnd_updated",
        &["event"],
        &[COMMON],
        &[plain(N::DoNotDisturb, &[V::Update, V::Change], &[])],
    ),
    &kind(
        "dnd_updated_user",
        &["event"],
        &[COMMON],
        &[plain(N::DoNotDisturb, &[V::Update, V::Change], &[])],
    ),
];
