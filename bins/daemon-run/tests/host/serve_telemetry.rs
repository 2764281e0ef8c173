//! Traces of activations, sent to a collector of OpenTelemetry.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{World, until, watch};

/// A collector that is away for the first requests.
struct Collector {
    address: String,
    /// The head and the body of each request that it took.
    taken: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Collector {
    fn start(mut n_refused: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let taken = Arc::<Mutex<Vec<(String, Value)>>>::default();
        let kept = Arc::clone(&taken);
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let request = read(&stream);
                let status = match n_refused {
                    0 => "200 OK",
                    _ => "503 Service Unavailable",
                };
                if n_refused == 0 {
                    kept.lock().expect("no holder panics").push(request);
                }
                n_refused = n_refused.saturating_sub(1);
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
                );
                (&stream).write_all(answer.as_bytes()).expect("it is sent");
            }
        });
        Self { address, taken }
    }

    fn taken(&self) -> Vec<(String, Value)> {
        self.taken.lock().expect("no holder panics").clone()
    }

    /// Returns all spans by their names.
    fn spans(&self) -> BTreeMap<String, Value> {
        let taken = self.taken();
        let spans = taken.iter().flat_map(|(_, body)| {
            let spans = body.pointer("/resourceSpans/0/scopeSpans/0/spans");
            spans.and_then(Value::as_array).cloned().unwrap_or_default()
        });
        spans.map(|span| (span.text("name"), span)).collect()
    }
}

fn read(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).expect("a line");
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.lines().next());
    let length: usize = length.expect("a length").trim().parse().expect("a number");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    (head, serde_json::from_slice(&body).expect("it is JSON"))
}

fn attribute(span: &Value, key: &str) -> Value {
    let attributes = span["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|one| one["key"] == key);
    found.map(|one| one["value"].clone()).unwrap_or_default()
}

/// Asserts that a span is a child of another one, went well, and ended before the root did.
fn assert_within(child: &Value, parent: &Value, root: &Value) {
    assert_eq!(child["traceId"], root["traceId"]);
    assert_eq!(child["parentSpanId"], parent["spanId"]);
    assert_eq!(child["status"]["code"], 1, "{child}");
    let at = |span: &Value, name: &str| span.text(name).parse::<u64>().expect("a number");
    let (start, end) = ("startTimeUnixNano", "endTimeUnixNano");
    assert!(at(child, start) >= at(parent, start), "{child}");
    assert!(at(child, end) <= at(root, end), "{child}");
}

#[test]
fn an_activation_is_one_trace_from_its_event_to_its_output() {
    // It takes the second request.
    let collector = Collector::start(1);
    let world = World::new(&[("pusher", &watch(&["when a commit is pushed to main"]))]);
    world.script(
        "cat > /dev/null\necho x >> NOTE.md\necho '{\"daemon\":\"usage\",\"input\":1200,\"output\":80}'\n\
         echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"a private result\"}'\n",
    );
    fs::write(world.home.join("collector-key"), "of-the-collector\n").expect("a key");
    world.configure(&format!(
        "[telemetry]\ntraces = {:?}\nheaders_file = {{ x-key = \"collector-key\" }}\n[host]\nname = \"north\"\n",
        collector.address
    ));
    let host = world.serve();
    world.commit("a private message");
    host.settled(1);
    until("the trace is there", || collector.spans().len() == 4);
    let spans = collector.spans();
    let names: Vec<&str> = spans.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["activation pusher", "git push", "output git", "run sh"]
    );
    let all: Vec<&Value> = spans.values().collect();
    let [activation, cause, output, run] = all[..] else {
        panic!("{all:?}");
    };
    let id = host.list("activations")[0]["id"].clone();
    assert_eq!(
        attribute(activation, "daemon.activation.id"),
        json!({"stringValue": id})
    );
    assert_eq!(
        attribute(run, "gen_ai.usage.input_tokens"),
        json!({"intValue": "1200"})
    );
    assert_eq!(
        attribute(output, "daemon.output.state"),
        json!({"stringValue": "confirmed"})
    );
    shows!(cause, {"parentSpanId": "", "kind": 5});
    for (child, parent) in [(activation, cause), (run, activation), (output, activation)] {
        assert_within(child, parent, cause);
    }
    let (head, body) = &collector.taken()[0];
    assert!(
        head.starts_with("post /v1/traces ") && head.contains("x-key: of-the-collector"),
        "{head}"
    );
    assert!(!body.to_string().contains("private"), "{body}");
    assert_eq!(
        attribute(&body["resourceSpans"][0]["resource"], "service.instance.id"),
        json!({"stringValue": "north"})
    );
}

#[test]
fn an_address_that_is_none_is_refused_with_its_place() {
    let world = World::new(&[]);
    world.configure("[telemetry]\ntraces = \"localhost\"\n");
    let output = world.run(&["serve"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{text}");
    assert!(
        text.contains("config.toml:") && text.contains("`telemetry.traces`: `localhost`"),
        "{text}"
    );
}
