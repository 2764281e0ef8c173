//! The input of a context, as plain data.

use daemon_event::Event;
use jiff::{SignedDuration, Timestamp};

/// The input from which a context is built.
#[derive(Clone, Copy, Debug)]
pub struct ContextParts<'a> {
    /// The daemon's id, as in its file.
    pub daemon: &'a str,
    /// The repository's name.
    pub repo: &'a str,
    /// The path of the daemon file in the repository.
    pub path: &'a str,
    /// The daemon file, byte for byte.
    pub file: &'a [u8],
    /// The instructions of the repository; `None` without an instruction file.
    pub instructions: Option<RepositoryInstructions<'a>>,
    /// The commit at which the run works; `None` outside of a repository.
    pub checkout: Option<CheckoutView<'a>>,
    /// The reasons for the activation, newest first.
    pub reasons: &'a [Reason<'a>],
    /// The parts of the conditions that the runtime did not check.
    pub remainders: &'a [Remainder<'a>],
    /// The events' bodies, newest first; at most 20 are shown.
    pub payloads: &'a [Payload<'a>],
    /// The daemon's memory and the runtime's counters.
    pub state: StateView<'a>,
    /// The files in the daemon's directory.
    pub support: SupportListing<'a>,
    /// The permissions of the run.
    pub capability: RunPermissions<'a>,
}

/// The instructions for agents in the repository's default branch.
#[derive(Clone, Copy, Debug)]
pub struct RepositoryInstructions<'a> {
    /// The name of the file: `AGENTS.md`.
    pub name: &'a str,
    /// Its text, of which at most 32 KiB are shown.
    pub text: &'a str,
}

/// The commit and the branches with which a run works.
#[derive(Clone, Copy, Debug)]
pub struct CheckoutView<'a> {
    /// The name of the commit in hexadecimal.
    pub commit: &'a str,
    /// The branch of the commit, if it is known.
    pub branch: Option<&'a str>,
    /// The branch that the commit is meant for, if there is one.
    pub base: Option<BaseView<'a>>,
}

/// The branch that a pull request targets.
#[derive(Clone, Copy, Debug)]
pub struct BaseView<'a> {
    /// The name of the branch.
    pub branch: &'a str,
    /// Its commit in hexadecimal, if the repository has the branch.
    pub commit: Option<&'a str>,
}

/// A reason for an activation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Reason<'a> {
    /// An event that matched conditions.
    Event {
        /// The event.
        event: &'a Event,
        /// The conditions that it matched: index from 0, and the text in the file.
        conditions: &'a [(u32, &'a str)],
    },
    /// A due tick of the schedule.
    Tick {
        /// The cron expression.
        expression: &'a str,
        /// The name of the time zone.
        zone: &'a str,
        /// The due instant.
        scheduled_at: Timestamp,
        /// The due instant as local time of the zone.
        local: &'a str,
        /// The time between the due instant and the activation.
        lateness: SignedDuration,
        /// Ticks that this activation covers as well.
        missed: Option<CoveredTicks<'a>>,
    },
    /// A request of a person.
    Person {
        /// The name of the person.
        by: &'a str,
        /// The time of the request.
        at: Timestamp,
    },
}

/// Ticks without an activation of their own, covered by a later one.
#[derive(Clone, Copy, Debug)]
pub struct CoveredTicks<'a> {
    /// Their number.
    pub count: u64,
    /// The oldest tick.
    pub first: Timestamp,
    /// The newest tick.
    pub last: Timestamp,
    /// The newest ticks, at most 100.
    pub list: &'a [Timestamp],
}

/// A part of a condition that no filter expresses.
#[derive(Clone, Copy, Debug)]
pub struct Remainder<'a> {
    /// The index of the condition, from 0.
    pub condition: u32,
    /// The unchecked words, as in the file.
    pub text: &'a str,
}

/// The body of an event.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    /// The event with its payload and facts.
    pub event: &'a Event,
    /// The path of the file with the whole body, relative to the context directory.
    pub whole_in: &'a str,
}

/// The daemon's memory and the runtime's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct StateView<'a> {
    /// Values by key, each as JSON.
    pub values: &'a [(&'a str, &'a str)],
    /// Counters kept by the runtime.
    pub counters: &'a [Counter<'a>],
    /// Earlier activations, newest first; at most 10 are shown.
    pub history: &'a [HistoryEntry<'a>],
    /// The daemon's own outputs that are still open.
    pub open_outputs: &'a [OpenOutput<'a>],
}

/// A number counted by the runtime.
#[derive(Clone, Copy, Debug)]
pub struct Counter<'a> {
    /// The counted thing and the period: `activations today`.
    pub name: &'a str,
    /// The current count.
    pub value: u64,
}

/// An earlier activation.
#[derive(Clone, Copy, Debug)]
pub struct HistoryEntry<'a> {
    /// The activation's id.
    pub id: &'a str,
    /// The key of its first trigger.
    pub trigger: &'a str,
    /// The outcome as a word: `succeeded`.
    pub outcome: &'a str,
    /// The time at which it finished.
    pub finished_at: Timestamp,
    /// The outputs with their states.
    pub outputs: &'a [&'a str],
    /// The start of the result, if the run returned one.
    pub summary: Option<&'a str>,
}

/// An output that is still open on its surface.
#[derive(Clone, Copy, Debug)]
pub struct OpenOutput<'a> {
    /// The name of the surface: `git`.
    pub surface: &'a str,
    /// The object on the surface: a branch, an issue.
    pub target: &'a str,
}

/// The files in the daemon's directory, apart from the daemon file.
#[derive(Clone, Copy, Debug, Default)]
pub struct SupportListing<'a> {
    /// The files that the run can read below its context directory.
    pub files: &'a [SupportRow<'a>],
    /// The first of the files that exceed the limits.
    pub left_out: &'a [&'a str],
    /// The number of files that exceed the limits.
    pub n_left_out: usize,
}

/// A file in the daemon's directory.
#[derive(Clone, Copy, Debug)]
pub struct SupportRow<'a> {
    /// The path relative to the daemon's directory.
    pub path: &'a str,
    /// The size in bytes.
    pub size: u64,
    /// The file mode: `644` or `755`.
    pub mode: &'a str,
}

/// The permissions of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunPermissions<'a> {
    /// The capability: `read`, `propose` or `write`.
    pub name: &'a str,
    /// The outputs that the run may propose.
    pub verbs: &'a [VerbView<'a>],
    /// What outputs may be about, in addition to what woke the daemon and to its own outputs; may be empty.
    pub targets: &'a str,
    /// The remaining budget; `None` if there is no limit.
    pub budget: Option<RemainingBudget>,
    /// The time at which the run is stopped; `None` if there is no deadline.
    pub deadline: Option<Timestamp>,
    /// The MCP servers whose tools the run is granted.
    pub servers: &'a [&'a str],
}

/// A kind of output that the run may propose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerbView<'a> {
    /// What it does: `comments on an issue`.
    pub summary: &'a str,
    /// A proposal, as one line of JSON.
    pub example: &'a str,
}

/// The remaining budget, in hundredths of a US dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemainingBudget {
    /// The remainder for this activation, over all its attempts.
    pub activation_cents: u64,
    /// The remainder for this host today; `None` if the day is not limited.
    pub day_cents: Option<u64>,
}
