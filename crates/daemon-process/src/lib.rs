//! Supervised child processes: groups, limits, capture, sandbox.
