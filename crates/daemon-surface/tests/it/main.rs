//! Branches as daemons push them, and facts as services tell them.

#[cfg(test)]
mod branch;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod fake_api;
