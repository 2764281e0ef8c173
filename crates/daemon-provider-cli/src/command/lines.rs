//! What a line of a program's standard output means.

use daemon_provider::{MicroUsd, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line that is an event.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "daemon", rename_all = "snake_case")]
pub(crate) enum LineEvent {
    Session {
        id: String,
    },
    ToolStart {
        id: ToolUse,
        name: String,
        #[serde(default)]
        args: Value,
    },
    ToolEnd {
        id: ToolUse,
        #[serde(default = "yes")]
        ok: bool,
    },
    Usage(UsageLine),
    Output {
        output: Value,
    },
    Result {
        ok: bool,
        #[serde(default)]
        text: String,
    },
}

/// A program's name for one use of a tool: text, or a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged)]
pub(crate) enum ToolUse {
    Text(String),
    Number(u64),
}

impl std::fmt::Display for ToolUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct UsageLine {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    cached: u64,
    #[serde(default)]
    thinking: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

fn yes() -> bool {
    true
}

impl LineEvent {
    /// Reads a line; `None` for text, which is every line that is not exactly one of the events.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        // Most lines are text, and the cheapest look tells so.
        Self::may_begin(line)
            .then(|| serde_json::from_str(line.trim()).ok())
            .flatten()
    }

    /// Returns whether a line that begins like this may be an event.
    pub(crate) fn may_begin(line: &str) -> bool {
        line.trim_start().starts_with('{') && line.contains("\"daemon\"")
    }
}

impl UsageLine {
    /// Returns the counts; `None` for a price that is none.
    pub(crate) fn counts(&self) -> Option<Usage> {
        let cost = match self.cost_usd {
            Some(usd) if !(0.0..1e12).contains(&usd) => return None,
            // The range makes the conversion exact to the millionth it rounds to.
            Some(usd) => Some(MicroUsd((usd * 1e6).round() as u64)),
            None => None,
        };
        let Self {
            input,
            output,
            cached,
            thinking,
            ..
        } = *self;
        Some(Usage {
            input,
            output,
            thinking,
            cached,
            cost,
        })
    }
}

/// Adds what was used to what was used before.
pub(crate) fn add(total: &mut Usage, more: Usage) {
    total.input = total.input.saturating_add(more.input);
    total.output = total.output.saturating_add(more.output);
    total.thinking = total.thinking.saturating_add(more.thinking);
    total.cached = total.cached.saturating_add(more.cached);
    total.cost = match (total.cost, more.cost) {
        (Some(MicroUsd(a)), Some(MicroUsd(b))) => Some(MicroUsd(a.saturating_add(b))),
        (a, b) => a.or(b),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_events_are_read() {
        let text = |text: &str| ToolUse::Text(text.to_owned());
        let usage = |input, cost_usd| UsageLine {
            input,
            output: 2,
            cached: 0,
            thinking: 0,
            cost_usd,
        };
        let table = [
            (
                r#"{"daemon":"session","id":"abc"}"#,
                LineEvent::Session {
                    id: "abc".to_owned(),
                },
            ),
            (
                r#" {"daemon":"tool_start","id":"1","name":"grep","args":{"q":1},"more":0}"#,
                LineEvent::ToolStart {
                    id: text("1"),
                    name: "grep".to_owned(),
                    args: json!({"q": 1}),
                },
            ),
            (
                r#"{"daemon":"tool_start","id":1,"name":"grep"}"#,
                LineEvent::ToolStart {
                    id: ToolUse::Number(1),
                    name: "grep".to_owned(),
                    args: Value::Null,
                },
            ),
            (
                r#"{"daemon":"tool_end","id":"1","ok":false}"#,
                LineEvent::ToolEnd {
                    id: text("1"),
                    ok: false,
                },
            ),
            (
                r#"{"daemon":"usage","input":10,"output":2}"#,
                LineEvent::Usage(usage(10, None)),
            ),
            (
                r#"{"daemon":"usage","output":2,"cost_usd":0.5}"#,
                LineEvent::Usage(usage(0, Some(0.5))),
            ),
            (
                r#"{"daemon":"output","output":{"v":1}}"#,
                LineEvent::Output {
                    output: json!({"v": 1}),
                },
            ),
            (
                r#"{"text":"2 links","ok":true,"daemon":"result"}"#,
                LineEvent::Result {
                    ok: true,
                    text: "2 links".to_owned(),
                },
            ),
        ];
        for (line, event) in table {
            assert_eq!(LineEvent::parse(line), Some(event), "{line}");
        }
    }

    #[test]
    fn what_is_not_exactly_an_event_is_text() {
        for line in [
            "",
            "2 links repaired",
            "[{\"daemon\":\"result\"}]",
            "{\"daemon\":\"result\",\"ok\":\"yes\"}",
            "{\"daemon\":\"result\"",
            "{\"daemon\":\"future\"}",
            "{\"daemon\":5}",
            "{\"daemon\":\"usage\",\"input\":-1}",
            "{\"daemon\":\"usage\",\"input\":1.5}",
            "{\"daemon\":\"usage\",\"input\":NaN}",
            "see {\"daemon\":\"session\",\"id\":\"x\"}",
        ] {
            assert_eq!(LineEvent::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_price_that_is_none_spoils_the_counts() {
        let usage = |cost_usd| UsageLine {
            input: 1,
            output: 0,
            cached: 0,
            thinking: 0,
            cost_usd,
        };
        let counts = Usage {
            input: 1,
            cost: Some(MicroUsd(500_000)),
            ..Usage::default()
        };
        assert_eq!(usage(Some(0.5)).counts(), Some(counts));
        for cost in [-0.1, f64::INFINITY, f64::NAN] {
            assert_eq!(usage(Some(cost)).counts(), None);
        }
    }
}
