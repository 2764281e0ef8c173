//! `agent`: lists, shows and creates agents of the running host.

use daemon_api::ops::Operation;
use serde_json::{Map, Value, json};

use crate::cli::{AgentArgs, AgentVerb, NewAgentArgs};
use crate::commands::call::text_or_stdin;
use crate::failure::CommandFailure;
use crate::out::{Out, plain, put};
use crate::place::Place;
use crate::session::{CommandSession, Intent, parameter};

/// The prompt of an agent that nothing is known about.
const PROMPT: &str =
    "You help the user. Say what you do not know, and ask before you change files.\n";

/// Runs a subcommand of `agent`.
pub(crate) async fn run(args: &AgentArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Change).await?;
    match &args.verb {
        AgentVerb::List => list(&mut session, out).await,
        AgentVerb::Show { name } => show(&mut session, name, out).await,
        AgentVerb::New(args) => new(&mut session, args, out).await,
    }
}

async fn list(session: &mut CommandSession, out: Out) -> Result<(), CommandFailure> {
    let answer = session.call(Operation::AgentList, Map::new()).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let agents = answer["agents"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if agents.is_empty() {
        out.note("no agents; create one with `daemon-run agent new NAME`");
    }
    let mut text = String::new();
    for agent in agents {
        let name = agent["name"].as_str().unwrap_or_default();
        let said = match agent["problem"].as_str() {
            Some(problem) => format!("invalid: {problem}"),
            None => agent["description"].as_str().unwrap_or_default().to_owned(),
        };
        put!(text, "{}  {}\n", plain(name), plain(&said));
    }
    out.text(&text)
}

async fn show(session: &mut CommandSession, name: &str, out: Out) -> Result<(), CommandFailure> {
    let answer = session
        .call(Operation::AgentGet, parameter("name", name))
        .await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let agent = &answer["agent"];
    let text = |value: &Value| match value {
        Value::String(text) => plain(text),
        Value::Null => "-".to_owned(),
        other => plain(&other.to_string()),
    };
    let mut shown = format!(
        "{}  {}\n",
        text(&agent["name"]),
        text(&agent["description"])
    );
    for key in [
        "model",
        "max_iterations",
        "tool_choice",
        "tools",
        "compact_threshold",
    ] {
        put!(shown, "  {key:<18} {}\n", text(&agent[key]));
    }
    put!(shown, "  {:<18} {}\n\n", "rev", text(&answer["rev"]));
    for line in agent["prompt"].as_str().unwrap_or_default().lines() {
        put!(shown, "{}\n", plain(line));
    }
    out.text(&shown)
}

async fn new(
    session: &mut CommandSession,
    args: &NewAgentArgs,
    out: Out,
) -> Result<(), CommandFailure> {
    let prompt = match &args.prompt {
        Some(prompt) => text_or_stdin(prompt)?,
        None => PROMPT.to_owned(),
    };
    let given = [("description", &args.description), ("model", &args.model)];
    let definition: Map<String, Value> = given
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), json!(value.as_ref()?))))
        .collect();
    let mut params = parameter("name", &args.name);
    params.insert("definition".to_owned(), Value::Object(definition));
    params.insert("prompt".to_owned(), Value::String(prompt));
    let answer = session.call(Operation::AgentCreate, params).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    out.note(&format!(
        "created; talk with it by `daemon-run chat {name}`, edit it in agents/{name}.md of the home",
        name = plain(&args.name)
    ));
    Ok(())
}
