//! The control protocol, line by line, over the socket of the home or over TCP.

use std::io::{self, BufRead as _, BufReader, Read};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

mod schema;

/// How long an answer may take.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// A transport.
enum Stream {
    Socket(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn writer(&mut self) -> &mut dyn io::Write {
        match self {
            Self::Socket(stream) => stream,
            Self::Tcp(stream) => stream,
        }
    }

    fn set_write_timeout(&self, limit: Option<Duration>) {
        let set = match self {
            Self::Socket(stream) => stream.set_write_timeout(limit),
            Self::Tcp(stream) => stream.set_write_timeout(limit),
        };
        set.expect("a timeout");
    }
}

/// One connection.
pub(crate) struct Rpc {
    stream: Stream,
    reading: BufReader<Box<dyn Read + Send>>,
}

impl Rpc {
    /// Connects without a word.
    pub(crate) fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("the host listens");
        stream.set_read_timeout(PATIENCE).expect("a timeout");
        let reading = Box::new(stream.try_clone().expect("a second handle"));
        Self {
            stream: Stream::Socket(stream),
            reading: BufReader::new(reading),
        }
    }

    /// Connects over TCP without a word.
    pub(crate) fn over_tcp(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the host listens");
        stream.set_read_timeout(PATIENCE).expect("a timeout");
        let reading = Box::new(stream.try_clone().expect("a second handle"));
        Self {
            stream: Stream::Tcp(stream),
            reading: BufReader::new(reading),
        }
    }

    /// Sends `initialize` with a token.
    pub(crate) fn introduce(&mut self, token: &str) -> Value {
        self.call(
            "initialize",
            &json!({"protocol_version": 1, "token": token}),
        )
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
        self.stream.writer().write_all(bytes).unwrap_or_default();
    }

    /// Sends lines until the host takes no more of them for a moment.
    pub(crate) fn send_what_fits(&mut self, lines: impl Iterator<Item = String>) {
        self.stream.set_write_timeout(Some(Duration::from_secs(1)));
        for line in lines {
            if self.stream.writer().write_all(line.as_bytes()).is_err() {
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

    /// Reads up to a response: a connection is notified of the ends of runs, too.
    pub(crate) fn response(&mut self) -> Value {
        loop {
            let message = self.answer();
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Says that nothing more will be sent; a host that hangs up early is noticed when its answer is read.
    pub(crate) fn close_writing(&mut self) {
        let closed = match &self.stream {
            Stream::Socket(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
        closed.unwrap_or_default();
    }

    /// Asks one thing.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.request(method, params);
        let answer = self.answer();
        // A notification may come before the response.
        if answer.get("result").is_some() {
            schema::check(method, params, &answer["result"]);
        }
        answer
    }

    /// Sends a request.
    pub(crate) fn request(&mut self, method: &str, params: &Value) {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.line(&request.to_string());
    }
}
