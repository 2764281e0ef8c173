//! Run folders on a real disk.

#[cfg(test)]
mod after;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod following;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod output_segments;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod rebuilding;
#[cfg(test)]
mod removing;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod whole_document;
#[cfg(test)]
mod writing;
