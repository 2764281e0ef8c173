//! The context of an activation: the author's file byte for byte, the reasons it woke, and bounded state.
//!
//! ```
//! use daemon_context::{
//!     ActivationContext, ContextLimits, ContextParts, Reason, RunPermissions, StateView, SupportListing,
//! };
//!
//! let file = b"---\nid: link-janitor\n---\nBe brief.\n";
//! let parts = ContextParts {
//!     daemon: "link-janitor",
//!     repo: "acme/docs",
//!     path: ".agents/daemons/link-janitor/DAEMON.md",
//!     file,
//!     instructions: None,
//!     checkout: None,
//!     reasons: &[Reason::Person { by: "kit", at: "2026-11-20T09:00:00Z".parse()? }],
//!     remainders: &[],
//!     payloads: &[],
//!     state: StateView::default(),
//!     support: SupportListing::default(),
//!     capability: RunPermissions { name: "propose", verbs: &[], targets: "", budget: None, deadline: None, servers: &[] },
//! };
//! let context = ActivationContext::build(&parts, ContextLimits::default(), || 0x5f0c)?;
//! assert_eq!(&context.bytes()[context.daemon_file()], file);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - [`ContextParts`] is the input: the file, [`Reason`]s, [`Payload`]s, state and permissions, as plain data.
//! - [`ActivationContext`] is the output: the bytes for a provider, with the size and [`Trust`] of each [`Section`].
//! - Untrusted text is written as JSON strings between two lines with a random boundary.
//!
//! # What this crate does not do
//!
//! It does not fetch anything, has no random number generator and knows no provider. It does not parse the daemon file:
//! the caller passes what was read from it.
//!
//! # Guarantees
//!
//! - The context contains the daemon file's bytes unchanged, or it is not built at all.
//! - Every other section keeps its size limit and states what it omits. The repository's instructions follow the daemon file,
//!   which takes precedence, without hidden characters.
//! - Untrusted text cannot close a fence, and contains no control, bidirectional, zero-width or tag characters.

mod clean;
mod context;
mod page;
mod parts;
mod sections;

pub use clean::is_removed;
pub use context::{ActivationContext, ContextError, ContextLimits, Section, Trust};
pub use parts::{
    BaseView, CheckoutView, ContextParts, Counter, CoveredTicks, HistoryEntry, OpenOutput, Payload,
    Reason, Remainder, RemainingBudget, RepositoryInstructions, RunPermissions, StateView,
    SupportListing, SupportRow, VerbView,
};
