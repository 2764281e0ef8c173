//! The table of tools with their parameters.

mod over_http;

use std::sync::LazyLock;

use daemon_api::ops::{Operation, Scope, UnknownMethod};
use daemon_mcp::{Effect, ToolDescription};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Served, daemon};

/// One tool, a row of `tools.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolRow {
    /// The name of the tool and of the command that it runs.
    pub(super) name: String,
    /// How it is executed.
    pub(super) action: ToolAction,
    description: String,
    /// What differs over HTTP for a tool that reads files otherwise.
    over_http: Option<Remote>,
    parameters: Vec<Parameter>,
}

/// What a tool is over HTTP.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remote {
    description: String,
    /// The parameters that name files of this machine.
    left_out: Vec<String>,
    /// The parameter without which the tool would read the working tree.
    needed: String,
}

/// How a tool is executed: by a command, or else by the operation of this method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum ToolAction {
    /// An operation of the host.
    Operation(Operation),
    /// The command `lint` on the working tree.
    Lint,
    /// The command `explain` on the working tree.
    Explain,
    /// The command `next` on the working tree.
    Next,
    /// The command `fire`, through a running host.
    Fire,
    /// The five actions about one-off runs.
    Daemon,
}

impl TryFrom<String> for ToolAction {
    type Error = UnknownMethod;

    fn try_from(word: String) -> Result<Self, UnknownMethod> {
        match word.as_str() {
            "lint" => Ok(Self::Lint),
            "explain" => Ok(Self::Explain),
            "next" => Ok(Self::Next),
            "fire" => Ok(Self::Fire),
            "daemon" => Ok(Self::Daemon),
            method => method.parse().map(Self::Operation),
        }
    }
}

/// One parameter of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameter {
    name: String,
    kind: ParameterKind,
    #[serde(default)]
    required: bool,
    description: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ParameterKind {
    Text,
    Texts,
    Number,
    Flag,
    /// The id of a stored event, the path of a payload, or the payload itself.
    Event,
}

static TOOLS: LazyLock<Vec<ToolRow>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("tools.json")).expect("a test reads the table")
});

/// Returns all tools.
pub(super) fn all() -> impl Iterator<Item = &'static ToolRow> {
    TOOLS.iter()
}

impl ToolRow {
    /// Returns the operation of a tool of the roster.
    pub(super) fn of_roster(&self) -> Option<Operation> {
        match self.action {
            ToolAction::Operation(operation) if operation.roster_tool().is_some() => {
                Some(operation)
            }
            _ => None,
        }
    }

    /// Returns the effect of the tool; that of an operation follows from its scope.
    pub(super) fn effect(&self) -> Effect {
        match self.action {
            ToolAction::Operation(operation) => match operation.scope() {
                Scope::Read => Effect::Reads,
                Scope::Operate | Scope::Admin => Effect::Changes,
            },
            ToolAction::Lint | ToolAction::Explain | ToolAction::Next => Effect::Reads,
            ToolAction::Fire | ToolAction::Daemon => Effect::Changes,
        }
    }

    /// Returns the description for clients.
    pub(super) fn spec(&self, served: Served) -> ToolDescription {
        let (schema, effect) = match (self.action, served) {
            (ToolAction::Daemon, Served::All) => {
                (daemon::schema(&daemon::ACTIONS), Effect::Changes)
            }
            (ToolAction::Daemon, Served::ReadOnly) => {
                (daemon::schema(&daemon::READ_ONLY), Effect::Reads)
            }
            _ => (schema(self.parameters.iter()), self.effect()),
        };
        ToolDescription::new(&self.name, &self.description, schema, effect)
    }
}

fn schema<'p>(parameters: impl Iterator<Item = &'p Parameter>) -> Value {
    let mut needed = Vec::new();
    let properties = parameters.map(|parameter| {
        if parameter.required {
            needed.push(parameter.name.as_str());
        }
        let mut schema = parameter.kind.schema();
        schema["description"] = json!(parameter.description);
        (parameter.name.clone(), schema)
    });
    let properties: Map<String, Value> = properties.collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": needed,
        "additionalProperties": false,
    })
}

impl ParameterKind {
    fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Self::Number => json!({"type": "integer", "minimum": 0}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Event => json!({"type": ["object", "string"]}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_that_reads_daemons_and_their_work_is_a_tool() {
        let is_tool = |operation: Operation| {
            let mut tools = all();
            // These commands read the working tree, so that their tools do too.
            matches!(operation, Operation::DaemonNext | Operation::DaemonExplain)
                || tools.any(|tool| tool.action == ToolAction::Operation(operation))
        };
        // Agents of the host, what they use and what wakes them are no daemons.
        let is_other = |method: &str| {
            let others = [
                "host/",
                "agent/",
                "conversation/",
                "provider/",
                "model/",
                "mcp/",
                "skill/",
                "cron/",
                "subscription/",
                "event/subscribe",
            ];
            others.iter().any(|prefix| method.starts_with(prefix))
        };
        let reading = Operation::ALL
            .iter()
            .copied()
            .filter(|operation| operation.scope() == Scope::Read && !is_other(operation.method()));
        let missing: Vec<Operation> = reading.filter(|operation| !is_tool(*operation)).collect();
        assert_eq!(missing, Vec::new());
    }

    #[test]
    fn a_tool_of_the_roster_has_the_name_of_its_method() {
        let tools = all().filter_map(|tool| Some((tool.of_roster()?, tool.name.as_str())));
        let tools: Vec<_> = tools.collect();
        for (operation, name) in &tools {
            assert_eq!(operation.roster_tool(), Some(*name));
        }
        let of_people = [Operation::RosterCancel];
        let operations = Operation::ALL
            .iter()
            .filter(|one| one.roster_tool().is_some());
        assert_eq!(operations.count(), tools.len() + of_people.len());
    }
}
