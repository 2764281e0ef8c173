//! Spans, and the request that carries them to a collector.

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The version in the scope of all spans.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a span is about, as OpenTelemetry numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work within the host.
    Internal = 1,
    /// A request to another service.
    Client = 3,
    /// A message that arrived.
    Consumer = 5,
}

/// One span. Equal names of trace and span give equal ids, so that a span that is sent again replaces itself.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpan {
    /// What the trace is about; its id is the hash of this name.
    pub trace: String,
    /// What the span is about, unique within the trace; its id is the hash of both names.
    pub of: String,
    /// The name of the span that contains it; `None` for the root.
    pub parent: Option<String>,
    /// What people read.
    pub name: String,
    /// What it is about.
    pub kind: SpanKind,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// Names and values; a value is text, a whole number or a fraction.
    pub attributes: Vec<(&'static str, Value)>,
    /// Whether it went well, and what went wrong; `None` for what can be neither.
    pub outcome: Option<Result<(), String>>,
}

impl TraceSpan {
    fn object(&self) -> Value {
        let trace = hex::<16>(&[&self.trace]);
        let id = |name: &str| hex::<8>(&[&self.trace, name]);
        let parent = self.parent.as_deref().map(id).unwrap_or_default();
        let status = match &self.outcome {
            None => json!({}),
            Some(Ok(())) => json!({"code": 1}),
            Some(Err(why)) => json!({"code": 2, "message": why}),
        };
        json!({
            "traceId": trace,
            "spanId": id(&self.of),
            "parentSpanId": parent,
            "name": self.name,
            "kind": self.kind as u8,
            "startTimeUnixNano": nanoseconds(self.start),
            // A collector refuses a span that ends before it begins, as one does whose host set its clock back.
            "endTimeUnixNano": nanoseconds(self.end.max(self.start)),
            "attributes": attributes(&self.attributes),
            "status": status,
        })
    }
}

/// Returns the body of a request with some spans of a host, in the JSON of OTLP.
pub fn request(host: &str, spans: &[TraceSpan]) -> Value {
    let resource = [
        ("service.name", json!("daemon-run")),
        ("service.version", json!(VERSION)),
        ("service.instance.id", json!(host)),
    ];
    let spans: Vec<Value> = spans.iter().map(TraceSpan::object).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&resource)},
        "scopeSpans": [{"scope": {"name": "daemon-run", "version": VERSION}, "spans": spans}],
    }]})
}

fn attributes(given: &[(&'static str, Value)]) -> Value {
    let shown = given.iter().map(|(key, value)| {
        let value = match value {
            Value::String(text) => json!({"stringValue": text}),
            Value::Bool(flag) => json!({"boolValue": flag}),
            // Whole numbers are text in the JSON of protocol buffers.
            Value::Number(number) if !number.is_f64() => json!({"intValue": number.to_string()}),
            Value::Number(number) => json!({"doubleValue": number}),
            other => json!({"stringValue": other.to_string()}),
        };
        json!({"key": key, "value": value})
    });
    shown.collect()
}

fn nanoseconds(at: Timestamp) -> String {
    at.as_nanosecond().max(0).to_string()
}

/// Returns the first `N` bytes of the hash of some names, which their lengths keep apart.
fn hex<const N: usize>(names: &[&str]) -> String {
    let mut hash = Sha256::new();
    for name in names {
        hash.update(format!("{}:{name}", name.len()));
    }
    let digest = hash.finalize();
    let head = digest.iter().take(N);
    head.map(|byte| format!("{byte:02x}")).collect()
}
