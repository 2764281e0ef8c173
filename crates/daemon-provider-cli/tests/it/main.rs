//! Programs as providers, played by shell scripts.

#[cfg(test)]
mod agents;
mod command;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod lost_lines;
