//! What a call of `emanate` may ask for: every bound, every refusal in its words, and nothing made of a batch with a fault.

use std::fs;

use daemon_fakes::ModelApi;
use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::world::{Host, World};

/// A world with a stand-in for `claude`, a model API as `llm` and a preset; a provider that is started leaves a mark.
fn world() -> World {
    let world = World::pushed();
    world.script("touch \"$DAEMON_WORKTREE/started\"\ncat > /dev/null\n");
    let api = ModelApi::replaying([]).expect("a port");
    fs::write(world.home.join("key"), "sk-test-0123456789\n").expect("the key");
    let model = format!(
        "kind = \"openai\"\nmodel = \"m\"\nbase_url = {:?}\nkey_file = \"key\"\n",
        api.base_url()
    );
    let text = format!(
        "[[repo]]\npath = {:?}\nname = \"o/r\"\n\n[provider]\ndefault = \"claude\"\n\n[provider.claude]\ncommand = {:?}\n\n\
         [provider.llm]\n{model}",
        world.repo.display().to_string(),
        world.beside("agent.sh").display().to_string(),
    );
    world.write_config(&text);
    fs::create_dir_all(world.home.join("presets")).expect("a directory");
    fs::write(
        world.home.join("presets/fast.toml"),
        "kind = \"openai\"\nmodel = \"s\"\n",
    )
    .expect("a preset");
    let skills = [
        ("plain/notes.md", "---\nname: n\ndescription: d\n---\n"),
        ("open/SKILL.md", "no front matter"),
        ("nameless/SKILL.md", "---\ndescription: d\n---\n"),
        ("undescribed/SKILL.md", "---\nname: n\n---\n"),
        ("good/SKILL.md", "---\nname: n\ndescription: d\n---\n"),
    ];
    for (path, text) in skills {
        let path = world.desk().join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        fs::write(path, text).expect("a skill");
    }
    world
}

/// Calls `emanate`, and returns the message of its refusal.
fn refusal(rpc: &mut Rpc, world: &World, mut call: Value) -> String {
    call["action"] = json!("emanate");
    call["cwd"] = json!(world.desk());
    let mut answer = rpc.call("run/call", &call);
    assert_eq!(answer["error"]["code"], -32602, "{call}: {answer}");
    let message = answer["error"]["message"].take();
    message.as_str().expect("a message").to_owned()
}

fn nothing_was_made(world: &World, _: &Host) {
    assert_eq!(world.folders(), Vec::<String>::new());
    assert_eq!(world.notices(), Value::Null);
    assert!(
        !world.desk().join("started").exists(),
        "no process was started"
    );
}

