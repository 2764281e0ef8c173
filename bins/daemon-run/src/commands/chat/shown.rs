//! A conversation as a person reads it.

use daemon_validate::visible;
use serde_json::Value;

use super::thoughts::Thoughts;
use crate::failure::CommandFailure;
use crate::out::{Out, plain, put};

/// The messages that are shown when a conversation is resumed.
pub(super) const LAST: usize = 6;
/// The characters of the arguments of a tool that are shown.
const MOST_ARGUMENTS: usize = 120;

/// Shows a turn while it runs.
pub(super) struct Shown {
    out: Out,
    /// The call of the model whose text was shown last.
    attempt: u64,
    is_mid_line: bool,
    thoughts: Thoughts,
}

impl Shown {
    pub(super) fn new(out: Out) -> Self {
        Self {
            out,
            attempt: 0,
            is_mid_line: false,
            thoughts: Thoughts::default(),
        }
    }

    /// Shows an event. For programs, only the result is printed.
    pub(super) fn event(&mut self, event: &Value) -> Result<(), CommandFailure> {
        if self.out.is_json() {
            return Ok(());
        }
        let kind = event["type"].as_str().unwrap_or_default();
        if kind != "thinking" {
            let last = self.thoughts.finish();
            self.note_thoughts(last)?;
        }
        match kind {
            "thinking" => {
                let lines = self
                    .thoughts
                    .add(event["text"].as_str().unwrap_or_default());
                self.note_thoughts(lines)
            }
            "text" => {
                let attempt = event["attempt"].as_u64().unwrap_or_default();
                if std::mem::replace(&mut self.attempt, attempt) != attempt {
                    self.end()?;
                }
                let text = terminal_text(event["text"].as_str().unwrap_or_default());
                self.is_mid_line = !text.ends_with('\n') && (self.is_mid_line || !text.is_empty());
                self.out.bytes(text.as_bytes())
            }
            "tool_start" => {
                self.end()?;
                let arguments: String = event["arguments"]
                    .to_string()
                    .chars()
                    .take(MOST_ARGUMENTS)
                    .collect();
                let name = event["name"].as_str().unwrap_or_default();
                self.out
                    .note(&format!("  {} {}", plain(name), plain(&arguments)));
                Ok(())
            }
            "tool_result" if event["is_error"] == true => {
                let output = event["output"].as_str().unwrap_or_default();
                let first = output.lines().next().unwrap_or_default();
                self.out.note(&format!("  failed: {}", plain(first)));
                Ok(())
            }
            "ask_user" => {
                self.end()?;
                self.out.text(&questions(&event["questions"]))
            }
            "compacted" => {
                self.out.note("  earlier messages were summarised");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Shows thoughts as notes, so that they are no part of the reply.
    fn note_thoughts(&mut self, lines: Vec<String>) -> Result<(), CommandFailure> {
        if !lines.is_empty() {
            self.end()?;
        }
        for line in lines {
            self.out.note(&format!("  ~ {}", plain(&line)));
        }
        Ok(())
    }

    /// Ends a line that was begun.
    pub(super) fn end(&mut self) -> Result<(), CommandFailure> {
        match std::mem::take(&mut self.is_mid_line) {
            true => self.out.bytes(b"\n"),
            false => Ok(()),
        }
    }
}

/// Makes text of a model safe for a terminal; lines and tabs stay.
pub(super) fn terminal_text(text: &str) -> String {
    let kept = |c: char| c == '\n' || c == '\t';
    let spaced = text
        .chars()
        .map(|c| if c.is_control() && !kept(c) { ' ' } else { c });
    visible(&spaced.collect::<String>())
}

/// Formats questions in one line.
fn questions(questions: &Value) -> String {
    let questions = questions.as_array().into_iter().flatten();
    let questions = questions.filter_map(Value::as_str).map(plain);
    format!("? {}", questions.collect::<Vec<_>>().join(" / "))
}

/// Formats the last messages of a conversation.
pub(super) fn history(lines: &Value, last: usize) -> String {
    let said = lines.as_array().into_iter().flatten().filter_map(|line| {
        let who = match line["type"].as_str()? {
            "user" | "answer" => "you",
            "assistant" => "agent",
            "ask" => return Some(format!("agent: {}\n", questions(&line["questions"]))),
            _ => return None,
        };
        let content = line["content"]
            .as_str()
            .filter(|text| !text.trim().is_empty())?;
        Some(format!("{who}: {}\n", terminal_text(content)))
    });
    let said: Vec<String> = said.collect();
    let skipped = said.len().saturating_sub(last);
    said.get(skipped..).unwrap_or_default().concat()
}

/// Formats a listing of conversations.
pub(super) fn conversations(rows: &Value) -> String {
    let mut text = String::new();
    for row in rows.as_array().into_iter().flatten() {
        let of = |name: &str| plain(row[name].as_str().unwrap_or("-"));
        put!(
            text,
            "{}  {}  {} turns  {}\n",
            of("agent"),
            of("sender"),
            row["turns"],
            of("title")
        );
    }
    text
}
