//! Branches that daemons push, and facts that services return.

#[cfg(test)]
mod api_answers;
#[cfg(test)]
mod api_settings;
#[cfg(test)]
mod branch;
#[cfg(test)]
mod changed_files;
#[cfg(test)]
mod channel_names;
#[cfg(test)]
mod fact_kit;
#[cfg(test)]
mod fake_api;
#[cfg(test)]
mod pull_requests;
