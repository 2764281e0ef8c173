//! The HTTP door: signed webhooks in, health, metrics and the operations out.

mod access;
mod answer;
mod api;
mod hooks;
mod repeats;
mod server;

pub use access::{Access, Hosts, Session};
pub use hooks::{Admit, Hooks};
pub use repeats::Repeats;
pub use server::{Doors, Health, bind, serve};

#[cfg(test)]
mod tests;
