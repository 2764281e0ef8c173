//! The control protocol over TCP, and tokens with less access on both transports.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use daemon_api::ops::{Operation, Scope};
use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::world::{Host, World, eventually};

const READ: &str = "read-0123456789abcdef0123456789abcdef";
const OPERATE: &str = "operate-0123456789abcdef0123456789abc";

/// Makes a world with two further tokens and a listener over TCP, and with more of its configuration.
fn world(more: &str) -> World {
    let world = World::pushed();
    token(&world, "read", READ);
    token(&world, "operate", OPERATE);
    configure(&world, &[("read", "read"), ("operate", "operate")], more);
    world
}

/// Writes the configuration with tokens, each a name and a scope; the file of a token has its name.
fn configure(world: &World, tokens: &[(&str, &str)], more: &str) {
    let rows = tokens.iter().map(|(name, scope)| {
        format!("[[token]]\nname = {name:?}\nscope = {scope:?}\nfile = {name:?}\n\n")
    });
    let rows: String = rows.collect();
    world.configure(&format!("[tcp]\nlisten = \"127.0.0.1:0\"\n\n{rows}{more}"));
}

fn token(world: &World, name: &str, text: &str) {
    let path = world.home.join(name);
    fs::write(&path, text).expect("a token");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
}

fn error(answer: &Value) -> (i64, &str) {
    let error = &answer["error"];
    let word = error["data"]["code"].as_str();
    (
        error["code"].as_i64().unwrap_or_default(),
        word.unwrap_or_default(),
    )
}

fn serve(more: &str) -> (World, Host, String) {
    let world = world(more);
    let host = world.serve();
    let address = world.tcp_address();
    (world, host, address)
}

#[test]
fn over_tcp_a_client_sends_a_token_first_and_has_its_scope() {
    let (_world, host, address) = serve("");
    for (token, actor, scope) in [
        (host.token(), "owner", "admin"),
        (READ, "read", "read"),
        (OPERATE, "operate", "operate"),
    ] {
        let mut rpc = Rpc::over_tcp(&address);
        let answer = rpc.introduce(token);
        shows!(answer, {"result.actor": actor, "result.scope": scope, "result.host.epoch": 1});
        shows!(rpc.call("daemon/list", &json!({})), {"result.daemons.0.id": "pusher"});
    }
}

#[test]
fn over_tcp_every_method_without_a_token_fails_and_closes() {
    let (_world, host, address) = serve("");
    let methods = Operation::ALL.iter().map(|one| one.method());
    for method in methods.chain(["ping", "initialize", "no/such"]) {
        let mut rpc = Rpc::over_tcp(&address);
        let answer = rpc.call(method, &json!({"protocol_version": 1}));
        assert_eq!(
            error(&answer),
            (-32002, "unauthorized"),
            "{method}: {answer}"
        );
        assert_eq!(rpc.answer(), Value::Null, "{method}: it is closed");
    }
    let wrong = format!("{}x", host.token());
    for token in ["", "x", &READ[..READ.len() - 1], &wrong] {
        let mut rpc = Rpc::over_tcp(&address);
        let answer = rpc.introduce(token);
        assert_eq!(
            error(&answer),
            (-32002, "unauthorized"),
            "{token}: {answer}"
        );
        assert_eq!(rpc.answer(), Value::Null, "{token}: it is closed");
    }
}

#[test]
fn over_tcp_lines_of_other_protocols_and_long_ones_close_without_an_answer() {
    let (_world, host, address) = serve("");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocol_version": 1, "token": host.token()}});
    let http = format!("POST / HTTP/1.1\r\nHost: x\r\n\r\n{body}\n");
    for bytes in [
        http.into_bytes(),
        b"GET /mcp HTTP/1.1\r\n\r\n".to_vec(),
        format!("[{body}]\n").into_bytes(),
        b"\n".to_vec(),
        vec![b'x'; 70_000],
    ] {
        let mut rpc = Rpc::over_tcp(&address);
        rpc.send(&bytes);
        assert_eq!(rpc.answer(), Value::Null);
    }
    assert!(Rpc::over_tcp(&address).introduce(host.token())["result"].is_object());
}

#[test]
fn a_token_allows_the_methods_of_its_scope_on_both_transports() {
    let (_world, host, address) = serve("");
    for (token, scope) in [(READ, Scope::Read), (OPERATE, Scope::Operate)] {
        for mut rpc in [Rpc::over_tcp(&address), Rpc::connect(host.socket())] {
            assert!(rpc.introduce(token)["result"].is_object());
            for operation in Operation::ALL.iter().filter(|one| one.scope() > scope) {
                let answer = rpc.call(operation.method(), &json!({}));
                let method = operation.method();
                assert_eq!(error(&answer), (-32003, "forbidden"), "{method}: {answer}");
            }
        }
    }
    let mut rpc = Rpc::connect(host.socket());
    let refused = rpc.introduce("none");
    assert_eq!(error(&refused), (-32002, "unauthorized"), "{refused}");
    assert_eq!(
        error(&rpc.call("daemon/list", &json!({}))),
        (-32001, "not-initialized")
    );
}

