//! Turns of conversations whose host is killed at random points: nothing that was acknowledged is lost, and no history changes. A few
//! turns here, a thousand with `cargo xtask kills`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use daemon_fakes::{ModelApi, Received, Reply};
use serde_json::{Value, json};

use crate::conversing::world;
use crate::dice::Dice;
use crate::rpc::Rpc;
use crate::serve_crash::setting;
use crate::world::{Host, World};

/// How many conversations there are; each has its share of the turns.
const SENDERS: u32 = 20;
/// One of this number of turns meets a kill.
const KILLED: u64 = 3;
/// The most messages of a turn that its client reads before the kill: more than a turn has.
const MOST_READ: u64 = 9;

/// A model that calls a tool and then repeats the message.
fn model(received: &Received) -> Reply {
    let messages = received.body["messages"].as_array().expect("messages");
    let last = |role: &str| messages.iter().rposition(|one| one["role"] == role);
    if last("tool") > last("user") {
        let said = last("user").map(|at| messages[at]["content"].as_str().unwrap_or_default());
        return Reply::text(format!("You said {}.", said.unwrap_or_default()));
    }
    Reply::call("list", json!({}))
}

/// What is wrong at the end of a scenario.
#[derive(Debug, Default, PartialEq, Eq)]
struct Left {
    /// Acknowledged turns that are not in the log, or with another reply.
    lost: Vec<String>,
    /// Logs that changed behind their end.
    changed: Vec<String>,
    /// Logs whose numbers have gaps, or with turns that have no end or several.
    torn: Vec<String>,
    /// Conversations whose history is not that of the log.
    misread: Vec<String>,
}

struct Scenario {
    world: World,
    host: Option<Host>,
    dice: Dice,
    /// The turn and the reply of each acknowledged key.
    acknowledged: BTreeMap<String, (u64, String)>,
    /// The whole lines of each log, as they were last seen.
    seen: BTreeMap<PathBuf, Vec<u8>>,
    left: Left,
    n_kills: u32,
    n_interrupted: u32,
}

impl Scenario {
    fn host(&mut self) -> &Host {
        let world = &self.world;
        self.host.get_or_insert_with(|| {
            if world.home.join("state.db").exists() {
                world.forget_crashes();
            }
            world.serve()
        })
    }

    /// Sends a message, and kills the host after some messages of its turn, or not at all.
    fn turn(&mut self, n: u32) {
        let key = format!("k-{n}");
        let is_killed = self.dice.below(KILLED) == 0;
        let n_read = is_killed.then(|| self.dice.below(MOST_READ));
        let socket = self.host().socket().to_owned();
        let mut rpc = Rpc::initialized(&socket);
        rpc.line(&request(n, &key).to_string());
        let mut answer = Value::Null;
        for n in 0.. {
            if n_read == Some(n) {
                self.kill(&socket);
            }
            // Behind a kill, what the host sent before is still read: it may be the acknowledgement.
            let message = rpc.answer();
            if message["method"].is_string() {
                continue;
            }
            answer = message;
            break;
        }
        if n_read.is_some() && self.host.is_some() {
            self.kill(&socket);
        }
        if answer.is_null() {
            // The same key joins the turn or returns its end; it never starts a second one.
            let mut rpc = Rpc::initialized(self.host().socket());
            let params = request(n, &key)["params"].take();
            answer = rpc.call("conversation/send", &params);
        }
        match answer["result"]["outcome"].as_str() {
            Some("done") => {
                let turn = answer["result"]["turn"].as_u64().expect("a turn");
                let text = answer["result"]["text"].as_str().expect("a text");
                self.acknowledged.insert(key, (turn, text.to_owned()));
            }
            _ => self.n_interrupted += 1,
        }
    }

    fn kill(&mut self, socket: &std::path::Path) {
        // Some time, in which the turn continues.
        let mut other = Rpc::initialized(socket);
        for _ in 0..self.dice.below(30) {
            assert!(other.call("ping", &json!({}))["result"].is_object());
        }
        if let Some(host) = self.host.take() {
            host.kill();
            self.n_kills += 1;
        }
        self.look();
    }

