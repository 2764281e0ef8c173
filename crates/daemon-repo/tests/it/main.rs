//! Repositories as the real git makes them.

mod discovery;
mod opening;
mod scratch;
