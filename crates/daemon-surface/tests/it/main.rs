//! Branches that daemons push, and facts that services return.

#[cfg(test)]
mod api_answers;
#[cfg(test)]
mod api_settings;
#[cfg(test)]
mod app;
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
mod faults;
#[cfg(test)]
mod github_draft;
#[cfg(test)]
mod github_examined;
#[cfg(test)]
mod github_faults;
#[cfg(test)]
mod github_kit;
#[cfg(test)]
mod github_refusals;
#[cfg(test)]
mod github_verbs;
#[cfg(test)]
mod linear_faults;
#[cfg(test)]
mod linear_verbs;
#[cfg(test)]
mod onto;
#[cfg(test)]
mod outbox;
#[cfg(test)]
mod page;
#[cfg(test)]
mod pull_requests;
#[cfg(test)]
mod reconcile;
#[cfg(test)]
mod reconcile_linear;
#[cfg(test)]
mod slack_faults;
#[cfg(test)]
mod slack_verbs;
