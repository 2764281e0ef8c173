//! The configuration of the roster.

use std::collections::BTreeSet;

use daemon_api::Period;
use daemon_roster::{LivenessWindow, Project, RosterSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;

/// How often within an hour an agent is resumed whose process ended with the host.
const RESTARTS: usize = 3;

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
    /// How long a spawn plan can be confirmed.
    pub plan_ttl: Period,
    /// The most standing daemons that the host has started, in all projects.
    pub cap: u32,
    /// Whether an agent is resumed whose process ended with the host, at most three times an hour.
    pub restart: Restart,
    /// What the agents of standing daemons may do without asking, as the settings file of the repository has to list it.
    pub allowlist: Vec<String>,
    /// The path of that file in the repository.
    pub settings_file: String,
    /// Whether the roster can only be read by people and agents, apart from check-ins. Pages have no actions then, also on
    /// activations, runs, events and daemons.
    pub read_only: bool,
}

/// Whether agents are resumed whose process ended with the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Restart {
    /// At the start of the host, at most three times an hour.
    Resume,
    /// Only by their next wake.
    Never,
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
            plan_ttl: minutes(5),
            cap: 8,
            restart: Restart::Resume,
            allowlist: vec!["mcp__daemon".to_owned()],
            settings_file: ".claude/settings.json".to_owned(),
            read_only: false,
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
            plan_ttl: self.plan_ttl.signed(),
            cap: usize::try_from(self.cap).unwrap_or(usize::MAX),
            restarts_an_hour: match self.restart {
                Restart::Resume => RESTARTS,
                Restart::Never => 0,
            },
            is_read_only: self.read_only,
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
        ("plan_ttl", config.plan_ttl),
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
    let path = std::path::Path::new(&config.settings_file);
    let is_inside = path
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if !is_inside || config.settings_file.is_empty() {
        let message = format!(
            "`roster.settings_file` is `{}`, it must be a path below the root of the repository",
            config.settings_file
        );
        faults.push(fault("settings_file", message));
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
            messages(
                "heartbeat = \"0s\"\nstale = \"1h\"\nstale_after_minutes = 0\nsettings_file = \"../x\""
            ),
            [
                "`roster.heartbeat` is 0s, it must be at least 1s",
                "`roster.dead` is 40m, it must be longer than `roster.stale`, which is 1h",
                "`roster.stale_after_minutes` is 0, it must be at least 1",
                "`roster.settings_file` is `../x`, it must be a path below the root of the repository",
            ]
        );
    }
}
