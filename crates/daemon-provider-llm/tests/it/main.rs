//! Runs over a stand-in for a model API on loopback.

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
#[cfg(test)]
mod web;
