//! Branches of daemons that go from a mirror clone to where it came from.

use crate::world::{World, check, watch};

/// Makes a world that watches a mirror of its repository and delivers to `remote`.
fn mirrored(remote: &str) -> World {
    let world = World::new(&[("fired", &watch(&["when a pull request is opened"]))]);
    let mirror = world.beside("mirror.git").display().to_string();
    world.git(&["clone", "--quiet", "--mirror", ".", &mirror]);
    let config =
        std::fs::read_to_string(world.home.join("config.toml")).expect("the configuration");
    let own = format!("{:?}", world.repo.display().to_string());
    let config = config.replace(&own, &format!("{mirror:?}"));
    world.write_config(&format!("{config}\n[surfaces.git]\nremote = {remote:?}\n"));
    world
}

#[test]
fn a_mirror_clone_delivers_to_its_origin() {
    let world = mirrored("origin");
    let host = world.serve();
    let delivery = check(&host.get("doctor"), "surface git o/r");
    assert_eq!(delivery["status"], "ok", "{delivery}");
    let fired = shown!(world.json(&["fire", "fired"]), {"$?": 0, "activation.state": "succeeded"});
    let branch = fired["outputs"][0]["target"].as_str().expect("a branch");
    assert_eq!(
        world.branches(),
        [branch],
        "it is where the mirror came from"
    );
}

#[test]
fn the_doctor_names_a_repository_that_cannot_deliver() {
    let world = mirrored("upstream");
    let host = world.serve();
    let delivery = check(&host.get("doctor"), "surface git o/r");
    assert_eq!(delivery["status"], "fail", "{delivery}");
    let detail = delivery["detail"].as_str().expect("a detail");
    assert!(detail.contains("upstream"), "{delivery}");
}
