//! Runs in which no model ran: each listing, page and log reports it, and names how to configure one.

use serde_json::json;

use crate::world::{World, watch};

/// What is said where `builtin` is the provider.
const NO_MODEL: &str = "no model is configured";

fn without_model() -> World {
    let world = World::pushed();
    world.watch_with("");
    world
}

#[test]
fn a_run_without_a_model_is_reported_with_how_to_configure_one() {
    let world = without_model();
    let host = world.serve();
    assert!(
        world.log().contains(NO_MODEL) && world.log().contains("[provider]"),
        "{}",
        world.log()
    );
    let fired = shown!(world.json(&["fire", "pusher"]), {
        "$?": 0, "activation.state": "succeeded", "activation.reported": true, "runs.0.state": "done",
        "runs.0.reported": true,
    });
    for (path, plural) in [("activations", "activations"), ("runs", "runs")] {
        assert_eq!(host.get(path)[plural][0]["reported"], true, "{path}");
    }
    shows!(host.get("daemons"), {"daemons.0.last_activation.reported": true});
    let id = fired["activation"]["id"].as_str().expect("an id");
    assert_eq!(host.get(&format!("activations/{id}"))["reported"], true);
    for path in ["/", "/runs", "/activations"] {
        let page = host.page(path);
        assert!(
            page.body.contains("reported") && !page.body.contains("</span> succeeded"),
            "{path}: {}",
            page.body
        );
    }
    assert!(
        host.page("/").body.contains(NO_MODEL),
        "{}",
        host.page("/").body
    );

    let text = |args: &[&str]| {
        let ran = world.run(args);
        let output = String::from_utf8(ran.stdout).expect("it is text");
        (output, String::from_utf8(ran.stderr).expect("it is text"))
    };
    let (listed, notes) = text(&["list"]);
    assert!(
        listed.contains("reported") && !listed.contains("succeeded"),
        "{listed}"
    );
    assert!(notes.contains(NO_MODEL), "{notes}");
    let (fired, notes) = text(&["fire", "pusher"]);
    assert!(
        fired.contains("  reported\n") && !fired.contains("succeeded"),
        "{fired}"
    );
    assert!(notes.contains(NO_MODEL), "{notes}");
    for args in [["activations"], ["runs"]] {
        let (listed, _) = text(&args);
        assert!(listed.contains("reported"), "{listed}");
    }
}

#[test]
fn a_dispatched_run_without_a_model_is_reported_in_every_view() {
    let world = without_model();
    let host = world.serve();
    let run = world.dispatch(&["look"]).remove(0);
    let shown = world.announced(&run);
    shows!(shown, {"status": "done", "reported": true});
    let (_, list) = world.json(&["emanate", "list", "--status", "done"]);
    let entry = &list["emanations"][0];
    shows!(entry, {"status": "done", "reported": true});
    let notices = world.notices();
    let event = &notices["data"]["events"][0];
    assert_eq!(
        json!([notices["header"], event["status"], event["reported"]]),
        json!(["1 daemon notice, 1 reported", "done", true])
    );
    let body = event["body"].as_str().expect("a body");
    assert!(
        body.starts_with(&format!("Daemon {run} reported.\n")),
        "{body}"
    );
    read_as_reported(&world, &run);
    // What the index forgot is read from the folders, and without a host there are folders alone.
    host.stop();
    read_as_reported(&world, &run);
}

/// Reads a run as people do.
fn read_as_reported(world: &World, run: &str) {
    let commands: [&[&str]; 4] = [
        &["emanate", "list"],
        &["emanate", "check", run],
        &["runs"],
        &["run", run],
    ];
    for args in commands {
        let ran = world.run(args);
        let text = String::from_utf8(ran.stdout).expect("it is text");
        let is_told = |word: &str| text.split_whitespace().any(|part| part == word);
        assert!(is_told("reported") && !is_told("done"), "{args:?}: {text}");
    }
}

#[test]
fn a_run_of_a_program_is_not_reported() {
    let world = World::new(&[("pusher", &watch(&["when a commit is pushed to main"]))]);
    let host = world.serve();
    assert!(!world.log().contains(NO_MODEL), "{}", world.log());
    let (_, fired) = world.json(&["fire", "pusher"]);
    shows!(fired, {"activation.reported": false, "runs.0.reported": false});
    assert!(host.page("/activations").body.contains("</span> succeeded"));
}

#[test]
fn a_run_of_builtin_under_another_default_gets_no_note_about_a_missing_model() {
    let world = World::pushed();
    world.watch_with(
        "[provider]\ndefault = \"sh\"\n[provider.sh]\n\
         command = \"/bin/true\"\n[policy.daemon.pusher]\nprovider = \"builtin\"\n",
    );
    let repo = world.repo.display().to_string();
    let ran = world.run(&["fire", "pusher", "--repo", &repo]);
    let output = String::from_utf8_lossy(&ran.stdout);
    let notes = String::from_utf8_lossy(&ran.stderr);
    assert!(output.contains("reported"), "{output}{notes}");
    assert!(!notes.contains(NO_MODEL), "{notes}");
}

/// Returns the first code block of a language in the README.
fn readme_block(language: &str) -> String {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let (_, block) = readme
        .split_once(&format!("\n```{language}\n"))
        .expect("a block");
    let (block, _) = block.split_once("\n```\n").expect("its end");
    format!("{block}\n")
}

#[test]
fn the_example_of_the_readme_makes_its_branch() {
    let world = World::new(&[]);
    world.write_daemon("link-janitor", &readme_block("markdown"));
    world.write("docs/setup.md", "# Setup\n");
    world.write("docs/guide.md", "First the [setup](setup.md).\n");
    world.commit("begin");
    world.write_config(&readme_block("toml"));
    let repo = world.repo.display().to_string();
    let host = world.serve_with(&["--repo", &repo], &[]);
    std::fs::create_dir(world.repo.join("docs/start")).expect("a directory");
    world.git(&["mv", "docs/setup.md", "docs/start/setup.md"]);
    world.commit("move the setup");
    let activations = host.settled(1);
    shows!(activations, {"0.daemon_id": "link-janitor", "0.state": "succeeded"});
    let branches = world.branches();
    let [branch] = branches.as_slice() else {
        panic!("one branch: {branches:?} {activations:?}");
    };
    assert!(
        branch.starts_with("refs/heads/daemon/link-janitor/"),
        "{branch}"
    );
    let mended = world.git(&["show", &format!("{branch}:docs/guide.md")]);
    assert_eq!(mended, "First the [setup](start/setup.md).\n");
}

#[test]
fn without_a_host_fire_and_list_say_that_no_model_ran() {
    let world = without_model();
    let repo = world.repo.display().to_string();
    let ran = world.run(&["fire", "pusher", "--repo", &repo]);
    let notes = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(notes.contains(NO_MODEL), "{notes}");
    let ran = world.run(&["list"]);
    let (output, notes) = (
        String::from_utf8_lossy(&ran.stdout).into_owned(),
        String::from_utf8_lossy(&ran.stderr).into_owned(),
    );
    assert!(
        output.contains("reported") && notes.contains(NO_MODEL),
        "{output}{notes}"
    );
}
