//! The control socket, line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// One connection.
pub(crate) struct Rpc {
    stream: UnixStream,
    reading: BufReader<UnixStream>,
}

impl Rpc {
    /// Connects without a word.
    pub(crate) fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("the host listens");
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("a timeout");
        let reading = BufReader::new(stream.try_clone().expect("a second handle"));
        Self { stream, reading }
    }

    /// Connects and agrees on the protocol.
    pub(crate) fn initialized(socket: &Path) -> Self {
        let mut rpc = Self::connect(socket);
        let hello = json!({"protocol_version": 1, "client": {"name": "test", "version": "1"}});
        let answer = rpc.call("initialize", &hello);
        assert!(answer["result"].is_object(), "{answer}");
        rpc
    }

    /// Sends bytes as they are; a host that hangs up early is noticed when its answer is read.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap_or_default();
    }

    /// Sends lines until the host takes no more of them for a moment.
    pub(crate) fn send_what_fits(&mut self, lines: impl Iterator<Item = String>) {
        let moment = Some(Duration::from_secs(1));
        self.stream.set_write_timeout(moment).expect("a timeout");
        for line in lines {
            if self.stream.write_all(line.as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Sends one line.
    pub(crate) fn line(&mut self, line: &str) {
        self.send(format!("{line}\n").as_bytes());
    }

    /// Reads one answer, `Null` where the host hung up.
    pub(crate) fn answer(&mut self) -> Value {
        let mut line = String::new();
        match self.reading.read_line(&mut line) {
            Ok(0) | Err(_) => Value::Null,
            Ok(_) => serde_json::from_str(&line).expect("an answer is JSON"),
        }
    }

    /// Says that nothing more will be sent.
    pub(crate) fn close_writing(&mut self) {
        let closed = self.stream.shutdown(std::net::Shutdown::Write);
        closed.expect("the connection is open");
    }

    /// Asks one thing.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.line(&request.to_string());
        self.answer()
    }
}
