//! How much room the disk of the home has.

use std::time::Duration;

use crate::effect::{HostEffect, Reserve};
use crate::now::Now;
use crate::turn::Turn;

/// How often the disk is examined.
pub const DISK_LOOK: Duration = Duration::from_secs(2);
/// How old a reading may be that a claim relies on: one claim soon after another does not examine the disk again.
const FRESH: Duration = Duration::from_millis(100);

/// How much room the disk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskSpace {
    /// Enough for everything.
    Enough,
    /// What runs is finished, and nothing starts.
    Low,
    /// No event is accepted either.
    Full,
    /// Nothing can be written.
    ReadOnly,
    /// The file system does not answer.
    Unknown,
}

#[derive(Debug)]
pub(crate) struct SpaceWatch {
    pub(crate) turn: Turn,
    /// The newest reading that was reported as a change.
    reported: DiskSpace,
    /// The newest reading, and when it was made.
    newest: Option<(DiskSpace, Duration)>,
}

impl SpaceWatch {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            turn: Turn::at(now.since_boot),
            reported: DiskSpace::Enough,
            newest: None,
        }
    }

    pub(crate) fn act(&mut self, now: Now, effects: &mut Vec<HostEffect>) {
        if self.turn.is_due(now) {
            self.read(effects);
        }
    }

    /// Has the disk examined, unless it is being examined.
    pub(crate) fn read(&mut self, effects: &mut Vec<HostEffect>) {
        if self.turn.deadline().is_some() {
            self.turn.begin();
            effects.push(HostEffect::ReadDisk);
        }
    }

    /// Returns the room as of now, or `None` if the disk has to be examined first.
    pub(crate) fn fresh(&self, now: Now) -> Option<DiskSpace> {
        let (space, at) = self.newest?;
        (now.since_boot.saturating_sub(at) < FRESH).then_some(space)
    }

    /// Takes a reading and reports whether the room changed.
    pub(crate) fn was_read(
        &mut self,
        space: DiskSpace,
        now: Now,
        effects: &mut Vec<HostEffect>,
    ) -> bool {
        self.newest = Some((space, now.since_boot));
        self.turn.rest_until(now.after(DISK_LOOK));
        // The reserve is given up at once when room is short: it is there so that ends of runs can still be stored.
        effects.push(HostEffect::Reserve(match space {
            DiskSpace::Enough => Reserve::SetAside,
            _ => Reserve::GiveUp,
        }));
        let is_changed = space != self.reported;
        self.reported = space;
        is_changed
    }
}
