//! Who may ask, and that every operation is a route.

use daemon_api::ops::{Operation, Verb};
use serde_json::{Value, json};

use crate::world::{Host, World};

#[test]
fn health_is_open_and_everything_else_needs_the_token() {
    let (_world, host) = World::serving();
    let open = |path: &str| host.open("GET", path, &[]);
    assert_eq!(
        open("/healthz").json(),
        json!({"schema_version": 1, "ok": true})
    );
    let parts = json!({
        "store": "ok", "disk": "ok", "clock": "ok", "listeners": "ok", "loops": "ok", "repositories": "ok",
    });
    assert_eq!(
        open("/readyz").json(),
        json!({"schema_version": 1, "ok": true, "parts": parts})
    );
    let token = host.token();
    let wrong = format!("Bearer {}x", &token[..token.len() - 1]);
    let basic = format!("Basic {token}");
    let prefix = format!("Bearer {}", &token[..32]);
    let huge = format!("Bearer {}", "x".repeat(60_000));
    for path in ["/metrics", "/api/v1/daemons", "/api/v1/doctor"] {
        assert_eq!(open(path).status, 401, "{path}");
        assert_eq!(open(&format!("{path}?token={token}")).status, 401, "{path}");
        for value in [&wrong, &basic, &prefix, &huge, token] {
            let answer = host.open("GET", path, &[("Authorization", value)]);
            assert_eq!(answer.status, 401, "{path} {}", &value[..20]);
        }
        assert_eq!(host.ask("GET", path, &Value::Null).status, 200, "{path}");
        for scheme in ["bearer", "BEARER ", "beaReR"] {
            let value = format!("{scheme} {token}");
            let answer = host.open("GET", path, &[("Authorization", &value)]);
            assert_eq!(answer.status, 200, "{path} {scheme}");
        }
    }
    let metrics = host.ask("GET", "/metrics", &Value::Null).body;
    assert!(metrics.contains("daemon_events_unmatched 0"), "{metrics}");
}

#[test]
fn a_host_without_its_control_socket_is_not_ready() {
    let (_world, host) = World::serving();
    std::fs::remove_file(host.socket()).expect("the socket is there");
    let answer = host.open("GET", "/readyz", &[]);
    let listeners = answer.json()["parts"]["listeners"].clone();
    let listeners = listeners.as_str().expect("a reason").to_owned();
    assert_eq!(answer.status, 503, "{listeners}");
    assert!(
        listeners.starts_with("the control socket takes no connection: "),
        "{listeners}"
    );
}

#[test]
fn a_login_link_works_once() {
    let (_world, host) = World::serving();
    let login = host.ready["login_url"].as_str().expect("a link");
    let path = login
        .strip_prefix(host.ready["http"].as_str().expect("a URL"))
        .expect("it is ours");
    let first = host.open("GET", path, &[]);
    assert_eq!((first.status, first.header("location")), (303, Some("/")));
    let cookie = first.header("set-cookie").expect("a cookie");
    assert!(
        cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().expect("it has a value");
    shows!(host.open("GET", "/api/v1/daemons", &[("Cookie", cookie)]), {"HTTP": 200});
    let forged = &cookie[..cookie.len() - 1];
    shows!(host.open("GET", "/api/v1/daemons", &[("Cookie", forged)]), {"HTTP": 401});
    assert_eq!(host.open("GET", path, &[]).status, 401);
    assert_eq!(host.open("GET", "/login", &[]).status, 401);
}

#[test]
fn the_command_login_prints_further_links_that_work_once_each() {
    let (world, host) = World::serving();
    let http = host.ready["http"].as_str().expect("a URL");
    let mut links: Vec<String> = Vec::new();
    for _ in 0..2 {
        let (code, printed) = world.json(&["login"]);
        assert_eq!(code, 0, "{printed}");
        let link = printed["login_url"].as_str().expect("a link");
        links.push(link.strip_prefix(http).expect("it is ours").to_owned());
    }
    let printed = world.run(&["login", "-q"]).stdout;
    let printed = String::from_utf8(printed).expect("a line");
    links.push(printed.trim().replace(http, ""));
    for link in &links {
        assert_eq!(host.open("GET", link, &[]).status, 303, "{link}");
        assert_eq!(host.open("GET", link, &[]).status, 401, "{link}");
    }
}

#[test]
fn a_foreign_name_or_page_is_refused() {
    let (_world, host) = World::serving();
    let bearer = format!("Bearer {}", host.token());
    let own = host.ready["http"].as_str().expect("a URL").to_owned();
    let port = own.rsplit(':').next().expect("a port");
    let local = format!("localhost:{port}");
    let rows = [
        ("Host", "evil.example", 403),
        ("Host", "127.0.0.1", 403),
        ("Host", local.as_str(), 200),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", own.as_str(), 200),
    ];
    for (name, value, status) in rows {
        for path in ["/api/v1/daemons", "/healthz"] {
            let answer = host.open("GET", path, &[("Authorization", &bearer), (name, value)]);
            assert_eq!(answer.status, status, "{path} {name}: {value}");
        }
    }
}

fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "GET",
        Verb::Post => "POST",
    }
}

/// The response of a route to a caller with the token, for a known and an unknown id.
fn called(host: &Host, verb: Verb, route: &str) -> (u16, Value) {
    let id = if route.starts_with("daemons/") {
        "pusher"
    } else {
        "nobody"
    };
    let path = format!("/api/v1/{}", route.replace("{id}", id));
    let answer = host.ask(method(verb), &path, &Value::Null);
    (answer.status, answer.json())
}

