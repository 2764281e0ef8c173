//! Random bytes and random requests on both transports of the control protocol: for a few seconds here, ten minutes in the night tier.

use std::time::{Duration, Instant};

use daemon_api::ops::Operation;
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::rpc::Rpc;
use crate::serve_crash::setting;
use crate::world::{Host, World};

/// How many lines a connection sends.
const LINES: u64 = 40;
/// How long another client may wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Values that requests contain, in the places of others.
fn value(dice: &mut Dice) -> Value {
    let values = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("pusher"),
        json!("../x"),
        json!("/etc/passwd"),
        json!("a\u{0}b"),
        json!("\u{202e}\n\r"),
        json!("n".repeat(10_000)),
        json!([]),
        json!({}),
        json!([[[[{"a": [null]}]]]]),
        json!({"agent": "scout", "sender": "t"}),
    ];
    dice.one_of(&values).clone()
}

/// Returns a request with a known or an unknown method, and parameters with names that some method has.
fn request(dice: &mut Dice) -> Value {
    let names = [
        "id",
        "agent",
        "sender",
        "content",
        "limit",
        "after",
        "before",
        "cwd",
        "key",
        "action",
        "tasks",
        "wait",
        "protocol_version",
        "token",
        "request_id",
        "name",
        "kind",
        "source",
        "payload",
        "schedule",
        "skill",
    ];
    let method = match dice.below(10) {
        0 => "cancel",
        1 => "initialize",
        2 => "no/such",
        _ => dice.one_of(Operation::ALL).method(),
    };
    let mut params = json!({});
    for _ in 0..dice.below(5) {
        let name = *dice.one_of(&names);
        params[name] = value(dice);
    }
    let mut request =
        json!({"jsonrpc": "2.0", "id": dice.below(5), "method": method, "params": params});
    if dice.below(5) == 0 {
        let member = *dice.one_of(&["jsonrpc", "id", "method", "params", "more"]);
        request[member] = value(dice);
    }
    request
}

/// Returns a line, which may have line feeds in it.
fn line(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = match dice.below(4) {
        0 => dice.bytes(300),
        _ => request(dice).to_string().into_bytes(),
    };
    if dice.below(3) == 0 && !bytes.is_empty() {
        for _ in 0..=dice.below(4) {
            let at = usize::try_from(dice.below(bytes.len() as u64)).expect("it is small");
            bytes[at] = dice.below(256) as u8;
        }
    }
    if dice.below(20) == 0 {
        bytes.truncate(bytes.len() / 2);
    }
    bytes.push(b'\n');
    bytes
}

/// Sends lines and reads every answer, each of which has to be JSON.
fn abuse(mut rpc: Rpc, dice: &mut Dice) {
    for _ in 0..dice.below(LINES) {
        rpc.send(&line(dice));
    }
    if dice.below(4) == 0 {
        // It leaves without reading.
        return;
    }
    rpc.close_writing();
    while !rpc.answer().is_null() {}
}

#[test]
#[expect(clippy::print_stdout, reason = "the report of the night tier")]
fn random_bytes_and_requests_end_no_host_and_delay_no_other_client() {
    let seconds = setting("DAEMON_TEST_FUZZ_SECONDS", 4);
    let seed = setting("DAEMON_TEST_SEED", 1);
    let world = World::pushed();
    world.configure("[tcp]\nlisten = \"127.0.0.1:0\"\n");
    let host = world.serve();
    let address = world.tcp_address();
    let mut dice = Dice::of_seed(seed);
    let mut others = [Rpc::initialized(host.socket()), Rpc::over_tcp(&address)];
    assert!(others[1].introduce(host.token())["result"].is_object());
    let begun = Instant::now();
    let (mut n, mut slowest) = (0, Duration::ZERO);
    while begun.elapsed() < Duration::from_secs(seconds.into()) {
        abuse(connect(&host, &address, &mut dice), &mut dice);
        n += 1;
        for other in &mut others {
            let asked = Instant::now();
            let answer = other.call("ping", &json!({}));
            slowest = slowest.max(asked.elapsed());
            assert!(answer["result"]["uptime_ms"].is_u64(), "{n}: {answer}");
        }
    }
    println!(
        "{n} connections in {seconds} s, seed {seed}; the slowest ping of another client took {slowest:?}"
    );
    assert!(slowest < PATIENCE, "{slowest:?}");
    let log = world.log();
    assert!(!log.contains("panicked"), "{log}");
    let (code, _) = host.stop();
    assert_eq!(code, Some(0));
}

/// Connects on one of the transports, with `initialize` or without.
fn connect(host: &Host, address: &str, dice: &mut Dice) -> Rpc {
    match dice.below(4) {
        0 => Rpc::connect(host.socket()),
        1 => Rpc::initialized(host.socket()),
        2 => Rpc::over_tcp(address),
        _ => {
            let mut rpc = Rpc::over_tcp(address);
            assert!(rpc.introduce(host.token())["result"].is_object());
            rpc
        }
    }
}
