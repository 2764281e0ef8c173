//! Crashes of the host: which activations they count against, and when they pause claims.

use jiff::SignedDuration;

use crate::activation::HostEpoch;

/// The number of crashes of the host that an activation may have caused, at which it is poison and never retried.
pub const MAX_HOST_CRASHES: u32 = 3;
/// The number of starts after crashes within [`CRASH_LOOP_WINDOW`] that is a crash loop.
pub const CRASH_LOOP: u32 = 5;
/// The period over which starts after crashes are counted.
pub const CRASH_LOOP_WINDOW: SignedDuration = SignedDuration::from_secs(60);
/// How long claims pause in a crash loop.
pub const CRASH_LOOP_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// How a host ended, as the next host found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostEnd {
    /// It stopped in order, or this is the first host.
    Stopped,
    /// It was killed, or the machine went down. The reason may be outside the host.
    Killed,
    /// A panic ended it.
    Panicked,
    /// It aborted: a second panic, a stack overflow, a failed allocation.
    Aborted,
    /// The kernel killed it because memory ran out.
    OutOfMemory,
}

impl HostEnd {
    /// Every end.
    pub const ALL: [Self; 5] = [
        Self::Stopped,
        Self::Killed,
        Self::Panicked,
        Self::Aborted,
        Self::OutOfMemory,
    ];

    /// Returns the word used in rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Killed => "killed",
            Self::Panicked => "panicked",
            Self::Aborted => "aborted",
            Self::OutOfMemory => "out-of-memory",
        }
    }

    /// Reports whether the host did not stop in order.
    pub fn is_crash(self) -> bool {
        self != Self::Stopped
    }

    /// Reports whether a run in the host may have caused the end.
    pub fn is_fault(self) -> bool {
        match self {
            Self::Stopped | Self::Killed => false,
            Self::Panicked | Self::Aborted | Self::OutOfMemory => true,
        }
    }
}

impl std::str::FromStr for HostEnd {
    type Err = daemon_event::InvalidId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|end| end.as_str() == text)
            .ok_or_else(|| daemon_event::InvalidId::new(text, "the end of a host"))
    }
}

/// The end of one host, and the number of runs that were under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCrash {
    /// The kind of end.
    pub end: HostEnd,
    /// How many runs were under way.
    pub present: u32,
}

/// How a leased activation lost its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Its lease expired while its host was alive.
    LeaseOver,
    /// Its host ended.
    HostEnded(HostCrash),
}

impl Departure {
    /// Returns how an activation of the host `owner` lost its lease, as seen by the host `epoch`; `ended` looks up how the
    /// host of an epoch ended.
    ///
    /// # Errors
    /// The error of `ended`.
    pub fn of<E>(
        owner: Option<HostEpoch>,
        epoch: HostEpoch,
        ended: impl FnOnce(HostEpoch) -> Result<Option<HostCrash>, E>,
    ) -> Result<Self, E> {
        let unknown = HostCrash {
            end: HostEnd::Killed,
            present: 0,
        };
        Ok(match owner {
            // The host is alive, so that it lost only this attempt: a long pause or a store that did not answer.
            Some(owner) if owner >= epoch => Self::LeaseOver,
            Some(owner) => Self::HostEnded(ended(owner)?.unwrap_or(unknown)),
            None => Self::HostEnded(unknown),
        })
    }
}

/// The crashes of the host that an activation may have caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    /// Crashes in which its run was the only one.
    pub alone: u32,
    /// The number of newest consecutive crashes in which its run was one of several.
    pub in_row: u32,
}

impl Blame {
    /// Returns the blame after a crash in which a run of the activation was under way.
    #[must_use]
    pub fn present_in(self, crash: HostCrash) -> Self {
        if !crash.end.is_fault() {
            return self;
        }
        Self {
            // With a single run the crash has no other suspect, so that these are counted for ever, and the others only in a
            // row.
            alone: self.alone + u32::from(crash.present == 1),
            in_row: self.in_row + 1,
        }
    }

    /// Returns the blame after a crash in which no run of the activation was under way.
    #[must_use]
    pub fn absent_from(self, end: HostEnd) -> Self {
        if end.is_fault() {
            Self { in_row: 0, ..self }
        } else {
            self
        }
    }

    /// Reports whether the activation may have caused a crash. Only one such activation is leased at a time, so that the next
    /// crash names its cause.
    pub fn is_suspect(self) -> bool {
        self != Self::default()
    }

