//! Notices of the end of a run and of its replies, and the window of the newest ones.

use std::collections::VecDeque;

use daemon_lifecycle::state_word;
use daemon_records::second;
use daemon_run_folder::{Document, Folder, Followup, RunError, RunState, StopReason};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::runs::cut;

/// The number of events in the window.
const NEWEST: usize = 20;
/// The longest line of a body, in characters.
const LINE_CHARS: usize = 500;

/// A notice without its sequence number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NewNotice {
    run_id: String,
    group_id: Option<String>,
    parent: String,
    status: String,
    is_reported: bool,
    result_path: Option<String>,
    at: Timestamp,
    body: String,
    key: String,
}

impl NewNotice {
    /// Builds the notice of a run's end.
    pub(super) fn end(document: &Document, folder: &Folder) -> Self {
        let text = NoticeText {
            status: document.state.as_str(),
            result_path: document.result_path.as_deref(),
            error: document.error.as_ref(),
            preview: document.result_preview.as_deref(),
        };
        let at = document.finished_at.unwrap_or(document.started_at);
        Self::new(document, folder, &text, at, "terminal", None)
    }

    /// Builds the notice of a follow-up, with the beginning of the reply; returns `None` if the run has no such message.
    pub(super) fn reply(
        document: &Document,
        folder: &Folder,
        n: u32,
        answer: &str,
    ) -> Option<Self> {
        let reply = document.followups.iter().find(|reply| reply.n == n)?;
        let preview = (reply.state == RunState::Done).then(|| cut(answer, 200));
        let text = NoticeText {
            status: match reply.state {
                RunState::Done => "follow-up completed",
                _ => "follow-up failed",
            },
            result_path: reply.result_path.as_deref(),
            error: reply.error.as_ref(),
            preview: preview.as_deref(),
        };
        let at = reply.finished_at.unwrap_or(reply.started_at);
        Some(Self::new(document, folder, &text, at, "followup", Some(n)))
    }

    fn new(
        document: &Document,
        folder: &Folder,
        text: &NoticeText<'_>,
        at: Timestamp,
        kind: &str,
        n: Option<u32>,
    ) -> Self {
        let run_id = document.run_id.clone();
        let suffix = n.map(|n| format!(":{n}")).unwrap_or_default();
        Self {
            key: format!("daemon-{kind}:{run_id}{suffix}"),
            body: body(document, folder, text),
            group_id: document.group_id.clone(),
            parent: document.parent_addr.clone(),
            status: text.status.to_owned(),
            is_reported: document.reported,
            result_path: text.result_path.map(str::to_owned),
            at,
            run_id,
        }
    }

    /// Returns the event with its sequence number.
    pub(super) fn event(&self, seq: u64) -> Value {
        let mut event = json!({
            "seq": seq,
            "event_id": format!("evt_{seq}"),
            "source": "daemon",
            "ref_id": self.run_id,
            "run_id": self.run_id,
            "group_id": self.group_id,
            "parent": self.parent,
            "status": self.status,
            "result_path": self.result_path,
            "at": second(self.at),
            "body": self.body,
            "idempotency_key": self.key,
        });
        if self.is_reported {
            event["reported"] = json!(true);
        }
        event
    }
}

/// Returns whether the end of a follow-up is not published: the caller that reclaimed the run does not wait for it.
pub(super) fn is_silent(reply: &Followup) -> bool {
    let error = reply.error.as_ref();
    error.is_some_and(|error| error.is_stop(StopReason::Reclaim))
}

/// The parts of a notice that differ between an end and a reply.
struct NoticeText<'t> {
    status: &'t str,
    result_path: Option<&'t str>,
    error: Option<&'t RunError>,
    preview: Option<&'t str>,
}

