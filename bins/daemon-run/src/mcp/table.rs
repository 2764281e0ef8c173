//! The table of tools, and what each takes.

use daemon_host::ops::{Operation, Scope};
use daemon_mcp::{Effect, ToolDescription};
use serde_json::{Map, Value, json};

use super::{Served, daemon};

/// One tool.
pub(super) struct Tool {
    /// Its name: that of the command.
    pub(super) name: &'static str,
    description: &'static str,
    /// What it does.
    pub(super) does: Does,
    parameters: &'static [Parameter],
}

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// An operation of the host.
    Operation(Operation),
    /// What the command does with the working tree.
    Lint,
    /// Likewise.
    Explain,
    /// Likewise.
    Next,
    /// Wakes a daemon.
    Fire,
    /// The five actions about one-off runs.
    Daemon,
}

/// One parameter of a tool.
pub(super) struct Parameter {
    name: &'static str,
    kind: Kind,
    need: Need,
    description: &'static str,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Texts,
    Number,
    Flag,
    /// The id of a stored event, the path of a payload, or the payload itself.
    Event,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Needed,
    Optional,
}

const fn parameter(
    name: &'static str,
    kind: Kind,
    need: Need,
    description: &'static str,
) -> Parameter {
    Parameter {
        name,
        kind,
        need,
        description,
    }
}

const fn may(name: &'static str, kind: Kind, description: &'static str) -> Parameter {
    parameter(name, kind, Need::Optional, description)
}

const fn must(name: &'static str, description: &'static str) -> Parameter {
    parameter(name, Kind::Text, Need::Needed, description)
}

const REPO: Parameter = may(
    "repo",
    Kind::Text,
    "The repository, by its directory or name, where two share the id.",
);
const TREE: Parameter = may(
    "repo",
    Kind::Text,
    "The repository's directory; by default the one around the working directory.",
);

const LISTING: &[Parameter] = &[
    may(
        "limit",
        Kind::Number,
        "At most so many rows, 1 to 500; 50 by default.",
    ),
    may("after", Kind::Text, "The `next` of the page before."),
    may("daemon", Kind::Text, "Only of this daemon."),
    may(
        "repo",
        Kind::Text,
        "Only of this repository, by its directory or name.",
    ),
    may("state", Kind::Text, "Only in this state."),
    may(
        "since",
        Kind::Text,
        "Only since this instant (RFC 3339), or this long ago (`2h`).",
    ),
    may(
        "until",
        Kind::Text,
        "Only until this instant, or this long ago.",
    ),
];

const PAYLOAD: Parameter = may(
    "event",
    Kind::Event,
    "An event: the payload as an object (a raw body, which needs `source` and `kind`, or an envelope), or the path of its file.",
);
const SOURCE: Parameter = may(
    "source",
    Kind::Text,
    "Where it comes from: github, linear, slack, sentry or git.",
);
const KIND: Parameter = may(
    "kind",
    Kind::Text,
    "The source's name for it, such as pull_request.",
);
const FILES: Parameter = may("changed_files", Kind::Texts, "Files that it changed.");

