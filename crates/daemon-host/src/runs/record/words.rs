//! What folders call the things of a run.

use daemon_provider::{MicroUsd, Usage};
use daemon_run_folder::Tokens;

pub(super) fn tokens(usage: &Usage) -> Tokens {
    Tokens {
        input: usage.input,
        output: usage.output,
        thinking: usage.thinking,
        cached: usage.cached,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a run costs far less than 2^53 micro-dollars"
)]
pub(super) fn usd(cost: MicroUsd) -> f64 {
    cost.0 as f64 / 1_000_000.0
}