#[test]
fn one_bad_skill_option_server_or_preset_refuses_the_whole_batch_in_the_words_of_the_table() {
    let world = world();
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let long = "x".repeat(65);
    let server = |fields: Value| json!({"mcp": [fields]});
    let rows = [
        (json!({"task": ""}), ": task is required"),
        (json!({"task": 7}), ": task is required"),
        (
            json!({"tools": ["file", "daemon"]}),
            ": Unknown tools for emanation: daemon",
        ),
        (json!({"skills": ["good", "gone"]}), ".skills[1]: not found"),
        (json!({"skills": ["plain"]}), ".skills[0]: not found"),
        (
            json!({"skills": ["plain/notes.md"]}),
            ".skills[0]: not named SKILL.md",
        ),
        (
            json!({"skills": ["open"]}),
            ".skills[0]: invalid front matter",
        ),
        (json!({"skills": ["nameless"]}), ".skills[0]: name missing"),
        (
            json!({"skills": ["undescribed"]}),
            ".skills[0]: description missing",
        ),
        (json!({"skills": "good"}), ".skills has the wrong type"),
        (server(json!({"command": "x"})), ".mcp[0]: name missing"),
        (
            json!({"mcp": [{"name": "a", "command": "x"}, {"name": "a", "command": "y"}]}),
            ".mcp[1]: duplicate name",
        ),
        (server(json!({"name": "a"})), ".mcp[0]: command missing"),
        (
            server(json!({"name": "a", "transport": "http"})),
            ".mcp[0]: url missing",
        ),
        (
            server(json!({"name": "a", "type": "http"})),
            ".mcp[0]: url missing",
        ),
        (
            server(json!({"name": 1, "command": "x"})),
            ".mcp[0]: name has the wrong type",
        ),
        (
            server(json!({"name": long, "command": "x"})),
            ".mcp[0]: name has the wrong type",
        ),
        (
            server(json!({"name": "a", "command": 1})),
            ".mcp[0]: command has the wrong type",
        ),
        (
            server(json!({"name": "a", "command": "x", "args": "y"})),
            ".mcp[0]: args has the wrong type",
        ),
        (
            server(json!({"name": "a", "command": "x", "env": {"A": 1}})),
            ".mcp[0]: env has the wrong type",
        ),
        (
            server(json!({"name": "a", "type": "http", "url": 1})),
            ".mcp[0]: url has the wrong type",
        ),
        (
            server(json!({"name": "a", "type": "http", "url": "http://h", "headers": [1]})),
            ".mcp[0]: headers has the wrong type",
        ),
        (
            server(json!({"name": "a", "transport": "sse"})),
            ".mcp[0]: transport has the wrong type",
        ),
        (
            json!({"backend_options": {"-x": 1}}),
            ".backend_options.-x: bad name",
        ),
        (
            json!({"backend_options": {"a b": 1}}),
            ".backend_options.a b: bad name",
        ),
        (
            json!({"backend_options": {"dangerously_skip_permissions": true}}),
            ".backend_options.dangerously_skip_permissions: reserved",
        ),
        (
            json!({"backend_options": {"add-dir": "/"}}),
            ".backend_options.add-dir: reserved",
        ),
        (
            json!({"backend_options": {"tree": {}}}),
            ".backend_options.tree: unsupported value",
        ),
        (json!({"cwd": "/nowhere"}), ".cwd: not a directory"),
    ];
    for (mut task, words) in rows {
        let fields = task.as_object_mut().expect("an object");
        fields.entry("task").or_insert_with(|| json!("x"));
        // The other task has no fault, and is not begun either.
        let call = json!({"tasks": [{"task": "fine"}, task]});
        let message = refusal(&mut rpc, &world, call);
        assert_eq!(message, format!("tasks[1]{words}"));
    }
    // These are a model's only.
    let of_model = [
        (json!({"task": "x", "preset": "slow"}), ".preset: unknown"),
        (
            json!({"task": "x", "preset": "../fast"}),
            ".preset: unknown",
        ),
        (
            json!({"task": "x", "tools": ["grep", "x"]}),
            ": Unknown tools for emanation: grep, x",
        ),
        (
            json!({"task": "x", "tools": ["email"]}),
            ": Unknown tools for emanation: email",
        ),
        (
            json!({"task": "x", "tools": ["bash"]}),
            ": Unknown tools for emanation: bash",
        ),
        (
            json!({"task": "x", "backend_options": {"sandbox": "off"}}),
            ".backend_options.sandbox: reserved",
        ),
    ];
    for backend in ["llm", "lingtai"] {
        for (task, words) in &of_model {
            let call = json!({"backend": backend, "tasks": [{"task": "fine"}, task]});
            let message = refusal(&mut rpc, &world, call);
            assert_eq!(message, format!("tasks[1]{words}"));
        }
    }
    nothing_was_made(&world, &host);
}

#[test]
fn every_fault_of_a_batch_is_named_at_once_even_under_a_provider_that_is_none() {
    let world = world();
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let tasks = json!([
        {"task": " "},
        {"task": "x", "tools": ["daemon"], "skills": ["gone"], "mcp": [{"name": "a"}], "backend_options": {"cwd": "/"}},
        {"task": "fine"},
        {"task": "x", "skills": ["open", "gone"]},
    ]);
    let faults = "tasks[1]: Unknown tools for emanation: daemon; tasks[1].backend_options.cwd: reserved; \
                  tasks[1].skills[0]: not found; tasks[1].mcp[0]: command missing; \
                  tasks[3].skills[0]: invalid front matter; tasks[3].skills[1]: not found";
    let call = json!({"max_turns": 0, "timeout": 1, "tasks": tasks});
    let first = "max_turns must be an integer of at least 1; timeout must be a number of at least 5; tasks[0]: task is required";
    assert_eq!(
        refusal(&mut rpc, &world, call),
        format!("{first}; {faults}")
    );
    let call = json!({"backend": "gemini", "tasks": tasks});
    assert_eq!(
        refusal(&mut rpc, &world, call),
        format!("tasks[0]: task is required; Unknown backend: gemini; {faults}")
    );
    nothing_was_made(&world, &host);
}

