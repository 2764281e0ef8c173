//! The roster by its public interface: the scenarios that need no IO.

mod audit;
mod check_in;
mod gate;
mod lifecycle;
mod liveness;
mod random;
mod reset;
mod scene;
mod signal;
mod spawn;
