//! A host with an agent over a model API on loopback.

use std::fs;

use daemon_fakes::{ModelApi, Reply};
use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::world::{Host, World};

/// A world with the agent `scout`, whose model is an API on loopback, and with more of its configuration.
pub(crate) fn world(api: &ModelApi, more: &str) -> World {
    let world = World::pushed();
    world.watch_with(&format!(
        "[provider]\ndefault = \"llm\"\n\n[provider.llm]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = {:?}\n{more}\n",
        api.base_url(),
    ));
    add_agent(&world, "description: Finds things.\n");
    world
}

/// Writes the file of the agent `scout`.
pub(crate) fn add_agent(world: &World, front_matter: &str) {
    let agents = world.home.join("agents");
    fs::create_dir_all(&agents).expect("a directory");
    let text = format!("---\n{front_matter}---\nBe brief.\n");
    fs::write(agents.join("scout.md"), text).expect("an agent");
}

/// Starts a model API that plays replies.
pub(crate) fn api(replies: impl IntoIterator<Item = Reply>) -> ModelApi {
    ModelApi::replaying(replies).expect("a port")
}

/// Returns parameters with the conversation of the sender `t`.
pub(crate) fn of(more: &Value) -> Value {
    let mut params = json!({"agent": "scout", "sender": "t"});
    let members = params.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    params
}

/// Calls a method with the conversation of the sender `t`.
pub(crate) fn call(host: &Host, method: &str, more: &Value) -> Value {
    Rpc::initialized(host.socket()).call(method, &of(more))
}

/// Returns the lines of history.
pub(crate) fn history(host: &Host) -> Vec<Value> {
    let answer = call(host, "conversation/history", &json!({}));
    let lines = answer["result"]["lines"].as_array();
    lines.unwrap_or_else(|| panic!("{answer}")).clone()
}

/// Returns the only session log of a world.
pub(crate) fn log(world: &World) -> Vec<u8> {
    let mut entries = fs::read_dir(world.home.join("sessions")).expect("the sessions");
    let entry = entries.next().expect("a session").expect("an entry");
    fs::read(entry.path()).expect("its bytes")
}

/// Returns the messages that the model received last, each as its role and its text.
pub(crate) fn received(api: &ModelApi) -> Vec<(String, String)> {
    let last = api.received().pop().expect("it was called");
    let messages = last.body["messages"].as_array().expect("messages").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = messages.iter();
    messages
        .map(|one| (text(&one["role"]), text(&one["content"])))
        .collect()
}