#[test]
fn a_reload_closes_the_connections_of_tokens_that_it_removes() {
    let (world, host, address) = serve("");
    let mut removed = Rpc::over_tcp(&address);
    let mut streaming = Rpc::connect(host.socket());
    let mut kept = Rpc::over_tcp(&address);
    for (rpc, token) in [
        (&mut removed, READ),
        (&mut streaming, READ),
        (&mut kept, OPERATE),
    ] {
        assert!(rpc.introduce(token)["result"].is_object());
    }
    streaming.line("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"event/subscribe\"}");
    configure(&world, &[("operate", "operate")], "");
    let reloaded = Rpc::initialized(host.socket()).call("host/reload", &json!({}));
    shows!(reloaded, {"result.changed": true, "result.needs_restart": []});
    assert_eq!(removed.answer(), Value::Null);
    shows!(streaming.answer(), {"id": 2});
    assert_eq!(streaming.answer(), Value::Null);
    assert!(kept.call("host/stats", &json!({}))["result"].is_object());
    let refused = Rpc::over_tcp(&address).introduce(READ);
    assert_eq!(error(&refused), (-32002, "unauthorized"));
}

#[test]
fn a_client_with_a_token_names_directories_of_the_roots_only() {
    let projects = tempfile::tempdir().expect("a directory");
    let root = projects.path().canonicalize().expect("it exists");
    fs::create_dir(root.join("a")).expect("a directory");
    std::os::unix::fs::symlink("/etc", root.join("out")).expect("a link");
    let (_world, host, address) = serve(&format!("[tools]\nroots = [{root:?}]\n"));
    let mut rpc = Rpc::over_tcp(&address);
    rpc.introduce(OPERATE);
    let path = |name: &str| root.join(name).display().to_string();
    let turn = |cwd: &str| json!({"agent": "scout", "sender": "t", "content": "x", "cwd": cwd});
    for cwd in ["/etc", "/", &path("out"), &path("a/../.."), &path("none")] {
        let answer = rpc.call("conversation/send", &turn(cwd));
        assert_eq!(error(&answer), (-32003, "forbidden"), "{cwd}: {answer}");
        let call = json!({"action": "emanate", "tasks": [{"task": "x", "cwd": cwd}]});
        let answer = rpc.call("run/call", &call);
        assert_eq!(error(&answer), (-32003, "forbidden"), "{cwd}: {answer}");
    }
    let call = json!({"action": "emanate", "tasks": [{"task": "x", "cwd": path("a"), "skills": ["../out"]}]});
    assert_eq!(error(&rpc.call("run/call", &call)), (-32003, "forbidden"));
    // No agent has this name: the directory was accepted.
    for mut rpc in [rpc, Rpc::initialized(host.socket())] {
        let answer = rpc.call("conversation/send", &turn(&path("a")));
        assert_eq!(error(&answer), (-32004, "not-found"), "{answer}");
    }
    let answer = Rpc::initialized(host.socket()).call("conversation/send", &turn("/etc"));
    assert_eq!(error(&answer), (-32004, "not-found"), "the owner: {answer}");
}

#[test]
fn a_public_address_needs_consent_and_a_token_file() {
    let world = World::pushed();
    let tcp = |text: &str| world.configure(&format!("[tcp]\nlisten = \"0.0.0.0:0\"\n{text}"));
    tcp("");
    assert_eq!(
        world.refusal("tcp-public"),
        "tcp.listen: 0.0.0.0:0 is not a loopback address"
    );
    tcp("public = true\n");
    assert_eq!(
        world.refusal("public-without-token"),
        "0.0.0.0:0 is not a loopback address"
    );
    token(&world, "mine", READ);
    tcp("public = true\n\n[host]\ntoken_file = \"mine\"\n");
    let host = world.serve();
    let port = world.tcp_address().replace("0.0.0.0", "127.0.0.1");
    assert!(Rpc::over_tcp(&port).introduce(READ)["result"].is_object());
    drop(host);
    world.configure("[tcp]\nlisten = \"nowhere\"\n");
    let message = world.refusal("config-invalid");
    assert!(message.contains("`tcp.listen` is `nowhere`"), "{message}");
}

#[test]
fn clients_that_send_no_token_leave_places_for_others() {
    let (_world, host, address) = serve("");
    let silent: Vec<Rpc> = (0..64).map(|_| Rpc::over_tcp(&address)).collect();
    // The 65th is closed at once, and the socket of the home is free.
    assert_eq!(Rpc::over_tcp(&address).answer(), Value::Null);
    assert!(Rpc::initialized(host.socket()).call("ping", &json!({}))["result"].is_object());
    drop(silent);
    let answer = eventually("there is a place again", || {
        let mut rpc = Rpc::over_tcp(&address);
        Some(rpc.introduce(host.token())).filter(Value::is_object)
    });
    assert!(answer["result"].is_object(), "{answer}");
}
