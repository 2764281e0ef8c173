//! Coding agents as dispatched runs: a stand-in plays transcripts, and the run folder records them.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, eventually};

/// Plays the file of its directory that its task names, and exits with the code in it.
const PLAYS: &str = "name=$(tail -n 1)\ncat \"$name.out\"\n[ -e \"$name.err\" ] && cat \"$name.err\" >&2\n\
                     exit \"$(cat \"$name.exit\" 2>/dev/null || echo 0)\"\n";

/// Makes a world in which each agent is the same stand-in.
pub(crate) fn world(script: &str) -> World {
    let world = World::pushed();
    world.script(script);
    let program = world.beside("agent.sh").display().to_string();
    let agents = ["claude", "codex", "opencode"];
    let agents = agents.map(|name| format!("[provider.{name}]\ncommand = {program:?}\n"));
    world.watch_with(&format!(
        "[provider]\ndefault = \"claude\"\n\n{}",
        agents.join("\n")
    ));
    fs::create_dir_all(world.desk()).expect("a directory");
    world
}

impl World {
    /// Dispatches runs by one provider, and returns their ids.
    pub(crate) fn dispatch_to(&self, backend: &str, tasks: &[&str]) -> Vec<String> {
        let tasks: Vec<Value> = tasks.iter().map(|task| json!({"task": task})).collect();
        let call = json!({"action": "emanate", "backend": backend, "tasks": tasks});
        let reply = shown!(self.tool(&call), {"$?": 0});
        let ids = reply["run_ids"].as_array().expect("a list").iter();
        ids.map(|id| id.as_str().expect("an id").to_owned())
            .collect()
    }
}

/// One transcript and what its run comes to.
struct Played {
    name: &'static str,
    backend: &'static str,
    lines: &'static [&'static str],
    exit: i32,
    /// State, error, session, `[input, cached, output, calls]` as the program reported them, text.
    ends: Value,
    /// The event log between its first line and the mark of the provider's end.
    middle: Value,
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1"}"#;
const READS: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Reading."},{"type":"tool_use","id":"t1","name":"Read","input":{}}]}}"#;
const HAS_READ: &str =
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}"#;
const SUCCESS: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"Fixed.","usage":{"input_tokens":9,"cache_read_input_tokens":4,"output_tokens":2},"permission_denials":[]}"#;
const SPURIOUS: &str = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"result":"","usage":{"input_tokens":9}}"#;
const BROKE: &str =
    r#"{"type":"result","subtype":"success","is_error":true,"result":"Credit balance is too low"}"#;
const THREAD: &str = r#"{"type":"thread.started","thread_id":"t-1"}"#;
const SAYS_ONE: &str =
    r#"{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"Fixed."}}"#;
const SAYS_TWO: &str =
    r#"{"type":"item.completed","item":{"id":"i3","type":"agent_message","text":"Twice."}}"#;
const RECONNECTS: &str = r#"{"type":"error","message":"Reconnecting 2/5"}"#;
const COMPLETED: &str = r#"{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":25,"output_tokens":7}}"#;
const TURN_FAILED: &str = r#"{"type":"turn.failed","error":{"message":"bad model"}}"#;
const STEP: &str = r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#;
const OTHER_STEP: &str = r#"{"type":"step_start","sessionID":"ses_2","part":{}}"#;
const USES: &str = r#"{"type":"tool_use","sessionID":"ses_1","part":{"tool":"bash","callID":"c1","state":{"status":"completed"}}}"#;
const TEXT: &str =
    r#"{"type":"text","sessionID":"ses_1","part":{"messageID":"m2","text":"Fixed."}}"#;
const STOPS: &str = r#"{"type":"step_finish","sessionID":"ses_1","part":{"id":"p3","reason":"stop","tokens":{"input":5,"output":2,"reasoning":1,"cache":{"read":3,"write":0}}}}"#;
const STOPS_ELSEWHERE: &str = r#"{"type":"step_finish","sessionID":"ses_2","part":{"id":"p3","reason":"stop","tokens":{"input":5,"output":2,"reasoning":1,"cache":{"read":3,"write":0}}}}"#;
const QUOTA: &str = r#"{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"quota"}}}"#;

fn output(text: &str) -> Value {
    json!({"event": "cli_output", "stream": "stdout", "text": text})
}

/// The error of a failed run.
fn failed(kind: &str, message: &str, class: &str) -> Value {
    json!({"type": kind, "message": message, "class": class})
}

/// The tokens and calls of a run that reported none.
fn nothing() -> Value {
    json!([0, 0, 0, 0])
}

fn transcripts() -> Vec<Played> {
    let mut all = of_claude();
    all.extend(of_codex());
    all.extend(of_opencode());
    all
}

