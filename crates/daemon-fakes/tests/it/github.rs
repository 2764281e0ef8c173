//! The fake GitHub through its REST API.

mod access;
mod apps;
mod faults;
mod hooks;
mod issues;
mod pulls;
mod reviews;
mod sets;
