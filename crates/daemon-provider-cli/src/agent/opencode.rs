//! `opencode run --format json`.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;

use daemon_provider::{
    ErrorClass, Failure, FailureKind, MicroUsd, Permissions, RunEvent, SessionId, ToolStatus, Usage,
};
use serde_json::{Map, Value, json};

use super::mount::names;
use super::values::{
    count, failure, first_session, joined, may_be_object, object, price, push_output, text, text_at,
};
use super::{Help, Invocation, OwnChecks};
use crate::bounded::RawUsage;
use crate::command::add;
use crate::process_end::{ExitCodes, ReportedEnd};
use crate::run::{LineKind, OutputParser};

/// All flags that this module passes.
pub(super) const FLAGS: [&str; 6] = [
    "--format",
    "--pure",
    "--title",
    "--session",
    "--auto",
    "--model",
];

/// The help command that lists them.
pub(super) const HELPS: [Help; 1] = [Help {
    arguments: &["run", "--help"],
    flags: &FLAGS,
}];

/// Further flags that a caller may not add: those about permissions, the sandbox, configuration, the session or directories.
/// Its parser also accepts the letter of a short flag after two dashes.
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

/// All flags that a caller may not add. `--model` is last, because a caller may set it if the host does not.
pub(super) const RESERVED: [&str; FLAGS.len() + WIDER.len()] = joined(&WIDER, &FLAGS);

/// The hosts of its vendors, by the first part of a model's name.
const VENDORS: [(&str, &str); 10] = [
    ("anthropic", "api.anthropic.com"),
    ("deepseek", "api.deepseek.com"),
    ("github-copilot", "api.githubcopilot.com"),
    ("google", "generativelanguage.googleapis.com"),
    ("groq", "api.groq.com"),
    ("mistral", "api.mistral.ai"),
    ("openai", "api.openai.com"),
    ("opencode", "opencode.ai"),
    ("openrouter", "openrouter.ai"),
    ("xai", "api.x.ai"),
];
/// Where it reads which models exist.
const CATALOGUE: &str = "models.dev";

/// Returns the hosts that it needs for a model; without one it chooses among all vendors.
pub(super) fn hosts(model: Option<&str>) -> Vec<&'static str> {
    let vendor = model.map(|model| model.split_once('/').map_or(model, |(vendor, _)| vendor));
    let needed = VENDORS
        .iter()
        .filter(|(name, _)| vendor.is_none_or(|vendor| vendor == *name));
    let hosts = needed.map(|(_, host)| *host);
    hosts.chain([CATALOGUE]).collect()
}

/// Returns the arguments of one run.
pub(super) fn args(invocation: &Invocation<'_>) -> Vec<String> {
    let mut args = vec!["run".to_owned()];
    if let Some(session) = &invocation.request.resume {
        args.extend(["--session".to_owned(), session.to_string()]);
    }
    args.extend(["--format", "json", "--pure"].map(str::to_owned));
    if invocation.request.resume.is_none() {
        args.extend(["--title".to_owned(), invocation.title()]);
    }
    if let Some(model) = invocation.model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    if enforced(invocation).is_none() {
        args.push("--auto".to_owned());
    }
    args.extend(invocation.more.iter().cloned());
    args
}

