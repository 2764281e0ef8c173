//! Event lines of a program's standard output.

use daemon_provider::{MicroUsd, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event line.
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

/// The id of a tool call: a string or a number.
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
    /// Parses a line; `None` for text, which is every line that is not exactly one of the events.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        // Most lines are text, and this check is much cheaper than parsing JSON.
        Self::may_begin(line)
            .then(|| serde_json::from_str(line.trim()).ok())
            .flatten()
    }

    /// Reports whether a line with this beginning may be an event.
    pub(crate) fn may_begin(line: &str) -> bool {
        line.trim_start().starts_with('{') && line.contains("\"daemon\"")
    }
}

impl UsageLine {
    /// Returns the counts; `None` if the price is not a plausible number.
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

/// Adds usage to a total.
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
    fn event_lines_are_parsed() {
        for (line, event) in examples() {
            assert_eq!(LineEvent::parse(line), Some(event), "{line}");
        }
    }

    fn usage_of_2(input: u64, cost_usd: Option<f64>) -> LineEvent {
        LineEvent::Usage(UsageLine {
            input,
            output: 2,
            cached: 0,
            thinking: 0,
            cost_usd,
        })
    }

    fn examples() -> Vec<(&'static str, LineEvent)> {
        let text = |text: &str| ToolUse::Text(text.to_owned());
        vec![
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
                usage_of_2(10, None),
            ),
            (
                r#"{"daemon":"usage","output":2,"cost_usd":0.5}"#,
                usage_of_2(0, Some(0.5)),
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
        ]
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
    fn counts_with_an_implausible_price_are_rejected() {
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
