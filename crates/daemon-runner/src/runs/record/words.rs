//! Conversions of provider types to the types of run folders.

use daemon_provider::Usage;
use daemon_run_folder::Tokens;

pub(super) fn tokens(usage: &Usage) -> Tokens {
    Tokens {
        input: usage.input,
        output: usage.output,
        thinking: usage.thinking,
        cached: usage.cached,
    }
}
