//! Conversations with coding agents, which continue their own sessions.

use std::fs;

use serde_json::json;

use crate::conversing::{add_agent, call, history};
use crate::serve_emanate_agents::world;

/// A stand-in for each agent: it repeats what it was asked, and says whether it continues its session.
const AGENT: &str = include_str!("programs/conversation-agent.sh");

#[test]
fn a_conversation_with_a_coding_agent_continues_its_session_after_a_kill_of_the_host() {
    for (name, session) in [("claude", "c-1"), ("codex", "t-1"), ("opencode", "ses_1")] {
        let world = world(AGENT);
        add_agent(&world, &format!("model: {name}\n"));
        let host = world.serve();
        let first = call(&host, "conversation/send", &json!({"content": "Hello."}));
        shows!(first, {
            "result.turn": 1, "result.text": "first: Hello.",
            "result.usage": {"input": 5, "output": 2, "thinking": 0, "cached": 4, "cost_usd": 1.0},
        }, "{name}");
        host.kill();
        let host = world.serve();
        let second = call(&host, "conversation/send", &json!({"content": "More."}));
        shows!(second, {"result.turn": 2, "result.text": "again: More."}, "{name}");
        let lines = history(&host);
        let sessions: Vec<_> = lines
            .iter()
            .filter_map(|line| line["session"].as_str())
            .collect();
        assert_eq!(sessions, [session; 2], "{name}");
        // Both runs worked in the place of the conversation.
        let mut places = fs::read_dir(world.home.join("places")).expect("the places");
        let place = places.next().expect("a place").expect("an entry").path();
        let calls = fs::read_to_string(place.join("work/calls")).expect("its calls");
        assert_eq!(calls.lines().count(), 2, "{name}: {calls}");
        let deleted = call(&host, "conversation/delete", &json!({}));
        assert!(deleted["result"].is_object(), "{deleted}");
        assert!(!place.exists(), "{name}");
    }
}

#[test]
fn a_provider_that_holds_no_conversation_is_named() {
    let world = world(AGENT);
    add_agent(&world, "model: builtin\n");
    let host = world.serve();
    let refused = call(&host, "conversation/send", &json!({"content": "Hello."}));
    shows!(refused, {
        "error.data.code": "provider-failed",
        "error.message": "the provider `builtin` holds no conversation: set `provider.default`, or `model` of the agent",
    });
    shows!(history(&host).last().expect("a line").clone(), {"type": "end", "outcome": "failed"});
}
