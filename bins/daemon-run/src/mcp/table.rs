//! The table of tools with their parameters.

mod over_http;

use daemon_api::ops::{Operation, Scope};
use daemon_mcp::{Effect, ToolDescription};
use serde_json::{Map, Value, json};

use super::{Served, daemon};

/// One tool.
pub(super) struct ToolRow {
    /// The name of the tool and of the command that it runs.
    pub(super) name: &'static str,
    description: &'static str,
    /// How it is executed.
    pub(super) action: ToolAction,
    parameters: &'static [Parameter],
}

/// How a tool is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// One parameter of a tool.
pub(super) struct Parameter {
    name: &'static str,
    kind: ParameterKind,
    need: Requirement,
    description: &'static str,
}

#[derive(Clone, Copy)]
enum ParameterKind {
    Text,
    Texts,
    Number,
    Flag,
    /// The id of a stored event, the path of a payload, or the payload itself.
    Event,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Requirement {
    Required,
    Optional,
}

const fn parameter(
    name: &'static str,
    kind: ParameterKind,
    need: Requirement,
    description: &'static str,
) -> Parameter {
    Parameter {
        name,
        kind,
        need,
        description,
    }
}

const fn may(name: &'static str, kind: ParameterKind, description: &'static str) -> Parameter {
    parameter(name, kind, Requirement::Optional, description)
}

const fn must(name: &'static str, description: &'static str) -> Parameter {
    parameter(
        name,
        ParameterKind::Text,
        Requirement::Required,
        description,
    )
}

const REPO: Parameter = may(
    "repo",
    ParameterKind::Text,
    "The repository, by its directory or name; needed if two share the id.",
);
const TREE: Parameter = may(
    "repo",
    ParameterKind::Text,
    "The repository's directory; by default the one around the working directory.",
);

const LISTING: &[Parameter] = &[
    may(
        "limit",
        ParameterKind::Number,
        "The most rows, 1 to 500; 50 by default.",
    ),
    may(
        "after",
        ParameterKind::Text,
        "Continues after a page: its `next`.",
    ),
    may("daemon", ParameterKind::Text, "Only rows of this daemon."),
    may(
        "repo",
        ParameterKind::Text,
        "Only rows of this repository, by its directory or name.",
    ),
    may("state", ParameterKind::Text, "Only rows in this state."),
    may(
        "since",
        ParameterKind::Text,
        "Only rows since this instant (RFC 3339) or this long ago (`2h`).",
    ),
    may(
        "until",
        ParameterKind::Text,
        "Only rows until this instant or this long ago.",
    ),
];

const PAYLOAD: Parameter = may(
    "event",
    ParameterKind::Event,
    "An event: the payload as an object (a raw body, which needs `source` and `kind`, or an envelope), or the path of its file.",
);
const SOURCE: Parameter = may(
    "source",
    ParameterKind::Text,
    "The source of the event: github, linear, slack, sentry, git or cloudevents.",
);
const KIND: Parameter = may(
    "kind",
    ParameterKind::Text,
    "The source's name for the event, such as pull_request.",
);
const FILES: Parameter = may(
    "changed_files",
    ParameterKind::Texts,
    "The files that the event changed.",
);

/// All tools.
pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow {
        name: "lint",
        description: "Checks DAEMON.md files of the working tree, or one file given as text, and returns every diagnostic with its position, help and fix.",
        action: ToolAction::Lint,
        parameters: &[
            may(
                "paths",
                ParameterKind::Texts,
                "Files, repositories or daemon directories; by default the enclosing repository.",
            ),
            may(
                "text",
                ParameterKind::Text,
                "The text of one file, instead of `paths`.",
            ),
            may(
                "path",
                ParameterKind::Text,
                "The path of the file in `text`, such as .agents/daemons/x/DAEMON.md.",
            ),
            may(
                "profile",
                ParameterKind::Text,
                "`spec` (the default) or `strict`.",
            ),
            may(
                "deny_warnings",
                ParameterKind::Flag,
                "Treats warnings as errors.",
            ),
            may(
                "tz",
                ParameterKind::Text,
                "The time zone of schedules; UTC by default.",
            ),
        ],
    },
    ToolRow {
        name: "explain",
        description: "Explains how watch conditions are read, which words were not understood, and whether an event wakes: for one condition, one daemon of the working tree, or all of them.",
        action: ToolAction::Explain,
        parameters: &[
            may(
                "id",
                ParameterKind::Text,
                "The id of the daemon; by default all of the repository.",
            ),
            may(
                "condition",
                ParameterKind::Text,
                "One condition, instead of `id`.",
            ),
            may(
                "all_daemons",
                ParameterKind::Flag,
                "Explains also why each of the other daemons does not wake.",
            ),
            PAYLOAD,
            SOURCE,
            KIND,
            FILES,
            TREE,
        ],
    },
    ToolRow {
        name: "next",
        description: "Returns the next due times of a cron expression, of a daemon of the working tree or of all of them, in UTC.",
        action: ToolAction::Next,
        parameters: &[
            may(
                "id",
                ParameterKind::Text,
                "The id of the daemon; by default all with a schedule.",
            ),
            may(
                "cron",
                ParameterKind::Text,
                "A five-field cron expression, instead of `id`.",
            ),
            may(
                "tz",
                ParameterKind::Text,
                "The time zone of the expression.",
            ),
            may(
                "from",
                ParameterKind::Text,
                "Returns times strictly after this instant (RFC 3339); now by default.",
            ),
            may("n", ParameterKind::Number, "How many times; 5 by default."),
            TREE,
        ],
    },
    ToolRow {
        name: "fire",
        description: "Wakes a daemon of the default branch now, for a person, a tick or an event, under the host's own policy, and waits up to 45 seconds for the end; after that the activation continues in the host. With dry_run it starts nothing and returns what would happen.",
        action: ToolAction::Fire,
        parameters: &[
            must("id", "The id of the daemon."),
            PAYLOAD,
            SOURCE,
            KIND,
            FILES,
            may(
                "tick",
                ParameterKind::Text,
                "A due time of the schedule (RFC 3339), instead of an event.",
            ),
            may(
                "dry_run",
                ParameterKind::Flag,
                "Returns what would happen for the daemon of the working tree; changes nothing.",
            ),
            TREE,
        ],
    },
    ToolRow {
        name: "list",
        description: "Lists registered daemons: whether they are valid, their gate, next tick and last activation.",
        action: ToolAction::Operation(Operation::DaemonList),
        parameters: LISTING,
    },
    ToolRow {
        name: "show",
        description: "Returns one registered daemon with the readings of its conditions and its support tree.",
        action: ToolAction::Operation(Operation::DaemonGet),
        parameters: &[must("id", "The id of the daemon."), REPO],
    },
    ToolRow {
        name: "activations",
        description: "Lists activations, the newest first, with their triggers and results.",
        action: ToolAction::Operation(Operation::ActivationList),
        parameters: LISTING,
    },
    ToolRow {
        name: "activation",
        description: "Returns one activation.",
        action: ToolAction::Operation(Operation::ActivationGet),
        parameters: &[must("id", "The id of the activation.")],
    },
    ToolRow {
        name: "runs",
        description: "Lists runs, the newest first.",
        action: ToolAction::Operation(Operation::RunList),
        parameters: LISTING,
    },
    ToolRow {
        name: "run",
        description: "Returns one run with its timeline and the files of its folder.",
        action: ToolAction::Operation(Operation::RunGet),
        parameters: &[must("id", "The id of the run.")],
    },
    ToolRow {
        name: "logs",
        description: "Returns lines of a run's timeline.",
        action: ToolAction::Operation(Operation::RunLog),
        parameters: &[
            must("id", "The id of the run."),
            may(
                "after",
                ParameterKind::Number,
                "Continues after a result: its `next`.",
            ),
            may(
                "output_after",
                ParameterKind::Text,
                "Continues after a result: its `next_output`.",
            ),
        ],
    },
    ToolRow {
        name: "events",
        description: "Lists events, the newest first.",
        action: ToolAction::Operation(Operation::EventList),
        parameters: LISTING,
    },
    ToolRow {
        name: "event",
        description: "Returns one event with its payload and enrichment, and whether it wakes each daemon.",
        action: ToolAction::Operation(Operation::EventGet),
        parameters: &[must("id", "The id of the event.")],
    },
    ToolRow {
        name: "ticks",
        description: "Lists the ticks of schedules with their outcomes.",
        action: ToolAction::Operation(Operation::TickList),
        parameters: LISTING,
    },
    ToolRow {
        name: "outputs",
        description: "Lists outputs with their surface, target and state.",
        action: ToolAction::Operation(Operation::OutputList),
        parameters: LISTING,
    },
    ToolRow {
        name: "daemon",
        description: daemon::DESCRIPTION,
        action: ToolAction::Daemon,
        parameters: &[],
    },
];

impl ToolRow {
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
        match (self.action, served) {
            (ToolAction::Daemon, Served::All) => {
                let schema = daemon::schema(&daemon::ACTIONS);
                ToolDescription::new(self.name, self.description, schema, Effect::Changes)
            }
            (ToolAction::Daemon, Served::ReadOnly) => {
                let schema = daemon::schema(&daemon::READ_ONLY);
                ToolDescription::new(self.name, self.description, schema, Effect::Reads)
            }
            _ => ToolDescription::new(self.name, self.description, self.schema(), self.effect()),
        }
    }

    fn schema(&self) -> Value {
        schema(self.parameters.iter())
    }
}

fn schema(parameters: impl Iterator<Item = &'static Parameter>) -> Value {
    let mut needed = Vec::new();
    let properties = parameters.map(|parameter| {
        if parameter.need == Requirement::Required {
            needed.push(parameter.name);
        }
        let mut schema = parameter.kind.schema();
        schema["description"] = json!(parameter.description);
        (parameter.name.to_owned(), schema)
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
            let mut tools = TOOLS.iter();
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
}