    /// Returns the number of crashes if it makes the activation poison.
    pub fn poison(self) -> Option<u32> {
        let most = self.alone.max(self.in_row);
        (most >= MAX_HOST_CRASHES).then_some(most)
    }
}

/// Returns how long claims pause after a start; `n_recent` is the number of starts after crashes within
/// [`CRASH_LOOP_WINDOW`], including this one.
pub fn pause_of_claims(n_recent: u32) -> Option<SignedDuration> {
    (n_recent >= CRASH_LOOP).then_some(CRASH_LOOP_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::{Blame, Departure, HostCrash, HostEnd, pause_of_claims};
    use crate::activation::HostEpoch;

    fn crash(end: HostEnd, present: u32) -> HostCrash {
        HostCrash { end, present }
    }

    /// How a host ended, and how many runs were under way if one of the activation was.
    type Seen = (HostEnd, Option<u32>);

    /// Follows one activation through crashes.
    fn after(crashes: &[Seen]) -> Blame {
        crashes
            .iter()
            .fold(Blame::default(), |blame, (end, present)| match present {
                Some(n) => blame.present_in(crash(*end, *n)),
                None => blame.absent_from(*end),
            })
    }

    #[test]
    fn three_faults_that_it_was_alone_in_or_present_in_each_time_are_poison() {
        use HostEnd::{Aborted, Killed, OutOfMemory, Panicked, Stopped};
        let table: [(&[Seen], Option<u32>); 8] = [
            (&[(Killed, Some(1)); 9], None),
            (&[(Stopped, Some(1)); 9], None),
            (&[(Aborted, Some(1)); 2], None),
            (
                &[
                    (Aborted, Some(1)),
                    (Panicked, Some(1)),
                    (OutOfMemory, Some(1)),
                ],
                Some(3),
            ),
            // Alone each time, however many others crashed the host in between.
            (
                &[
                    (Aborted, Some(1)),
                    (Aborted, None),
                    (Aborted, Some(1)),
                    (Aborted, None),
                    (Aborted, Some(1)),
                ],
                Some(3),
            ),
            (&[(Aborted, Some(4)); 3], Some(3)),
            // One crash without it, and it is not what all of them have in common.
            (
                &[
                    (Aborted, Some(4)),
                    (Aborted, Some(4)),
                    (Panicked, None),
                    (Aborted, Some(4)),
                ],
                None,
            ),
            // A kill says nothing about anything, in either direction.
            (
                &[
                    (Aborted, Some(4)),
                    (Killed, None),
                    (Aborted, Some(4)),
                    (Killed, Some(4)),
                    (Aborted, Some(2)),
                ],
                Some(3),
            ),
        ];
        for (crashes, expected) in table {
            assert_eq!(after(crashes).poison(), expected, "{crashes:?}");
        }
    }

    #[test]
    fn only_a_fault_makes_a_suspect() {
        for end in HostEnd::ALL {
            assert_eq!(
                after(&[(end, Some(2))]).is_suspect(),
                end.is_fault(),
                "{end:?}"
            );
        }
        let cleared = after(&[(HostEnd::Aborted, Some(2)), (HostEnd::Aborted, None)]);
        assert!(!cleared.is_suspect(), "another crash had no run of it");
    }

    #[test]
    fn a_lease_that_runs_out_is_no_crash() {
        let ended = |epoch: HostEpoch| {
            Ok::<_, ()>((epoch == HostEpoch(2)).then_some(crash(HostEnd::Aborted, 3)))
        };
        let of = |owner: Option<u64>| Departure::of(owner.map(HostEpoch), HostEpoch(3), ended);
        assert_eq!(of(Some(3)), Ok(Departure::LeaseOver));
        assert_eq!(
            of(Some(2)),
            Ok(Departure::HostEnded(crash(HostEnd::Aborted, 3)))
        );
        for unknown in [Some(1), None] {
            let killed = Departure::HostEnded(crash(HostEnd::Killed, 0));
            assert_eq!(of(unknown), Ok(killed), "{unknown:?}");
        }
    }

    #[test]
    fn claims_pause_from_the_fifth_start() {
        assert_eq!(pause_of_claims(4), None);
        let pause = pause_of_claims(5).expect("a crash loop");
        assert_eq!(pause.as_secs(), 60);
    }

    #[test]
    fn ends_print_and_parse() {
        for end in HostEnd::ALL {
            assert_eq!(end.as_str().parse(), Ok(end));
        }
        assert!("vanished".parse::<HostEnd>().is_err());
    }
}
