//! `opencode run --format json`.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;

use daemon_provider::{
    ErrorClass, Failure, FailureKind, MicroUsd, Permissions, RunEvent, SessionId, ToolStatus, Usage,
};
use serde_json::{Map, Value, json};

use super::mount::names;
use super::values::{
    count, failure, first_session, joined, may_be_object, object, price, say, text, text_at,
};
use super::{Asked, Help};
use crate::bounded::RawUsage;
use crate::command::add;
use crate::ending::{ExitCodes, Told};
use crate::run::{Dialect, Reading};

/// Every flag that is used.
pub(super) const FLAGS: [&str; 6] = [
    "--format",
    "--pure",
    "--title",
    "--session",
    "--auto",
    "--model",
];

/// Where they are listed.
pub(super) const HELPS: [Help; 1] = [Help {
    arguments: &["run", "--help"],
    flags: &FLAGS,
}];

/// What a caller may not add beside those: what touches permissions, the sandbox, configuration, the session or directories.
/// Its parser takes the letter of a flag after two dashes, too.
const WIDER: [&str; 22] = [
    "--no-pure",
    "--no-auto",
    "--dangerously-skip-permissions",
    "--agent",
    "--command",
    "--continue",
    "--fork",
    "--share",
    "--attach",
    "--password",
    "--username",
    "--port",
    "--dir",
    "--file",
    "--interactive",
    "--c",
    "--s",
    "--m",
    "--f",
    "--p",
    "--u",
    "--i",
];

/// Every flag that a caller may not add; the last is the model, which a caller may choose where the host names none.
pub(super) const RESERVED: [&str; FLAGS.len() + WIDER.len()] = joined(&WIDER, &FLAGS);

/// Returns the arguments of one run.
pub(super) fn args(asked: &Asked<'_>) -> Vec<String> {
    let mut args = vec!["run".to_owned()];
    if let Some(session) = &asked.request.resume {
        args.extend(["--session".to_owned(), session.to_string()]);
    }
    args.extend(["--format", "json", "--pure"].map(str::to_owned));
    if asked.request.resume.is_none() {
        args.extend(["--title".to_owned(), asked.title()]);
    }
    if let Some(model) = asked.model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    if asked.permissions == Permissions::Bypass {
        args.push("--auto".to_owned());
    }
    args.extend(asked.more.iter().cloned());
    args
}

