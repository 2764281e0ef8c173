//! Sentences about checks, deployments, alerts and what is kept on GitHub, and about Linear, Slack and Sentry.
//!
//! The vocabulary defines the events of each noun. This grammar combines noun phrases, modifiers and verbs by it,
//! so that guards and alternatives keep their scope as in sentences about pull
//! requests.

mod acts;
mod complements;
mod ends;
mod facts;
mod guards;
mod happens;
mod labels;
mod moves;
mod names;
mod narrow;
mod others;
mod places;
mod subject;
mod talk;
mod tickets;
mod topic;
mod tracker;
mod values;

pub(crate) use facts::{is_said, name_test, tells, value_test};
pub(crate) use topic::{Topic, topic};
