//! Listings: checked queries, and cursors of pages.
//!
//! A page begins after a position and not after a number of rows, so that rows which arrive between two pages neither repeat nor
//! hide any.

use daemon_engine::{ActivationState, OutputState};
use daemon_event::RepoName;
use daemon_schedule::TickOutcome;
use jiff::Timestamp;

use crate::error::StoreError;
use crate::rows::{Page, Query};

/// The maximum number of rows of one page.
pub const MAX_PAGE: u32 = 500;

/// The states that a run may be in.
pub const RUN_STATES: [&str; 6] = [
    "running",
    "done",
    "failed",
    "cancelled",
    "timeout",
    "unknown",
];

/// A kind of rows that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Events, by the order in which they were stored.
    Events,
    /// Ticks, by when they were scheduled.
    Ticks,
    /// Activations, by when they were made.
    Activations,
    /// Runs, by when they started.
    Runs,
    /// Outputs, by when they were made.
    Outputs,
}

/// The position of a row in its listing: by instant, then by the order in which rows were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The instant, in microseconds since 1970; 0 throughout for events.
    pub micros: i64,
    /// The row's number, from 1.
    pub number: u64,
}

/// A query that was checked against the listing it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of rows.
    pub limit: usize,
    /// Only rows after the page that ended at this position.
    pub before: Option<Position>,
    /// Only rows of daemons with this id.
    pub daemon: Option<String>,
    /// Only rows of this repository.
    pub repo: Option<RepoName>,
    /// Only in this state, a word that the listing knows.
    pub state: Option<String>,
    /// Only from this instant on.
    pub since: Option<Timestamp>,
    /// Only rows made before this instant.
    pub until: Option<Timestamp>,
}

impl Query {
    /// Checks the query against a listing.
    ///
    /// # Errors
    /// `Query` for a limit outside 1 to [`MAX_PAGE`], a state the listing does not know, or a cursor that the listing
    /// did not make.
    pub fn bounds(&self, listing: Listing) -> Result<Bounds, StoreError> {
        let refused = |value: &str, expected| StoreError::Query {
            value: value.chars().take(80).collect(),
            expected,
        };
        if self.limit == 0 || self.limit > MAX_PAGE {
            return Err(refused(&self.limit.to_string(), "a limit from 1 to 500"));
        }
        if let Some(state) = &self.state
            && !listing.knows_state(state)
        {
            return Err(refused(state, listing.states()));
        }
        let before = match &self.after {
            None => None,
            Some(cursor) => Some(
                Position::from_cursor(cursor, listing)
                    .ok_or_else(|| refused(cursor, "a cursor of this listing"))?,
            ),
        };
        Ok(Bounds {
            limit: usize::try_from(self.limit).expect("at most 500"),
            before,
            daemon: self.daemon.clone(),
            repo: self.repo.clone(),
            state: self.state.clone(),
            since: self.since,
            until: self.until,
        })
    }
}

impl Listing {
    fn prefix(self) -> &'static str {
        match self {
            Self::Events => "e",
            Self::Ticks => "t",
            Self::Activations => "a",
            Self::Runs => "r",
            Self::Outputs => "o",
        }
    }

    fn knows_state(self, word: &str) -> bool {
        match self {
            Self::Events => false,
            Self::Ticks => word.parse::<TickOutcome>().is_ok(),
            Self::Activations => word.parse::<ActivationState>().is_ok(),
            Self::Runs => RUN_STATES.contains(&word),
            Self::Outputs => word.parse::<OutputState>().is_ok(),
        }
    }

    fn states(self) -> &'static str {
        match self {
            Self::Events => "a state: events have none",
            Self::Ticks => {
                "an outcome (enqueued, coalesced, skipped_overlap, skipped_quiet, missed_window, superseded, refused or retracted)"
            }
            Self::Activations => {
                "a state (pending, claimed, running, delivering, succeeded, failed, dead or cancelled)"
            }
            Self::Runs => "a state (running, done, failed, cancelled, timeout or unknown)",
            Self::Outputs => {
                "a state (refused, planned, sending, ambiguous, confirmed, unknown or gave_up)"
            }
        }
    }
}

impl Position {
    /// Returns the position of a row with an instant.
    pub fn new(at: Timestamp, number: u64) -> Self {
        Self {
            micros: at.as_microsecond(),
            number,
        }
    }

    /// Returns the position of an event.
    pub fn of_event(seq: u64) -> Self {
        Self {
            micros: 0,
            number: seq,
        }
    }

    /// Writes the cursor of the page that begins after this position.
    pub fn to_cursor(self, listing: Listing) -> String {
        format!("{}.{}.{}", listing.prefix(), self.micros, self.number)
    }

    fn from_cursor(text: &str, listing: Listing) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let (prefix, micros, number) = (parts.next()?, parts.next()?, parts.next()?);
        let position = Self {
            micros: micros.parse().ok()?,
            number: number.parse().ok()?,
        };
        let fits = listing != Listing::Events || position.micros == 0;
        // Only what we would write ourselves is read: no signs, blanks or leading zeros.
        let is_ours = prefix == listing.prefix() && position.to_cursor(listing) == text;
        (is_ours && fits).then_some(position)
    }
}

impl Bounds {
    /// Makes the page from rows in descending order of position, of which one more than `limit` was read if there are
    /// more.
    pub fn page<T>(&self, listing: Listing, mut rows: Vec<(Position, T)>) -> Page<T> {
        let has_more = rows.len() > self.limit;
        rows.truncate(self.limit);
        let next = match rows.last() {
            Some((position, _)) if has_more => Some(position.to_cursor(listing)),
            Some(_) | None => None,
        };
        Page {
            rows: rows.into_iter().map(|(_, row)| row).collect(),
            next,
        }
    }
}
