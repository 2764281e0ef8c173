use serde_json::json;

use super::*;

fn name(text: &str) -> AgentName {
    text.parse().unwrap()
}

#[test]
fn an_agent_changes_only_at_the_revision_that_the_caller_knows() {
    let home = tempfile::tempdir().unwrap();
    let agents = Agents::new(home.path().to_owned());
    let definition = json!({"description": "Finds."})
        .as_object()
        .unwrap()
        .clone();
    let rev = agents
        .create(&name("scout"), &definition, "Be brief.\n")
        .unwrap();
    let taken = agents.create(&name("scout"), &definition, "x");
    assert_eq!(taken.unwrap_err().to_string(), "agent `scout` exists");
    let newer = agents
        .update(&name("scout"), (None, Some("Be long.\n".to_owned())), &rev)
        .unwrap();
    let stale = agents.update(&name("scout"), (None, Some("x".to_owned())), &rev);
    assert_eq!(
        stale.unwrap_err().to_string(),
        format!("agent `scout` has the revision {newer}")
    );
    let agent = agents.get(&name("scout")).unwrap();
    assert_eq!(
        (
            agent.description.as_str(),
            agent.prompt.as_str(),
            agent.rev.as_str()
        ),
        ("Finds.", "Be long.\n", newer.as_str())
    );
    assert!(agents.delete(&name("scout"), &rev).is_err());
    agents.delete(&name("scout"), &newer).unwrap();
    assert_eq!(
        agents.get(&name("scout")).unwrap_err().to_string(),
        "no agent `scout`"
    );
}

#[test]
fn a_change_of_the_prompt_keeps_the_front_matter_byte_for_byte() {
    let home = tempfile::tempdir().unwrap();
    let agents = Agents::new(home.path().to_owned());
    let file = home.path().join("scout.md");
    fs::write(&file, "---\n# Mine.\ndescription:   Finds.\n---\nOld.\n").unwrap();
    let rev = agents.get(&name("scout")).unwrap().rev;
    agents
        .update(&name("scout"), (None, Some("New.\n".to_owned())), &rev)
        .unwrap();
    assert_eq!(
        fs::read_to_string(file).unwrap(),
        "---\n# Mine.\ndescription:   Finds.\n---\nNew.\n"
    );
}

#[test]
fn a_listing_has_invalid_agents_with_their_problem_and_no_other_files() {
    let home = tempfile::tempdir().unwrap();
    let agents = Agents::new(home.path().join("agents"));
    assert_eq!(agents.list().unwrap(), []);
    fs::create_dir(home.path().join("agents")).unwrap();
    for (file, text) in [
        ("b.md", "---\n---\n"),
        ("a.md", "no front matter"),
        ("UPPER.md", "---\n---\n"),
        (".a.md.0.tmp", "---\n---\n"),
    ] {
        fs::write(home.path().join("agents").join(file), text).unwrap();
    }
    let listed = agents.list().unwrap();
    let shown: Vec<_> = listed
        .iter()
        .map(|one| {
            (
                one.name.as_str(),
                one.agent.as_ref().map(|_| "valid").map_err(String::as_str),
            )
        })
        .collect();
    let problem = "the definition of `a`: it begins with no front matter between lines of `---`";
    assert_eq!(shown, [("a", Err(problem)), ("b", Ok("valid"))]);
}
