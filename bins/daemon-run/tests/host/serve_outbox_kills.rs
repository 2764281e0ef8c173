//! Activations whose host is killed at each step of their outputs, against services that lose, delay and refuse: every output is
//! there once and has its row. A few kills here, a thousand with `cargo xtask kills`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use aho_corasick::AhoCorasick;
use serde_json::Value;

use crate::http::{pull_request_opened, try_raw, webhook};
use crate::outbox_kit::Surfaces;
use crate::serve_crash::setting;
use crate::world::{Host, SECRET, eventually_within};

/// The steps of an output: it is stored, it is being sent, it is on the surface, its reply was read, it is confirmed. A service
/// reports the third to this test; the others are fail points.
const STEPS: &[&str] = if cfg!(feature = "internal-testing") {
    &["O1", "O2", "O3", "O4", "O5"]
} else {
    &["O3"]
};
/// How long a host works before it counts as one that does not reach a step.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the last host may need for the longest retry.
const RETRIES: Duration = Duration::from_secs(600);

/// What a scenario leaves.
#[derive(Debug, Default, PartialEq, Eq)]
struct Left {
    /// How many outputs are in which state.
    outputs: BTreeMap<String, usize>,
    /// Effects whose key another effect has too.
    duplicates: Vec<String>,
    /// Effects without a row that names them.
    untraced: Vec<String>,
    /// Rows that are confirmed, and no effect has their key and their remote id.
    unfounded: Vec<String>,
    /// What cannot be read back and happened more than once.
    repeated: usize,
}

impl Left {
    /// Compares rows and effects, in both directions.
    fn of(rows: &[Value], surfaces: &Surfaces) -> Self {
        let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let mut left = Self::default();
        for row in rows {
            *left.outputs.entry(text(row, "state")).or_default() += 1;
        }
        let keys: Vec<String> = rows.iter().map(|row| text(row, "key")).collect();
        let search = AhoCorasick::new(&keys).expect("keys fit its limits");
        let mut by_key: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (id, written) in surfaces.effects() {
            let found: BTreeSet<&str> = search
                .find_iter(&written)
                .map(|found| keys[found.pattern().as_usize()].as_str())
                .collect();
            match found.into_iter().collect::<Vec<_>>()[..] {
                [key] => by_key.entry(key).or_default().push(id),
                _ => left.untraced.push(format!("{id}: {written}")),
            }
        }
        for row in rows {
            let (key, state, remote) =
                (text(row, "key"), text(row, "state"), text(row, "remote_id"));
            // What has no text of its own is counted below.
            if remote.starts_with("workflow_run:") {
                continue;
            }
            let effects = by_key.remove(key.as_str()).unwrap_or_default();
            let is_branch = row["surface"] == "git";
            match (&effects[..], state.as_str()) {
                ([id], "confirmed") if *id == remote || is_branch => {}
                ([], "refused" | "gave_up" | "unknown") | ([_], "unknown") => {}
                ([_, _, ..], _) => left.duplicates.push(format!("{row}: {effects:?}")),
                _ => left.unfounded.push(format!("{row}: {effects:?}")),
            }
        }
        left.repeated = surfaces.retries().values().filter(|n| **n > 1).count();
        left
    }

    fn is_clean(&self) -> bool {
        let lists = [&self.duplicates, &self.untraced, &self.unfounded];
        lists.iter().all(|list| list.is_empty()) && self.repeated == 0
    }
}

/// Wakes the daemon for a pull request.
fn wake(address: &str, number: u32) -> bool {
    let body = pull_request_opened(number).to_string();
    let delivery = format!("d-{number}");
    let hook = ("pull_request", delivery.as_str());
    let request = webhook(address, hook, SECRET, body.as_bytes());
    try_raw(address, &request).is_some_and(|answer| answer.status == 200)
}

/// What the rig has done so far.
struct Progress {
    n_activations: u32,
    canary: &'static str,
    /// The activations that were woken.
    n_woken: u32,
    /// How often a host was killed at which step.
    kills: BTreeMap<&'static str, u32>,
    n_hosts: u32,
}

