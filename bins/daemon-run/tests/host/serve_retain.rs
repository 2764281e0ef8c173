//! What is kept, and what goes.

use crate::world::{World, until};

#[test]
fn runs_that_ended_long_enough_ago_go_with_their_rows_and_folders() {
    let world = World::pushed();
    world.watch_with("[retain]\nruns = \"2s\"\n");
    let first = world.serve();
    let run = world.dispatch_within(&["look at the links"], 30).remove(0);
    let folder = world.home.join("daemons").join(&run);
    world.announced(&run);
    drop(first);
    assert!(folder.is_dir());
    // Its first round comes when the run is old enough for certain.
    let host = world.serve();
    until("the run is forgotten", || host.list("runs").is_empty());
    until("its folder is gone", || !folder.exists());
    shows!(world.json(&["emanate", "check", &run]), {"$?": 66, "error.code": &"unknown-emanation"});
    assert_eq!(
        world.events().len(),
        1,
        "what was announced stays announced"
    );
}
