//! What agents remember, across reloads and kills of the host; and their skills.

use std::fs;
use std::thread;

use daemon_fakes::Reply;
use serde_json::{Value, json};

use crate::conversing::{api, call, of, received, world};
use crate::rpc::Rpc;
use crate::world::World;

const RELOADS: usize = 20;

fn remember(n: usize) -> Reply {
    let entry = json!({"name": format!("n{n}"), "content": "A shared word."});
    Reply::call("remember", entry)
}

/// Returns the names of the entries that the model received last.
fn recalled(messages: &[(String, String)]) -> Vec<String> {
    let results = messages.iter().rev().find(|(role, _)| role == "tool");
    let (_, text) = results.expect("the result of a tool");
    let entries: Vec<Value> = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    let names = entries.iter().map(|entry| entry["name"].as_str());
    names.map(|name| name.expect("a name").to_owned()).collect()
}

#[test]
fn entries_kept_before_during_and_after_reloads_are_all_recalled_also_after_a_kill() {
    let n_kept = RELOADS + 2;
    let keep = (0..n_kept).flat_map(|n| [remember(n), Reply::text("Kept.")]);
    let find = || {
        let query = json!({"query": "shared", "limit": 50});
        [Reply::call("recall", query), Reply::text("Found.")]
    };
    let few = [
        Reply::call("recall", json!({"query": "shared"})),
        Reply::text("Found."),
    ];
    let api = api(keep.chain(find()).chain(few).chain(find()));
    let world = world(&api, "[memory]\nrecall_limit = 3\n");
    let host = world.serve();
    let say = || {
        let answer = call(&host, "conversation/send", &json!({"content": "Go on."}));
        shows!(answer, {"result.outcome": "done"});
    };
    say();
    for n in 0..RELOADS {
        thread::scope(|scope| {
            scope.spawn(say);
            let reloaded = Rpc::initialized(host.socket()).call("host/reload", &json!({}));
            shows!(reloaded, {"result.generation": n + 2});
        });
    }
    say();
    let newest: Vec<String> = (0..n_kept).rev().map(|n| format!("n{n}")).collect();
    say();
    assert_eq!(recalled(&received(&api)), newest);
    say();
    assert_eq!(recalled(&received(&api)), newest[..3]);
    host.kill();
    let host = world.serve();
    let answer = call(&host, "conversation/send", &json!({"content": "And now?"}));
    shows!(answer, {"result.text": "Found."});
    assert_eq!(recalled(&received(&api)), newest);
    let kept = fs::read_dir(world.home.join("memory")).expect("the memories");
    let names = kept.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    assert_eq!(names, ["scout.db", "scout.db-shm", "scout.db-wal"]);
}

fn add_skill(world: &World, name: &str, text: &str) {
    let directory = world.home.join("skills").join(name);
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(directory.join("SKILL.md"), text).expect("a skill");
}

#[test]
fn skills_are_listed_read_and_named_in_a_message() {
    let api = api([Reply::text("Nothing new.")]);
    let world = world(&api, "");
    let inbox = "---\nname: inbox\ndescription: Reads the mail.\nversion: 2\n---\nRead it.\n";
    add_skill(&world, "inbox", inbox);
    add_skill(&world, "other", inbox);
    let agent = "---\nskills: [inbox]\n---\nBe brief.\n";
    fs::write(world.home.join("agents/scout.md"), agent).expect("an agent");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let problem = "the front matter names `inbox`, and the directory has another name";
    shows!(rpc.call("skill/list", &json!({})), {"result.skills": [
        {"name": "inbox", "description": "Reads the mail.", "problem": null},
        {"name": "other", "description": null, "problem": problem},
    ]});
    shows!(rpc.call("skill/list", &json!({"agent": "scout"})), {"result.skills.*.name": ["inbox"]});
    shows!(rpc.call("skill/list", &json!({"agent": "absent"})), {"error.data.code": "invalid-params"});
    shows!(rpc.call("skill/get", &json!({"name": "inbox"})), {
        "result.skill": {"name": "inbox", "description": "Reads the mail.", "keys": {"version": 2}, "files": []},
        "result.body": "Read it.\n",
    });
    shows!(rpc.call("skill/get", &json!({"name": "absent"})), {"error.data.code": "not-found"});
    shows!(rpc.call("skill/get", &json!({"name": "other"})), {"error.data.code": "invalid-params"});
    let said = rpc.call("conversation/send", &of(&json!({"content": "/inbox"})));
    shows!(said, {"result.text": "Nothing new."});
    let messages = received(&api);
    assert_eq!(messages[1].1, "The skill `inbox`:\n\nRead it.\n");
    assert_eq!(messages[2], ("user".to_owned(), "/inbox".to_owned()));
}
