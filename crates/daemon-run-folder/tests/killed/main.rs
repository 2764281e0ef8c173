//! A writer that is killed in the middle of a write, under a thousand readers.
//!
//! In a process of its own: a child that is being started holds for a moment the locks of all that run beside it.

#[cfg(test)]
mod writer;
