//! What real runs reach from inside each sandbox level, as root and as an ordinary user.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::serve_sandbox::levels;
use crate::world::{NOBODY, World, check};

/// Probes that a kernel or a machine can refuse by itself: memory and tracing by Yama, kinds of shared memory and sockets that a
/// kernel does not have, and addresses without a route.
const UNDECIDED: [u64; 7] = [28, 30, 33, 34, 37, 38, 40];

/// Returns what level 2 leaves open, by the numbers of the probes.
fn gaps() -> BTreeMap<u64, &'static str> {
    let mut gaps = BTreeMap::from([(37, "open: ports only"), (39, "open: no UDP limits")]);
    if !daemon_process::probe().limits_ports {
        gaps.extend([35, 36, 38].map(|id| (id, "open: no port limits")));
    }
    gaps
}

/// Asserts what a machine that supports these levels refuses.
#[expect(
    clippy::print_stdout,
    reason = "the runner counts what is skipped from this line"
)]
fn check_row(row: &Value, levels: &[u8]) {
    let id = row["id"].as_u64().expect("a number");
    if row["no_sandbox"] == "refused" {
        assert!(UNDECIDED.contains(&id), "{row}");
        println!("skipped: probe {id}: {}", row["undecided"]);
    } else {
        assert_eq!(row["no_sandbox"], "open", "{row}");
        assert_eq!(row["undecided"], Value::Null, "{row}");
        let expected = gaps().get(&id).copied().unwrap_or("refused");
        let expected = levels.contains(&2).then_some(expected);
        assert_eq!(row["level_2"].as_str(), expected, "{row}");
    }
    let expected = levels.contains(&3).then_some("refused");
    assert_eq!(row["level_3"].as_str(), expected, "{row}");
}

#[test]
fn every_probe_reaches_its_target_without_a_sandbox_and_none_at_level_3() {
    let users: &[Option<u32>] = if rustix::process::geteuid().is_root() {
        &[Some(NOBODY), None]
    } else {
        &[None]
    };
    let levels = levels();
    for user in users {
        let mut world = World::pushed();
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(&world.home, private).expect("its mode");
        if let Some(user) = user {
            world.hand_over(*user);
        }
        let (code, report) = world.json(&["doctor", "--probe"]);
        let rows = report["probes"].as_array().expect("a list");
        let ids: Vec<u64> = rows.iter().filter_map(|row| row["id"].as_u64()).collect();
        assert_eq!(ids, (1..=40).collect::<Vec<u64>>(), "user {user:?}");
        for row in rows {
            check_row(row, &levels);
        }
        let probes = check(&report, "probes");
        let status = if levels.contains(&3) { "ok" } else { "warn" };
        assert_eq!(probes["status"], status, "{probes}");
        assert_eq!(report["ok"], true, "{report:#}");
        assert_eq!(code, 0, "user {user:?}");
        // Everything was in a home of its own.
        assert!(!world.home.join("state.db").exists());
    }
}

#[test]
fn a_doctor_without_probes_reports_none() {
    let (_, report) = World::pushed().json(&["doctor"]);
    assert_eq!(report.get("probes"), None);
    let checks = report["checks"].as_array().expect("a list");
    assert!(checks.iter().all(|check| check["name"] != "probes"));
}
