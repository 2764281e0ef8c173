//! The instructions of a repository and the commit of a run, as its provider receives them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{World, daemon_file, json_lines, kept, watch};

/// Keeps the prompt and what the checkout has at `AGENTS.md`.
const KEEPS: &str = "cat > \"$HOME/prompt\"\ncat AGENTS.md > \"$HOME/own\" 2> /dev/null\n\
                     echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"read\"}'\n";

fn world() -> World {
    let opened = watch(&["when a pull request is opened"]);
    let world = World::new(&[("opened", &opened)]);
    world.script(KEEPS);
    world
}

/// Returns a section of a context with the boundaries of its fences masked.
fn section(context: &str, heading: &str) -> Option<String> {
    let (_, after) = context.split_once(&format!("\n# {heading}\n"))?;
    let end = after.find("\n# ").unwrap_or(after.len());
    let is_boundary =
        |word: &str| word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = after[..end].split_inclusive([' ', '\n', '>']);
    let mask = |word: &str| match word.get(..32).filter(|start| is_boundary(start)) {
        Some(start) if word.len() == 33 => word.replace(start, "B"),
        _ => word.to_owned(),
    };
    Some(words.map(mask).collect())
}

/// Wakes the daemon and returns the run with its prompt.
fn fired(world: &World) -> (Value, String) {
    let fired = shown!(world.json(&["fire", "opened", "--repo", "repo"]), {
        "$?": 0, "activation.state": "succeeded",
    });
    let run = fired["runs"][0].clone();
    let prompt = kept(&run, "session/prompt");
    (run, prompt)
}

#[test]
fn a_pull_request_does_not_instruct_the_run_that_it_wakes() {
    let world = world();
    world.write("AGENTS.md", "Words of main.\n");
    let main = world.commit("instruct");
    world.git(&["checkout", "--quiet", "-b", "topic"]);
    world.write("AGENTS.md", "Words of topic.\n");
    let topic = world.commit("instruct otherwise");
    world.git(&["checkout", "--quiet", "main"]);
    let body = json!({
        "action": "opened", "number": 7, "repository": {"full_name": "o/r"},
        "sender": {"login": "ann", "type": "User"},
        "pull_request": {
            "number": 7, "draft": false, "user": {"login": "ann", "type": "User"},
            "head": {"ref": "topic", "sha": topic}, "base": {"ref": "main", "sha": main},
        },
    });
    let host = world.serve();
    assert_eq!(host.hook("pull_request", "d-1", &body).status, 200);
    host.settled(1);
    let run = host.list("runs")[0].clone();
    let prompt = kept(&run, "session/prompt");
    assert_eq!(kept(&run, "session/own"), "Words of topic.\n");
    assert_eq!(prompt.matches("Words of main.").count(), 1, "{prompt}");
    assert!(!prompt.contains("Words of topic."), "{prompt}");
    let after_the_file = prompt.find("file daemon-file ") < prompt.find("Words of main.");
    assert!(after_the_file, "{prompt}");
    let place = format!(
        "\nThe worktree is a git repository of its own, at commit {topic}.\n\
         Its branch is \"topic\".\nIts base is \"main\", at commit {main}.\n"
    );
    assert_eq!(section(&prompt, "Where you work"), Some(place));

    // The preview of the same event has the same sections.
    let event = world.beside("event.json");
    fs::write(&event, body.to_string()).expect("a file");
    let event = event.display().to_string();
    let preview = ["context", "opened", "--repo", "repo", "--event", &event];
    let ran = world.run(
        &[
            &preview[..],
            &["--source", "github", "--kind", "pull_request"],
        ]
        .concat(),
    );
    let preview = String::from_utf8(ran.stdout).expect("it is text");
    for heading in [
        "How this works",
        "The repository's instructions",
        "Where you work",
    ] {
        let shown = section(&preview, heading);
        assert_eq!(shown, section(&prompt, heading), "{heading}");
    }
    assert!(section(&preview, "The repository's instructions").is_some());
}

