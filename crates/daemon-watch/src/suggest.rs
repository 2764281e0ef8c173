//! For a line that names no event: an event phrase near its words.

use crate::grammar::reader::Reader;
use daemon_event::vocabulary::Noun;

/// Event phrases by the words of a line.
const PHRASES: &[(&[&str], &str)] = &[
    (
        &["doc", "docs", "documentation", "readme"],
        "when files matching docs/**/*.md are changed",
    ),
    (
        &["test", "tests", "suite", "flaky", "ci", "build", "builds"],
        "when CI fails",
    ),
    (
        &["security", "insecure", "vulnerability", "vulnerable"],
        "when a Dependabot alert is created",
    ),
    (
        &["code", "quality", "repository", "repo", "commit", "commits"],
        "when a commit is pushed to the default branch",
    ),
    (
        &[
            "issue", "issues", "backlog", "bug", "bugs", "ticket", "tickets",
        ],
        "when an issue is created",
    ),
    (
        &["release", "ship", "version"],
        "when a release is published",
    ),
    (
        &["slack", "channel", "message"],
        "when a Slack message is posted in #general",
    ),
    (
        &["sentry", "error", "errors", "alert", "alerts", "production"],
        "when a Sentry alert fires",
    ),
    (
        &["pr", "prs", "review", "pull"],
        "when a pull request is opened",
    ),
];

/// Returns the event phrase nearest to a line.
pub(crate) fn nearest(reader: &Reader<'_>) -> Option<String> {
    let has_pull_request = reader.units.iter().any(|unit| {
        unit.sense
            .is_some_and(|sense| sense.nouns.contains(&Noun::PullRequest))
    });
    if has_pull_request {
        return Some("when a pull request is opened".to_owned());
    }
    let words = |wanted: &&str| {
        reader
            .units
            .iter()
            .any(|unit| unit.text.split(' ').any(|word| word == *wanted))
    };
    let found = PHRASES.iter().find(|(names, _)| names.iter().any(&words));
    found
        .map(|(_, phrase)| (*phrase).to_owned())
        .or_else(|| Some("when a pull request is opened".to_owned()))
}
