//! The activation context: the author's file byte for byte, why it woke, and bounded state.
//!
//! ```
//! use daemon_context::{Capability, Context, Limits, Parts, Reason, State, Support};
//!
//! let file = b"---\nid: link-janitor\n---\nBe brief.\n";
//! let parts = Parts {
//!     daemon: "link-janitor",
//!     repo: "acme/docs",
//!     path: ".agents/daemons/link-janitor/DAEMON.md",
//!     file,
//!     reasons: &[Reason::Person { by: "kit", at: "2026-11-20T09:00:00Z".parse()? }],
//!     remainders: &[],
//!     payloads: &[],
//!     state: State::default(),
//!     support: Support::default(),
//!     capability: Capability { name: "propose", verbs: &["push_branch"], budget: None, deadline: None, servers: &[] },
//! };
//! let context = Context::build(&parts, Limits::default(), || 0x5f0c)?;
//! assert_eq!(&context.bytes()[context.daemon_file()], file);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Parts`] is what there is to tell, [`Context`] the bytes a provider receives, with the size and
//! trust of each [`Section`]. Untrusted text stands in fences: JSON strings between lines that bear
//! a random boundary.
//!
//! # What this crate does not do
//!
//! It fetches nothing, draws no random numbers and knows no provider. It does not read the daemon
//! file: what it says of conditions is handed in.
//!
//! # Guarantees
//!
//! The daemon file's bytes are in the context as they are, whatever they are, or there is no context.
//! Every other section keeps its bound and says what it leaves out. No text from outside can write a line that closes a fence,
//! and none of it holds control, bidirectional, zero-width or tag characters.

mod clean;
mod context;
mod page;
mod parts;
mod sections;

pub use clean::is_removed;
pub use context::{Context, ContextError, Limits, Section, Trust};
pub use parts::{
    Budget, Capability, Counter, Missed, OpenOutput, Parts, PastActivation, Payload, Reason,
    Remainder, State, Support, SupportRow,
};