impl Progress {
    /// Starts a host that is to die at a step, wakes some activations, and waits for its death.
    fn kill(&mut self, surfaces: &Surfaces, step: &'static str, n_woken: u32) {
        self.n_hosts += 1;
        surfaces.world.forget_crashes();
        // Not always at the first output, so that others wait or are under way on another surface.
        let fatal = format!("{step}#{}", 1 + self.n_hosts % 3);
        let [clock, canary] = self.env(surfaces);
        let env = [clock, canary, ("DAEMON_FAILPOINT", fatal.as_str())];
        let starting = surfaces.world.starting(&[], &env);
        let Ok(mut host) = Host::wait_for(&surfaces.world, starting) else {
            // It died before it was ready: outputs of the host before were due.
            *self.kills.entry(step).or_default() += 1;
            return;
        };
        for _ in 0..n_woken.min(self.n_activations - self.n_woken) {
            if !wake(host.address(), self.n_woken + 1) {
                break;
            }
            self.n_woken += 1;
        }
        let is_dead = match step {
            "O3" => surfaces.ambushed(PATIENCE),
            _ => host.dies_within(PATIENCE),
        };
        *self.kills.entry(step).or_default() += u32::from(is_dead);
        host.kill();
    }

    /// Starts a host that is not killed, wakes the rest, and waits until every output is settled.
    fn finish(&mut self, surfaces: &Surfaces) -> Host {
        surfaces.world.forget_crashes();
        let host = surfaces.world.serve_with(&[], &self.env(surfaces));
        while self.n_woken < self.n_activations {
            self.n_woken += 1;
            assert!(
                wake(host.address(), self.n_woken),
                "a live host acknowledges"
            );
        }
        let n_woken = usize::try_from(self.n_woken).expect("few");
        eventually_within(RETRIES, "every output is settled", || {
            let ends = ["succeeded", "failed"];
            let activations = host.list("activations");
            let open = activations
                .iter()
                .filter(|row| !ends.iter().any(|end| row["state"] == *end));
            match (open.count(), activations.len()) {
                (0, n) if n == n_woken => Ok(()),
                (n_open, n) => Err(format!("{n_open} of {n} are open")),
            }
        });
        host
    }

    fn env<'s>(&self, surfaces: &'s Surfaces) -> [(&'static str, &'s str); 2] {
        [
            ("DAEMON_TEST_CLOCK", surfaces.clock.as_str()),
            ("DAEMON_CANARY", self.canary),
        ]
    }
}

/// A scenario and what it leaves.
struct Rig {
    n_activations: u32,
    /// How often a host is killed at each step.
    n_kills: u32,
    /// A defect that hosts have, or none.
    canary: &'static str,
}

impl Rig {
    #[expect(clippy::print_stdout, reason = "the report of `cargo xtask kills`")]
    fn run(&self) -> (Progress, Left) {
        let surfaces = Surfaces::start(self.n_activations);
        let began = Instant::now();
        let mut progress = Progress {
            n_activations: self.n_activations,
            canary: self.canary,
            n_woken: 0,
            kills: BTreeMap::new(),
            n_hosts: 0,
        };
        // The store is made, so that crashes can be forgotten.
        surfaces.world.serve().kill();
        let n_hosts = self.n_kills * u32::try_from(STEPS.len()).expect("few");
        let n_woken = self.n_activations.div_ceil(n_hosts);
        for round in 0..n_hosts * 2 {
            let step = STEPS[usize::try_from(round).expect("few") % STEPS.len()];
            if progress.kills.get(step).is_none_or(|n| *n < self.n_kills) {
                progress.kill(&surfaces, step, n_woken);
            }
        }
        let n_faults = surfaces.calm();
        let host = progress.finish(&surfaces);
        let rows = host.list("outputs");
        let left = Left::of(&rows, &surfaces);
        println!(
            "outbox: {} activations, {} outputs, {n_faults} faults of services, kills {:?}, {:.0} s\noutbox: {left:?}",
            self.n_activations,
            rows.len(),
            progress.kills,
            began.elapsed().as_secs_f64(),
        );
        (progress, left)
    }
}

#[test]
fn outputs_are_on_their_surfaces_once_though_their_host_is_killed_at_every_step() {
    let rig = Rig {
        n_activations: setting("DAEMON_TEST_OUTBOX_ACTIVATIONS", 12),
        n_kills: setting("DAEMON_TEST_OUTBOX_KILLS", 2),
        canary: "",
    };
    let (progress, left) = rig.run();
    assert!(left.is_clean(), "{left:#?}");
    for step in STEPS {
        let n_killed = progress.kills.get(step);
        assert!(
            n_killed.is_some_and(|n| *n >= rig.n_kills),
            "{step}: {n_killed:?}"
        );
    }
    let n_confirmed = left.outputs.get("confirmed").copied().unwrap_or_default();
    let n_outputs: usize = left.outputs.values().sum();
    assert!(n_confirmed * 10 > n_outputs * 8, "{left:?}");
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_that_sends_again_without_a_look_up_is_found_out() {
    let rig = Rig {
        n_activations: 25,
        n_kills: 5,
        canary: "resend-without-read-back",
    };
    let (_, left) = rig.run();
    assert!(!left.duplicates.is_empty(), "{left:?}");
}
