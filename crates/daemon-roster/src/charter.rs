//! Charters: templates that say what a role does, and the packets that new agents read first.

use std::fmt::Write as _;

use crate::id::{DaemonName, HandoffRef, Harness, Project};
use crate::row::Role;

/// The values of the placeholders of a charter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharterValues {
    /// `{{project}}`.
    pub project: Project,
    /// `{{name}}`.
    pub name: DaemonName,
    /// `{{role}}`.
    pub role: Role,
    /// `{{harness}}`.
    pub harness: Harness,
    /// `{{heartbeat}}`, in minutes.
    pub heartbeat_minutes: i64,
    /// `{{predecessor}}`; empty without one.
    pub predecessor: Option<DaemonName>,
    /// `{{handoff}}`; empty without one.
    pub handoff: Option<HandoffRef>,
}

/// A placeholder that no value belongs to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no value for `{placeholder}`")]
pub struct UnfilledCharter {
    placeholder: String,
}

impl CharterValues {
    fn of(&self, placeholder: &str) -> Option<String> {
        let optional = |value: Option<&str>| value.unwrap_or_default().to_owned();
        Some(match placeholder {
            "project" => self.project.to_string(),
            "name" => self.name.to_string(),
            "role" => self.role.to_string(),
            "harness" => self.harness.to_string(),
            "heartbeat" => format!("{} minutes", self.heartbeat_minutes),
            // Every new daemon starts so.
            "gate" => "hold".to_owned(),
            "predecessor" => optional(self.predecessor.as_ref().map(DaemonName::as_str)),
            "handoff" => optional(self.handoff.as_ref().map(HandoffRef::as_str)),
            _ => return None,
        })
    }
}

/// Fills the placeholders of a charter, each once: a value that contains braces is not read again.
///
/// # Errors
/// For a placeholder without a value, also an unclosed one.
pub fn render_charter(template: &str, values: &CharterValues) -> Result<String, UnfilledCharter> {
    let mut acc = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        acc.push_str(before);
        let unfilled = |placeholder: &str| UnfilledCharter {
            placeholder: placeholder.chars().take(80).collect(),
        };
        let (placeholder, after) = after.split_once("}}").ok_or_else(|| unfilled(after))?;
        let value = values.of(placeholder.trim());
        acc.push_str(&value.ok_or_else(|| unfilled(placeholder))?);
        rest = after;
    }
    acc.push_str(rest);
    Ok(acc)
}

/// Returns what the agent of a new daemon reads first: how to check in, and its charter.
///
/// # Errors
/// As [`render_charter`].
pub fn kickoff_packet(template: &str, values: &CharterValues) -> Result<String, UnfilledCharter> {
    let charter = render_charter(template, values)?;
    Ok(format!("{}\n{charter}", opening(values)))
}

/// Returns what the agent of a successor reads first: how to check in and to take over.
///
/// It contains no charter, because that of an orchestrator is about starting other agents, which a successor must not do
/// before it holds the baton.
pub fn successor_packet(values: &CharterValues) -> String {
    let mut acc = opening(values);
    let predecessor = values.of("predecessor").unwrap_or_default();
    writeln!(
        acc,
        "You replace `{predecessor}`, which is live and holds the baton until it hands it over.\n\
         1. Check in, then call `daemon_successor_ready` with the id of the reset that the check-in and `recall_reset` show.\n\
         2. Wait for the hand-over; `daemon_checkin` returns a generation once you hold the baton.\n\
         3. Read the handoff and your charter (`recall_reset`, `recall_charters`), then call `daemon_retire_predecessor`."
    )
    .expect("writing to a string cannot fail");
    acc
}

fn opening(values: &CharterValues) -> String {
    format!(
        "You are `{}`, the {} of `{}`.\n\
         In every wake, first call `daemon_checkin`; check in at least every {} minutes.\n\
         Your gate is `hold`. It stops the work loop alone (dispatch, start of daemons, merge, acts on triage, your own reset), \
         never check-ins.\n",
        values.name, values.role, values.project, values.heartbeat_minutes
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn values() -> CharterValues {
        CharterValues {
            project: "garden".parse().unwrap(),
            name: "garden-orchestrator".parse().unwrap(),
            role: Role::Orchestrator,
            harness: "claude".parse().unwrap(),
            heartbeat_minutes: 13,
            predecessor: None,
            handoff: None,
        }
    }

    #[test]
    fn a_charter_is_filled_and_values_are_not_read_again() {
        let odd = CharterValues {
            project: "{{name}}".parse().unwrap(),
            ..values()
        };
        let template = "{{ name }} of {{project}} ({{role}}, {{harness}}, {{heartbeat}}, {{gate}}){{predecessor}}{{handoff}} }}";
        assert_eq!(
            render_charter(template, &odd).unwrap(),
            "garden-orchestrator of {{name}} (orchestrator, claude, 13 minutes, hold) }}"
        );
    }

    #[test]
    fn a_charter_with_a_placeholder_without_value_is_refused() {
        for (template, placeholder) in [("a {{moon}} b", "moon"), ("a {{name", "name")] {
            let error = render_charter(template, &values()).unwrap_err();
            assert_eq!(error.to_string(), format!("no value for `{placeholder}`"));
            assert_eq!(kickoff_packet(template, &values()), Err(error));
        }
    }

    #[test]
    fn the_packet_of_a_successor_has_no_instruction_to_spawn() {
        let values = CharterValues {
            predecessor: Some("garden-orchestrator".parse().unwrap()),
            ..values()
        };
        let packet = successor_packet(&values);
        assert!(!packet.to_lowercase().contains("spawn"));
        expect![[r#"
            You are `garden-orchestrator`, the orchestrator of `garden`.
            In every wake, first call `daemon_checkin`; check in at least every 13 minutes.
            Your gate is `hold`. It stops the work loop alone (dispatch, start of daemons, merge, acts on triage, your own reset), never check-ins.
            You replace `garden-orchestrator`, which is live and holds the baton until it hands it over.
            1. Check in, then call `daemon_successor_ready` with the id of the reset that the check-in and `recall_reset` show.
            2. Wait for the hand-over; `daemon_checkin` returns a generation once you hold the baton.
            3. Read the handoff and your charter (`recall_reset`, `recall_charters`), then call `daemon_retire_predecessor`.
        "#]]
        .assert_eq(&packet);
        let kickoff = kickoff_packet("Spawn {{project}}.", &values).unwrap();
        assert!(kickoff.ends_with("never check-ins.\n\nSpawn garden."));
    }
}
