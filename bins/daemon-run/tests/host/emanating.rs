//! Dispatching runs, and waiting for their ends.

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::world::{World, eventually, until};

impl World {
    /// Calls the `daemon` tool, and returns the exit code and the reply.
    pub(crate) fn tool(&self, call: &Value) -> (i32, Value) {
        // A provider's program is not taken from the directory that its run works in.
        fs::create_dir_all(self.desk()).expect("a directory");
        let mut call = call.clone();
        if let Some(map) = call.as_object_mut() {
            map.entry("cwd").or_insert_with(|| json!("desk"));
        }
        fs::write(self.beside("call.json"), call.to_string()).expect("the call");
        self.json(&["emanate", "--call", "call.json"])
    }

    /// Returns the directory that dispatched runs work in.
    pub(crate) fn desk(&self) -> PathBuf {
        self.home.with_file_name("desk")
    }

    /// Dispatches one run for each task, and returns their ids.
    pub(crate) fn dispatch(&self, tasks: &[&str]) -> Vec<String> {
        self.dispatch_within(tasks, 3_600)
    }

    /// Dispatches runs that may take some seconds.
    pub(crate) fn dispatch_within(&self, tasks: &[&str], timeout: u64) -> Vec<String> {
        let tasks: Vec<Value> = tasks.iter().map(|task| json!({"task": task})).collect();
        let call = json!({"action": "emanate", "timeout": timeout, "tasks": tasks});
        let reply = shown!(self.tool(&call), {"$?": 0, "status": "dispatched"});
        let ids = reply["run_ids"].as_array().expect("a list");
        ids.iter()
            .map(|id| id.as_str().expect("an id").to_owned())
            .collect()
    }

    /// Returns the reply to `check`.
    pub(crate) fn check(&self, id: &str) -> Value {
        shown!(self.json(&["emanate", "check", id]), {"$?": 0})
    }

    /// Waits until the program of a run has printed something.
    pub(crate) fn begun(&self, id: &str) {
        // The folder is there a moment before its document.
        let document = self.file(id, "daemon.json");
        until(&format!("{id} has begun"), || {
            document.is_file() && self.document(id)["last_output"].is_string()
        });
    }

    /// Waits until a run was announced, and returns its reply to `check`.
    pub(crate) fn announced(&self, id: &str) -> Value {
        eventually(&format!("{id} was announced"), || {
            Some(self.check(id)).filter(|run| run["notified_seq"].is_u64())
        })
    }

    /// Returns a file of a run's folder.
    pub(crate) fn file(&self, id: &str, name: &str) -> PathBuf {
        self.home.join("daemons").join(id).join(name)
    }

    /// Returns the document of a run.
    pub(crate) fn document(&self, id: &str) -> Value {
        let text = fs::read_to_string(self.file(id, "daemon.json")).expect("it is there");
        serde_json::from_str(&text).expect("it is JSON")
    }

    /// Returns the notices.
    pub(crate) fn notices(&self) -> Value {
        let path = self.home.join(".notification/system.json");
        let text = fs::read_to_string(path).unwrap_or_else(|_| "null".to_owned());
        serde_json::from_str(&text).expect("it is JSON")
    }

    /// Returns the events of the notices.
    pub(crate) fn events(&self) -> Vec<Value> {
        let events = self.notices()["data"]["events"].take();
        events.as_array().cloned().unwrap_or_default()
    }

    /// Returns the names of the run folders.
    pub(crate) fn folders(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.join("daemons"));
        let entries = entries.into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// Returns the event log of a run without what differs from day to day.
    pub(crate) fn logged(&self, id: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.file(id, "logs/events.jsonl")).expect("it is there");
        let rows = text.lines().map(|line| {
            let mut row: Map<String, Value> = serde_json::from_str(line).expect("it is JSON");
            row.retain(|name, _| {
                !["ts", "elapsed_s", "result_path", "result_sha256"].contains(&name.as_str())
            });
            Value::Object(row)
        });
        rows.collect()
    }

    /// Waits until the reply to the n-th message of a run was announced, and returns the event.
    pub(crate) fn replied(&self, id: &str, n: u32) -> Value {
        let key = format!("daemon-followup:{id}:{n}");
        eventually("the reply was announced", || {
            let mut events = self.events().into_iter();
            events.find(|event| event["idempotency_key"] == key.as_str())
        })
    }
}
