//! Activations and outputs as state machines.
