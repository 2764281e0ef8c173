//! A client over a socket, and a GitHub with one repository.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use daemon_fakes::{FakeClock, GithubAccess, GithubAccountKind, GithubApi};
use serde_json::{Value, json};

pub(crate) const REPO: &str = "acme/site";
pub(crate) const AGENT: &str = "User-Agent: tests";
pub(crate) const TOKEN: &str = "ghp_alice";

/// What the client received; empty if the connection was closed without a response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }
}

/// Sends a request with a JSON body and reads until the connection is closed.
pub(crate) fn send(address: SocketAddr, head: &[&str], body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = head.join("\r\n");
    let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    let received = String::from_utf8(received).unwrap();
    let Some((head, body)) = received.split_once("\r\n\r\n") else {
        return Answer::default();
    };
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// A GitHub with the repository `acme/site`, the collaborator `alice` with a token, and the branches `main` and `fix`.
pub(crate) struct Github {
    pub(crate) api: GithubApi,
}

impl Github {
    pub(crate) fn start() -> Self {
        Self::start_at(FakeClock::default())
    }

    pub(crate) fn start_at(clock: FakeClock) -> Self {
        let api = GithubApi::start(0, clock).unwrap();
        api.add_repo(REPO);
        api.add_token(TOKEN, "alice", GithubAccess::Write);
        api.add_token("ghp_reader", "bob", GithubAccess::Read);
        api.add_account("carol", GithubAccountKind::User);
        api.add_collaborator(REPO, "alice");
        api.set_branch(REPO, "main", Some(&sha('a')));
        api.set_branch(REPO, "fix", Some(&sha('b')));
        Self { api }
    }

    pub(crate) fn call_as(&self, token: &str, method: &str, path: &str, body: &Value) -> Answer {
        let line = format!("{method} {path} HTTP/1.1");
        let authorization = format!("Authorization: Bearer {token}");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        send(
            self.api.server().address(),
            &[&line, "Host: x", AGENT, &authorization],
            &body,
        )
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call_as(TOKEN, "GET", path, &Value::Null)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.call_as(TOKEN, "POST", path, body)
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Answer {
        self.call_as(TOKEN, "PATCH", path, body)
    }

    /// Opens an issue as alice and returns its number.
    pub(crate) fn issue(&self) -> u64 {
        let answer = self.post("/repos/acme/site/issues", &json!({"title": "Broken link"}));
        answer.json()["number"].as_u64().unwrap()
    }

    /// Opens a pull request from `fix` to `main` as alice and returns its number.
    pub(crate) fn pull(&self) -> u64 {
        let body = json!({"title": "Repair the link", "head": "fix", "base": "main"});
        let answer = self.post("/repos/acme/site/pulls", &body);
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.json()["number"].as_u64().unwrap()
    }
}

/// Returns a commit of forty equal digits.
pub(crate) fn sha(digit: char) -> String {
    digit.to_string().repeat(40)
}
