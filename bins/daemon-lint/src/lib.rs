//! A linter for DAEMON.md files, as a library: arguments and streams in, an exit code out.
//!
//! ```
//! use daemon_lint::{Streams, Surroundings, run};
//!
//! let text = "---\nid: pr-helper\npurpose: Fix: things\n---\n";
//! let surroundings = Surroundings {
//!     directory: "/".into(),
//!     now: "2026-11-20T09:00:00Z".parse()?,
//!     colour_wish: Default::default(),
//! };
//! let (mut output, mut notes) = (Vec::new(), Vec::new());
//! let mut streams = Streams { input: &mut text.as_bytes(), output: &mut output, notes: &mut notes };
//!
//! let code = run(["daemon-lint", "--stdin", "--json"].map(Into::into), &surroundings, &mut streams);
//! assert_eq!(code, 1);
//!
//! let report: serde_json::Value = serde_json::from_slice(&output)?;
//! assert_eq!(report["files"][0]["diagnostics"][0]["code"], "D011");
//! assert_eq!(report["summary"]["files"], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`run`] takes the arguments of a process; [`run_with`] takes them read, for a program that has
//! this one as a command. [`command`] is the command line as data. [`Linting`] stops between judging and printing, for a
//! program that has somebody suggest other wordings; a [`Wording`] is only what is read as `mapped`.
//!
//! # What this crate does not do
//! It judges nothing itself: reading is `daemon-spec`'s, the meaning of conditions `daemon-watch`'s and
//! the rules `daemon-validate`'s. It finds files, brings the three together, and prints. It reads no environment, no clock and no working
//! directory; the program around it passes them in. It knows no host and opens no store.
//!
//! # Guarantees
//! - Links are not followed, but those of a support tree within the repository; pipes and devices are refused without waiting.
//! - Without `--fix` nothing is written; with it, only the linted files, each at once.
//! - Every path is reported, the ones that cannot be read as `D000`.

mod arguments;
mod conditions;
mod discovery;
mod disk;
mod embed;
pub mod exit;
mod fix;
mod judge;
mod lint;
mod own_output;
mod report;
mod run;
mod suggestions;
mod support_tree;
mod surroundings;

pub use arguments::{Color, CommonArguments, Format, LintArguments, ProfileName, command};
pub use disk::{read_daemon_file, replace};
pub use embed::{Given, Judged, judge};
pub use run::{Linting, run, run_with};
pub use suggestions::{Suggestion, SuggestionFailure, Suggestions, Unclear, Wording};
pub use surroundings::{ColourWish, Streams, Surroundings};
