//! Store traits, the in-memory twin, and the conformance suite.