/// Makes transcripts of a backend from their names, lines, ends and logged events.
fn played<const N: usize>(
    backend: &'static str,
    rows: [(&'static str, &'static [&'static str], Value, Value); N],
) -> Vec<Played> {
    let rows = rows.into_iter();
    rows.map(|(name, lines, ends, middle)| Played {
        name,
        backend,
        lines,
        exit: 0,
        ends,
        middle,
    })
    .collect()
}

fn of_claude() -> Vec<Played> {
    let rows: [(_, &[&str], _, _); 3] = [
        (
            "a-tool-then-its-result-then-a-spurious-error",
            &[INIT, READS, HAS_READ, SUCCESS, SPURIOUS],
            json!(["done", null, "s1", [9, 4, 2, 1], "Fixed."]),
            json!([
                output("Reading."),
                {"event": "tool_call", "name": "Read", "args_preview": "{}", "turn": 0},
                {"event": "tool_result", "name": "Read", "status": "ok", "turn": 0},
            ]),
        ),
        (
            "an-error-at-exit-0",
            &[INIT, BROKE],
            json!([
                "failed",
                failed("provider", "Credit balance is too low", "final"),
                "s1",
                nothing(),
                "Credit balance is too low"
            ]),
            json!([]),
        ),
        (
            "no-result-at-exit-0",
            &[INIT, READS],
            json!([
                "failed",
                failed("protocol", "claude ended without a result", "retryable"),
                "s1",
                nothing(),
                null
            ]),
            json!([output("Reading."), {"event": "tool_call", "name": "Read", "args_preview": "{}", "turn": 0}]),
        ),
    ];
    played("claude", rows)
}

fn of_codex() -> Vec<Played> {
    let rows: [(_, &[&str], _, _); 3] = [
        (
            "two-messages-around-an-error",
            &[THREAD, SAYS_ONE, RECONNECTS, SAYS_TWO, COMPLETED, COMPLETED],
            json!(["done", null, "t-1", [75, 25, 7, 1], "Fixed.\nTwice."]),
            json!([
                output("Fixed."),
                output("Reconnecting 2/5"),
                output("Twice.")
            ]),
        ),
        (
            "no-completed-turn-at-exit-0",
            &[THREAD, SAYS_ONE],
            json!([
                "failed",
                failed(
                    "protocol",
                    "codex ended before its turn was completed",
                    "retryable"
                ),
                "t-1",
                nothing(),
                "Fixed."
            ]),
            json!([output("Fixed.")]),
        ),
        (
            "a-failed-turn-after-text",
            &[THREAD, SAYS_ONE, TURN_FAILED],
            json!([
                "failed",
                failed("provider", "bad model", "final"),
                "t-1",
                nothing(),
                "Fixed."
            ]),
            json!([output("Fixed.")]),
        ),
    ];
    played("codex", rows)
}

fn of_opencode() -> Vec<Played> {
    let rows: [(_, &[&str], _, _); 3] = [
        (
            "a-text-and-two-sessions",
            &[STEP, OTHER_STEP, USES, TEXT, STOPS_ELSEWHERE],
            json!(["done", null, "ses_1", [5, 3, 2, 1], "Fixed."]),
            json!([
                {"event": "tool_call", "name": "bash", "args_preview": "null", "turn": 0},
                {"event": "tool_result", "name": "bash", "status": "ok", "turn": 0},
                output("Fixed."),
            ]),
        ),
        (
            "an-error-after-text",
            &[STEP, TEXT, STOPS, QUOTA],
            json!([
                "failed",
                failed("provider", "quota", "final"),
                "ses_1",
                nothing(),
                "Fixed."
            ]),
            json!([output("Fixed.")]),
        ),
        (
            "nothing-but-a-beginning",
            &[STEP],
            json!([
                "failed",
                failed(
                    "protocol",
                    "opencode ended before its step was finished",
                    "retryable"
                ),
                "ses_1",
                nothing(),
                null
            ]),
            json!([]),
        ),
    ];
    played("opencode", rows)
}

#[test]
fn what_an_agent_tells_is_what_its_folder_and_its_notice_tell() {
    let world = world(PLAYS);
    let played = transcripts();
    for one in &played {
        let place = world.desk().join(one.name);
        fs::write(place.with_extension("out"), one.lines.join("\n") + "\n").expect("a file");
        fs::write(place.with_extension("exit"), one.exit.to_string()).expect("a file");
    }
    let _host = world.serve();
    for backend in ["claude", "codex", "opencode"] {
        let of_backend: Vec<&Played> = played.iter().filter(|one| one.backend == backend).collect();
        let tasks: Vec<&str> = of_backend.iter().map(|one| one.name).collect();
        for (id, one) in world.dispatch_to(backend, &tasks).iter().zip(of_backend) {
            world.announced(id);
            told(&world, id, one);
        }
    }
    // What a program says that it used is in no ledger.
    assert!(!world.home.join("logs/token_ledger.jsonl").exists());
}

/// Compares what is kept of a run with what its transcript says.
fn told(world: &World, id: &str, one: &Played) {
    let name = one.name;
    let document = world.document(id);
    let used = &document["cli_tokens"];
    let text = fs::read_to_string(world.file(id, "result.txt")).ok();
    let ends = json!([
        document["state"],
        document["error"],
        document[format!("{}_session_id", one.backend)],
        [used["input"], used["cached"], used["output"], used["calls"]],
        text,
    ]);
    assert_eq!(ends, one.ends, "{name}");
    let n_tools = one
        .lines
        .iter()
        .filter(|line| line.contains("tool_use\""))
        .count();
    shows!(document, {
        "current_tool": null, "tool_call_count": usize::from(n_tools > 0), "child": null,
        "exit": {"code": 0, "signal": null}, "tokens": {"input": 0, "output": 0, "thinking": 0, "cached": 0},
    }, "{name}");
    let logged = world.logged(id);
    assert_eq!(logged[0], json!({"event": "daemon_start"}), "{name}");
    let end = logged
        .iter()
        .position(|row| row["event"] == "provider_terminal")
        .expect("it ended");
    assert_eq!(json!(logged[1..end]), one.middle, "{name}");
    let last: Vec<&Value> = logged[end..].iter().map(|row| &row["event"]).collect();
    let (expected, outcome) = match document["state"].as_str() {
        Some("done") => (
            json!(["provider_terminal", "cli_usage", "daemon_done"]),
            "done",
        ),
        _ => (json!(["provider_terminal", "daemon_error"]), "failed"),
    };
    assert_eq!(
        (json!(last), &logged[end]["outcome"]),
        (expected, &json!(outcome)),
        "{name}"
    );
    assert!(
        !world.file(id, "logs/token_ledger.jsonl").exists(),
        "{name}"
    );
    let events = world.events();
    let events: Vec<&Value> = events
        .iter()
        .filter(|event| event["run_id"] == id)
        .collect();
    let [event] = events[..] else {
        panic!("{name} is told once: {events:?}");
    };
    assert_eq!(event["status"], document["state"], "{name}");
    if let Some(message) = document["error"]["message"].as_str() {
        let kind = document["error"]["type"].as_str().expect("a type");
        let body = event["body"].as_str().expect("a body");
        assert!(
            body.contains(&format!("\nError: {kind}: {message}")),
            "{name}: {body}"
        );
    }
}

/// Says its session, and nothing more until it may; then text, a tool and its result, each when it may.
const IN_STEPS: &str = r#"cat > /dev/null
wait_for() { while [ ! -e "$1" ]; do sleep 0.02; done; }
echo '{"type":"system","subtype":"init","session_id":"s1"}'
wait_for say
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Reading."},{"type":"tool_use","id":"t1","name":"Read","input":{}}]}}'
wait_for read
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}'
wait_for end
echo '{"type":"result","subtype":"success","is_error":false,"result":"Fixed."}'
"#;

#[test]
fn a_session_is_on_disk_before_any_text_and_a_tool_while_it_is_used() {
    let world = world(IN_STEPS);
    let _host = world.serve();
    let id = world.dispatch_to("claude", &["go"]).remove(0);
    let shows = |what: &str, wanted: [Value; 4]| {
        let seen = eventually(what, || {
            let document = world.document(&id);
            let seen = [
                "claude_session_id",
                "last_output",
                "current_tool",
                "tool_call_count",
            ];
            let seen = seen.map(|name| document[name].clone());
            (seen == wanted).then_some(document)
        });
        let allow = |name: &str| fs::write(world.desk().join(name), "").expect("a file");
        (seen, allow)
    };
    let (seen, allow) = shows(
        "the session is kept",
        [json!("s1"), json!(null), json!(null), json!(0)],
    );
    assert_eq!(world.logged(&id), [json!({"event": "daemon_start"})]);
    let child = &seen["child"];
    assert_eq!(
        json!([child["pid"], seen["state"], seen["exit"]]),
        json!([child["pgid"], "running", null])
    );
    allow("say");
    let used = [json!("s1"), json!("Reading."), json!("Read"), json!(1)];
    let (_, allow) = shows("the tool is in use", used);
    allow("read");
    let (_, allow) = shows(
        "it is no more",
        [json!("s1"), json!("Reading."), json!(null), json!(1)],
    );
    allow("end");
    assert_eq!(world.announced(&id)["status"], "done");
}
