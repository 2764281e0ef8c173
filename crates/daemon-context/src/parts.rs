//! What there is to tell, as plain data.

use daemon_event::Event;
use jiff::{SignedDuration, Timestamp};

/// Everything that goes into one context.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The daemon's id.
    pub daemon: &'a str,
    /// The repository's name.
    pub repo: &'a str,
    /// The daemon file's path in the repository.
    pub path: &'a str,
    /// The daemon file, byte for byte.
    pub file: &'a [u8],
    /// Why the daemon woke, newest first.
    pub reasons: &'a [Reason<'a>],
    /// What of the conditions was not understood.
    pub remainders: &'a [Remainder<'a>],
    /// The events' bodies, newest first; 20 are shown.
    pub payloads: &'a [Payload<'a>],
    /// What the daemon remembers.
    pub state: State<'a>,
    /// The files beside the daemon file.
    pub support: Support<'a>,
    /// What the run may do.
    pub capability: Capability<'a>,
}

/// One reason to wake.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Reason<'a> {
    /// An event met conditions.
    Event {
        /// The event.
        event: &'a Event,
        /// The conditions it met: their index and the author's words.
        conditions: &'a [(u32, &'a str)],
    },
    /// The schedule fired.
    Tick {
        /// The cron expression.
        expression: &'a str,
        /// The zone's name.
        zone: &'a str,
        /// The instant that was due.
        scheduled_at: Timestamp,
        /// The same on the clocks of the zone.
        local: &'a str,
        /// How late it is.
        lateness: SignedDuration,
        /// The ticks that got no activation of their own.
        missed: Option<Missed<'a>>,
    },
    /// A person asked.
    Person {
        /// Who.
        by: &'a str,
        /// When.
        at: Timestamp,
    },
}

/// Ticks that got no activation of their own.
#[derive(Clone, Copy, Debug)]
pub struct Missed<'a> {
    /// How many.
    pub count: u64,
    /// The oldest.
    pub first: Timestamp,
    /// The newest.
    pub last: Timestamp,
    /// The newest of them, at most 100.
    pub list: &'a [Timestamp],
}

/// Words of a condition that no filter stands for.
#[derive(Clone, Copy, Debug)]
pub struct Remainder<'a> {
    /// The condition's index.
    pub condition: u32,
    /// The author's words.
    pub text: &'a str,
}

/// The body of one event.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    /// The event.
    pub event: &'a Event,
    /// The file below the context directory that holds it whole.
    pub whole_in: &'a str,
}

/// What the daemon remembers and what the runtime counts for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct State<'a> {
    /// Values by key, each JSON text.
    pub values: &'a [(&'a str, &'a str)],
    /// Counters kept by the runtime.
    pub counters: &'a [Counter<'a>],
    /// Earlier activations, newest first; 10 are shown.
    pub history: &'a [PastActivation<'a>],
    /// The daemon's own outputs that are still open.
    pub open_outputs: &'a [OpenOutput<'a>],
}

/// A number kept by the runtime.
#[derive(Clone, Copy, Debug)]
pub struct Counter<'a> {
    /// What is counted, over which time: `activations today`.
    pub name: &'a str,
    /// The number.
    pub value: u64,
}

/// An activation that ended.
#[derive(Clone, Copy, Debug)]
pub struct PastActivation<'a> {
    /// Its id.
    pub id: &'a str,
    /// The key of its first trigger.
    pub trigger: &'a str,
    /// How it ended.
    pub outcome: &'a str,
    /// When it ended.
    pub finished_at: Timestamp,
    /// What it put out.
    pub outputs: &'a [&'a str],
    /// The head of its result.
    pub summary: Option<&'a str>,
}

/// An output of the daemon that people have not closed.
#[derive(Clone, Copy, Debug)]
pub struct OpenOutput<'a> {
    /// The surface: `git`.
    pub surface: &'a str,
    /// What it is on the surface: a branch, an issue.
    pub target: &'a str,
}

/// The files beside the daemon file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Support<'a> {
    /// The files the run can read below its context directory.
    pub files: &'a [SupportRow<'a>],
    /// The first of those beyond the limits.
    pub left_out: &'a [&'a str],
    /// How many are beyond the limits.
    pub n_left_out: usize,
}

/// One support file.
#[derive(Clone, Copy, Debug)]
pub struct SupportRow<'a> {
    /// Its path from the daemon's directory.
    pub path: &'a str,
    /// Its size in bytes.
    pub size: u64,
    /// Its mode: `644` or `755`.
    pub mode: &'a str,
}

/// What the run may do.
#[derive(Clone, Copy, Debug)]
pub struct Capability<'a> {
    /// `read`, `propose` or `write`.
    pub name: &'a str,
    /// The verbs of outputs it may propose.
    pub verbs: &'a [&'a str],
    /// What is left to spend.
    pub budget: Option<Budget>,
    /// When the run is ended.
    pub deadline: Option<Timestamp>,
    /// The MCP servers whose tools the run is granted.
    pub servers: &'a [&'a str],
}

/// Money left, in hundredths of a US dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Left for this activation.
    pub activation_cents: u64,
    /// Left for this host today.
    pub day_cents: u64,
}
