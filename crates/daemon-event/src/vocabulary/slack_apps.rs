//! Slack: applications, their tokens and scopes, assistants, functions and workflows.

use super::slack::{COMMON, kind};
use super::{EventKind, FieldPath};

const ASSISTANT_THREAD: &[FieldPath] = paths! {
    "event.type",
    "event.assistant_thread.user_id" Actor,
    "event.assistant_thread.channel_id" ChannelId,
    "event.assistant_thread.thread_ts" Thread,
};

pub(super) static KINDS: &[&EventKind] = kinds! {
    "app_home_opened" ["event"]
    reads [COMMON] {
        "event.tab" Subtype,
    }
    rows {
        plain: AppHome [Reopen Create];
    }

    "app_installed" ["event"]
    reads [COMMON]
    rows {
        plain: SlackApp [Install Add];
    }

    "app_uninstalled" ["event"]
    reads [COMMON]
    rows {
        plain: SlackApp [Uninstall Remove];
    }

    "app_uninstalled_team" ["event"]
    reads [COMMON]
    rows {
        plain: SlackApp [Uninstall Remove];
    }

    "app_requested" ["event"]
    reads [COMMON]
    rows {
        plain: SlackApp [Request];
    }

    "app_deleted" ["event"]
    reads [COMMON]
    rows {
        plain: SlackApp [Delete];
    }

    "tokens_revoked" ["event"]
    reads [COMMON]
    rows {
        plain: AppToken [Revoke];
    }

    "scope_granted" ["event"]
    reads [COMMON]
    rows {
        plain: AppScope [Grant Add];
    }

    "scope_denied" ["event"]
    reads [COMMON]
    rows {
        plain: AppScope [Reject];
    }

    "resources_added" ["event"]
    reads [COMMON]
    rows {
        plain: AppResource [Add Grant];
    }

    "resources_removed" ["event"]
    reads [COMMON]
    rows {
        plain: AppResource [Remove];
    }

    "assistant_thread_started" ["event"]
    reads [ASSISTANT_THREAD]
    rows {
        plain: AssistantThread [Start Create Reopen];
    }

    "assistant_thread_context_changed" ["event"]
    reads [ASSISTANT_THREAD]
    rows {
        plain: AssistantThread [Change Update];
    }

    "call_rejected" ["event"]
    reads [COMMON]
    rows {
        plain: SlackCall [Reject];
    }

    "function_executed" ["event"]
    reads [COMMON] {
        "event.function.callback_id" Name,
    }
    rows {
        plain: SlackFunction [Execute Complete];
    }

    "workflow_published" ["event"]
    reads [COMMON]
    rows {
        plain: SlackWorkflow [Publish];
    }

    "workflow_unpublished" ["event"]
    reads [COMMON]
    rows {
        plain: SlackWorkflow [Unpublish];
    }

    "workflow_deleted" ["event"]
    reads [COMMON]
    rows {
        plain: SlackWorkflow [Delete Remove];
    }

    "workflow_step_execute" ["event"]
    reads [COMMON]
    rows {
        plain: WorkflowStep [Execute Start];
    }
};
