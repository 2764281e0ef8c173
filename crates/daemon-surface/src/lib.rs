//! What speaks to the services: surfaces that outputs land on, and APIs that tell facts.
//!
//! A [`GitBranch`] implements the engine's `Surface`: it creates an output's branch and finds it again by the marks of its
//! commit. [`plan_branch`] turns the changes of a run's work tree into such an output, after [`check_branch`] has let them
//! through.
//!
//! ```
//! use daemon_event::{ActivationId, DaemonId};
//! use daemon_repo::{RefName, daemon_branch};
//! use daemon_surface::{BranchRefusal, BranchRules, check_target};
//!
//! let (daemon, activation) = ("librarian".parse::<DaemonId>()?, ActivationId::new(0, [7; 10]));
//! let rules = BranchRules { default_branch: RefName::branch("main")?, protected: vec![] };
//! assert_eq!(check_target(&daemon_branch(&daemon, &activation), &daemon, &activation, &rules), Ok(()));
//! assert_eq!(
//!     check_target(&RefName::branch("main")?, &daemon, &activation, &rules),
//!     Err(BranchRefusal::Protected { branch: RefName::branch("main")? }),
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`ServiceFacts`] implements the engine's `Facts`: GitHub tells what a pull request changes and which pull requests a commit
//! belongs to, Slack the name of a channel.
//!
//! ```
//! use daemon_surface::{Api, ApiBase, ServiceFacts, Token};
//!
//! let base: ApiBase = "https://api.github.com".parse()?;
//! let token: Token = "ghp_example".parse()?;
//! let facts = ServiceFacts { github: Some(Api::new(base, token)?), slack: None };
//! assert!(!format!("{facts:?}").contains("ghp_example"));
//! // A token is never sent in the clear to another machine.
//! assert!("http://api.github.com".parse::<ApiBase>().is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not do
//! It keeps no outbox and decides no retry; see `daemon-engine`. It never merges, moves or deletes a branch. It changes
//! nothing at a service.
//!
//! # Guarantees
//! Delivering an output again leaves one branch with one commit. A branch that is there and not this output's is refused,
//! whoever made it. What a run changed under `.agents/` or `.github/workflows/` never leaves its work tree. A token
//! goes to its API's base and nowhere else; of names in payloads only plain ones reach a URL.

mod check;
mod facts;
mod git_branch;
mod plan;

pub use check::{
    BranchRefusal, BranchRules, MAX_DIFF_LINES, check_branch, check_target, check_text,
};
pub use facts::{Api, ApiBase, ApiSetupError, InvalidBase, InvalidToken, ServiceFacts, Token};
pub use git_branch::{GIT, GitBranch};
pub use plan::{BranchPlan, plan_branch};
