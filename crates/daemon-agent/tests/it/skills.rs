//! Skills in turns.

use std::fs;
use std::sync::Arc;

use daemon_agent::{Skills, SkillsHook};
use serde_json::json;

use crate::kit::{Bench, Step, text};

/// Makes a bench with the skills `inbox` and `broken`.
fn bench(steps: impl IntoIterator<Item = Step>) -> (Bench, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let inbox = home.path().join("inbox");
    fs::create_dir_all(inbox.join("reference")).unwrap();
    let instructions = "---\nname: inbox\ndescription: Reads the mail.\n---\nRead it all.\n";
    fs::write(inbox.join("SKILL.md"), instructions).unwrap();
    fs::write(inbox.join("reference/terms.md"), "The terms.").unwrap();
    fs::create_dir(home.path().join("broken")).unwrap();
    let hook = SkillsHook::new(Skills::new(home.path().to_owned()));
    (Bench::with_hooks([Arc::new(hook) as _], steps), home)
}

const BODY: &str =
    "The skill `inbox`:\n\nRead it all.\n\n\nIts files, for the tool `skill`: reference/terms.md";

fn outputs(bench: &Bench) -> Vec<String> {
    let lines = bench.lines().into_iter();
    let results = lines.filter(|line| line["type"] == "tool");
    results
        .map(|line| line["output"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_skill_and_its_files_are_read_on_demand() {
    let (bench, _home) = bench([
        Step::Call("c1", "skill", json!({"name": "inbox"})),
        Step::Call(
            "c2",
            "skill",
            json!({"name": "inbox", "file": "reference/terms.md"}),
        ),
        Step::Call(
            "c3",
            "skill",
            json!({"name": "inbox", "file": "../broken/x"}),
        ),
        Step::Say("Read."),
        Step::Call("c4", "skill", json!({"name": "broken"})),
        Step::Call("c5", "skill", json!({"name": "../inbox"})),
        Step::Call("c6", "skill", json!({"name": "absent"})),
        Step::Say("Not read."),
    ]);
    assert_eq!(text(bench.say("Read.").await), "Read.");
    assert_eq!(text(bench.say("More.").await), "Not read.");
    assert_eq!(
        outputs(&bench),
        [
            BODY,
            "The terms.",
            "error: `../broken/x`: only files beneath the directory of the skill are read, without links",
            "error: the skill `broken`: it has no SKILL.md",
            "error: there is no skill `../inbox`",
            "error: no skill `absent`",
        ]
    );
}

#[tokio::test]
async fn a_message_names_a_skill_with_a_slash_and_its_body_is_not_stored() {
    let (bench, _home) = bench([Step::Say("One."), Step::Say("Two."), Step::Say("Three.")]);
    text(bench.say("/inbox").await);
    text(bench.say("See /tmp/inbox, then /inbox again: /inbox").await);
    text(bench.say("/broken or /absent").await);
    let received = bench.model.received();
    let injected = format!("user: {BODY}");
    assert_eq!(
        received[0],
        ["system: Be brief.\n", injected.as_str(), "user: /inbox"]
    );
    let last = &received[1][received[1].len() - 2..];
    let message = "user: See /tmp/inbox, then /inbox again: /inbox";
    assert_eq!(last, [injected.as_str(), message]);
    let last = &received[2][received[2].len() - 2..];
    let problem = "user: The skill `broken` cannot be used: the skill `broken`: it has no SKILL.md";
    assert_eq!(last, [problem, "user: /broken or /absent"]);
    let log = String::from_utf8(bench.bytes()).unwrap();
    assert!(!log.contains("Read it all."), "{log}");
}

#[tokio::test]
async fn an_agent_uses_the_skills_of_its_list_only() {
    let agent =
        |skills: &str| format!("---\ndescription: Finds.\nskills: {skills}\n---\nBe brief.\n");
    let (bench, _home) = bench([
        Step::Call("c1", "skill", json!({"name": "inbox"})),
        Step::Say("No."),
        Step::Call("c2", "skill", json!({"name": "inbox"})),
        Step::Say("No."),
    ]);
    bench.write_agent("scout", &agent("[other]"));
    text(bench.say("/inbox").await);
    bench.write_agent("scout", &agent("[]"));
    text(bench.say("/inbox").await);
    assert_eq!(
        outputs(&bench),
        [
            "error: there is no skill `inbox`",
            "error: tool not registered: `skill`"
        ]
    );
    let first = &bench.model.received()[0];
    assert_eq!(first[..], ["system: Be brief.\n", "user: /inbox"]);
}
