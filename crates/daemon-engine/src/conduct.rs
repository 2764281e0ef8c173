//! The gate of a daemon, and the failures that trip it.

use crate::activation::ActivationState;
use crate::attempt::{Gate, TRIP_AFTER};

/// A daemon's gate and its consecutive failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conduct {
    /// Whether it may start activations.
    pub gate: Gate,
    /// The number of consecutive failed activations.
    pub failures: u32,
}

impl Conduct {
    /// The conduct of a newly registered daemon.
    pub const NEW: Self = Self {
        gate: Gate::Open,
        failures: 0,
    };

    /// Returns the conduct after one of the daemon's activations reached a state.
    ///
    /// A held gate stays held; failures are still counted.
    #[must_use]
    pub fn after(self, state: ActivationState) -> Self {
        match state {
            ActivationState::Succeeded => Self {
                failures: 0,
                ..self
            },
            ActivationState::Failed | ActivationState::Dead => {
                let failures = self.failures.saturating_add(1);
                // Only an open gate trips. A person who holds a daemon must not find it tripped, which an edit would open.
                let trips = failures >= TRIP_AFTER && self.gate == Gate::Open;
                Self {
                    gate: if trips { Gate::Tripped } else { self.gate },
                    failures,
                }
            }
            ActivationState::Pending
            | ActivationState::Claimed
            | ActivationState::Running
            | ActivationState::Delivering
            | ActivationState::Cancelled => self,
        }
    }

    /// Returns the conduct after a person set the gate; opening it resets the failures.
    #[must_use]
    pub fn with_gate(self, gate: Gate) -> Self {
        match gate {
            Gate::Open => Self::NEW,
            Gate::Held | Gate::Tripped => Self { gate, ..self },
        }
    }

    /// Returns the conduct after the daemon's file changed: a tripped gate opens.
    #[must_use]
    pub fn after_edit(self) -> Self {
        match self.gate {
            Gate::Tripped => Self::NEW,
            // A held gate is a person's decision, which no commit may undo.
            Gate::Open | Gate::Held => self,
        }
    }
}

#[cfg(test)]
mod tests;
