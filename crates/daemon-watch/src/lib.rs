//! Watch conditions in plain English: interpret them as typed event filters, match events against many of them,
//! and explain each decision.
//!
//! ```
//! use daemon_watch::{Status, interpret};
//!
//! let meaning = interpret("when a pull request that touches docs/ is opened by a human");
//! assert_eq!(meaning.status, Status::Mapped);
//! let filters: Vec<String> = meaning.filters.iter().map(|filter| filter.test.to_string()).collect();
//! assert_eq!(filters, ["changed_files any_of docs/", "author_kind is human"]);
//!
//! let line = "when a large pull request is opened";
//! let meaning = interpret(line);
//! assert_eq!(meaning.status, Status::Partial);
//! assert_eq!(meaning.remainder[0].of(line), "large pull request");
//! ```
//!
//! # Overview
//!
//! - [`interpret`] reads one line and returns an [`Interpretation`]. It never fails: the [`Status`] reports how much
//!   of the line was understood.
//! - An [`Interpretation`] has [`Clause`]s, of which one must be met. A clause has [`EventPattern`]s, of which one
//!   must occur, and [`Filter`]s, which must all pass. Words that became neither are its `remainder`, as [`Span`]s of
//!   the line.
//! - [`Interpretation::wakes`] decides one event. The [`WakeVerdict`] is [`WakeVerdict::Missing`] if a fact outside the
//!   payload decides it, such as the changed files of a pull request; the [`Need`] names the fact.
//! - [`Interpretation::explain`] returns an [`Explanation`]: each filter with the value it was compared with, and
//!   the fewest filters that failed.
//! - [`MatchIndex`] contains the conditions of many daemons and finds those that an event meets.
//! - [`phrasings`] lists every event of the vocabulary with phrases that are read as it.
//! - [`parse`] returns the [`WinningParse`] that an interpretation was made of, with its edges, spans and costs, and the next one of
//!   another meaning if it is near.
//! - [`trace`] prints how a line was parsed, for those who extend the grammar.
//! - [`InterpretationWire`] is the JSON form, with a version and a schema.
//! - [`Interpreter`] is the trait for embedders with a reader of their own; [`Grammar`] implements it by
//!   [`interpret`]. [`corpus`] scores any interpreter on labelled conditions.
//!
//! # Matching and explaining
//!
//! Events come from [`daemon_event`]. An index returns the key and the position of each condition that an event
//! meets; an explanation names the filter that kept a condition asleep.
//!
//! ```
//! use daemon_event::{Enrichment, Event, EventId, Source, read};
//! use daemon_watch::{FilterVerdict, MatchIndex, WakeVerdict, interpret};
//!
//! let conditions = [
//!     ("triage", "when an issue is opened by an outside contributor"),
//!     ("release", "when an issue labeled \"release\" is opened"),
//!     ("guide", "when an issue is labeled \"docs\""),
//! ];
//! let repo = "acme/pump".parse()?;
//! let mut index = MatchIndex::new();
//! for (daemon, line) in conditions {
//!     index.insert(&repo, &daemon, 0, &interpret(line));
//! }
//!
//! let body = br#"{"action":"opened","issue":{"number":7,"title":"Drip","author_association":"NONE",
//!                 "labels":[{"name":"bug"}],"user":{"login":"kit","type":"User"}},
//!                 "repository":{"full_name":"acme/pump"},"sender":{"login":"kit","type":"User"}}"#;
//! let parsed = read(Source::Github, "issues", body, &Enrichment::default())?;
//! let event = Event {
//!     id: EventId::new(0, [0; 10]),
//!     source: Source::Github,
//!     kind: "issues".to_owned(),
//!     action: parsed.action,
//!     subject: parsed.subject,
//!     actor: parsed.actor,
//!     repo: parsed.repo,
//!     time: jiff::Timestamp::UNIX_EPOCH,
//!     received_at: jiff::Timestamp::UNIX_EPOCH,
//!     delivery: "delivery-1".parse()?,
//!     facts: parsed.facts,
//!     payload: body.as_slice().into(),
//! };
//!
//! let mut met = Vec::new();
//! index.matches(&event, &mut met);
//! assert_eq!(met, [("triage", 0)]);
//!
//! let release = interpret(conditions[1].1);
//! let why = release.explain(&event);
//! assert_eq!(why.verdict, WakeVerdict::Sleeps);
//! let failed = why.nearest[0];
//! assert_eq!(release.filters[failed].test.to_string(), "labels is release");
//! assert_eq!(why.filters[failed].verdict, FilterVerdict::Fail);
//! assert_eq!(why.filters[failed].got.as_deref(), Some("bug"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not do
//!
//! It calls no model, reads no clock and does no I/O. Words that the grammar does not understand are the remainder,
//! for a model or a person to confirm. It fetches no facts: the caller supplies those that a [`Need`] names.
//! Conditions on time are reported as [`Status::TimeBased`] and belong into a schedule (see `daemon-schedule`).
//! Only English is read, and only GitHub, Linear, Slack, Sentry and git are sources.
//!
//! # Guarantees
//!
//! - The same line always has the same interpretation.
//! - No content word is dropped in silence: it became an event, a filter or part of the remainder.
//! - The line is data. Instructions in it are reported, not followed.
//! - Interpreting is bounded: lines over 16 KiB, 140 tokens or 64 patterns are `vague`, and their whole text is
//!   the remainder.
//! - A [`Test`] that is printed and parsed again is equal.
//! - Unknown facts never pass a filter, negated or not.
//! - Matching an event that wakes no daemon allocates nothing.
//!
//! # Features and MSRV
//!
//! There are no features. The minimum supported Rust version is 1.90.

mod compare;
pub mod corpus;
mod explain;
mod filter;
mod index;
mod instruction;
mod interpret;
mod interpretation;
mod logic;
mod meaning;
mod normalise;
mod phrasing;
mod portability;
mod reader;
mod span;
mod time;
mod wire;

pub use daemon_event::Need;
pub use explain::{Explanation, FilterExplanation};
pub use filter::{Filter, FilterVerdict, Mark, Op, Test};
pub use index::MatchIndex;
pub use interpret::{Grammar, Interpreter, interpret};
pub use interpretation::{
    Clause, Correction, EventPattern, Interpretation, Status, TimeKind, WakeVerdict,
};
pub use phrasing::{Phrasing, phrasings};
pub use reader::{ParseEdge, RunnerUp, WinningParse, names_unreported, parse, trace};
pub use span::Span;
pub use wire::{
    ClauseWire, CorrectionWire, EventWire, FilterWire, InterpretationWire, InvalidWire,
    ReadingWire, SpanWire, StatusWire, TimeKindWire, TimeWire, ValueWire, VerdictWire,
};
