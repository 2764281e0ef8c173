//! Conversations with agents: over the socket and the commands, across clients, reloads and hosts.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use daemon_fakes::{Message, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::conversing::{add_agent, api, call, history, log, of, received, world};
use crate::rpc::Rpc;
use crate::world::{eventually, processes_with, until};

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    let rows = rows.iter();
    rows.map(|(role, text)| ((*role).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn a_stream_shows_a_turn_and_its_response_ends_it() {
    let api = api([
        Reply::call("list", json!({})),
        Reply::text("Nothing is here."),
    ]);
    let world = world(&api, "");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let params = of(&json!({"content": "What is here?"}));
    let request =
        json!({"jsonrpc": "2.0", "id": "s1", "method": "conversation/stream", "params": params});
    rpc.line(&request.to_string());
    let (mut events, answer) = (Vec::new(), loop_to_answer(&mut rpc));
    for (at, notification) in answer.0.iter().enumerate() {
        shows!(notification, {"method": "stream/event", "params.request_id": "s1", "params.seq": at + 1});
        events.push(notification["params"]["event"].clone());
    }
    let types: Vec<_> = events.iter().map(|event| event["type"].clone()).collect();
    assert_eq!(types.first(), Some(&json!("start")));
    assert_eq!(types.last(), Some(&json!("end")));
    assert!(
        types.contains(&json!("tool_start")) && types.contains(&json!("tool_result")),
        "{types:?}"
    );
    let said = events.iter().filter(|event| event["type"] == "text");
    let said: String = said.filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(said, "Nothing is here.");
    shows!(answer.1, {
        "id": "s1", "result.turn": 1, "result.text": "Nothing is here.", "result.outcome": "done", "result.model": "m",
    });
    assert_eq!(
        received(&api)[..2],
        pairs(&[("system", "Be brief.\n"), ("user", "What is here?")])
    );
}

/// Reads notifications up to a response.
fn loop_to_answer(rpc: &mut Rpc) -> (Vec<Value>, Value) {
    let mut notifications = Vec::new();
    loop {
        let answer = rpc.answer();
        if answer.get("method").is_none() {
            return (notifications, answer);
        }
        notifications.push(answer);
    }
}

#[test]
fn history_survives_reconnect_reload_and_a_kill_of_the_host_byte_for_byte() {
    let api = api([Reply::text("Blue."), Reply::text("As I said: blue.")]);
    let world = world(&api, "");
    let host = world.serve();
    let first = call(
        &host,
        "conversation/send",
        &json!({"content": "Which colour?"}),
    );
    shows!(first, {"result.text": "Blue."});
    let (lines, bytes) = (history(&host), log(&world));
    assert_eq!(history(&host), lines);
    let reloaded = Rpc::initialized(host.socket()).call("host/reload", &json!({}));
    shows!(reloaded, {"result.generation": 2});
    assert_eq!(history(&host), lines);
    host.kill();
    let host = world.serve();
    assert_eq!(history(&host), lines);
    assert_eq!(log(&world), bytes);
    let second = call(&host, "conversation/send", &json!({"content": "Again?"}));
    shows!(second, {"result.turn": 2, "result.text": "As I said: blue."});
    assert_eq!(
        received(&api),
        pairs(&[
            ("system", "Be brief.\n"),
            ("user", "Which colour?"),
            ("assistant", "Blue."),
            ("user", "Again?"),
        ])
    );
    assert!(log(&world).starts_with(&bytes));
}

#[test]
fn three_senders_that_look_alike_have_three_conversations() {
    let api = api((0..3).map(|n| Reply::text(format!("{n}"))));
    let world = world(&api, "");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    for (at, sender) in ["im:1", "im.1", "IM:1"].into_iter().enumerate() {
        let params = json!({"agent": "scout", "sender": sender, "content": "hello"});
        shows!(rpc.call("conversation/send", &params), {"result.turn": 1, "result.text": at.to_string()});
    }
    let mut listed = rpc.call("conversation/list", &json!({}));
    let rows = listed["result"]["conversations"].take();
    let mut senders: Vec<_> = rows
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["sender"].clone())
        .collect();
    senders.sort_by_key(ToString::to_string);
    assert_eq!(senders, ["IM:1", "im.1", "im:1"]);
}

#[test]
fn a_client_that_leaves_at_once_does_not_end_its_turn() {
    let api = api([Reply::Drip(
        Message::text("Said to an empty room."),
        Duration::from_millis(50),
    )]);
    let world = world(&api, "");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let params = of(&json!({"content": "Still there?"}));
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/stream", "params": params});
    rpc.line(&request.to_string());
    drop(rpc);
    let end = eventually("the turn has ended", || {
        let answer = call(&host, "conversation/history", &json!({}));
        let last = answer["result"]["lines"].as_array()?.last()?.clone();
        (last["type"] == "end").then_some(last)
    });
    shows!(end, {"outcome": "done"});
    let types: Vec<_> = history(&host)
        .iter()
        .map(|line| line["type"].clone())
        .collect();
    assert_eq!(types, ["meta", "user", "assistant", "end"]);
}

#[test]
fn one_key_twice_across_a_reconnect_is_one_turn_with_one_result() {
    let api = api([Reply::text("Once.")]);
    let world = world(&api, "");
    let host = world.serve();
    let send = || {
        let answer = call(
            &host,
            "conversation/send",
            &json!({"content": "x", "key": "k1"}),
        );
        answer["result"].clone()
    };
    let first = send();
    shows!(first, {"turn": 1, "text": "Once."});
    assert_eq!(send(), first);
    assert_eq!(api.received().len(), 1);
}

#[test]
fn a_kill_ends_the_turn_with_its_programs_and_the_next_message_works() {
    let sleep = json!({"command": "CONVERSATION_SLEEPER=1 exec sleep 60"});
    let api = api([Reply::call("bash", sleep), Reply::text("Awake.")]);
    let world = world(&api, "bash = true");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let params = of(&json!({"content": "Sleep."}));
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/send", "params": params});
    rpc.line(&request.to_string());
    until("the program runs", || {
        !processes_with("CONVERSATION_SLEEPER=1").is_empty()
    });
    let begun = std::time::Instant::now();
    let killed = call(&host, "conversation/kill", &json!({}));
    shows!(killed, {"result.killed": true, "result.turn": 1});
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    shows!(rpc.answer(), {"error.code": -32011, "error.data.code": "killed"});
    until("no process is left", || {
        processes_with("CONVERSATION_SLEEPER=1").is_empty()
    });
    shows!(history(&host).last().expect("a line").clone(), {"type": "end", "outcome": "killed"});
    let next = call(&host, "conversation/send", &json!({"content": "Awake?"}));
    shows!(next, {"result.turn": 2, "result.text": "Awake."});
    let none = call(&host, "conversation/kill", &json!({}));
    shows!(none, {"result.killed": false, "result.turn": null});
}

#[test]
fn a_turn_in_flight_ends_on_the_old_model_and_the_next_uses_the_new() {
    let slow = api([Reply::Drip(
        Message::text("Old words."),
        Duration::from_millis(150),
    )]);
    let fast = api([Reply::text("New words.")]);
    let world = world(&slow, "");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let params = of(&json!({"content": "one"}));
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/send", "params": params});
    rpc.line(&request.to_string());
    until("the model is called", || !slow.received().is_empty());
    let path = world.home.join("config.toml");
    let text = fs::read_to_string(&path).expect("the configuration");
    let text = text
        .replace(&slow.base_url(), &fast.base_url())
        .replace("\"m\"", "\"m2\"");
    fs::write(path, text).expect("the configuration");
    let reloaded = Rpc::initialized(host.socket()).call("host/reload", &json!({}));
    shows!(reloaded, {"result.generation": 2});
    shows!(rpc.answer(), {"result.text": "Old words.", "result.model": "m"});
    let next = call(&host, "conversation/send", &json!({"content": "two"}));
    shows!(next, {"result.text": "New words.", "result.model": "m2"});
}

#[test]
fn a_question_is_answered_after_a_reload_and_after_a_kill_of_the_host() {
    let ask = || Reply::call("ask_user", json!({"questions": ["Which one?"]}));
    let api = api([
        ask(),
        Reply::text("The red one."),
        ask(),
        Reply::text("The blue one."),
    ]);
    let world = world(&api, "");
    let mut host = world.serve();
    for (colour, is_killed) in [("red", false), ("blue", true)] {
        let mut rpc = Rpc::initialized(host.socket());
        let params = of(&json!({"content": format!("Take one, {colour} perhaps.")}));
        let request =
            json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/send", "params": params});
        rpc.line(&request.to_string());
        let ask_id = eventually("it asks", || {
            let answer = Rpc::initialized(host.socket()).call("conversation/list", &json!({}));
            answer["result"]["conversations"][0]["ask_id"]
                .as_str()
                .map(str::to_owned)
        });
        match is_killed {
            true => {
                host.kill();
                host = world.serve();
            }
            false => {
                let reloaded = Rpc::initialized(host.socket()).call("host/reload", &json!({}));
                shows!(reloaded, {"result.generation": 2});
            }
        }
        let reply = json!({"ask_id": ask_id, "content": colour});
        let replied = call(&host, "conversation/reply_to_ask", &reply);
        assert!(replied["result"]["turn"].is_u64(), "{replied}");
        let end = eventually("the turn has ended", || {
            history(&host)
                .last()
                .filter(|last| last["type"] == "end")
                .cloned()
        });
        shows!(end, {"outcome": "done"});
        assert_eq!(received(&api).last().expect("a message").1, colour);
    }
}

#[test]
fn a_turn_over_the_budget_is_refused_and_says_so() {
    let api = api([Reply::text("late")]);
    let world = world(&api, "[budget]\nactivation_usd = 0.0001");
    let host = world.serve();
    let refused = call(&host, "conversation/send", &json!({"content": "x"}));
    shows!(refused, {
        "error.code": -32009, "error.data.code": "provider-failed", "error.data.reason": "over-budget",
        "error.data.class": "final",
    });
    assert!(
        refused["error"]["message"]
            .to_string()
            .contains("over budget"),
        "{refused}"
    );
    assert_eq!(api.received().len(), 0);
}

#[test]
fn turns_count_in_the_budget_of_the_day_across_hosts() {
    let tokens = daemon_fakes::Tokens {
        input: 10,
        cached: 0,
        output: 10,
    };
    let reply = |text: &str| Reply::Message(Message::text(text).with_tokens(tokens));
    let api = api([reply("One."), reply("Two.")]);
    let world = world(
        &api,
        "price = {input = 100, output = 100}\n[budget]\nday_usd = 0.002\nactivation_usd = 10\n",
    );
    // 20 tokens at 100 USD a million use the day up; the reservation of one call has to fit before that.
    let path = world.home.join("config.toml");
    let text = fs::read_to_string(&path).expect("the configuration");
    fs::write(&path, text.replace("day_usd = 0.002", "day_usd = 100")).expect("the configuration");
    let host = world.serve();
    let first = call(&host, "conversation/send", &json!({"content": "x"}));
    shows!(first, {"result.usage.cost_usd": 0.002});
    host.kill();
    fs::write(&path, text).expect("the configuration");
    let host = world.serve();
    let refused = call(&host, "conversation/send", &json!({"content": "y"}));
    shows!(refused, {"error.data.reason": "over-budget"});
    assert_eq!(api.received().len(), 1);
}

#[test]
fn no_name_of_a_conversation_or_agent_leaves_its_directory() {
    let api = api([]);
    let world = world(&api, "");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let long = "x".repeat(10_000);
    let names = ["../x", "/etc/passwd", "a\u{0}b", long.as_str()];
    let mut refuse = |method: &str, params: Value| {
        let answer = rpc.call(method, &params);
        assert_eq!(
            answer["error"]["data"]["code"], "invalid-params",
            "{method} {params:.80}: {answer}"
        );
    };
    for name in names {
        for method in ["send", "stream", "history", "kill", "delete"] {
            let params = json!({"agent": name, "sender": "t", "content": "x"});
            let mut params = params.as_object().expect("an object").clone();
            if !matches!(method, "send" | "stream") {
                params.remove("content");
            }
            refuse(&format!("conversation/{method}"), Value::Object(params));
        }
        refuse("agent/get", json!({"name": name}));
        refuse(
            "agent/create",
            json!({"name": name, "definition": {}, "prompt": "x"}),
        );
        refuse(
            "agent/update",
            json!({"name": name, "prompt": "x", "rev": "x"}),
        );
        refuse("agent/delete", json!({"name": name, "rev": "x"}));
    }
    for sender in ["a\u{0}b", long.as_str()] {
        refuse(
            "conversation/kill",
            json!({"agent": "scout", "sender": sender}),
        );
    }
    let sessions = fs::read_dir(world.home.join("sessions")).expect("the sessions");
    assert_eq!(sessions.count(), 0);
    let agents = fs::read_dir(world.home.join("agents")).expect("the agents");
    assert_eq!(agents.count(), 1);
}

#[test]
fn a_program_that_talks_gets_the_errors_of_a_turn_and_of_its_input() {
    let api = api([]);
    let world = world(&api, "");
    let _host = world.serve();
    for (input, code, said) in [
        (&b"/list\n"[..], 0, ""),
        (b"Hi.\n/list\n", 1, "the script is over"),
        (b"/help\n\xff\xfe\n", 65, "standard input cannot be read"),
    ] {
        let mut chat = world.command(&["chat", "scout"]);
        let chat = chat
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut chat = chat.spawn().expect("the binary starts");
        let mut typed = chat.stdin.take().expect("it is piped");
        typed.write_all(input).expect("it reads");
        drop(typed);
        let ended = chat.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}

#[test]
fn commands_create_agents_talk_with_them_and_call_methods() {
    let api = api([Reply::text("Hello."), Reply::text("Hello again.")]);
    let world = world(&api, "");
    let _host = world.serve();
    let made =
        shown!(world.json(&["agent", "new", "clerk", "--description", "Files things."]), {"$?": 0});
    let (_, found) = world.json(&["agent", "show", "clerk"]);
    shows!(found, {"agent.name": "clerk", "agent.description": "Files things.", "rev": made["rev"]});
    shows!(world.json(&["agent", "list"]).1, {"agents.*.name": ["clerk", "scout"]});
    let said = world.run(&["chat", "clerk", "-p", "Hi."]);
    assert_eq!(
        String::from_utf8_lossy(&said.stdout),
        "Hello.\n",
        "{said:?}"
    );
    shown!(world.json(&["chat", "clerk", "-p", "Hi."]), {"$?": 0, "turn": 2, "text": "Hello again."});
    let failed = shown!(world.json(&["chat", "clerk", "-p", "Hi."]), {"$?": 1});
    shows!(failed, {"error.code": "provider-failed"});
    shown!(world.json(&["chat", "absent", "-p", "Hi."]), {"$?": 66, "error.code": "unknown-agent"});
    let uid = rustix::process::getuid().as_raw();
    let params = json!({"agent": "clerk"}).to_string();
    shows!(world.json(&["call", "conversation/list", &params]).1, {
        "conversations.*.(agent,sender,turns,active)": [["clerk", format!("cli:{uid}"), 3, false]],
    });
    shown!(world.json(&["call", "no/method"]), {"$?": 64});
}

#[test]
fn a_stop_waits_for_the_turn_and_a_second_one_interrupts_it() {
    let slow = || Reply::Drip(Message::text("In the end."), Duration::from_millis(100));
    let api = api([slow(), Reply::Silence(Message::text("Never"))]);
    let world = world(&api, "");
    for (n_calls, n_signals, outcome) in [(1, 1, "done"), (2, 2, "interrupted")] {
        let host = world.serve();
        let mut rpc = Rpc::initialized(host.socket());
        let params = of(&json!({"content": "x"}));
        let request =
            json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/send", "params": params});
        rpc.line(&request.to_string());
        until("the model is called", || api.received().len() == n_calls);
        for n in 1..n_signals {
            host.signal(Signal::TERM);
            until("it is stopping", || {
                world.log().matches("stopping").count() > n_calls - 1 + n - 1
            });
        }
        assert_eq!(host.stop().0, Some(0));
        let text = String::from_utf8(log(&world)).expect("text");
        let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
        shows!(last, {"type": "end", "outcome": outcome});
    }
}

#[test]
fn an_agent_without_tools_is_offered_none() {
    let api = api([Reply::text("Alone.")]);
    let world = world(&api, "");
    add_agent(&world, "tools: []\n");
    let host = world.serve();
    shows!(call(&host, "conversation/send", &json!({"content": "x"})), {"result.text": "Alone."});
    assert!(api.received()[0].tools().is_empty());
}

#[test]
#[expect(clippy::print_stdout, reason = "what was skipped, and why")]
fn the_example_client_of_the_documentation_talks_with_an_agent() {
    let api = api([Reply::text("Hello from here.")]);
    let world = world(&api, "");
    let host = world.serve();
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/chat_client.py");
    let talk = |agent: &str| {
        let mut python = std::process::Command::new("python3");
        python
            .arg(client)
            .arg(host.socket())
            .args([agent, "t", "Hello?"]);
        python.output()
    };
    let Ok(said) = talk("scout") else {
        println!("skipped: there is no `python3`");
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&said.stdout),
        "Hello from here.\n",
        "{said:?}"
    );
    let failed = talk("absent").expect("it ran before");
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&failed.stderr),
        "no agent `absent`\n"
    );
}
