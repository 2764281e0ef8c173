//! What the attempts show: a table for people, rows for programs, and a check.

use daemon_host::doctor::Check;
use daemon_process::SandboxReport;
use serde_json::{Value, json};

use super::OPEN_LEVEL;
use super::table::{Gap, PROBES, Probe};
use super::targets::Attempted;
use crate::out::{plain, put};

/// The levels whose refusals are shown.
const LEVELS: [u8; 2] = [2, 3];

/// The attempts of one level.
#[derive(Debug)]
pub(super) struct LevelResults {
    pub(super) level: u8,
    pub(super) attempted: Vec<Attempted>,
}

impl LevelResults {
    /// Returns the result of an attempt; a missing one counts as a success, which every level but the open one must not have.
    fn refusal(&self, probe: &Probe) -> Option<&str> {
        let of_probe = |attempted: &&Attempted| attempted.id == probe.id;
        self.attempted.iter().find(of_probe)?.refusal.as_deref()
    }
}

/// The result of a probe at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Refused,
    Open,
    /// Open by design.
    Gap(Gap),
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Open => "open",
            Self::Gap(Gap::ListedPort) => "open: ports only",
            Self::Gap(Gap::AnyPort) => "open: no port limits",
            Self::Gap(Gap::Datagrams) => "open: no UDP limits",
        }
    }
}

/// The results of the attempts at every level of this machine.
#[derive(Debug)]
pub(crate) struct ProbeReport {
    levels: Vec<LevelResults>,
    limits_ports: bool,
    /// What this machine supports.
    detail: String,
}

impl ProbeReport {
    pub(super) fn new(levels: Vec<LevelResults>, sandbox: &SandboxReport) -> Self {
        Self {
            levels,
            limits_ports: sandbox.limits_ports,
            detail: sandbox.detail.clone(),
        }
    }

    fn at(&self, level: u8) -> Option<&LevelResults> {
        self.levels.iter().find(|results| results.level == level)
    }

    /// Returns the result at a level; `None` if the machine does not support it.
    fn verdict(&self, probe: &Probe, level: u8) -> Option<Verdict> {
        let refusal = self.at(level)?.refusal(probe);
        let gap = probe
            .gap
            .filter(|gap| level == 2 && (*gap != Gap::AnyPort || !self.limits_ports));
        Some(match (refusal, gap) {
            (Some(_), _) => Verdict::Refused,
            (None, Some(gap)) => Verdict::Gap(gap),
            (None, None) => Verdict::Open,
        })
    }

    /// Returns why a probe fails without a sandbox, so that its refusals show nothing.
    fn undecided(&self, probe: &Probe) -> Option<&str> {
        self.at(OPEN_LEVEL)?.refusal(probe)
    }

    fn ids(&self, is_wanted: impl Fn(&Probe) -> bool) -> Vec<String> {
        let wanted = PROBES.iter().filter(|probe| is_wanted(probe));
        wanted.map(|probe| probe.id.to_string()).collect()
    }

    /// Returns the table and what follows from it.
    pub(crate) fn text(&self) -> String {
        let width = PROBES
            .iter()
            .map(|probe| name(probe).chars().count())
            .max()
            .unwrap_or(0);
        let mut text = format!(
            "{:>2}  {:width$}  {:<10}  {:<20}  {}\n",
            "", "probe", "no sandbox", "level 2", "level 3"
        );
        for probe in &PROBES {
            let cells = [OPEN_LEVEL, 2, 3].map(|level| match self.verdict(probe, level) {
                Some(verdict) => verdict.as_str(),
                None => "not reached",
            });
            let [open, second, third] = cells;
            put!(
                text,
                "{:>2}  {:width$}  {open:<10}  {second:<20}  {third}\n",
                probe.id,
                name(probe)
            );
        }
        for probe in &PROBES {
            if let Some(why) = self.undecided(probe) {
                put!(
                    text,
                    "not decided here: probe {} fails without a sandbox too: {}\n",
                    probe.id,
                    plain(why)
                );
            }
        }
        text
    }

    /// Returns a row for each probe.
    pub(crate) fn json(&self) -> Value {
        let row = |probe: &Probe| {
            let shown = |level| self.verdict(probe, level).map(Verdict::as_str);
            json!({
                "id": probe.id,
                "group": probe.group,
                "what": probe.what,
                "no_sandbox": shown(OPEN_LEVEL),
                "level_2": shown(2),
                "level_3": shown(3),
                "undecided": self.undecided(probe),
            })
        };
        PROBES.iter().map(row).collect()
    }

