//! Hooks: what they add to a turn, and which of their tools an agent can use.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use daemon_agent::definition::AgentDefinition;
use daemon_agent::{AgentEvent, AgentHooks, Hook, HookCollision, HookTurn, Injected, TurnOutcome};
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};
use serde_json::json;

use crate::kit::{Bench, Step, text};

/// A hook with everything that a hook can have.
struct Notes {
    name: &'static str,
    tools: &'static [&'static str],
    seen: Mutex<Vec<String>>,
}

fn notes(name: &'static str, tools: &'static [&'static str]) -> Arc<Notes> {
    Arc::new(Notes {
        name,
        tools,
        seen: Mutex::default(),
    })
}

#[async_trait]
impl Hook for Notes {
    fn name(&self) -> &str {
        self.name
    }

    fn tools(&self, _: &AgentDefinition) -> Vec<ToolSpec> {
        let tools = self.tools.iter().map(|name| ToolSpec {
            name: (*name).to_owned(),
            description: "Notes.".to_owned(),
            schema: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
        });
        tools.collect()
    }

    fn system_prompt(&self, agent: &AgentDefinition) -> Option<String> {
        Some(format!("Notes of {}.", agent.name))
    }

    async fn before_run(&self, turn: &HookTurn<'_>) -> Vec<Injected> {
        let text = format!(
            "note for {} {} of {}",
            turn.content, turn.number, turn.pair.sender
        );
        vec![Injected(text)]
    }

    async fn on_event(&self, _: &HookTurn<'_>, event: &AgentEvent) {
        let shown = match event {
            AgentEvent::ToolStart { name, .. } => format!("start {name}"),
            AgentEvent::ToolResult {
                output, is_error, ..
            } => format!("{output} {is_error}"),
            AgentEvent::End { outcome, .. } => {
                assert_eq!(*outcome, TurnOutcome::Done);
                "end".to_owned()
            }
            event => panic!("not for hooks: {event:?}"),
        };
        self.seen.lock().unwrap().push(shown);
    }

    async fn dispatch(&self, turn: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        match call.arguments["text"].as_str() {
            Some(text) => Ok(format!("{} {} {text}", turn.number, call.id)),
            None => Err(ToolError::new("nothing to note")),
        }
    }
}

#[tokio::test]
async fn a_hook_adds_to_a_turn_and_nothing_that_it_injects_is_stored() {
    let hook = notes("notes", &["note"]);
    let steps = [
        Step::Call("c1", "note", json!({"text": "red"})),
        Step::Call("c2", "note", json!({})),
        Step::Say("Noted."),
        Step::Say("Again."),
    ];
    let bench = Bench::with_hooks([Arc::clone(&hook) as _], steps);
    assert_eq!(text(bench.say("one").await), "Noted.");
    assert_eq!(text(bench.say("two").await), "Again.");
    let system = "system: Be brief.\n\n\nNotes of scout.";
    let received = bench.model.received();
    assert_eq!(
        received[0],
        [system, "user: note for one 1 of a", "user: one"]
    );
    assert_eq!(
        received[3],
        [
            system,
            "user: one",
            "assistant:  note({\"text\":\"red\"})",
            "tool c1: 1 c1 red",
            "assistant:  note({})",
            "tool c2: error: nothing to note",
            "assistant: Noted.",
            "user: note for two 2 of a",
            "user: two",
        ]
    );
    assert!(
        !String::from_utf8(bench.bytes())
            .unwrap()
            .contains("note for")
    );
    assert_eq!(
        *hook.seen.lock().unwrap(),
        [
            "start note",
            "1 c1 red false",
            "start note",
            "error: nothing to note true",
            "end",
            "end",
        ]
    );
}

#[tokio::test]
async fn a_tool_outside_the_scope_is_not_available_and_an_unknown_one_not_registered() {
    let steps = [
        Step::Call("c1", "note", json!({"text": "red"})),
        Step::Call("c2", "teleport", json!({})),
        Step::Call("c3", "echo", json!({"text": "here"})),
        Step::Say("No."),
    ];
    let bench = Bench::with_hooks([notes("notes", &["note"]) as _], steps);
    bench.write_agent("scout", "---\ntools: [echo, teleport]\n---\nBe brief.\n");
    assert_eq!(text(bench.say("x").await), "No.");
    let lines = bench.lines();
    let results = lines.iter().filter(|line| line["type"] == "tool");
    let results: Vec<_> = results
        .map(|line| (line["output"].clone(), line["is_error"].clone()))
        .collect();
    assert_eq!(
        results,
        [
            (json!("error: tool not available: `note`"), json!(true)),
            (json!("error: tool not registered: `teleport`"), json!(true)),
            (json!("here"), json!(false)),
        ]
    );
}

#[test]
fn two_tools_of_one_name_are_refused_before_anything_runs() {
    let refused = |hooks: Vec<Arc<dyn Hook>>| AgentHooks::new(hooks).map(drop).unwrap_err();
    let collision = |tool: &str, first: &str, second: &str| HookCollision {
        tool: tool.to_owned(),
        first: first.to_owned(),
        second: second.to_owned(),
    };
    assert_eq!(
        refused(vec![notes("a", &["x", "y"]), notes("b", &["z", "y"])]),
        collision("y", "a", "b")
    );
    assert_eq!(
        refused(vec![notes("a", &["x", "x"])]),
        collision("x", "a", "a")
    );
    assert_eq!(
        refused(vec![notes("a", &["ask_user"])]),
        collision("ask_user", "ask", "a")
    );
}
