//! Tests of the supervisor with real processes.

#[cfg(test)]
mod confinement;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod local_software;
#[cfg(test)]
mod overlays;
#[cfg(test)]
mod supervisor;
#[cfg(test)]
mod support;