    /// Returns the check of the doctor.
    pub(crate) fn check(&self) -> Check {
        let mut parts = Vec::new();
        let mut is_open = false;
        for level in LEVELS {
            let is = |verdict| move |probe: &Probe| self.verdict(probe, level) == Some(verdict);
            if self.at(level).is_none() {
                parts.push(format!("level {level} cannot be reached ({})", self.detail));
                continue;
            }
            let is_refused = is(Verdict::Refused);
            let refused = self.ids(|probe| is_refused(probe) && self.undecided(probe).is_none());
            let refused = refused.len();
            parts.push(format!(
                "level {level} refuses {refused} of {}",
                PROBES.len()
            ));
            let open = self.ids(is(Verdict::Open));
            if !open.is_empty() {
                is_open = true;
                parts.push(format!("it does not refuse {}", open.join(", ")));
            }
            let gaps =
                self.ids(|probe| matches!(self.verdict(probe, level), Some(Verdict::Gap(_))));
            if !gaps.is_empty() {
                parts.push(format!("open by design: {}", gaps.join(", ")));
            }
        }
        let undecided = self.ids(|probe| self.undecided(probe).is_some());
        if !undecided.is_empty() {
            parts.push(format!("not decided here: {}", undecided.join(", ")));
        }
        let detail = parts.join("; ");
        if is_open {
            Check::fail(
                "probes",
                detail,
                "give no untrusted run to this machine, and report the open probes",
            )
        } else if self.levels.len() < LEVELS.len() + 1 {
            Check::warn(
                "probes",
                detail,
                "a kernel with Landlock, 6.2 or later, and user namespaces",
            )
        } else {
            Check::ok("probes", detail)
        }
    }
}

fn name(probe: &Probe) -> String {
    format!("{}: {}", probe.group, probe.what)
}

#[cfg(test)]
mod tests {
    use daemon_process::SandboxLevel;

    use super::*;

    /// Returns the check of a machine with port limits where, by level, all attempts but these fail.
    fn check(open: &[(u8, &[u8])]) -> (&'static str, String) {
        let levels = open.iter().map(|(level, open)| LevelResults {
            level: *level,
            attempted: PROBES
                .iter()
                .map(|probe| Attempted {
                    id: probe.id,
                    refusal: (!open.contains(&probe.id)).then(|| "refused".to_owned()),
                })
                .collect(),
        });
        let mut sandbox = daemon_process::probe();
        sandbox.level = SandboxLevel::Isolated;
        sandbox.limits_ports = true;
        sandbox.detail = "no namespaces".to_owned();
        let report = ProbeReport::new(levels.collect(), &sandbox);
        assert_eq!(report.json().as_array().map(Vec::len), Some(PROBES.len()));
        let check = report.check();
        (check.status.as_str(), check.detail)
    }

    #[test]
    fn what_a_level_does_not_refuse_fails_the_check_unless_it_is_by_design() {
        let all: Vec<u8> = PROBES.iter().map(|probe| probe.id).collect();
        let without = &all[1..];
        let refused = "level 2 refuses 38 of 40; open by design: 37, 39";
        assert_eq!(all, (1..=40).collect::<Vec<u8>>());
        let table = [
            (
                check(&[(3, &[]), (2, &[37, 39]), (1, &all)]),
                "ok",
                format!("{refused}; level 3 refuses 40 of 40"),
            ),
            (
                check(&[(3, &[5, 37]), (2, &[37, 39]), (1, &all)]),
                "fail",
                format!("{refused}; level 3 refuses 38 of 40; it does not refuse 5, 37"),
            ),
            (
                check(&[(3, &[]), (2, &[35, 37]), (1, &all)]),
                "fail",
                "level 2 refuses 38 of 40; it does not refuse 35; open by design: 37; level 3 refuses 40 of 40".to_owned(),
            ),
            (
                check(&[(3, &[]), (2, &[37, 39]), (1, without)]),
                "ok",
                "level 2 refuses 37 of 40; open by design: 37, 39; level 3 refuses 39 of 40; not decided here: 1".to_owned(),
            ),
            (
                check(&[(2, &[37, 39]), (1, &all)]),
                "warn",
                format!("{refused}; level 3 cannot be reached (no namespaces)"),
            ),
        ];
        for (found, status, detail) in table {
            assert_eq!(found, (status, detail));
        }
    }
}