    /// Compares the logs with what they were: only lines at their end may be new.
    fn look(&mut self) {
        let Ok(entries) = fs::read_dir(self.world.home.join("sessions")) else {
            return;
        };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let mut bytes = fs::read(&path).expect("its bytes");
            let whole = bytes.iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(whole.map_or(0, |at| at + 1));
            let before = self.seen.get(&path).map(Vec::as_slice).unwrap_or_default();
            if !bytes.starts_with(before) {
                self.left.changed.push(path.display().to_string());
            }
            self.seen.insert(path, bytes);
        }
    }

    /// Checks every log, the acknowledged turns in them, and what `history` returns of them.
    fn examine(&mut self) {
        self.look();
        let mut found: BTreeMap<String, (u64, String)> = BTreeMap::new();
        for (path, bytes) in &self.seen {
            let lines: Vec<Value> = String::from_utf8_lossy(bytes)
                .lines()
                .map(|line| serde_json::from_str(line).expect("a line is JSON"))
                .collect();
            let of = |kind: &str| {
                let lines = lines.iter().filter(move |line| line["type"] == kind);
                lines
                    .filter_map(|line| line["turn"].as_u64())
                    .collect::<Vec<_>>()
            };
            let numbers: Vec<_> = lines.iter().filter_map(|line| line["n"].as_u64()).collect();
            let is_whole = numbers == (1..=lines.len() as u64).collect::<Vec<_>>();
            if !is_whole || of("user") != of("end") {
                self.left.torn.push(path.display().to_string());
            }
            for line in lines.iter().filter(|line| line["type"] == "user") {
                let text =
                    |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
                let mut of_turn = lines.iter().filter(|other| other["turn"] == line["turn"]);
                let is_done = of_turn.any(|other| other["outcome"] == "done");
                let reply = lines
                    .iter()
                    .rfind(|other| other["turn"] == line["turn"] && other["type"] == "assistant");
                let reply = reply
                    .map(|reply| text(reply, "content"))
                    .unwrap_or_default();
                let turn = line["turn"].as_u64().expect("a turn");
                let key = text(line, "key");
                if is_done && found.insert(key.clone(), (turn, reply)).is_some() {
                    self.left.torn.push(format!("{key} was answered twice"));
                }
            }
        }
        for (key, acknowledged) in &self.acknowledged {
            if found.get(key) != Some(acknowledged) {
                self.left.lost.push(format!("{key}: {acknowledged:?}"));
            }
        }
        self.read_histories();
    }

    fn read_histories(&mut self) {
        let socket = self.host().socket().to_owned();
        let mut rpc = Rpc::initialized(&socket);
        for bytes in self.seen.values() {
            let text = String::from_utf8_lossy(bytes);
            let lines: Vec<Value> = text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect();
            let sender = lines[0]["sender"].clone();
            let params = json!({"agent": "scout", "sender": sender});
            let history = rpc.call("conversation/history", &params);
            let history = history["result"]["lines"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let newest = lines.len().saturating_sub(200);
            if history != lines[newest..] {
                self.left.misread.push(sender.to_string());
            }
        }
    }
}

fn request(n: u32, key: &str) -> Value {
    let params = json!({
        "agent": "scout", "sender": format!("s-{}", n % SENDERS), "content": format!("word {n}"), "key": key,
    });
    json!({"jsonrpc": "2.0", "id": 7, "method": "conversation/stream", "params": params})
}

#[test]
#[expect(clippy::print_stdout, reason = "the report of `cargo xtask kills`")]
fn turns_survive_kills_at_random_points() {
    let n_turns = setting("DAEMON_TEST_TURNS", 12);
    let seed = setting("DAEMON_TEST_SEED", 1);
    let api = ModelApi::scripted(model).expect("a port");
    let begun = Instant::now();
    let mut scenario = Scenario {
        world: world(&api, "\n[budget]\nday_usd = 1000000\n"),
        host: None,
        dice: Dice::of_seed(seed),
        acknowledged: BTreeMap::new(),
        seen: BTreeMap::new(),
        left: Left::default(),
        n_kills: 0,
        n_interrupted: 0,
    };
    for n in 0..n_turns {
        scenario.turn(n);
    }
    // Another kill at the end, so that all that was acknowledged has survived a kill.
    let socket = scenario.host().socket().to_owned();
    scenario.kill(&socket);
    scenario.host();
    scenario.examine();
    println!(
        "{n_turns} turns of {SENDERS} conversations, seed {seed}: {} kills, {} acknowledged, {} interrupted, in {:.0} s; left {:?}",
        scenario.n_kills,
        scenario.acknowledged.len(),
        scenario.n_interrupted,
        begun.elapsed().as_secs_f64(),
        scenario.left
    );
    assert_eq!(scenario.left, Left::default());
    let n_ended = scenario.acknowledged.len() as u32 + scenario.n_interrupted;
    assert_eq!(n_ended, n_turns);
    assert!(scenario.n_kills > 1 && !scenario.acknowledged.is_empty());
}
