//! Natural-language watch conditions: read one into a typed filter, explain it, match events with many.
//!
//! ```
//! use daemon_watch::{Status, interpret};
//!
//! let meaning = interpret("when a pull request that touches docs/ is opened by a human");
//! assert_eq!(meaning.status, Status::Mapped);
//! let filters: Vec<String> = meaning.filters.iter().map(|filter| filter.test.to_string()).collect();
//! assert_eq!(filters, ["changed_files any_of docs/", "author_kind is human"]);
//!
//! let meaning = interpret("when a large pull request is opened");
//! assert_eq!(meaning.status, Status::Partial);
//! assert_eq!(meaning.remainder[0].of("when a large pull request is opened"), "a large");
//! ```
//!
//! The main types: [`Interpretation`] is what a line means; [`MatchIndex`] files many of them so that an event
//! finds those it meets; [`Explanation`] says why one did or did not wake; [`InterpretationWire`] is their JSON.
//!
//! # What this crate does not do
//! It asks no model and reads no clock. What a grammar cannot decide it names as the remainder and leaves to
//! judgement. Facts that a payload lacks are named as [`Need`]s; somebody else fetches them.
//!
//! # Guarantees
//! The same line always means the same filter. No word is dropped in silence: what nothing accounted for is in
//! the remainder, except small words of grammar. A filter printed and read back is the same filter. Matching an
//! event that wakes nothing allocates nothing.

mod classify;
mod compare;
pub mod corpus;
mod explain;
mod filter;
mod grammar;
mod index;
mod instruction;
mod interpret;
mod interpretation;
mod lexicon;
mod logic;
mod normalise;
mod phrasing;
mod portability;
mod prefix;
mod resolve;
mod sentence;
mod span;
mod suggest;
mod time;
mod weight;
mod wire;

pub use daemon_event::Need;
pub use explain::{Explanation, FilterExplanation};
pub use filter::{Filter, FilterVerdict, Mark, Op, Test};
pub use index::MatchIndex;
pub use interpret::{Grammar, Interpreter, interpret};
pub use interpretation::{
    Clause, Correction, EventPattern, Interpretation, Status, TimeKind, Verdict,
};
pub use phrasing::{Phrasing, phrasings};
pub use span::Span;
pub use wire::{
    ClauseWire, CorrectionWire, EventWire, FilterWire, InterpretationWire, InvalidWire,
    ReadingWire, SpanWire, StatusWire, TimeKindWire, TimeWire, ValueWire, VerdictWire,
};
