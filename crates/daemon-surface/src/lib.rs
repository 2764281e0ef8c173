//! Adapters to services: outputs on git, GitHub, Linear and Slack, and the APIs of GitHub and Slack as sources of facts.
//!
//! # Branches
//! [`GitBranch`] implements the engine's `Surface`: it pushes the commit of an output as a new branch, and finds the branch
//! again by the marks in the commit message. [`plan_branch`] turns the changes of a run's work tree into such an output; it
//! runs [`check_target`], [`check_branch`] and [`check_text`] first, and a change that fails one of them becomes a refused
//! output.
//!
//! ```
//! use daemon_event::{ActivationId, DaemonId};
//! use daemon_repo::{RefName, daemon_branch};
//! use daemon_surface::{BranchRefusal, BranchRules, check_target};
//!
//! let (daemon, activation) = ("librarian".parse::<DaemonId>()?, ActivationId::new(0, [7; 10]));
//! let rules = BranchRules { default_branch: RefName::branch("main")?, protected: vec![] };
//! assert_eq!(check_target(&daemon_branch(&daemon, &activation), &rules), Ok(()));
//! assert_eq!(
//!     check_target(&RefName::branch("main")?, &rules),
//!     Err(BranchRefusal::Protected { branch: RefName::branch("main")? }),
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Services
//! [`GithubSurface`], [`LinearSurface`] and [`SlackSurface`] implement the engine's `Surface` for the verbs of
//! `daemon_engine::proposal`. [`plan_act`] turns an admitted act into an output; the content of its row is read only here. Each
//! output carries its key, and a look-up accepts only what has the key and was written by the host's own account.
//!
//! # Facts
//! [`ServiceFacts`] implements the engine's `Facts`. It reads from GitHub the files that a pull request changes and the pull
//! requests that a commit belongs to, and from Slack the name of a channel.
//!
//! ```
//! use daemon_surface::{ApiBase, Credentials, ServiceApi, ServiceFacts, WallClock};
//! use jiff::Timestamp;
//!
//! let base: ApiBase = "https://api.github.com".parse()?;
//! let credentials = Credentials::Token("ghp_example".parse()?);
//! let clock = WallClock::new(|| Timestamp::UNIX_EPOCH);
//! let facts = ServiceFacts { github: Some(ServiceApi::new(base, credentials, clock)?), slack: None };
//! assert!(!format!("{facts:?}").contains("ghp_example"));
//! // A token is never sent in the clear to another machine.
//! assert!("http://api.github.com".parse::<ApiBase>().is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not do
//! It keeps no outbox and decides no retry; see `daemon-engine`. It never merges, moves or deletes a branch, and it never merges,
//! approves or closes a pull request. It does not decide what a run may propose; see `daemon_engine::proposal`.
//!
//! # Guarantees
//! - Delivering an output a second time leaves one branch with one commit.
//! - A branch of the same name that is not this output's is never overwritten: the output is refused.
//! - Changes under `.agents/` or `.github/workflows/` are never pushed.
//! - A token is sent only to URLs below its [`ApiBase`], also after redirects.
//! - After a response that limits requests, a client sends none until the limit ends.
//! - What a run writes mentions only names that the planner allows, and carries no marker.
//! - Names from payloads reach a URL only if they consist of letters, digits and `._-`.

mod act;
mod api;
mod check;
mod facts;
mod git_branch;
mod github;
mod linear;
mod look_up;
mod plan;
mod reconcile;
mod slack;
mod text;

pub use act::{ActPlan, output_verb, own_output, plan_act, replacing, slot};
pub use api::{
    ApiBase, ApiSetupError, ApiToken, AppCredentials, AppKey, Credentials, InvalidBase, InvalidKey,
    InvalidToken, ServiceApi, WallClock,
};
pub use check::{
    BranchRefusal, BranchRules, MAX_DIFF_LINES, check_branch, check_target, check_text,
};
pub use facts::ServiceFacts;
pub use git_branch::{GIT, GitBranch};
pub use github::{GITHUB, GithubSurface};
pub use linear::{LINEAR, LinearSurface};
pub use plan::{BranchPlan, plan_branch};
pub use reconcile::{GithubReconciler, LinearReconciler, RefReading};
pub use slack::{SLACK, SlackSurface};
