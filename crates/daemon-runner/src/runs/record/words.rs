//! Conversions of provider types to the types of run folders.

use daemon_provider::{Role, Usage};
use daemon_run_folder::{Speaker, Tokens};

pub(super) fn speaker(role: Role, kind: &str) -> Speaker {
    match (role, kind) {
        (Role::Assistant, _) => Speaker::Assistant,
        (Role::User, "tool_results") => Speaker::ToolResults,
        (Role::User, "followup") => Speaker::Followup,
        (Role::User, _) => Speaker::Task,
    }
}

pub(super) fn tokens(usage: &Usage) -> Tokens {
    Tokens {
        input: usage.input,
        output: usage.output,
        thinking: usage.thinking,
        cached: usage.cached,
    }
}
