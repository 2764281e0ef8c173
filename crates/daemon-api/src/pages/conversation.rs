//! The page of a conversation: its messages in order, the calls of tools folded.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Response};
use daemon_view::text::{encoded, seconds, short, visible};
use daemon_view::{Badge, PageCell};
use serde_json::{Map, Value};

use super::frame::{self, Frame};
use crate::http::AppState;
use crate::ops::Operation;

/// The maximum length of a message and of what a tool returned, in characters.
const LONGEST: usize = 65_536;
/// The seconds between two looks of a browser while a turn is under way, and while none is.
const RENEW: (u32, u32) = (2, 15);

#[derive(Template)]
#[template(path = "conversation.html")]
struct ConversationPage {
    frame: Frame,
    agent: String,
    sender: String,
    title: String,
    /// What is under way, if something is.
    state: Option<PageCell>,
    renew: u32,
    /// The link to the messages before these.
    earlier: Option<String>,
    /// The link to the newest messages, on a page of earlier ones.
    newest: Option<String>,
    messages: Vec<Message>,
}

/// A line of the conversation, as people read it.
struct Message {
    /// The CSS class: `user`, `agent` or `between`.
    class: &'static str,
    who: String,
    at: PageCell,
    text: String,
    calls: Vec<ToolCall>,
}

