//! The trace of one activation.

use daemon_engine::{Activation, ActivationState, Output, OutputState};
use daemon_event::{Event, Subject, TriggerKey};
use daemon_store::RunRow;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::span::{SpanKind, TraceSpan};

/// The root of each trace: what woke the daemon.
const CAUSE: &str = "cause";
/// The span of the activation itself.
const ACTIVATION: &str = "activation";

/// An activation that has ended, with what belongs to it.
#[derive(Clone, Debug)]
pub struct ActivationStory {
    /// The activation.
    pub activation: Activation,
    /// The event of its newest trigger, if that is one that is kept.
    pub event: Option<Event>,
    /// Its runs.
    pub runs: Vec<RunRow>,
    /// Its outputs.
    pub outputs: Vec<Output>,
}

impl ActivationStory {
    /// Returns its trace: the cause, the activation below it, and below that each run and each output.
    pub fn spans(&self) -> Vec<TraceSpan> {
        let mut spans = vec![self.cause(), self.whole()];
        spans.extend(self.runs.iter().map(|run| self.run(run)));
        spans.extend(self.outputs.iter().map(|output| self.output(output)));
        let last = spans.iter().map(|span| span.end).max();
        if let (Some(root), Some(last)) = (spans.first_mut(), last) {
            root.end = last;
        }
        spans
    }

    fn end(&self) -> Timestamp {
        let activation = &self.activation;
        activation.finished_at.unwrap_or(activation.created_at)
    }

    fn span(&self, of: String, name: String, (start, end): (Timestamp, Timestamp)) -> TraceSpan {
        TraceSpan {
            trace: self.activation.id.to_string(),
            of,
            parent: Some(ACTIVATION.to_owned()),
            name,
            kind: SpanKind::Internal,
            start,
            end,
            attributes: vec![("daemon.id", json!(self.activation.daemon.id.as_str()))],
            outcome: None,
        }
    }

    fn cause(&self) -> TraceSpan {
        let created = self.activation.created_at;
        let newest = self.activation.triggers.last();
        let (name, start, kind) = match (newest.map(|trigger| &trigger.key), &self.event) {
            (Some(TriggerKey::Event(_)), Some(event)) => {
                let action = event.action.as_deref();
                let action = action
                    .map(|action| format!(".{action}"))
                    .unwrap_or_default();
                let name = format!("{} {}{action}", event.source.as_str(), event.kind);
                (name, event.received_at, SpanKind::Consumer)
            }
            (Some(TriggerKey::Event(_)), None) => ("event".to_owned(), created, SpanKind::Consumer),
            (Some(TriggerKey::Tick(at)), _) => ("tick".to_owned(), *at, SpanKind::Internal),
            (Some(TriggerKey::Person(_)) | None, _) => {
                ("fire".to_owned(), created, SpanKind::Internal)
            }
        };
        let mut span = self.span(CAUSE.to_owned(), name, (start.min(created), created));
        span.parent = None;
        span.kind = kind;
        if let Some(event) = &self.event {
            let subject = event.subject.as_ref().map(Subject::as_str);
            span.attributes.extend(known([
                ("daemon.event.id", Some(json!(event.id.as_str()))),
                ("daemon.event.source", Some(json!(event.source.as_str()))),
                ("daemon.event.kind", Some(json!(event.kind))),
                (
                    "daemon.event.action",
                    event.action.as_ref().map(|it| json!(it)),
                ),
                ("daemon.event.subject", subject.map(|it| json!(it))),
            ]));
        }
        span
    }

