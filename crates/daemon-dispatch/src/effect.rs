//! What a dispatcher asks its driver to do.

use daemon_engine::{Activation, HostEpoch, Output, OutputKey, RunLease, Settlement};
use daemon_event::ActivationId;
use daemon_store::ClaimRequest;
use jiff::Timestamp;

use crate::disk::DiskSpace;
use crate::event::HostEvent;
use crate::turn::Concern;

/// One thing to do. Each says which event reports its result; those that name none report nothing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HostEffect {
    /// Examine the disk; [`SpaceRead`](crate::HostEvent::SpaceRead).
    ReadDisk,
    /// Keep or give up the file that reserves room.
    Reserve(Reserve),
    /// The room on the disk changed; what waits for room is to be woken.
    SpaceChanged(DiskSpace),
    /// Lease a ready activation, once no tick is being recorded; [`Claimed`](crate::HostEvent::Claimed).
    Claim(ClaimRequest),
    /// Find when the next pending activation is ready; [`NextClaim`](crate::HostEvent::NextClaim).
    FindNextClaim,
    /// Execute an activation; [`AttemptEnded`](crate::HostEvent::AttemptEnded).
    Execute(Box<Activation>),
    /// Renew leases; [`Renewed`](crate::HostEvent::Renewed).
    Renew {
        /// What is executed, each with its lease.
        leases: Vec<(ActivationId, RunLease)>,
        /// When the leases end then.
        until: Timestamp,
    },
    /// Stop a run whose lease is held by another attempt, or by none.
    StopUnleased(ActivationId),
    /// Match the oldest waiting events behind a place; [`Matched`](crate::HostEvent::Matched).
    Match {
        /// Events up to this one were passed over, since nothing is known yet of their repository.
        after: u64,
        /// Which of the driver's views of the repositories `after` belongs to.
        view: u64,
        /// Lease one of the activations in the transaction that admits them, unless a tick is being recorded.
        claim: Option<ClaimRequest>,
    },
    /// As many events as this wait to be matched.
    NoteBacklog(u64),
    /// Find outputs whose time has come; [`OutputsDue`](crate::HostEvent::OutputsDue).
    FindDueOutputs {
        /// How many at most of each surface and repository.
        limit: u32,
    },
    /// Find when the next output is due; [`NextOutput`](crate::HostEvent::NextOutput).
    FindNextOutput,
    /// Make every unsettled output due; [`OutputsHastened`](crate::HostEvent::OutputsHastened).
    HastenOutputs,
    /// Store that an output is being sent; [`SendBegun`](crate::HostEvent::SendBegun).
    BeginSend(OutputKey),
    /// Send an output; [`Sent`](crate::HostEvent::Sent).
    Send(Box<Output>),
    /// Look for an output on its surface; [`LookedUp`](crate::HostEvent::LookedUp).
    LookUp(Box<Output>),
    /// Store the new state of an output; [`Settled`](crate::HostEvent::Settled).
    Settle(OutputKey, Settlement),
    /// End what is left of attempts whose host or lease is gone, then take them back;
    /// [`TakenBack`](crate::HostEvent::TakenBack).
    TakeBack(HostEpoch),
    /// Remove work trees that no run uses; [`StraysCleared`](crate::HostEvent::StraysCleared).
    ClearStrays,
    /// Cancel what was ready for too long; [`Expired`](crate::HostEvent::Expired).
    Expire,
    /// Forget old rows; [`Forgotten`](crate::HostEvent::Forgotten).
    Forget {
        /// Payloads received before this instant.
        payloads: Timestamp,
        /// Identities of events stored before this instant.
        identities: Timestamp,
        /// Ticks recorded before this instant.
        ticks: Timestamp,
        /// Runs that ended before this instant; `None` keeps all.
        runs: Option<Timestamp>,
    },
    /// Ask every run to stop.
    StopRuns,
    /// Leave the runs that did not stop in time; the next host takes them back.
    AbandonRuns,
    /// End the host: its store can never be written again.
    GiveUp,
}

impl HostEffect {
    /// Returns the event that reports that the store failed at an effect of this concern.
    pub fn store_failed(&self, concern: Concern) -> HostEvent {
        let of_output = self.output().cloned().map(HostEvent::OutputFailed);
        of_output.unwrap_or(HostEvent::StoreFailed(concern))
    }

    /// Returns the event that reports that an effect of this concern panicked.
    pub fn panicked(&self, concern: Concern) -> HostEvent {
        let of_output = self.output().cloned().map(HostEvent::OutputFailed);
        of_output.unwrap_or(HostEvent::Panicked(concern))
    }

    /// Returns the output that the effect is a step of.
    fn output(&self) -> Option<&OutputKey> {
        match self {
            Self::BeginSend(key) | Self::Settle(key, _) => Some(key),
            Self::Send(output) | Self::LookUp(output) => Some(&output.key),
            _ => None,
        }
    }

    /// Returns the concern that waits for the result; `None` for an effect that reports nothing, and for an execution.
    pub fn concern(&self) -> Option<Concern> {
        match self {
            Self::ReadDisk => Some(Concern::Disk),
            Self::Claim(_) | Self::FindNextClaim => Some(Concern::Claims),
            Self::Renew { .. } => Some(Concern::Leases),
            Self::Match { .. } => Some(Concern::Matching),
            Self::FindDueOutputs { .. }
            | Self::FindNextOutput
            | Self::HastenOutputs
            | Self::BeginSend(_)
            | Self::Send(_)
            | Self::LookUp(_)
            | Self::Settle(..) => Some(Concern::Outputs),
            Self::TakeBack(_) | Self::ClearStrays | Self::Expire | Self::Forget { .. } => {
                Some(Concern::Sweeps)
            }
            Self::Reserve(_)
            | Self::SpaceChanged(_)
            | Self::Execute(_)
            | Self::StopUnleased(_)
            | Self::NoteBacklog(_)
            | Self::StopRuns
            | Self::AbandonRuns
            | Self::GiveUp => None,
        }
    }
}

/// What happens to the file that reserves room on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// It is made, if it does not exist.
    SetAside,
    /// It is removed, if nearly nothing else is left.
    GiveUp,
}
