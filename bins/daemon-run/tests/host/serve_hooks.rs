//! Webhooks: which are accepted, which are refused, and that none is counted twice.

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::http::{self, Answer, github, pull_request_opened, push, signature};
use crate::world::{SECRET, World, watch};

const REFUSED: &str = "{\"schema_version\":1,\"ok\":false,\"error\":{\"code\":\"unauthorized\",\"message\":\"the delivery is not authentic\",\"help\":null}}\n";

fn helper() -> World {
    World::new(&[("pr-helper", &watch(&["when a pull request is opened"]))])
}

#[test]
fn a_signed_webhook_is_stored_once_however_often_it_comes() {
    let world = helper();
    let host = world.serve();
    let body = pull_request_opened(7);
    let first = host.hook("pull_request", "d-1", &body);
    let id = first.text("event_ids.0");
    let told = |duplicate: bool| Answer {
        status: 200,
        head: String::new(),
        body: format!(
            "{{\"schema_version\":1,\"event_ids\":[\"{id}\"],\"duplicate\":{duplicate}}}\n"
        ),
    };
    let bare = |answer: Answer| Answer {
        head: String::new(),
        ..answer
    };
    assert_eq!(bare(first), told(false));
    assert_eq!(
        bare(host.hook("pull_request", "d-1", &body)),
        told(true),
        "the same id"
    );
    assert_eq!(
        bare(host.hook("pull_request", "d-2", &body)),
        told(true),
        "the same body"
    );
    assert_eq!(
        bare(host.hook("pull_request", "d-1", &pull_request_opened(8))),
        told(true),
        "the same id with another body"
    );
    let activations = host.settled(1);
    assert_eq!(activations.len(), 1, "{activations:?}");
    let event = host.get(&format!("events/{id}"));
    shows!(event, {"duplicates": 3, "payload": &body});
}

#[test]
fn a_forged_webhook_is_refused_with_one_body_for_every_fault() {
    let world = helper();
    let host = world.serve();
    let body = pull_request_opened(7).to_string();
    let right = signature(SECRET, body.as_bytes());
    let hex = right.strip_prefix("sha256=").expect("it has its prefix");
    let flipped = format!(
        "sha256={}{}",
        &hex[..63],
        if hex.ends_with('0') { '1' } else { '0' }
    );
    let rows = [
        String::new(),
        "sha256=".to_owned(),
        hex.to_owned(),
        format!("sha1={}", &hex[..40]),
        format!("sha256={}", &hex[..63]),
        format!("{right}0"),
        format!("sha256= {hex}"),
        format!("sha256={}", hex.to_uppercase()),
        format!("SHA256={hex}"),
        format!("{right}, {right}"),
        flipped,
        signature("", body.as_bytes()),
        signature("another secret", body.as_bytes()),
        signature(SECRET, format!("{body}\n").as_bytes()),
    ];
    for signature in rows {
        let headers = github("pull_request", "d-1", &signature);
        let answer = host.post("/webhooks/github", &headers, &body);
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (401, REFUSED),
            "{signature}"
        );
    }
    let twice = github("pull_request", "d-1", &right);
    let twice = [&twice[..], &twice[3..]].concat();
    let unsigned = &twice[..3];
    for headers in [&twice[..], unsigned] {
        let answer = host.post("/webhooks/github", headers, &body);
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (401, REFUSED),
            "{headers:?}"
        );
    }
    assert_eq!(host.list("events"), Vec::<Value>::new());
}

#[test]
fn a_source_without_a_secret_answers_like_a_wrong_signature() {
    let world = helper();
    world.write_config(&format!(
        "[[repo]]\npath = {:?}\n",
        world.repo.display().to_string()
    ));
    let host = world.serve();
    let answer = host.hook("pull_request", "d-1", &pull_request_opened(7));
    assert_eq!((answer.status, answer.body.as_str()), (401, REFUSED));
}

#[test]
fn every_configured_secret_is_tried() {
    let world = helper();
    std::fs::write(world.home.join("hook-secret"), format!("old\n\n{SECRET}\n"))
        .expect("the secrets");
    let host = world.serve();
    let body = pull_request_opened(7).to_string();
    let old = signature("old", body.as_bytes());
    let headers = github("pull_request", "d-1", &old);
    let answer = host.post("/webhooks/github", &headers, &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    shows!(host.hook("pull_request", "d-1", &pull_request_opened(7)), {"HTTP": 200});
}

#[test]
fn a_body_that_cannot_be_read_is_refused_before_it_is_stored() {
    let world = helper();
    let host = world.serve();
    let bodies: [(&str, &[u8], u16); 11] = [
        ("ping", b"", 400),
        ("ping", b"[]", 400),
        ("ping", b"{\"a\":", 400),
        ("ping", b"{\"hook_id\":1}xx", 400),
        ("ping", b"{\"hook_id\":\"\xff\"}", 400),
        (
            "ping",
            &[b"{\"hook_id\":".as_slice(), &b"[".repeat(100_000)].concat(),
            400,
        ),
        ("pull_request", b"{\"action\":\"opened\"}", 400),
        (
            "issues",
            b"{\"action\":\"opened\",\"pull_request\":{}}",
            400,
        ),
        ("../x", b"{}", 400),
        ("push", b"{\"hook_id\":1}", 400),
        ("ping", b"{\"hook_id\":1,\"a\":1e400,\"a\":2}", 200),
    ];
    for (number, (kind, body, status)) in bodies.into_iter().enumerate() {
        let answer = host.hook_bytes(kind, &format!("d-{number}"), body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        assert_eq!(answer.status, status, "{kind} {shown}: {answer:?}");
    }
    let body = pull_request_opened(7).to_string();
    let right = signature(SECRET, body.as_bytes());
    let with = |name: &'static str, value: &'static str| {
        let mut headers = github("pull_request", "d-x", &right).to_vec();
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value));
        host.post("/webhooks/github", &headers, &body)
    };
    for unsupported in [
        with("Content-Type", "text/plain"),
        with("Content-Type", "multipart/form-data; boundary=x"),
        with("Content-Encoding", "gzip"),
        with("Content-Encoding", "identity"),
    ] {
        shows!(unsupported, {"HTTP": 415, "error.code": "unsupported-media-type"});
    }
    for malformed in [
        with("Transfer-Encoding", "chunked"),
        with("X-GitHub-Delivery", ""),
        with("X-GitHub-Event", ""),
    ] {
        assert_eq!(malformed.status, 400, "{malformed:?}");
    }
    assert_eq!(
        host.list("events").len(),
        1,
        "only the last body is an event"
    );
}