#[test]
fn instructions_are_bounded_and_can_be_left_out() {
    let world = world();
    let heading = "The repository's instructions";
    let (_, prompt) = fired(&world);
    assert_eq!(section(&prompt, heading), None);
    let commit = world.git(&["rev-parse", "HEAD"]);
    let place = format!(
        "\nThe worktree is a git repository of its own, at commit {}.\nIts branch is \"main\".\n",
        commit.trim()
    );
    assert_eq!(section(&prompt, "Where you work"), Some(place));

    world.write(
        "AGENTS.md",
        &"Forty bytes of instructions, more or less\n".repeat(1000),
    );
    world.commit("instruct at length");
    let (_, prompt) = fired(&world);
    let shown = section(&prompt, heading).expect("a section");
    assert!(
        (31 << 10..=32 << 10).contains(&shown.len()),
        "{}",
        shown.len()
    );
    assert!(shown.contains(" bytes are not shown)"), "{shown}");

    world.configure("[policy]\nrepo_instructions = \"off\"\n");
    let (run, prompt) = fired(&world);
    assert_eq!(section(&prompt, heading), None);
    assert!(!prompt.contains("Forty bytes"), "{prompt}");
    assert!(kept(&run, "session/own").contains("Forty bytes"));
}

#[test]
fn a_link_is_no_instruction_and_the_run_reports_it() {
    let world = world();
    let secret = world.home.join("hook-secret");
    symlink(&secret, world.repo.join("AGENTS.md")).expect("a link");
    world.write("CLAUDE.md", "Words of the other file.\n");
    world.commit("instruct by a link");
    let (run, prompt) = fired(&world);
    let shown = section(&prompt, "The repository's instructions").expect("a section");
    assert!(shown.contains("Words of the other file.\n"), "{shown}");
    assert!(!prompt.contains(&*secret.to_string_lossy()), "{prompt}");
    let events = json_lines(&kept(&run, "logs/events.jsonl"));
    let reported = events
        .iter()
        .find(|event| event["name"] == "repository instructions");
    let reported = reported.unwrap_or_else(|| panic!("{events:#?}"));
    assert_eq!(
        reported.text("detail"),
        "`AGENTS.md` of the default branch is not used: it is a symbolic link, which is not followed"
    );
}

#[test]
fn a_daemon_file_that_does_not_fit_the_context_fails_without_a_retry() {
    let world = World::pushed();
    let config = world.home.join("config.toml");
    let config = fs::read_to_string(config).expect("it exists");
    let limited = |bytes: u32| {
        let section = format!("[provider.sh]\ncontext_bytes = {bytes}\n");
        world.write_config(&config.replace("[provider.sh]\n", &section));
    };
    limited(32_768);
    let wakes = watch(&["when a commit is pushed to main"]);
    let file = daemon_file("pusher", &wakes) + &"Look at every page.\n".repeat(2_000);
    world.write_daemon("pusher", &file);
    let commit = world.commit("a long file");
    let host = world.serve();
    host.registered(&commit);
    world.commit("wake it");
    let failed = host.settled(1).remove(0);
    shows!(failed, {"state": "failed", "attempts": 1, "retry_at": null});
    let reason = failed["reason"].as_str().expect("a reason");
    let end = format!(
        " bytes, {} of them the daemon file, but the provider accepts 32768",
        file.len()
    );
    assert!(
        reason.starts_with("the context needs ") && reason.ends_with(&end),
        "{reason}"
    );
    // Nothing was started, and the file was not cut.
    assert_eq!(host.list("runs"), Vec::<Value>::new());
    limited(65_536);
    assert_eq!(world.json(&["reload"]).0, 0);
    world.commit("wake it again");
    let ended = host.settled(2);
    let again = ended.iter().find(|one| one["id"] != failed["id"]);
    shows!(again.expect("it woke"), {"state": "succeeded"});
    let run = &host.list("runs")[0];
    assert_eq!(kept(run, "context/DAEMON.md"), file);
}
