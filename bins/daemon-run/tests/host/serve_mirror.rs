//! Branches of daemons that go from a mirror clone to where it came from, also after that was configured wrongly.

use serde_json::json;

use crate::world::{World, check, eventually, watch};

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

#[test]
fn a_reload_that_corrects_the_remote_delivers_what_waits() {
    let world = mirrored("upstream");
    let host = world.serve();
    let fired = host.ask("POST", "/api/v1/daemons/fired/fire", &json!({}));
    assert_eq!(fired.status, 202, "{fired:?}");
    let waiting = eventually("the delivery fails", || {
        let output = host.get("outputs")["outputs"][0].clone();
        output["error"].is_string().then_some(output)
    });
    assert_eq!(host.stop().0, Some(0), "{}", world.log());
    let error = waiting["error"].as_str().expect("an error");
    let warning = format!("error={error:?}");
    let log = world.log();
    let mut warnings = log.lines().filter(|line| line.contains("WARN output "));
    assert!(
        warnings.any(|line| line.contains(&warning)),
        "{warning}: {log}"
    );

    // Without the reload, the next try would come in a hundred years.
    let store = world.store();
    let later = "UPDATE output SET not_before = not_before + 3155760000000000";
    assert_eq!(store.execute(later, []), Ok(1));
    drop(store);
    let host = world.serve();
    let config = std::fs::read_to_string(world.home.join("config.toml"));
    let config = config.expect("the configuration");
    world.write_config(&config.replace("\"upstream\"", "\"origin\""));
    shows!(world.json(&["reload"]), {"$?": 0, "generation": 2});
    let delivered = host.activation_in("succeeded")["outputs"][0].clone();
    assert_eq!(delivered, waiting["key"]);
    let delivered = host.get("outputs")["outputs"][0].clone();
    shows!(delivered, {"state": "confirmed", "error": null});
    assert_eq!(world.branches().len(), 1);
}