#[test]
fn each_bound_holds_on_both_of_its_sides() {
    let world = world();
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let one = |name: &str, value: Value| {
        let mut call = json!({"tasks": [{"task": "x"}]});
        call[name] = value;
        call
    };
    for bad in [
        json!(0),
        json!(-1),
        json!("x"),
        json!(1.5),
        json!(true),
        json!([1]),
    ] {
        let message = refusal(&mut rpc, &world, one("max_turns", bad));
        assert_eq!(message, "max_turns must be an integer of at least 1");
    }
    for bad in [
        json!(4.9),
        json!(4),
        json!(0),
        json!(-5),
        json!("5"),
        json!(true),
    ] {
        let message = refusal(&mut rpc, &world, one("timeout", bad));
        assert_eq!(message, "timeout must be a number of at least 5");
    }
    for bad in [json!([]), json!(null), json!("x"), json!({})] {
        assert_eq!(
            refusal(&mut rpc, &world, one("tasks", bad)),
            "No tasks provided"
        );
    }
    let task = |field: &str, value: Value| {
        let mut task = json!({"task": "x"});
        task[field] = value;
        json!({"tasks": [task]})
    };
    let long = "é".repeat(128 * 1024);
    let servers = |n: usize| -> Value {
        (0..n)
            .map(|n| json!({"name": format!("s{n}"), "command": "x"}))
            .collect()
    };
    for (call, words) in [
        (
            task("task", json!(format!("{long}x"))),
            "tasks[0]: task has more than 262144 bytes",
        ),
        (
            task("skills", json!(vec!["good"; 33])),
            "tasks[0].skills: more than 32",
        ),
        (task("mcp", servers(17)), "tasks[0].mcp: more than 16"),
    ] {
        assert_eq!(refusal(&mut rpc, &world, call), words);
    }
    nothing_was_made(&world, &host);

    let taken = |mut call: Value, limits: Value, recorded: Value| {
        call["action"] = json!("emanate");
        call["cwd"] = json!(world.desk());
        // On the other connection the ends of all earlier runs stand between.
        let mut rpc = Rpc::initialized(host.socket());
        let mut answer = rpc.call("run/call", &call);
        while answer["method"].is_string() {
            answer = rpc.answer();
        }
        let reply = &answer["result"];
        assert_eq!(
            (&reply["status"], &reply["limits"]),
            (&json!("dispatched"), &limits),
            "{answer}"
        );
        let document = world.document(reply["run_ids"][0].as_str().expect("an id"));
        assert_eq!(
            json!([
                document["max_turns"],
                document["timeout_s"],
                document["idle_timeout_s"]
            ]),
            recorded
        );
    };
    // Turns are those of a model that the host calls itself: they are not shown for a program.
    let usual = json!({"timeout": 3600});
    let recorded = json!([null, 3600.0, null]);
    for asked in [json!(1), json!(5000), json!(null)] {
        taken(one("max_turns", asked), usual.clone(), recorded.clone());
    }
    for (asked, shown, stored) in [
        (json!(5), json!(5), 5.0),
        (json!(5.5), json!(5.5), 5.5),
        (json!(3600.5), json!(3600), 3600.0),
        (json!(99999), json!(3600), 3600.0),
        (json!(null), json!(3600), 3600.0),
    ] {
        let limits = json!({"timeout": shown});
        taken(one("timeout", asked), limits, json!([null, stored, null]));
    }
    for call in [
        task("task", json!(long)),
        task("skills", json!(vec!["good"; 32])),
        task("mcp", servers(16)),
    ] {
        taken(call, usual.clone(), recorded.clone());
    }
}

#[test]
fn a_batch_takes_the_slots_that_are_free_and_not_one_more() {
    let world = World::pushed();
    world.script("cat > /dev/null\nwhile [ ! -e go ]; do sleep 0.05; done\n");
    world.configure("[limits]\nemanations = 3\n");
    let _host = world.serve();
    let first = world.dispatch(&["one", "two"]);
    let tasks = json!([{"task": "three"}, {"task": "four"}]);
    let (code, reply) = world.tool(&json!({"action": "emanate", "tasks": tasks}));
    assert_eq!(
        (code, reply["error"]["message"].as_str()),
        (
            75,
            Some("max_emanations reached: 2 running, 2 requested of 3")
        )
    );
    assert_eq!(world.folders().len(), 2);
    let third = world.dispatch(&["three"]);
    fs::write(world.desk().join("go"), "").expect("a file");
    for id in first.iter().chain(&third) {
        assert_eq!(world.announced(id)["status"], "done");
    }
}
