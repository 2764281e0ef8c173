//! Slack: applications, their tokens and scopes, assistants, functions and workflows.

use super::Noun as N;
use super::Verb as V;
use super::slack::{COMMON, kind};
use super::{EventKind, FieldPath, at, plain, raw};
use crate::field::Field as F;

const ASSISTANT_THREAD: &[FieldPath] = &[
    raw("event.type"),
    at("event.assistant_thread.user_id", F::Actor),
    at("event.assistant_thread.channel_id", F::ChannelId),
    at("event.assistant_thread.thread_ts", F::Thread),
];

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "app_home_opened",
        &["event"],
        &[COMMON, &[at("event.tab", F::Subtype)]],
        &[plain(N::AppHome, &[V::Reopen, V::Create], &[])],
    ),
    &kind(
        "app_installed",
        &["event"],
        &[COMMON],
        &[plain(N::SlackApp, &[V::Install, V::Add], &[])],
    ),
    &kind(
        "app_uninstalled",
        &["event"],
        &[COMMON],
        &[plain(N::SlackApp, &[V::Uninstall, V::Remove], &[])],
    ),
    &kind(
        "app_uninstalled_team",
        &["event"],
        &[COMMON],
        &[plain(N::SlackApp, &[V::Uninstall, V::Remove], &[])],
    ),
    &kind(
        "app_requested",
        &["event"],
        &[COMMON],
        &[plain(N::SlackApp, &[V::Request], &[])],
    ),
    &kind(
        "app_deleted",
        &["event"],
        &[COMMON],
        &[plain(N::SlackApp, &[V::Delete], &[])],
    ),
    &kind(
        "tokens_revoked",
        &["event"],
        &[COMMON],
        &[plain(N::AppToken, &[V::Revoke], &[])],
    ),
    &kind(
        "scope_granted",
        &["event"],
        &[COMMON],
        &[plain(N::AppScope, &[V::Grant, V::Add], &[])],
    ),
    &kind(
        "scope_denied",
        &["event"],
        &[COMMON],
        &[plain(N::AppScope, &[V::Reject], &[])],
    ),
    &kind(
        "resources_added",
        &["event"],
        &[COMMON],
        &[plain(N::AppResource, &[V::Add, V::Grant], &[])],
    ),
    &kind(
        "resources_removed",
        &["event"],
        &[COMMON],
        &[plain(N::AppResource, &[V::Remove], &[])],
    ),
    &kind(
        "assistant_thread_started",
        &["event"],
        &[ASSISTANT_THREAD],
        &[plain(
            N::AssistantThread,
            &[V::Start, V::Create, V::Reopen],
            &[],
        )],
    ),
    &kind(
        "assistant_thread_context_changed",
        &["event"],
        &[ASSISTANT_THREAD],
        &[plain(N::AssistantThread, &[V::Change, V::Update], &[])],
    ),
    &kind(
        "call_rejected",
        &["event"],
        &[COMMON],
        &[plain(N::SlackCall, &[V::Reject], &[])],
    ),
    &kind(
        "function_executed",
        &["event"],
        &[COMMON, &[at("event.function.callback_id", F::Name)]],
        &[plain(N::SlackFunction, &[V::Execute, V::Complete], &[])],
    ),
    &kind(
        "workflow_published",
        &["event"],
        &[COMMON],
        &[plain(N::SlackWorkflow, &[V::Publish], &[])],
    ),
    &kind(
        "workflow_unpublished",
        &["event"],
        &[COMMON],
        &[plain(N::SlackWorkflow, &[V::Unpublish], &[])],
    ),
    &kind(
        "workflow_deleted",
        &["event"],
        &[COMMON],
        &[plain(N::SlackWorkflow, &[V::Delete, V::Remove], &[])],
    ),
    &kind(
        "workflow_step_execute",
        &["event"],
        &[COMMON],
        &[plain(N::WorkflowStep, &[V::Execute, V::Start], &[])],
    ),
];