#[test]
fn a_body_over_the_cap_is_refused_with_every_declared_length() {
    let world = helper();
    let host = world.serve();
    let head = |rest: &str| {
        let address = host.address();
        format!(
            "POST /webhooks/github HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\n\
             X-GitHub-Delivery: big\r\nX-Hub-Signature-256: sha256=00\r\n{rest}\r\n\r\n"
        )
    };
    let cap = 25 * 1024 * 1024;
    let declared = head(&format!("Content-Length: {}", cap + 1));
    assert_eq!(http::raw(host.address(), declared.as_bytes()).status, 413);
    let chunk = [
        format!("{:x}\r\n", cap + 1).into_bytes(),
        vec![b' '; cap + 1],
        b"\r\n0\r\n\r\n".to_vec(),
    ];
    let chunked = [
        head("Transfer-Encoding: chunked").into_bytes(),
        chunk.concat(),
    ]
    .concat();
    assert_eq!(http::raw(host.address(), &chunked).status, 413);
    let lying = head("Content-Length: 3\r\nContent-Length: 4");
    assert_eq!(http::raw(host.address(), lying.as_bytes()).status, 400);
}

#[test]
fn headers_without_end_do_not_hurt_the_host() {
    let world = helper();
    let host = world.serve();
    let lines = |n: usize| (0..n).map(|i| format!("x-{i}: y\r\n")).collect::<String>();
    let request = |lines: &str| {
        let address = host.address();
        let text = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n{lines}\r\n");
        http::raw(address, text.as_bytes()).status
    };
    assert_eq!(
        [
            request(&lines(98)),
            request(&lines(101)),
            request(&lines(10_000)),
            request(&format!("x: {}\r\n", "y".repeat(70_000))),
            request("x: y\r\n z\r\n"),
        ],
        [200, 431, 431, 431, 400]
    );
    // Half a request is let go when its sender leaves.
    let half = b"POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf";
    let mut stream = std::net::TcpStream::connect(host.address()).expect("the host listens");
    std::io::Write::write_all(&mut stream, half).expect("it is sent");
    drop(stream);
    assert_eq!(host.open("GET", "/healthz", &[]).status, 200);
    assert_eq!(host.list("events"), Vec::<Value>::new());
}

#[test]
fn an_event_that_matches_no_daemon_is_stored_and_wakes_none() {
    let (_world, host) = World::serving();
    let (zero, one) = ("0".repeat(40), "1".repeat(40));
    let rows = [
        ("push", push("somebody/else", &zero, &one)),
        ("push", push("a/../b", &zero, &one)),
        ("no_such_kind", json!({"repository": {"full_name": "o/r"}})),
        ("pull_request", pull_request_opened(1)),
    ];
    for (number, (kind, body)) in rows.iter().enumerate() {
        let answer = host.hook(kind, &format!("d-{number}"), body);
        shows!(answer, {"HTTP": 200, "duplicate": false}, "{kind}");
    }
    assert_eq!(host.settled(0), Vec::<Value>::new());
    assert_eq!(host.list("events").len(), rows.len());
}

#[test]
fn other_methods_and_routes_are_refused() {
    let (_world, host) = World::serving();
    let rows = [
        ("GET", "/webhooks/github", 405),
        ("PUT", "/webhooks/github", 405),
        ("POST", "/webhooks/nobody", 404),
        ("POST", "/webhooks//github", 404),
        ("POST", "/webhooks/%2e%2e/api/v1/hold", 404),
        ("DELETE", "/healthz", 405),
        ("GET", "/no-such-page", 404),
        ("GET", "/api/v1/no-such-route", 404),
    ];
    for (method, path, status) in rows {
        let answer = host.open(method, path, &[]);
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert_eq!(answer.json()["ok"], false, "{method} {path}");
    }
    let long = host.open("GET", &format!("/{}", "a".repeat(16_384)), &[]);
    assert_eq!(long.status, 404);
}
