//! How runs get their work trees.

use daemon_runner::settings::Overlays;

use super::Check;
use crate::config::Config;
use crate::driver::Parts;

/// Describes how runs get their work trees.
pub(super) fn check(config: &Config, parts: &Parts) -> Check {
    let detail = match (config.limits.trees, parts.sandboxes.overlays()) {
        (0, _) => "a new checkout for each run, since `limits.trees` is 0".to_owned(),
        (_, Overlays::Mounted) => "overlays above trees that runs share".to_owned(),
        (_, Overlays::Unused(why)) => {
            format!("kept trees, each for one run at a time; no overlays: {why}")
        }
    };
    Check::ok("work trees", detail)
}
