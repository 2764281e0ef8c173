//! Programs as providers, with shell scripts in their place.

#[cfg(test)]
mod agents;
#[cfg(test)]
mod claude;
#[cfg(test)]
mod codex;
mod command;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod installed;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod lost_lines;
#[cfg(test)]
mod opencode;
#[cfg(test)]
mod permission_rows;
#[cfg(test)]
mod stand_in;
