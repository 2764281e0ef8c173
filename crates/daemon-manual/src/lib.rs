//! Help in groups, manual pages and completion scripts of a command line, and where a shell finds them.
//!
//! ```
//! use daemon_manual::{DocumentedProgram, Reference, pages};
//!
//! let program = DocumentedProgram {
//!     name: "tool",
//!     command: clap::Command::new("tool").about("Does it").subcommand(clap::Command::new("run").about("Runs it")),
//!     reference: Reference::parse("EXIT STATUS\n  0  It is done.\n  64  The command line is invalid.\n"),
//! };
//! let pages = pages(&program)?;
//! let names: Vec<&str> = pages.iter().map(|page| page.file.as_str()).collect();
//! assert_eq!(names, ["tool-run.1", "tool.1"]);
//! assert!(String::from_utf8_lossy(&pages[0].bytes).contains(".SH \"EXIT STATUS\""));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Overview
//!
//! - A [`DocumentedProgram`] has a command line, and a [`Reference`] with the sections that clap does not know, such as the exit
//!   codes and the files. It is parsed from lines of terms.
//! - [`pages`] returns a [`ManualPage`] for a program and for each of its commands, [`page`] that of the program alone, and
//!   [`write_pages`] writes them.
//! - [`CommandGroups`] put the commands of the help in groups, with an example of each.
//! - [`script`] returns the completion script of a shell. [`install`] writes scripts to where the shell loads them from, below
//!   the [`CompletionFolders`] of a user.
//!
//! # What this crate does not do
//!
//! It reads no environment, prints nothing and changes no start-up file of a shell: an [`Installation`] has the line that a user
//! has to add where one is needed.
//!
//! # Guarantees
//!
//! - The text of a reference is escaped: a line of it is never a request of roff.
//! - Only [`install`] and [`write_pages`] write files.
//!
//! # Features and versions
//!
//! The crate has no features. `clap::Command` and `clap_complete::Shell` are part of its public API. The minimum supported Rust
//! version is the `rust-version` of its manifest.

mod completion;
mod groups;
mod page;
mod reference;

pub use completion::{CompletionFolders, Installation, install, script};
pub use groups::CommandGroups;
pub use page::{ManualPage, page, pages, write_pages};
pub use reference::{DocumentedProgram, Reference};