#[test]
fn every_operation_is_a_route_that_needs_the_token() {
    let (_world, host) = World::serving();
    for operation in Operation::ALL {
        let Some(route) = operation.route() else {
            continue;
        };
        let path = format!("/api/v1/{}", route.replace("{id}", "pusher"));
        let (verb, other) = match operation.verb() {
            Verb::Get => ("GET", "DELETE"),
            Verb::Post => ("POST", "PUT"),
        };
        assert_eq!(host.open(verb, &path, &[]).status, 401, "{verb} {path}");
        assert_eq!(host.open(other, &path, &[]).status, 405, "{other} {path}");
        let (status, answer) = called(&host, operation.verb(), route);
        let expected = match (operation.verb(), route) {
            (Verb::Get, "daemons/{id}/next") => 404,
            // It needs a message.
            (Verb::Post, "runs/{id}/ask") => 400,
            (_, route) if route.contains("{id}") && !route.starts_with("daemons/") => 404,
            (Verb::Get, _) => 200,
            (Verb::Post, _) => 202,
        };
        assert_eq!(status, expected, "{verb} {path}: {answer}");
        assert_eq!(answer["schema_version"], 1, "{verb} {path}");
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused_by_name() {
    let (_world, host) = World::serving();
    for query in [
        "limit=0",
        "limit=-1",
        "limit=501",
        "limit=x",
        "limit=1&limit=2",
        "after=forged",
        "since=garbage",
        "until=yesterday",
        "bogus=1",
        "state=nonsense",
    ] {
        for plural in ["events", "activations", "outputs"] {
            let answer = host.ask("GET", &format!("/api/v1/{plural}?{query}"), &Value::Null);
            assert_eq!(answer.status, 400, "{plural}?{query}: {answer:?}");
        }
    }
    let name = host.ask("GET", "/api/v1/events?daemon=%25_%27%22%3B--", &Value::Null);
    assert_eq!(
        name.json(),
        json!({"schema_version": 1, "events": [], "next": null, "warnings": [
            {"code": "unknown-daemon", "message": "no daemon `%_'\";--` is registered"},
        ]})
    );
    for route in ["events/%ff", "runs/%ff/log"] {
        let answer = host.ask("GET", &format!("/api/v1/{route}"), &Value::Null);
        shows!(answer, {"HTTP": 400, "error.code": "invalid-argument"});
    }
    let (address, bearer) = (host.address(), format!("Bearer {}", host.token()));
    let chunked = format!(
        "POST /api/v1/daemons/pusher/fire HTTP/1.1\r\nHost: {address}\r\nAuthorization: {bearer}\r\n\
         Transfer-Encoding: chunked\r\n\r\nno length\r\n"
    );
    let answer = crate::http::raw(address, chunked.as_bytes());
    assert_eq!(answer.status, 400, "{answer:?}");
    let page = host.open("GET", "/runs/%ff", &[("Authorization", &bearer)]);
    assert_eq!(page.status, 404, "{page:?}");
    for id in ["%00", "..%2f..", &"x".repeat(10_000)] {
        for route in ["events", "activations", "runs", "daemons"] {
            let answer = host.ask("GET", &format!("/api/v1/{route}/{id}"), &Value::Null);
            assert_eq!(answer.status, 404, "{route}/{}: {answer:?}", &id[..3]);
        }
    }
    for body in [
        json!({"surprise": 1}),
        json!([]),
        json!({"tick": "2026-01-01T00:00:30Z"}),
        json!({"event": 1}),
        json!({"request_id": ""}),
        json!({"request_id": "a\u{0}"}),
        json!({"request_id": "x".repeat(257)}),
    ] {
        let answer = host.ask("POST", "/api/v1/daemons/pusher/fire", &body);
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
    }
    assert_eq!(host.list("activations"), Vec::<Value>::new());
}

#[test]
fn the_command_line_shows_what_the_routes_show() {
    let (world, host) = World::serving();
    assert_eq!(world.json(&["fire", "pusher"]).0, 0);
    for (command, route) in [
        ("list", "daemons"),
        ("activations", "activations"),
        ("runs", "runs"),
        ("events", "events"),
        ("ticks", "ticks"),
        ("outputs", "outputs"),
    ] {
        let live = world.json(&[command]);
        assert_eq!(live, (0, host.get(route)), "{command}");
    }
    let listings: Vec<_> = ["list", "activations", "runs", "outputs"]
        .map(|name| world.json(&[name]))
        .into();
    assert_eq!(host.stop().0, Some(0));
    let alone: Vec<_> = ["list", "activations", "runs", "outputs"]
        .map(|name| world.json(&[name]))
        .into();
    assert_eq!(alone, listings, "the store alone tells the same");
}

#[test]
fn one_idempotency_key_fires_once() {
    let (_world, host) = World::serving();
    let bearer = format!("Bearer {}", host.token());
    let fire = |key: &str| {
        let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key)];
        let answer = host.open("POST", "/api/v1/daemons/pusher/fire", &headers);
        assert_eq!(answer.status, 202, "{answer:?}");
        let answer = answer.json();
        (
            answer["activation"]["id"].clone(),
            answer["duplicate"].clone(),
        )
    };
    let (first, second, third) = (fire("k-1"), fire("k-1"), fire("k-2"));
    assert_eq!(
        (&first.1, &second.1, &third.1),
        (&json!(false), &json!(true), &json!(false))
    );
    assert_eq!((first.0 == second.0, first.0 == third.0), (true, false));
    assert_eq!(host.settled(2).len(), 2);
}
