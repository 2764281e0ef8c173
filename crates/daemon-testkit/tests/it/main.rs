//! Simulated lives in the tests of every change.

mod canaries;
mod differential;
mod guarantees;
mod hosts;
mod lives;
