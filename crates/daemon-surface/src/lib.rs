//! Surfaces that outputs land on.