/// Every tool.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "lint",
        description: "Checks DAEMON.md files of the working tree, or one given as text, and returns every diagnostic with its place, its help and its fix.",
        does: Does::Lint,
        parameters: &[
            may(
                "paths",
                Kind::Texts,
                "Files, repositories or daemon directories; by default the enclosing repository.",
            ),
            may("text", Kind::Text, "The text of one file instead."),
            may(
                "path",
                Kind::Text,
                "Where that text belongs, such as .agents/daemons/x/DAEMON.md.",
            ),
            may("profile", Kind::Text, "`spec` (the default) or `strict`."),
            may("deny_warnings", Kind::Flag, "Lets warnings fail too."),
            may(
                "tz",
                Kind::Text,
                "The zone in which schedules are read; UTC by default.",
            ),
        ],
    },
    Tool {
        name: "explain",
        description: "Says how watch conditions are read, which words were not understood, and whether an event wakes: of one condition, of one daemon of the working tree, or of all of them.",
        does: Does::Explain,
        parameters: &[
            may(
                "id",
                Kind::Text,
                "The daemon; all of the repository without one.",
            ),
            may(
                "condition",
                Kind::Text,
                "One condition instead of a daemon.",
            ),
            may(
                "all_daemons",
                Kind::Flag,
                "Also says why every other daemon does not wake.",
            ),
            PAYLOAD,
            SOURCE,
            KIND,
            FILES,
            TREE,
        ],
    },
    Tool {
        name: "next",
        description: "Says when a cron expression, a daemon of the working tree or all of them are due next, in UTC.",
        does: Does::Next,
        parameters: &[
            may(
                "id",
                Kind::Text,
                "The daemon; all with a schedule without one.",
            ),
            may(
                "cron",
                Kind::Text,
                "A five-field expression instead of a daemon.",
            ),
            may("tz", Kind::Text, "The zone it is read in."),
            may(
                "from",
                Kind::Text,
                "Strictly after this instant (RFC 3339); now by default.",
            ),
            may("n", Kind::Number, "How many instants; 5 by default."),
            TREE,
        ],
    },
    Tool {
        name: "fire",
        description: "Wakes a daemon of the default branch now, for a person, a tick or an event, under the host's own policy, and waits up to 45 seconds for the end; the activation goes on afterwards. With dry_run it starts nothing and says what would happen.",
        does: Does::Fire,
        parameters: &[
            must("id", "The daemon."),
            PAYLOAD,
            SOURCE,
            KIND,
            FILES,
            may(
                "tick",
                Kind::Text,
                "A tick of its schedule (RFC 3339) instead of an event.",
            ),
            may(
                "dry_run",
                Kind::Flag,
                "Shows what would happen in the working tree; changes nothing.",
            ),
            TREE,
        ],
    },
    Tool {
        name: "list",
        description: "Lists registered daemons: whether they are valid, their gate, next tick and last activation.",
        does: Does::Operation(Operation::DaemonList),
        parameters: LISTING,
    },
    Tool {
        name: "show",
        description: "Shows one registered daemon with the readings of its conditions and its support tree.",
        does: Does::Operation(Operation::DaemonGet),
        parameters: &[must("id", "The daemon."), REPO],
    },
    Tool {
        name: "activations",
        description: "Lists activations, the newest first: what woke, why, and how it ended.",
        does: Does::Operation(Operation::ActivationList),
        parameters: LISTING,
    },
    Tool {
        name: "activation",
        description: "Shows one activation.",
        does: Does::Operation(Operation::ActivationGet),
        parameters: &[must("id", "The activation.")],
    },
    Tool {
        name: "runs",
        description: "Lists runs, the newest first.",
        does: Does::Operation(Operation::RunList),
        parameters: LISTING,
    },
    Tool {
        name: "run",
        description: "Shows one run with its timeline and the files of its folder.",
        does: Does::Operation(Operation::RunGet),
        parameters: &[must("id", "The run.")],
    },
    Tool {
        name: "logs",
        description: "Returns lines of a run's timeline.",
        does: Does::Operation(Operation::RunLog),
        parameters: &[
            must("id", "The run."),
            may("after", Kind::Number, "The `next` of the answer before."),
            may(
                "output_after",
                Kind::Text,
                "The `next_output` of the answer before.",
            ),
        ],
    },
    Tool {
        name: "events",
        description: "Lists events, the newest first.",
        does: Does::Operation(Operation::EventList),
        parameters: LISTING,
    },
    Tool {
        name: "event",
        description: "Shows one event with its payload, what is known beside it, and every daemon's verdict.",
        does: Does::Operation(Operation::EventGet),
        parameters: &[must("id", "The event.")],
    },
    Tool {
        name: "ticks",
        description: "Lists what became of ticks.",
        does: Does::Operation(Operation::TickList),
        parameters: LISTING,
    },
    Tool {
        name: "outputs",
        description: "Lists outputs: what daemons wanted to land, where, and whether it did.",
        does: Does::Operation(Operation::OutputList),
        parameters: LISTING,
    },
    Tool {
        name: "daemon",
        description: daemon::DESCRIPTION,
        does: Does::Daemon,
        parameters: &[],
    },
];

impl Tool {
    /// Returns whether it changes something: an operation as its scope says.
    pub(super) fn effect(&self) -> Effect {
        match self.does {
            Does::Operation(operation) => match operation.scope() {
                Scope::Read => Effect::Reads,
                Scope::Operate | Scope::Admin => Effect::Changes,
            },
            Does::Lint | Does::Explain | Does::Next => Effect::Reads,
            Does::Fire | Does::Daemon => Effect::Changes,
        }
    }

    /// Describes it to a client.
    pub(super) fn spec(&self, served: Served) -> ToolDescription {
        match (self.does, served) {
            (Does::Daemon, Served::All) => {
                let schema = daemon::schema(&daemon::ACTIONS);
                ToolDescription::new(self.name, self.description, schema, Effect::Changes)
            }
            (Does::Daemon, Served::Reading) => {
                let schema = daemon::schema(&daemon::READING);
                ToolDescription::new(self.name, self.description, schema, Effect::Reads)
            }
            _ => ToolDescription::new(self.name, self.description, self.schema(), self.effect()),
        }
    }

    fn schema(&self) -> Value {
        let properties = self.parameters.iter().map(|parameter| {
            let mut schema = parameter.kind.schema();
            schema["description"] = json!(parameter.description);
            (parameter.name.to_owned(), schema)
        });
        let properties: Map<String, Value> = properties.collect();
        let needed = self.parameters.iter();
        let needed = needed.filter(|parameter| parameter.need == Need::Needed);
        let needed: Vec<&str> = needed.map(|parameter| parameter.name).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": needed,
            "additionalProperties": false,
        })
    }
}

impl Kind {
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
                || tools.any(|tool| tool.does == Does::Operation(operation))
        };
        let reading = Operation::ALL.iter().copied().filter(|operation| {
            operation.scope() == Scope::Read && !operation.method().starts_with("host/")
        });
        let missing: Vec<Operation> = reading.filter(|operation| !is_tool(*operation)).collect();
        assert_eq!(missing, Vec::new());
    }
}
