//! Checks filters of the log: levels, and levels of single targets.

use tracing::level_filters::LevelFilter;

use super::keys::nearest;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Returns the error of a filter of the log, which is a list of levels and `target=level`, separated by commas.
///
/// The filter itself would accept a misspelt level as the name of a target, and then log nothing else.
pub fn filter_fault(filter: &str) -> Option<String> {
    filter.split(',').find_map(directive_fault)
}

fn directive_fault(directive: &str) -> Option<String> {
    let Some((target, level)) = directive.rsplit_once('=') else {
        return level_fault(directive, "");
    };
    let is_allowed = |c: char| c.is_alphanumeric() || "_:-".contains(c);
    if target.is_empty() || !target.chars().all(is_allowed) {
        return Some(format!("`{target}` is no target"));
    }
    level_fault(level, &format!(" of `{target}`"))
}

fn level_fault(level: &str, of: &str) -> Option<String> {
    // `LevelFilter` parses the empty string as `error`.
    if !level.is_empty() && level.parse::<LevelFilter>().is_ok() {
        return None;
    }
    // `warning` is too far from `warn` for the distance of letters.
    let longer = |known: &&str| level.to_lowercase().starts_with(known);
    let near = LEVELS.into_iter().find(longer);
    let meant = match near.or_else(|| nearest(level, LEVELS)) {
        Some(near) => format!(", did you mean `{near}`?"),
        None => format!("; the levels are `{}`", LEVELS.join("`, `")),
    };
    Some(format!("`{level}`{of} is no level{meant}"))
}
