//! Whether the permissions that a repository gives to agents are those that the host passes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daemon_records::RosterError;
use daemon_repo::ObjectId;
use daemon_roster::{AllowlistState, Project, RosterCommand};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::RosterRounds;
use crate::config::RosterConfig;
use crate::driver::repos::Watched;

/// Compares the settings file of a commit with the allowlist. A file that cannot be read counts as different: an agent might read it.
pub(super) async fn state(
    repo: Arc<Watched>,
    commit: String,
    config: &RosterConfig,
) -> AllowlistState {
    let Ok(commit) = commit.parse::<ObjectId>() else {
        return AllowlistState::Absent;
    };
    let (path, name) = (config.settings_file.clone(), repo.name.clone());
    let read = tokio::task::spawn_blocking(move || repo.repository.text_file(&commit, &path));
    let text = match read.await {
        Ok(Ok(None)) => return AllowlistState::Absent,
        Ok(Ok(Some(Ok(text)))) => text,
        Ok(Ok(Some(Err(why)))) => {
            tracing::warn!(repo = %name, %why, "the settings file of agents is not read");
            return AllowlistState::Drifted;
        }
        Ok(Err(error)) => {
            tracing::warn!(repo = %name, %error, "the settings file of agents could not be read");
            return AllowlistState::Drifted;
        }
        Err(error) => {
            tracing::error!(repo = %name, %error, "reading the settings file of agents panicked");
            return AllowlistState::Drifted;
        }
    };
    match allowed(&text) {
        Some(allowed) if allowed == config.allowlist.iter().cloned().collect() => {
            AllowlistState::Equal
        }
        _ => AllowlistState::Drifted,
    }
}

/// How often the permissions are compared without a change of the repository or the configuration.
const INTERVAL: SignedDuration = SignedDuration::from_hours(1);

/// The newest comparison of each project.
#[derive(Debug, Default)]
pub(super) struct Comparisons(BTreeMap<Project, Comparison>);

#[derive(Debug)]
struct Comparison {
    /// The commit, and the configuration.
    of: (Option<String>, RosterConfig),
    state: AllowlistState,
    at: Timestamp,
}

impl RosterRounds {
    /// Compares the permissions of each project that changed, and of all once an hour; what compares otherwise than before is recorded.
    pub(super) async fn compare_allowlists(
        &self,
        known: &mut Comparisons,
    ) -> Result<(), RosterError> {
        let config = self.spawning.registrations.runtime.config().roster.clone();
        let projects = self.spawning.roster.view().settings().projects.clone();
        known.0.retain(|project, _| projects.contains(project));
        for project in projects {
            let (of, now) = ((self.spawning.commit(&project), config.clone()), self.now());
            let before = known.0.get(&project);
            let is_fresh = |it: &Comparison| it.of == of && now.duration_since(it.at) < INTERVAL;
            if before.is_some_and(is_fresh) {
                continue;
            }
            let before = before.map(|before| before.state);
            let state = self.spawning.allowlist(&project).await;
            let is_news = match before {
                Some(before) => before != state,
                None => state == AllowlistState::Drifted,
            };
            if is_news {
                tracing::warn!(%project, state = state.as_str(), "the permissions of agents in the repository have changed");
                let project = project.clone();
                let change = RosterCommand::NoteAllowlist {
                    project,
                    before,
                    state,
                };
                self.ask(change).await?;
            }
            known.0.insert(project, Comparison { of, state, at: now });
        }
        let drifted = known.0.iter();
        let drifted = drifted.filter(|(_, it)| it.state == AllowlistState::Drifted);
        let drifted = drifted.map(|(project, _)| project.clone()).collect();
        self.spawning.roster.set_drifted(drifted);
        Ok(())
    }
}

/// Returns what a settings file allows; `None` if it is not such a file.
fn allowed(text: &str) -> Option<BTreeSet<String>> {
    let settings: Value = serde_json::from_str(text).ok()?;
    let allowed = match settings.pointer("/permissions/allow") {
        None if settings.is_object() => return Some(BTreeSet::new()),
        allowed => allowed?.as_array()?,
    };
    let entries = allowed.iter();
    entries
        .map(|entry| entry.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn the_entries_of_a_settings_file_are_read_and_another_shape_is_none() {
        let check = |text: &str, expected: Option<&[&str]>| {
            let expected = expected.map(|it| it.iter().map(ToString::to_string).collect());
            assert_eq!(allowed(text), expected, "{text}");
        };
        check(
            r#"{"permissions": {"allow": ["mcp__daemon", "Bash"]}}"#,
            Some(&["Bash", "mcp__daemon"]),
        );
        check("{}", Some(&[]));
        check(r#"{"permissions": {"allow": [1]}}"#, None);
        check(r#"{"permissions": {"allow": "all"}}"#, None);
        check("[]", None);
        check("not JSON", None);
    }
}
