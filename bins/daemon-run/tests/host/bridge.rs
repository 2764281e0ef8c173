//! `mcp --through`: a server over HTTP for a client that must not see its address.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::world::World;

/// Serves one tool over HTTP where the lower-cased head of a request begins with the first string and contains the second one.
pub(crate) fn serve_sums(wanted: [&'static str; 2]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream, wanted));
        }
    });
    address
}

fn answer(stream: TcpStream, wanted: [&str; 2]) -> Option<()> {
    let mut reading = BufReader::new(stream.try_clone().ok()?);
    let mut writing = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reading.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
        reading.read_exact(&mut body).ok()?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let is_let_in = head.starts_with(wanted[0]) && head.contains(wanted[1]);
        let result = match body["method"].as_str() {
            _ if !is_let_in => None,
            Some("initialize") => Some(json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
            })),
            Some("tools/list") => {
                Some(json!({"tools": [{"name": "sum", "inputSchema": {"type": "object"}}]}))
            }
            Some("tools/call") => Some(
                json!({"content": [{"type": "text", "text": body["params"]["arguments"]["n"].to_string()}]}),
            ),
            _ => None,
        };
        let reply = match result {
            Some(result) => {
                let text =
                    json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
                    text.len()
                )
            }
            None if is_let_in => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
            None => "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        writing.write_all(reply.as_bytes()).ok()?;
    }
}

#[test]
fn a_bridge_serves_the_tools_of_a_server_with_a_secret_address() {
    let address = serve_sums(["post /mcp?key=s3cr3t", "x-key: k3y"]);
    let world = World::pushed();
    let mut command = world.command(&["mcp", "--through"]);
    command
        .env("DAEMON_MCP_URL", format!("http://{address}/mcp?key=s3cr3t"))
        .env("DAEMON_MCP_HEADERS", r#"{"X-Key":"k3y"}"#);
    let mut client = Client::over(&mut command, "c");
    let listed = client.ask("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "sum", "{listed}");
    let called = client.ask("tools/call", &json!({"name": "sum", "arguments": {"n": 7}}));
    shows!(called, {"result": {"content": [{"type": "text", "text": "7"}], "isError": false}});
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_bridge_in_a_sandbox_reaches_its_server_through_the_proxy_of_the_run() {
    let proxy = serve_sums(["post http://hub.example/mcp?key=s3cr3t", "x-key: k3y"]);
    let world = World::pushed();
    let mut command = world.command(&["mcp", "--through"]);
    command
        .env("HTTPS_PROXY", format!("http://{proxy}"))
        .env("DAEMON_MCP_URL", "http://hub.example/mcp?key=s3cr3t")
        .env("DAEMON_MCP_HEADERS", r#"{"X-Key":"k3y"}"#);
    let mut client = Client::over(&mut command, "c");
    let called = client.ask("tools/call", &json!({"name": "sum", "arguments": {"n": 7}}));
    shows!(called, {"result": {"content": [{"type": "text", "text": "7"}], "isError": false}});
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_bridge_without_a_server_does_not_print_its_address() {
    let world = World::pushed();
    let output = world
        .command(&["mcp", "--through"])
        .env(
            "DAEMON_MCP_URL",
            "http://user:s3cr3t@127.0.0.1:1/mcp?key=s3cr3t",
        )
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the server"), "{told}");
    assert!(!told.contains("s3cr3t"), "{told}");
}