/// Returns the variables that set its permissions and make it ignore the configuration and instructions of a repository.
pub(super) fn environment(invocation: &Invocation<'_>) -> Vec<(OsString, OsString)> {
    let mut variables = vec![
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1".to_owned()),
        // Its tool for reading looks for a `CLAUDE.md` next to each file, too.
        ("OPENCODE_DISABLE_CLAUDE_CODE_PROMPT", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
    ];
    if let Some(enforced) = enforced(invocation) {
        let rules = permissions(invocation, enforced);
        variables.push(("OPENCODE_PERMISSION", rules.to_string()));
    }
    variables
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// Returns the permissions that its own checks enforce; `None` if they are off.
fn enforced(invocation: &Invocation<'_>) -> Option<Permissions> {
    match invocation.checks {
        OwnChecks::Enforce(permissions) => Some(permissions),
        OwnChecks::AllowAll(_) | OwnChecks::Off => None,
    }
}

fn permissions(invocation: &Invocation<'_>, enforced: Permissions) -> Value {
    // Order matters: of the rules that match, `opencode` applies the last.
    let mut rules = Map::new();
    rules.insert("*".to_owned(), json!("deny"));
    for tool in ["read", "glob", "grep", "list"] {
        rules.insert(tool.to_owned(), json!("allow"));
    }
    if enforced >= Permissions::Propose {
        rules.insert("edit".to_owned(), json!("allow"));
        if !invocation.scripts.is_empty() {
            let mut scripts = Map::from_iter([("*".to_owned(), json!("deny"))]);
            for path in &invocation.scripts {
                // Two patterns, since `path*` would also allow a program whose name only begins like the script's.
                scripts.insert(path.clone(), json!("allow"));
                scripts.insert(format!("{path} *"), json!("allow"));
            }
            rules.insert("bash".to_owned(), Value::Object(scripts));
        }
    }
    for name in names(invocation.request) {
        rules.insert(format!("{name}_*"), json!("allow"));
    }
    if let Some(context) = &invocation.request.context {
        let inside = format!("{}/**", context.to_string_lossy());
        let directories =
            Map::from_iter([("*".to_owned(), json!("deny")), (inside, json!("allow"))]);
        rules.insert("external_directory".to_owned(), Value::Object(directories));
    }
    Value::Object(rules)
}

/// Parser of the output of `opencode`.
#[derive(Debug, Default)]
pub(super) struct Opencode {
    session: Option<SessionId>,
    /// Id of the newest message, whose parts are kept.
    message: Option<String>,
    parts: MessageParts,
    usage: StepUsage,
    raw_usage: RawUsage,
    /// Cost of all steps so far.
    cost: Option<MicroUsd>,
    reason: Option<String>,
    failure: Option<Failure>,
}

/// The most bytes kept of one message.
const KEPT: usize = 2 << 20;
/// Bytes counted for each part in addition to its text: each new part is searched among those kept, so that their number has
/// to be bounded too.
const PART: usize = 1 << 10;
/// The most steps that are remembered by id.
const MOST_STEPS: usize = 10_000;

/// The parts of a message with their ids; only the last ones of a long message.
#[derive(Debug, Default)]
struct MessageParts {
    said: VecDeque<(String, String)>,
    weight: usize,
    dropped: u64,
}

impl MessageParts {
    /// Adds a part, or replaces the one with the same id.
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
            let (_, oldest) = self.said.pop_front().unwrap_or_default();
            self.weight -= PART + oldest.len();
            self.dropped += oldest.len() as u64;
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

/// Usage of a run's steps. A step that is reported again counts once.
#[derive(Debug, Default)]
struct StepUsage {
    named: BTreeMap<String, Usage>,
    /// Usage of the steps beyond [`MOST_STEPS`].
    more: Option<Usage>,
}

impl StepUsage {
    /// Counts a step, and reports whether it is new.
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
    fn text_part(&mut self, part: &Map<String, Value>, events: &mut VecDeque<RunEvent>) {
        let (message, said) = (text(part, "messageID"), text(part, "text"));
        let said = said.unwrap_or_default();
        if self.message.as_deref() != message {
            self.message = message.map(str::to_owned);
            self.parts = MessageParts::default();
        }
        self.parts
            .put(text(part, "id").unwrap_or_default(), said.to_owned());
        push_output(said, events);
    }

    fn finish(&mut self, part: Map<String, Value>) -> LineKind {
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
        if is_last {
            LineKind::End
        } else {
            LineKind::Work
        }
    }
}

fn tool(part: &Map<String, Value>, events: &mut VecDeque<RunEvent>) {
    let id = text(part, "callID").unwrap_or_default().to_owned();
    let name = text(part, "tool").unwrap_or("unknown").to_owned();
    let state = part.get("state").unwrap_or(&Value::Null);
    let args = state.get("input").unwrap_or(&Value::Null).to_string();
    let status = if text_at(state, "/status") == Some("error") {
        ToolStatus::Error
    } else {
        ToolStatus::Ok
    };
    events.push_back(RunEvent::ToolStart {
        id: id.clone(),
        name: name.clone(),
        args,
    });
    events.push_back(RunEvent::ToolEnd { id, name, status });
}

impl OutputParser for Opencode {
    fn read(&mut self, line: &str, events: &mut VecDeque<RunEvent>) -> LineKind {
        let Some(mut object) = object(line) else {
            return LineKind::Text;
        };
        first_session(&mut self.session, text(&object, "sessionID"), events);
        let kind = text(&object, "type").unwrap_or_default().to_owned();
        let part = match object.remove("part") {
            Some(Value::Object(part)) => part,
            _ => Map::new(),
        };
        match kind.as_str() {
            "step_start" => LineKind::Work,
            "tool_use" => {
                tool(&part, events);
                LineKind::Work
            }
            "text" => {
                self.text_part(&part, events);
                LineKind::Work
            }
            "step_finish" => self.finish(part),
            "error" => {
                let error = object.remove("error").unwrap_or_default();
                let message = text_at(&error, "/data/message")
                    .or_else(|| text_at(&error, "/message"))
                    .or_else(|| text_at(&error, "/name"));
                let mut failed = failure(message.unwrap_or("opencode reported an error"));
                if error.pointer("/data/isRetryable") == Some(&Value::Bool(true)) {
                    failed.class = ErrorClass::Retryable;
                }
                self.failure.get_or_insert(failed);
                LineKind::End
            }
            _ => LineKind::Text,
        }
    }

    fn may_begin(&self, line: &str) -> bool {
        may_be_object(line)
    }

    fn session(&self) -> Option<SessionId> {
        self.session.clone()
    }

    fn reported_end(&self) -> ReportedEnd {
        // `opencode` exits with 0 also after an error, so its output has to show that the work is done.
        let owed =
            |message: &str| ReportedEnd::Unexplained(Failure::new(FailureKind::Protocol, message));
        match (&self.failure, self.reason.as_deref()) {
            (Some(failure), _) => ReportedEnd::Failure(failure.clone()),
            (None, None) => owed("opencode ended before its step was finished"),
            (None, Some("stop")) if self.text().trim().is_empty() => {
                owed("opencode ended without any text")
            }
            (None, Some("stop")) => ReportedEnd::Success,
            (None, Some(reason)) => owed(&format!("opencode ended in the middle: {reason}")),
        }
    }

    fn codes(&self) -> ExitCodes {
        ExitCodes::Arbitrary
    }

    fn usage(&self) -> Option<(Usage, Value)> {
        Some((self.usage.total()?, self.raw_usage.to_json()))
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
        let mut parts = MessageParts::default();
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
        let mut steps = StepUsage::default();
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
