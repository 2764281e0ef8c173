//! Branches as daemons push them.

#[cfg(test)]
mod branch;
mod facts;
