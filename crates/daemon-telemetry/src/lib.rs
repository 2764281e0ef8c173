//! Traces of activations for collectors of OpenTelemetry: what woke a daemon, its activation, its runs and its outputs as one
//! trace.
//!
//! ```
//! use daemon_telemetry::{TraceSpan, SpanKind, request};
//!
//! let at = jiff::Timestamp::UNIX_EPOCH;
//! let span = TraceSpan {
//!     trace: "01M8KGN6QJ8T6RJ178EZDH67GK".to_owned(),
//!     of: "activation".to_owned(),
//!     parent: Some("cause".to_owned()),
//!     name: "activation pr-helper".to_owned(),
//!     kind: SpanKind::Internal,
//!     start: at,
//!     end: at,
//!     attributes: Vec::new(),
//!     outcome: Some(Ok(())),
//! };
//! let body = request("host-1", &[span]);
//! let sent = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
//! assert_eq!(sent["traceId"].as_str().map(str::len), Some(32));
//! assert_eq!(sent["status"]["code"], 1);
//! ```
//!
//! # Overview
//!
//! - An [`ActivationStory`] is an activation that has ended with its event, runs and outputs; its
//!   [`spans`](ActivationStory::spans) are its trace.
//! - A [`TraceSpan`] has names in place of ids. [`request`] makes ids of them and builds the body that a collector takes.
//! - A [`TraceExporter`] sends spans over OTLP/HTTP, as JSON.
//!
//! # What this crate does not do
//!
//! It traces no functions of the host: a trace is made of rows of the store, so it is the same on every host and after a crash. It
//! does not decide when something is sent, and keeps nothing. Text of runs, payloads and prompts is in no span.
//!
//! # Guarantees
//!
//! - The same activation has the same ids in every request, so that a repeated request adds no second trace.
//! - Values of headers are in no error.
//!
//! # Features and versions
//!
//! The crate has no features. `serde_json::Value`, `jiff::Timestamp` and the rows of `daemon-store` are part of its public API. The
//! minimum supported Rust version is that of the workspace.

mod exporter;
mod span;
mod story;

pub use exporter::{ExportError, ExporterSetupError, TraceExporter, check_address};
pub use span::{SpanKind, TraceSpan, request};
pub use story::ActivationStory;
