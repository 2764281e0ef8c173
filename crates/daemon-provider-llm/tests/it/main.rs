//! Runs of a model that a stand-in on loopback plays.

#[cfg(test)]
mod bad_answers;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod files;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod money;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod turns;
