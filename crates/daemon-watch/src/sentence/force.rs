//! Forced pushes and the words for them.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::atom::{Guard, Says};
use super::formula::is;
use super::line::Line;

/// Longer phrases first.
const FORCED: &[&str] = &[
    "by a force push",
    "by a forced push",
    "by force push",
    "by force-push",
    "by force pushing",
    "by force-pushing",
    "via a force push",
    "via force push",
    "with a force push",
    "through a force push",
    "by forcing",
    "by force",
    "with force",
    "a force push",
    "a forced push",
    "a force-push",
    "forced pushes",
    "force pushes",
    "force-pushes",
    "force pushing",
    "force-pushing",
    "force push",
    "forced push",
    "force-push",
    "force-pushed",
    "force pushed",
    "forcibly",
    "forcing it",
    "forcing",
    "forced ones",
    "forced",
    "force",
];

impl Line<'_> {
    /// `by force`, `force pushes`: said of commits and branches.
    pub(super) fn forced(&mut self, noun: Noun) -> Option<Guard> {
        matches!(noun, Noun::Commit | Noun::Branch).then_some(())?;
        let start = self.at;
        self.eat_phrase(FORCED).then_some(())?;
        Some(self.says(Says::Test(is(Field::Forced, &["true"])), start))
    }
}
