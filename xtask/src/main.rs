//! Workspace tasks: tidy, test, bench, ci.
fn main() {}