fn body(document: &Document, folder: &Folder, text: &NoticeText<'_>) -> String {
    let run = &document.run_id;
    let mut lines = vec![
        format!(
            "Daemon {run} {}.",
            state_word(text.status, document.reported)
        ),
        format!("Inspect with daemon(action=\"check\", id=\"{run}\")."),
        format!("Task: {}", one_line(&document.task)),
        format!("Run directory: {}", folder.path().display()),
    ];
    lines.extend(text.result_path.map(|path| format!("Result file: {path}")));
    lines.extend(
        text.error
            .map(|error| format!("Error: {}: {}", error.kind, one_line(&error.message))),
    );
    if let Some(preview) = text.preview {
        lines.push("Preview:".to_owned());
        lines.push(preview.to_owned());
    }
    let lines: Vec<String> = lines.iter().map(|line| cut(line, LINE_CHARS)).collect();
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The newest events, by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Window {
    events: VecDeque<Value>,
    /// The number up to which events were dismissed, or 0.
    dismissed: u64,
}

impl Window {
    /// Reads the window from `system.json`; a file that cannot be parsed has no events.
    pub(super) fn read(text: &[u8]) -> Self {
        let file: Value = serde_json::from_slice(text).unwrap_or_default();
        let events = file.pointer("/data/events").and_then(Value::as_array);
        let events = events.into_iter().flatten();
        Self {
            events: events.filter(|event| seq(event) > 0).cloned().collect(),
            dismissed: file
                .pointer("/data/dismissed_seq")
                .and_then(Value::as_u64)
                .unwrap_or(0),
        }
    }

    /// Returns the number of the newest event, or 0.
    pub(super) fn last(&self) -> u64 {
        self.events.back().map_or(0, seq).max(self.dismissed)
    }

    /// Takes all events out, and returns their number. None of them is added again.
    pub(super) fn dismiss(&mut self) -> usize {
        self.dismissed = self.last();
        std::mem::take(&mut self.events).len()
    }

    /// Adds an event and returns whether the window changed. An event that is in the window, was dismissed, or is older than a
    /// full window, is not added.
    pub(super) fn add(&mut self, event: Value) -> bool {
        let key = &event["idempotency_key"];
        let is_known = self
            .events
            .iter()
            .any(|known| known["idempotency_key"] == *key);
        // An event before the window was in it earlier; adding it would move a newer one out.
        let is_past = self.events.len() >= NEWEST
            && self
                .events
                .front()
                .is_some_and(|first| seq(first) > seq(&event));
        if is_known || is_past || seq(&event) <= self.dismissed {
            return false;
        }
        let at = self
            .events
            .partition_point(|known| seq(known) < seq(&event));
        self.events.insert(at, event);
        while self.events.len() > NEWEST {
            self.events.pop_front();
        }
        true
    }

    /// Returns the content of `system.json`.
    pub(super) fn file(&self, now: Timestamp) -> Value {
        let is_done = |event: &Value| {
            matches!(
                event["status"].as_str(),
                Some("done" | "follow-up completed")
            )
        };
        let n_done = self.events.iter().filter(|event| is_done(event)).count();
        let is_reported = |event: &&Value| event["reported"] == true && is_done(event);
        let n_reported = self.events.iter().filter(is_reported).count();
        let n = self.events.len();
        let (icon, priority) = if n_done == n {
            ("ok", "normal")
        } else {
            ("alert", "high")
        };
        let mut data = json!({
            "first_seq": self.events.front().map(seq),
            "last_seq": Some(self.last()).filter(|last| *last > 0),
            "events": self.events,
        });
        if self.dismissed > 0 {
            data["dismissed_seq"] = json!(self.dismissed);
        }
        json!({
            "header": header(n, n - n_done, n_reported),
            "icon": icon,
            "priority": priority,
            "published_at": second(now),
            "data": data,
        })
    }
}

fn header(n: usize, n_bad: usize, n_reported: usize) -> String {
    if n == 0 {
        return "no daemon notices".to_owned();
    }
    let runs = if n == 1 { "notice" } else { "notices" };
    match (n_bad, n_reported) {
        (0, 0) => format!("{n} daemon {runs}, all done"),
        (0, reported) => format!("{n} daemon {runs}, {reported} reported"),
        (bad, _) => format!("{n} daemon {runs}, {bad} not done"),
    }
}

fn seq(event: &Value) -> u64 {
    event.get("seq").and_then(Value::as_u64).unwrap_or(0)
}

/// Reads an event from the content of a mark, with its number.
pub(super) fn of_mark(content: &[u8]) -> Option<(u64, Value)> {
    let event: Map<String, Value> = serde_json::from_slice(content).ok()?;
    let event = Value::Object(event);
    Some((seq(&event), event)).filter(|(seq, _)| *seq > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64, status: &str) -> Value {
        json!({"seq": seq, "status": status, "idempotency_key": format!("k{seq}")})
    }

    #[test]
    fn the_window_holds_the_newest_in_order_and_takes_nothing_twice() {
        let mut window = Window::default();
        for seq in 1..=25 {
            assert!(window.add(event(seq, "done")));
        }
        assert!(!window.add(event(25, "done")), "it is there");
        assert!(!window.add(event(3, "done")), "it has left");
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let file = window.file(now);
        assert_eq!(
            (
                &file["data"]["first_seq"],
                &file["data"]["last_seq"],
                &file["priority"]
            ),
            (&json!(6), &json!(25), &json!("normal"))
        );
        assert_eq!(file["data"]["events"].as_array().unwrap().len(), 20);
        assert_eq!(Window::read(file.to_string().as_bytes()), window);
        assert!(window.add(event(26, "timeout")));
        assert_eq!(window.file(now)["priority"], "high");
        assert_eq!(window.file(now)["published_at"], "2026-01-02T03:04:05Z");
        assert_eq!(Window::read(b"{torn"), Window::default());
    }

    #[test]
    fn what_was_dismissed_is_not_added_again_and_its_numbers_are_not_used_again() {
        let mut window = Window::default();
        for seq in 1..=3 {
            assert!(window.add(event(seq, "failed")));
        }
        assert_eq!(window.dismiss(), 3);
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        assert_eq!(
            window.file(now),
            json!({"header": "no daemon notices", "icon": "ok", "priority": "normal", "published_at": "2026-01-02T03:04:05Z",
                "data": {"first_seq": null, "last_seq": 3, "dismissed_seq": 3, "events": []}})
        );
        let mut again = Window::read(window.file(now).to_string().as_bytes());
        assert_eq!((&again, again.last()), (&window, 3));
        assert!(!again.add(event(2, "failed")));
        assert!(again.add(event(4, "done")));
        assert_eq!((again.dismiss(), again.dismiss()), (1, 0));
    }

    #[test]
    fn an_event_that_was_marked_before_a_crash_takes_its_own_place() {
        let mut window = Window::default();
        assert!(window.add(event(4, "done")) && window.add(event(3, "failed")));
        assert_eq!(window.last(), 4);
    }
}
