//! Run folders on a real disk.

#[cfg(test)]
mod after;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod rebuilding;
#[cfg(test)]
mod removing;
#[cfg(test)]
mod writing;
