//! Conversions of provider types to the types of run folders.

use daemon_provider::Usage;
use daemon_run_folder::TokensRecord;

pub(super) fn tokens(usage: &Usage) -> TokensRecord {
    TokensRecord {
        input: usage.input,
        output: usage.output,
        thinking: usage.thinking,
        cached: usage.cached,
    }
}
