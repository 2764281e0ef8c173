//! A client of `daemon-run mcp`, which sends lines of the protocol through the pipes of the program.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A client of one program.
pub(crate) struct Client {
    child: Child,
    /// The input of the program, until it is closed.
    pub(crate) writing: Option<ChildStdin>,
    reading: BufReader<ChildStdout>,
    next: u32,
    /// The notifications that it received while it waited for a response.
    pub(crate) notified: VecDeque<Value>,
}

impl Client {
    /// Starts a program and introduces itself with a name.
    pub(crate) fn over(command: &mut Command, name: &str) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut client = Self {
            writing: child.stdin.take(),
            reading: BufReader::new(child.stdout.take().expect("the output is a pipe")),
            child,
            next: 0,
            notified: VecDeque::new(),
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        let answer = client.ask("initialize", &hello);
        assert_eq!(
            answer["result"]["serverInfo"]["name"], "daemon-run",
            "{answer}"
        );
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        let writing = self.writing.as_mut().expect("the input is open");
        writeln!(writing, "{message}").expect("the program reads");
    }

    /// Sends a request and waits for its response.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.begin(method, params);
        self.answer()
    }

    /// Sends a request.
    pub(crate) fn begin(&mut self, method: &str, params: &Value) {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
    }

    /// Waits for the response to the last request.
    pub(crate) fn answer(&mut self) -> Value {
        loop {
            let message = self.read();
            if message.get("method").is_none() {
                assert_eq!(message["id"], self.next, "{message}");
                return message;
            }
            self.notified.push_back(message);
        }
    }

    /// Reads the next message.
    pub(crate) fn read(&mut self) -> Value {
        let mut line = String::new();
        self.reading.read_line(&mut line).expect("a message");
        serde_json::from_str(&line).expect("a message is JSON")
    }

    /// Calls a tool; returns whether it failed, and the object, which is also its text.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (bool, Value) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let object = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(text, object.to_string());
        (result["isError"] == true, object)
    }

    /// Ends the input and returns the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.writing.take());
        self.child.wait().expect("the program ends").code()
    }
}
