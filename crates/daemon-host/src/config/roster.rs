//! The configuration of the roster.

use std::collections::BTreeSet;

use daemon_api::Period;
use daemon_roster::{LivenessWindow, Project, RosterSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;

/// The numbers that the roster works with.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Roster")]
pub struct RosterConfig {
    /// After how long without a sign standing and repository daemons are stale.
    pub stale: Period,
    /// After how long they are dead.
    pub dead: Period,
    /// After how long daemons are stale whose accepted cadence is `dormant`.
    pub dormant_stale: Period,
    /// After how long they are dead.
    pub dormant_dead: Period,
    /// If set, standing daemons are stale after as many minutes and dead after twice as many, with every cadence. Dormant daemons
    /// that check in as they should are stale then.
    pub stale_after_minutes: Option<u32>,
    /// How often standing daemons check in.
    pub heartbeat: Period,
    /// How long a claim of a signal lasts without a check-in.
    pub claim_lease: Period,
    /// How long a successor waits for the hand-over before it may take the baton itself.
    pub pull_after: Period,
}

impl Default for RosterConfig {
    fn default() -> Self {
        let minutes = |n: u32| Period::from_secs(n * 60);
        Self {
            stale: minutes(20),
            dead: minutes(40),
            dormant_stale: minutes(45),
            dormant_dead: minutes(90),
            stale_after_minutes: None,
            heartbeat: minutes(13),
            claim_lease: minutes(15),
            pull_after: minutes(10),
        }
    }
}

impl RosterConfig {
    /// Returns the settings of a roster with some projects.
    pub fn settings(&self, projects: BTreeSet<Project>) -> RosterSettings {
        let window = |stale: Period, dead: Period| LivenessWindow {
            stale: stale.signed(),
            dead: dead.signed(),
        };
        RosterSettings {
            projects,
            base: window(self.stale, self.dead),
            dormant: window(self.dormant_stale, self.dormant_dead),
            stale_after: self
                .stale_after_minutes
                .map(|n| jiff::SignedDuration::from_mins(i64::from(n))),
            heartbeat: self.heartbeat.signed(),
            claim_lease: self.claim_lease.signed(),
            pull_after: self.pull_after.signed(),
            ..RosterSettings::default()
        }
    }
}

/// Finds periods that exclude each other or that no check-in could keep.
pub(super) fn faults(config: &RosterConfig) -> Vec<ConfigFault> {
    let fault = |name: &str, message: String| ConfigFault::of_value(&["roster", name], message);
    let mut faults = Vec::new();
    for (name, value) in [
        ("stale", config.stale),
        ("dormant_stale", config.dormant_stale),
        ("heartbeat", config.heartbeat),
        ("claim_lease", config.claim_lease),
        ("pull_after", config.pull_after),
    ] {
        if value < Period::from_secs(1) {
            let message = format!("`roster.{name}` is {value}, it must be at least 1s");
            faults.push(fault(name, message));
        }
    }
    for (stale, dead, values) in [
        ("stale", "dead", (config.stale, config.dead)),
        (
            "dormant_stale",
            "dormant_dead",
            (config.dormant_stale, config.dormant_dead),
        ),
    ] {
        if values.0 >= values.1 {
            let (first, second) = values;
            let message = format!(
                "`roster.{dead}` is {second}, it must be longer than `roster.{stale}`, which is {first}"
            );
            faults.push(fault(dead, message));
        }
    }
    if config.stale_after_minutes == Some(0) {
        let message = "`roster.stale_after_minutes` is 0, it must be at least 1".to_owned();
        faults.push(fault("stale_after_minutes", message));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::{RosterConfig, RosterSettings, faults};

    fn messages(text: &str) -> Vec<String> {
        let config: RosterConfig = toml::from_str(text).unwrap();
        let faults = faults(&config).into_iter();
        faults.map(|fault| fault.message).collect()
    }

    #[test]
    fn the_defaults_are_those_of_the_roster() {
        let settings = RosterConfig::default().settings([].into());
        assert_eq!(settings, RosterSettings::default());
        assert_eq!(messages(""), Vec::<String>::new());
    }

    #[test]
    fn periods_that_no_check_in_could_keep_are_refused() {
        assert_eq!(
            messages("heartbeat = \"0s\"\nstale = \"1h\"\nstale_after_minutes = 0"),
            [
                "`roster.heartbeat` is 0s, it must be at least 1s",
                "`roster.dead` is 40m, it must be longer than `roster.stale`, which is 1h",
                "`roster.stale_after_minutes` is 0, it must be at least 1",
            ]
        );
    }
}
