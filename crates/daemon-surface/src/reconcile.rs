//! Comparisons of a service's objects with the events that its webhooks brought.

mod deliveries;
mod github;
mod instant;
mod linear;
mod objects;
mod snapshot;

pub use github::{GithubReconciler, RefReading};
pub use linear::LinearReconciler;
