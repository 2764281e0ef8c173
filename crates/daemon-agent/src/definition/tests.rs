use serde_json::json;

use super::*;

fn parse(text: &str) -> Result<AgentDefinition, DefinitionError> {
    AgentDefinition::parse("scout".parse().unwrap(), text)
}

#[test]
fn a_definition_has_its_prompt_byte_for_byte() {
    let text = "---\r\ndescription: 'Finds: things.'\nmodel: llm\nmax_iterations: 3\ntool_choice: none\n\
        tools: [read, search]\nmembers: [reader]\nskills: [inbox]\nmcps: ['*']\ncompact_threshold: 5\n---\n\n  You find.\r\n---\nAll of it.  ";
    let agent = parse(text).unwrap();
    assert_eq!(
        agent,
        AgentDefinition {
            name: "scout".parse().unwrap(),
            description: "Finds: things.".to_owned(),
            model: Some("llm".to_owned()),
            max_iterations: 3,
            tool_choice: ToolChoice::None,
            members: AllowedNames::Only(vec!["reader".to_owned()]),
            tools: AllowedNames::Only(vec!["read".to_owned(), "search".to_owned()]),
            skills: AllowedNames::Only(vec!["inbox".to_owned()]),
            mcps: AllowedNames::All,
            compact_threshold: 5,
            prompt: "\n  You find.\r\n---\nAll of it.  ".to_owned(),
            rev: agent.rev.clone(),
        }
    );
    let usual = parse("---\n---\n").unwrap();
    assert_eq!(
        (
            usual.max_iterations,
            usual.tools,
            usual.members,
            usual.compact_threshold
        ),
        (
            16,
            AllowedNames::All,
            AllowedNames::Only(Vec::new()),
            100_000
        )
    );
    assert_ne!(usual.rev, agent.rev);
}

#[test]
fn an_empty_list_allows_nothing_and_a_star_everything() {
    let tools = |list: &str| parse(&format!("---\ntools: {list}\n---\n")).unwrap().tools;
    assert!(!tools("[]").has("read"));
    assert!(tools("['*']").has("read"));
    assert!(tools("[read]").has("read") && !tools("[read]").has("write"));
}

#[test]
fn the_first_problem_of_a_definition_is_named() {
    for (text, problem) in [
        (
            "You find.",
            "it begins with no front matter between lines of `---`",
        ),
        (
            "---\ndescription: x\n",
            "it begins with no front matter between lines of `---`",
        ),
        (
            "---\n- x\n---\n",
            "its front matter cannot be read: it is no mapping",
        ),
        (
            "---\ncolour: red\n---\n",
            "`colour` is not a key of an agent",
        ),
        ("---\ndescription: [x]\n---\n", "`description` must be text"),
        (
            "---\nmax_iterations: 0\n---\n",
            "`max_iterations` must be 1 to 1000",
        ),
        (
            "---\nmax_iterations: x\n---\n",
            "`max_iterations` must be a whole number",
        ),
        ("---\ntools: read\n---\n", "`tools` must be a list of names"),
        ("---\ntools: [1, 2]\n---\n", "`tools` must be text"),
        (
            "---\ntool_choice: maybe\n---\n",
            "`tool_choice` must be `auto` or `none`",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), problem, "{text}");
    }
    let large = format!("---\n---\n{}", "x".repeat(MAX_BYTES));
    assert_eq!(parse(&large), Err(DefinitionError::Size));
}

#[test]
fn what_is_written_reads_back() {
    let definition = json!({
        "description": "Finds: \"things\", 1: 2 #no comment\n---\n", "tools": ["read", "*x"], "max_iterations": 4,
    });
    let definition = definition.as_object().unwrap();
    let prompt = "---\nYou find.\n";
    let text = write("scout".parse().unwrap(), definition, prompt).unwrap();
    let agent = parse(&text).unwrap();
    assert_eq!(
        agent.description,
        definition["description"].as_str().unwrap()
    );
    assert_eq!(
        agent.tools,
        AllowedNames::Only(vec!["read".to_owned(), "*x".to_owned()])
    );
    assert_eq!((agent.max_iterations, agent.prompt.as_str()), (4, prompt));
}
