//! What is kept, and what goes.

use crate::world::{World, eventually};

#[test]
fn runs_that_ended_long_enough_ago_go_with_their_rows_and_folders() {
    let world = World::pushed();
    world.write_config(&format!(
        "[[repo]]\npath = {:?}\nname = \"o/r\"\n\n[retain]\nruns = \"2s\"\n",
        world.repo.display().to_string(),
    ));
    let first = world.serve();
    let run = world.dispatch_within(&["look at the links"], 30).remove(0);
    let folder = world.home.join("daemons").join(&run);
    world.announced(&run);
    drop(first);
    assert!(folder.is_dir());
    // Its first round comes when the run is old enough for certain.
    let host = world.serve();
    eventually("the run is forgotten", || {
        host.list("runs").is_empty().then_some(())
    });
    eventually("its folder is gone", || (!folder.exists()).then_some(()));
    let (code, reply) = world.json(&["emanate", "check", &run]);
    assert_eq!(
        (code, &reply["error"]["code"]),
        (66, &"unknown-emanation".into())
    );
    assert_eq!(
        world.events().len(),
        1,
        "what was announced stays announced"
    );
}
