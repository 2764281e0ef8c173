//! The fake GitHub through its REST API.

mod access;
mod faults;
mod issues;
mod pulls;
