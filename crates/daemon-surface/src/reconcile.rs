//! Comparisons of a service's objects with the events that its webhooks brought.

mod deliveries;
mod github;
mod objects;
mod snapshot;

pub use github::{GithubReconciler, RefReading};