/// Returns the variables by which it is told what it may do, and that a repository configures nothing.
pub(super) fn environment(asked: &Asked<'_>) -> Vec<(OsString, OsString)> {
    let mut variables = vec![
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
    ];
    if asked.permissions != Permissions::Bypass {
        variables.push(("OPENCODE_PERMISSION", permissions(asked).to_string()));
    }
    variables
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

fn permissions(asked: &Asked<'_>) -> Value {
    // The order counts: of the rules that fit, the last decides.
    let mut rules = Map::new();
    rules.insert("*".to_owned(), json!("deny"));
    for tool in ["read", "glob", "grep", "list"] {
        rules.insert(tool.to_owned(), json!("allow"));
    }
    if asked.permissions >= Permissions::Propose {
        rules.insert("edit".to_owned(), json!("allow"));
        if !asked.scripts.is_empty() {
            let mut scripts = Map::from_iter([("*".to_owned(), json!("deny"))]);
            for path in &asked.scripts {
                scripts.insert(path.clone(), json!("allow"));
                scripts.insert(format!("{path} *"), json!("allow"));
            }
            rules.insert("bash".to_owned(), Value::Object(scripts));
        }
    }
    for name in names(asked.request) {
        rules.insert(format!("{name}_*"), json!("allow"));
    }
    if let Some(context) = &asked.request.context {
        let inside = format!("{}/**", context.to_string_lossy());
        let directories =
            Map::from_iter([("*".to_owned(), json!("deny")), (inside, json!("allow"))]);
        rules.insert("external_directory".to_owned(), Value::Object(directories));
    }
    Value::Object(rules)
}

/// What `opencode` prints.
#[derive(Debug, Default)]
pub(super) struct Opencode {
    session: Option<SessionId>,
    /// The message that was written last, and its parts.
    message: Option<String>,
    parts: Parts,
    usage: Steps,
    raw_usage: RawUsage,
    /// What the steps cost together.
    cost: Option<MicroUsd>,
    reason: Option<String>,
    failure: Option<Failure>,
}

/// How much of one message is kept.
const KEPT: usize = 2 << 20;
/// What a part weighs beside its text: it is looked for among the others each time one is told.
const PART: usize = 1 << 10;
/// How many steps are known by name.
const MOST_STEPS: usize = 10_000;

/// The parts of a message, each with its id; the last ones where it is long.
#[derive(Debug, Default)]
struct Parts {
    said: VecDeque<(String, String)>,
    weight: usize,
    dropped: u64,
}

impl Parts {
    /// Takes a part; one that is known by its id is said anew.
    fn put(&mut self, id: &str, said: String) {
        self.weight += said.len();
        let mut parts = self.said.iter_mut();
        match parts.find(|(known, _)| !id.is_empty() && known == id) {
            Some((_, known)) => {
                self.weight -= known.len();
                *known = said;
            }
            None => {
                self.weight += PART;
                self.said.push_back((id.to_owned(), said));
            }
        }
        while self.weight > KEPT && self.said.len() > 1 {
            let (_, gone) = self.said.pop_front().unwrap_or_default();
            self.weight -= PART + gone.len();
            self.dropped += gone.len() as u64;
        }
    }

    fn join(&self) -> String {
        let gap = (self.dropped > 0).then(|| format!("[{} bytes left out]", self.dropped));
        let said = self.said.iter().map(|(_, said)| said.as_str());
        gap.as_deref()
            .into_iter()
            .chain(said)
            .collect::<Vec<&str>>()
            .join("\n")
    }
}

/// What the steps of a run used; one that is told again counts once.
#[derive(Debug, Default)]
struct Steps {
    named: BTreeMap<String, Usage>,
    /// What those used for whose names there was no room.
    more: Option<Usage>,
}

impl Steps {
    /// Counts a step, and returns whether it is a new one.
    fn count(&mut self, id: String, usage: Usage) -> bool {
        if self.named.len() < MOST_STEPS || self.named.contains_key(&id) {
            return self.named.insert(id, usage).is_none();
        }
        add(self.more.get_or_insert_default(), usage);
        true
    }

    fn total(&self) -> Option<Usage> {
        let mut steps = self.named.values().chain(&self.more);
        let first = *steps.next()?;
        Some(steps.fold(first, |mut total, step| {
            add(&mut total, *step);
            total
        }))
    }
}

impl Opencode {
    fn text_part(&mut self, part: &Map<String, Value>, told: &mut VecDeque<RunEvent>) {
        let (message, said) = (text(part, "messageID"), text(part, "text"));
        let said = said.unwrap_or_default();
        if self.message.as_deref() != message {
            self.message = message.map(str::to_owned);
            self.parts = Parts::default();
        }
        self.parts
            .put(text(part, "id").unwrap_or_default(), said.to_owned());
        say(said, told);
    }

    fn finish(&mut self, part: Map<String, Value>) -> Reading {
        let id = text(&part, "id").unwrap_or_default().to_owned();
        let reason = text(&part, "reason").unwrap_or_default().to_owned();
        let cost = price(part.get("cost"));
        let part = Value::Object(part);
        let usage = Usage {
            input: count(&part, "/tokens/input"),
            output: count(&part, "/tokens/output"),
            thinking: count(&part, "/tokens/reasoning"),
            cached: count(&part, "/tokens/cache/read")
                .saturating_add(count(&part, "/tokens/cache/write")),
            cost,
        };
        if self.usage.count(id, usage) {
            self.raw_usage.push(part.get("tokens"));
        }
        self.cost = self.usage.total().and_then(|total| total.cost);
        let is_last = reason == "stop";
        self.reason = Some(reason);
        if is_last { Reading::End } else { Reading::Work }
    }
}

fn tool(part: &Map<String, Value>, told: &mut VecDeque<RunEvent>) {
    let id = text(part, "callID").unwrap_or_default().to_owned();
    let name = text(part, "tool").unwrap_or("unknown").to_owned();
    let state = part.get("state").unwrap_or(&Value::Null);
    let args = state.get("input").unwrap_or(&Value::Null).to_string();
    let status = if text_at(state, "/status") == Some("error") {
        ToolStatus::Error
    } else {
        ToolStatus::Ok
    };
    told.push_back(RunEvent::ToolStart {
        id: id.clone(),
        name: name.clone(),
        args,
    });
    told.push_back(RunEvent::ToolEnd { id, name, status });
}

impl Dialect for Opencode {
    fn read(&mut self, line: &str, told: &mut VecDeque<RunEvent>) -> Reading {
        let Some(mut object) = object(line) else {
            return Reading::Text;
        };
        first_session(&mut self.session, text(&object, "sessionID"), told);
        let kind = text(&object, "type").unwrap_or_default().to_owned();
        let part = match object.remove("part") {
            Some(Value::Object(part)) => part,
            _ => Map::new(),
        };
        match kind.as_str() {
            "step_start" => Reading::Work,
            "tool_use" => {
                tool(&part, told);
                Reading::Work
            }
            "text" => {
                self.text_part(&part, told);
                Reading::Work
            }
            "step_finish" => self.finish(part),
            "error" => {
                let error = object.remove("error").unwrap_or_default();
                let message = text_at(&error, "/data/message")
                    .or_else(|| text_at(&error, "/message"))
                    .or_else(|| text_at(&error, "/name"));
                let mut told = failure(message.unwrap_or("opencode reported an error"));
                if error.pointer("/data/isRetryable") == Some(&Value::Bool(true)) {
                    told.class = ErrorClass::Retryable;
                }
                self.failure.get_or_insert(told);
                Reading::End
            }
            _ => Reading::Text,
        }
    }

    fn may_begin(&self, line: &str) -> bool {
        may_be_object(line)
    }

    fn session(&self) -> Option<SessionId> {
        self.session.clone()
    }

    fn told(&self) -> Told {
        let owed = |message: &str| Told::Unexplained(Failure::new(FailureKind::Protocol, message));
        match (&self.failure, self.reason.as_deref()) {
            (Some(failure), _) => Told::Failure(failure.clone()),
            (None, None) => owed("opencode ended before its step was finished"),
            (None, Some("stop")) if self.text().trim().is_empty() => {
                owed("opencode ended without a text")
            }
            (None, Some("stop")) => Told::Success,
            (None, Some(reason)) => owed(&format!("opencode ended in the middle: {reason}")),
        }
    }

    fn codes(&self) -> ExitCodes {
        ExitCodes::Arbitrary
    }

    fn usage(&self) -> Option<(Usage, Value)> {
        Some((self.usage.total()?, self.raw_usage.told()))
    }

    fn cost(&self) -> Option<MicroUsd> {
        self.cost
    }

    fn text(&self) -> String {
        self.parts.join()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_bounded_and_its_end_is_kept() {
        let mut parts = Parts::default();
        parts.put("p1", "first".to_owned());
        parts.put("p1", "again".to_owned());
        parts.put("", "one".to_owned());
        parts.put("", "two".to_owned());
        assert_eq!(parts.join(), "again\none\ntwo");
        let long = "x".repeat(KEPT);
        parts.put("p2", long.clone());
        assert_eq!(parts.join(), format!("[11 bytes left out]\n{long}"));
        parts.put("p2", "short".to_owned());
        parts.put("p3", "end".to_owned());
        assert_eq!(parts.join(), "[11 bytes left out]\nshort\nend");
    }

    #[test]
    fn a_step_counts_once_while_there_is_room_for_its_name() {
        let one = Usage {
            input: 1,
            ..Usage::default()
        };
        let mut steps = Steps::default();
        assert_eq!(steps.total(), None);
        for n in 0..MOST_STEPS {
            assert!(steps.count(n.to_string(), one));
        }
        assert!(!steps.count("0".to_owned(), one));
        assert!(steps.count("more".to_owned(), one));
        assert!(steps.count("more".to_owned(), one));
        let counted = steps.total().map(|total| total.input);
        assert_eq!(counted, Some(MOST_STEPS as u64 + 2));
    }
}