    fn whole(&self) -> TraceSpan {
        let activation = &self.activation;
        let name = format!("activation {}", activation.daemon.id);
        let times = (activation.created_at, self.end());
        let mut span = self.span(ACTIVATION.to_owned(), name, times);
        span.parent = Some(CAUSE.to_owned());
        let waited = activation
            .started_at
            .map(|at| at.duration_since(activation.created_at));
        // Whether an output of a daemon woke it.
        let is_woken = activation.chain.depth > 0;
        span.attributes.extend(known([
            (
                "daemon.repository",
                Some(json!(activation.daemon.repo.to_string())),
            ),
            ("daemon.activation.id", Some(json!(activation.id.as_str()))),
            (
                "daemon.activation.state",
                Some(json!(activation.state.as_str())),
            ),
            (
                "daemon.activation.attempts",
                Some(json!(activation.attempts)),
            ),
            (
                "daemon.activation.triggers",
                Some(json!(activation.triggers.len())),
            ),
            (
                "daemon.activation.waited_s",
                waited.map(|waited| json!(waited.as_secs_f64())),
            ),
            (
                "daemon.chain.root",
                is_woken.then(|| json!(activation.chain.root.as_str())),
            ),
            (
                "daemon.chain.depth",
                is_woken.then(|| json!(activation.chain.depth)),
            ),
            ("daemon.cost_usd", activation.cost_usd.map(|usd| json!(usd))),
        ]));
        let why = || activation.reason.clone().unwrap_or_default();
        span.outcome = match activation.state {
            ActivationState::Succeeded => Some(Ok(())),
            ActivationState::Failed | ActivationState::Dead => Some(Err(why())),
            _ => None,
        };
        span
    }

    fn run(&self, run: &RunRow) -> TraceSpan {
        let object: Value = serde_json::from_str(&run.object).unwrap_or_default();
        let end = run.finished_at.unwrap_or_else(|| self.end());
        let name = format!("run {}", run.provider);
        let mut span = self.span(format!("run {}", run.id), name, (run.started_at, end));
        let number = |at: &str| {
            object
                .pointer(at)
                .filter(|value| value.is_number())
                .cloned()
        };
        let model = object["model"].as_str().map(|model| json!(model));
        span.attributes.extend(known([
            ("daemon.run.id", Some(json!(run.id))),
            ("daemon.run.attempt", Some(json!(run.attempt))),
            ("daemon.run.state", Some(json!(run.state))),
            ("daemon.provider", Some(json!(run.provider))),
            ("gen_ai.request.model", model),
            ("gen_ai.usage.input_tokens", number("/tokens/input")),
            ("gen_ai.usage.output_tokens", number("/tokens/output")),
            ("daemon.cost_usd", number("/cost_usd")),
        ]));
        let why = object.pointer("/error/message").and_then(Value::as_str);
        span.outcome = match run.state.as_str() {
            "done" => Some(Ok(())),
            "failed" | "timeout" => Some(Err(why.unwrap_or(&run.state).to_owned())),
            _ => None,
        };
        span
    }

    fn output(&self, output: &Output) -> TraceSpan {
        let end = output.delivered_at.unwrap_or_else(|| self.end());
        let name = format!("output {}", output.surface);
        let mut span = self.span(
            format!("output {}", output.key),
            name,
            (output.created_at, end),
        );
        span.kind = SpanKind::Client;
        span.attributes.extend(known([
            ("daemon.output.key", Some(json!(output.key.as_str()))),
            ("daemon.output.surface", Some(json!(output.surface))),
            ("daemon.output.target", Some(json!(output.target))),
            ("daemon.output.state", Some(json!(output.state.as_str()))),
            ("daemon.output.sent", Some(json!(output.attempts))),
            ("url.full", output.url.as_ref().map(|url| json!(url))),
        ]));
        span.outcome = match output.state {
            OutputState::Confirmed => Some(Ok(())),
            OutputState::Refused | OutputState::GaveUp => {
                Some(Err(output.error.clone().unwrap_or_default()))
            }
            _ => None,
        };
        span
    }
}

/// Returns the attributes that have a value.
fn known<const N: usize>(
    given: [(&'static str, Option<Value>); N],
) -> impl Iterator<Item = (&'static str, Value)> {
    given
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
}