/// A call of a tool, and what it returned.
struct ToolCall {
    title: String,
    badge: Option<(Badge, &'static str)>,
    took: String,
    text: String,
}

/// Shows the conversation of an agent with a sender.
pub(super) async fn show(
    State(app): State<Arc<AppState>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response<Body> {
    let given = |name: &str| {
        let found = query.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let (agent, sender, before) = (given("agent"), given("sender"), given("before"));
    let read = |params| app.operations.call(Operation::ConversationHistory, params);
    let page_of = |members: &Map<String, Value>| {
        ConversationPage::of(&agent, &sender, !before.is_empty(), members)
    };
    frame::shown(&app, &headers, query, read, page_of).await
}

impl ConversationPage {
    fn of(agent: &str, sender: &str, is_earlier: bool, members: &Map<String, Value>) -> Self {
        let lines = members.get("lines").and_then(Value::as_array);
        let lines = lines.map(Vec::as_slice).unwrap_or_default();
        let first = lines.first().and_then(|line| line["n"].as_u64());
        let address = format!(
            "/conversation?agent={}&sender={}",
            encoded(agent),
            encoded(sender)
        );
        let earlier = first.filter(|first| *first > 1);
        let state = Some(state(lines)).filter(|_| !is_earlier).flatten();
        Self {
            frame: Frame::new(
                format!("{agent} with {}", short(sender, 60)),
                "/conversations",
            ),
            title: title(lines).unwrap_or_else(|| "Conversation".to_owned()),
            renew: if state.is_some() { RENEW.0 } else { RENEW.1 },
            state: state.map(PageCell::state),
            earlier: earlier.map(|first| format!("{address}&before={first}")),
            newest: is_earlier.then_some(address),
            messages: messages(agent, sender, lines),
            agent: visible(agent),
            sender: visible(sender),
        }
    }
}

/// Returns what the conversation is about: the title of its newest summary, or its first message.
fn title(lines: &[Value]) -> Option<String> {
    let of = |kind: &str, member: &str| {
        let line = lines.iter().find(|line| line["type"] == kind)?;
        let text = line[member].as_str()?.trim();
        (!text.is_empty()).then(|| short(text.lines().next().unwrap_or_default(), 120))
    };
    of("compact", "title").or_else(|| of("user", "content"))
}

/// Returns the state of the turn that has not ended.
fn state(lines: &[Value]) -> Option<&'static str> {
    let is = |line: &Value, kinds: &[&str]| kinds.iter().any(|kind| line["type"] == *kind);
    let newest = lines
        .iter()
        .rfind(|line| is(line, &["user", "assistant", "tool", "ask", "answer", "end"]))?;
    match newest["type"].as_str()? {
        "end" => None,
        "ask" => Some("waits"),
        _ => Some("running"),
    }
}

fn messages(agent: &str, sender: &str, lines: &[Value]) -> Vec<Message> {
    let results = lines.iter().filter(|line| line["type"] == "tool");
    let results: BTreeMap<&str, &Value> = results
        .filter_map(|line| Some((line["call_id"].as_str()?, line)))
        .collect();
    let said = lines
        .iter()
        .filter_map(|line| Message::of(agent, sender, line, &results));
    said.collect()
}

impl Message {
    /// Returns what a person reads of a line; `None` for lines that only hold the log together.
    fn of(
        agent: &str,
        sender: &str,
        line: &Value,
        results: &BTreeMap<&str, &Value>,
    ) -> Option<Self> {
        let text = |member: &str| long(line[member].as_str().unwrap_or_default());
        let (class, who, text) = match line["type"].as_str()? {
            "user" | "answer" => ("user", short(sender, 80), text("content")),
            "assistant" => {
                let model = short(line["model"].as_str().unwrap_or_default(), 60);
                (
                    "agent",
                    format!("{} · {model}", short(agent, 60)),
                    text("content"),
                )
            }
            "ask" => (
                "agent",
                format!("{} asks", short(agent, 60)),
                questions(line),
            ),
            "compact" => ("between", "Summary".to_owned(), text("summary")),
            "end" => {
                let outcome = line["outcome"].as_str().filter(|word| *word != "done")?;
                let why = line["error"].as_str().map(|why| format!(": {why}"));
                let why = long(&format!("{outcome}{}", why.unwrap_or_default()));
                ("between", "The turn ended".to_owned(), why)
            }
            _ => return None,
        };
        let calls = line["calls"].as_array().into_iter().flatten();
        Some(Self {
            class,
            who,
            at: PageCell::instant(line["at"].as_str().unwrap_or_default()),
            text,
            calls: calls.map(|call| ToolCall::of(call, results)).collect(),
        })
    }
}

impl ToolCall {
    fn of(call: &Value, results: &BTreeMap<&str, &Value>) -> Self {
        let result = call["id"].as_str().and_then(|id| results.get(id));
        let name = short(call["name"].as_str().unwrap_or_default(), 80);
        let arguments = call["arguments"].to_string();
        let word = result.map(|result| match result["is_error"] == true {
            true => ("failed", "failed"),
            false => ("done", "done"),
        });
        let took = result.and_then(|result| result["duration_ms"].as_f64());
        let output = result.and_then(|result| result["output"].as_str());
        Self {
            title: format!("{name} {}", short(&arguments, 120)),
            badge: word.map(|(state, word)| (Badge::of(state), word)),
            took: took.map(|ms| seconds(ms / 1_000.0)).unwrap_or_default(),
            text: long(&format!("{arguments}\n\n{}", output.unwrap_or_default())),
        }
    }
}

/// Returns the questions of a line, one on each line of text.
fn questions(line: &Value) -> String {
    let texts = line["questions"].as_array().into_iter().flatten();
    let texts = texts.map(|one| match one["question"].as_str().or(one.as_str()) {
        Some(text) => text.to_owned(),
        None => one.to_string(),
    });
    long(&texts.collect::<Vec<_>>().join("\n"))
}

fn long(text: &str) -> String {
    let head: String = text.chars().take(LONGEST).collect();
    visible(&head)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ConversationPage;

    fn page(lines: Value, is_earlier: bool) -> ConversationPage {
        let members = json!({ "lines": lines });
        let members = members.as_object().expect("an object");
        ConversationPage::of("helper", "me & you", is_earlier, members)
    }

    #[test]
    fn a_call_is_shown_with_its_result_and_an_end_only_if_it_is_not_done() {
        let page = page(
            json!([
                {"n": 1, "type": "meta", "at": "2026-01-02T03:04:05Z"},
                {"n": 2, "type": "user", "at": "2026-01-02T03:04:05Z", "content": "look\nhere"},
                {"n": 3, "type": "assistant", "at": "2026-01-02T03:04:06Z", "content": "so", "model": "m",
                 "calls": [{"id": "1", "name": "grep", "arguments": {"for": "x"}}, {"id": "2", "name": "read", "arguments": {}}]},
                {"n": 4, "type": "tool", "at": "2026-01-02T03:04:07Z", "call_id": "1", "output": "found", "is_error": true, "duration_ms": 1500},
                {"n": 5, "type": "end", "at": "2026-01-02T03:04:08Z", "outcome": "done"},
                {"n": 6, "type": "user", "at": "2026-01-02T03:04:09Z", "content": "<b>more"},
                {"n": 7, "type": "end", "at": "2026-01-02T03:04:10Z", "outcome": "failed", "error": "no model"},
            ]),
            false,
        );
        let read: Vec<_> = page
            .messages
            .iter()
            .map(|message| (message.who.as_str(), message.text.as_str()))
            .collect();
        assert_eq!(
            read,
            [
                ("me & you", "look\nhere"),
                ("helper · m", "so"),
                ("me & you", "<b>more"),
                ("The turn ended", "failed: no model"),
            ]
        );
        let calls = &page.messages[1].calls;
        assert_eq!(
            (calls[0].title.as_str(), calls[0].took.as_str()),
            ("grep {\"for\":\"x\"}", "1.5 s")
        );
        assert_eq!(calls[0].badge.map(|(_, word)| word), Some("failed"));
        assert_eq!(calls[0].text, "{\"for\":\"x\"}\n\nfound");
        assert!(calls[1].badge.is_none());
        assert_eq!((page.title.as_str(), page.state.is_none()), ("look", true));
        assert!(page.earlier.is_none() && page.newest.is_none());
    }

    #[test]
    fn what_is_under_way_is_said_and_earlier_lines_are_a_link_away() {
        let ask = json!({"n": 201, "type": "ask", "questions": [{"question": "Which?"}]});
        let waits = page(
            json!([{"n": 200, "type": "user", "content": ""}, ask]),
            false,
        );
        assert_eq!(waits.state.map(|cell| cell.text).as_deref(), Some("waits"));
        assert_eq!(
            waits.earlier.as_deref(),
            Some("/conversation?agent=helper&sender=me%20%26%20you&before=200")
        );
        let earlier = page(json!([{"n": 1, "type": "user", "content": "x"}]), true);
        assert!(earlier.state.is_none() && earlier.earlier.is_none());
        assert_eq!(
            earlier.newest.as_deref(),
            Some("/conversation?agent=helper&sender=me%20%26%20you")
        );
    }
}
