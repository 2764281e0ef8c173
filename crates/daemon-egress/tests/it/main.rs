//! The proxy from outside: sockets of loopback, and names that a resolver of the test knows.

mod scene;

use daemon_egress::NetworkUse;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::scene::{Scene, Served};

fn used(host: &str, port: u16, allowed: bool) -> NetworkUse {
    NetworkUse {
        host: host.to_owned(),
        port,
        allowed,
        error: None,
        sent: 0,
        received: 0,
    }
}

#[tokio::test]
async fn a_tunnel_to_a_listed_name_passes_bytes_and_reports_them() {
    let server = Served::echo().await;
    let port = server.port;
    let mut scene = Scene::new(&[&format!("api.test:{port}"), &format!("127.0.0.1:{port}")]).await;
    let mut client = scene.client().await;
    let status = client
        .ask(&format!("CONNECT API.test:{port} HTTP/1.1\r\n\r\n"))
        .await;
    assert_eq!(status, 200);
    client.stream.write_all(b"hello").await.unwrap();
    let mut reply = [0; 5];
    client.stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"hello");
    drop(client);
    let expected = NetworkUse {
        sent: 5,
        received: 5,
        ..used("api.test", port, true)
    };
    assert_eq!(scene.next_use().await, expected);
}

#[tokio::test]
async fn an_open_connection_has_a_place_for_its_report() {
    let server = Served::echo().await;
    let port = server.port;
    let mut scene = Scene::new(&[&format!("127.0.0.1:{port}")]).await;
    let before = scene.unused_capacity();
    let mut client = scene.client().await;
    let tunnel = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n");
    assert_eq!(client.ask(&tunnel).await, 200);
    assert_eq!(scene.unused_capacity(), before - 1);
    drop(client);
    assert_eq!(scene.next_use().await, used("127.0.0.1", port, true));
    assert_eq!(scene.unused_capacity(), before);
}

#[tokio::test]
async fn requests_with_an_absolute_uri_go_to_the_host_of_the_uri() {
    let server = Served::http().await;
    let port = server.port;
    let mut scene = Scene::new(&[&format!("api.test:{port}"), &format!("127.0.0.1:{port}")]).await;
    let mut client = scene.client().await;
    // Two on one connection, the second with a body; `Host` names another than the URI.
    for (method, body) in [("GET", ""), ("POST", "abc")] {
        let head = format!(
            "{method} http://api.test:{port}/a?b=c HTTP/1.1\r\nHost: other.test\r\nX-Own: 1\r\nX-Hop: 1\r\n\
             Connection: X-Hop\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: x\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(client.ask(&head).await, 200);
        let seen = client.body().await.to_lowercase();
        assert!(
            seen.starts_with(&format!("{} /a?b=c http/1.1", method.to_lowercase())),
            "{seen}"
        );
        assert!(
            seen.contains(&format!("host: api.test:{port}\r\n")) && seen.contains("x-own: 1"),
            "{seen}"
        );
        assert!(seen.ends_with(body), "{seen}");
        for gone in ["x-hop", "proxy-", "other.test"] {
            assert!(!seen.contains(gone), "{gone}: {seen}");
        }
        let reported = scene.next_use().await;
        assert!(
            reported.allowed && reported.sent > 0 && reported.received > 0,
            "{reported:?}"
        );
    }
}

#[tokio::test]
async fn a_destination_that_is_not_listed_gets_no_connection() {
    let server = Served::echo().await;
    let port = server.port;
    let mut scene = Scene::new(&["api.test:443", "127.0.0.1:1"]).await;
    for host in ["127.0.0.1", "api.test", "[::ffff:127.0.0.1]", "localhost"] {
        let mut client = scene.client().await;
        let status = client
            .ask(&format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n"))
            .await;
        assert_eq!(status, 403, "{host}");
        assert!(client.body().await.contains("not in the egress list"));
        let reported = scene.next_use().await;
        assert!(!reported.allowed && reported.port == port, "{reported:?}");
        assert_eq!(
            reported.error.as_deref(),
            Some("not in the egress list of the provider")
        );
    }
    assert_eq!(server.n_connections(), 0);
}

#[tokio::test]
async fn a_listed_name_does_not_lead_to_an_address_that_is_not_public() {
    let server = Served::echo().await;
    let port = server.port;
    let mut scene = Scene::new(&[&format!("*:{port}")]).await;
    // Names of the resolver, and spellings of 127.0.0.1 that the resolver of the system accepts.
    let hosts = [
        "api.test",
        "127.0.0.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "2130706433",
        "0x7f000001",
        "127.1",
        "017700000001",
    ];
    for host in hosts {
        let mut client = scene.client().await;
        let status = client
            .ask(&format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n"))
            .await;
        assert!(status == 403 || status == 502, "{host}: {status}");
        assert_ne!(scene.next_use().await.error, None, "{host}");
    }
    assert_eq!(server.n_connections(), 0);
}

#[tokio::test]
async fn a_permitted_host_that_cannot_be_reached_is_reported_with_its_error() {
    let mut scene = Scene::new(&["127.0.0.1:1", "unknown.test:443"]).await;
    for target in ["127.0.0.1:1", "unknown.test:443"] {
        let mut client = scene.client().await;
        assert_eq!(
            client
                .ask(&format!("CONNECT {target} HTTP/1.1\r\n\r\n"))
                .await,
            502
        );
        let reported = scene.next_use().await;
        assert!(reported.allowed && reported.error.is_some(), "{reported:?}");
    }
}

#[tokio::test]
async fn what_is_no_request_to_a_proxy_is_refused_with_a_reason() {
    let scene = Scene::new(&["*:443", "*:80"]).await;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        ("GET https://a.test/ HTTP/1.1\r\n\r\n", 400),
        ("GET ftp://a.test/ HTTP/1.1\r\n\r\n", 400),
        ("GET http://user:secret@a.test/ HTTP/1.1\r\n\r\n", 400),
        ("GET http://a_%41.test/ HTTP/1.1\r\n\r\n", 400),
        ("CONNECT a.test HTTP/1.1\r\n\r\n", 400),
        ("CONNECT a.test:0 HTTP/1.1\r\n\r\n", 400),
        ("CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\n\r\n", 400),
        ("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
    ] {
        let mut client = scene.client().await;
        assert_eq!(client.ask(request).await, status, "{request:?}");
    }
    let mut client = scene.client().await;
    let long = format!(
        "GET http://a.test/ HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(200 << 10)
    );
    // The proxy may close before all of it is written.
    if client.stream.write_all(long.as_bytes()).await.is_ok() {
        assert_eq!(client.status().await, 431);
    }
}

#[tokio::test]
async fn the_end_of_the_relay_ends_and_reports_what_is_open() {
    let silent = Served::silent().await;
    let port = silent.port;
    let mut scene = Scene::new(&[&format!("127.0.0.1:{port}")]).await;
    let mut tunnel = scene.client().await;
    assert_eq!(
        tunnel
            .ask(&format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"))
            .await,
        200
    );
    tunnel.stream.write_all(b"abc").await.unwrap();
    let mut waiting = scene.client().await;
    let head = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n");
    waiting.stream.write_all(head.as_bytes()).await.unwrap();
    silent.received(2).await;
    scene.stop();
    for mut client in [tunnel, waiting] {
        let end = client.stream.read(&mut [0; 1]).await;
        assert!(!matches!(end, Ok(1)), "the connection is closed");
    }
    let mut sent = [scene.next_use().await.sent, scene.next_use().await.sent];
    sent.sort_unstable();
    assert_eq!(sent[0], 3);
    assert!(sent[1] > 10, "{sent:?}");
    assert_eq!(scene.no_more_uses().await, None);
}

#[tokio::test]
async fn a_forwarded_port_reaches_its_address_alone() {
    let server = Served::echo().await;
    let mut scene = Scene::new(&[&format!("localhost:{}", server.port)]).await;
    let mut client = scene.forwarded(server.port).await;
    client.stream.write_all(b"hello").await.unwrap();
    let mut reply = [0; 5];
    client.stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"hello");
    drop(client);
    assert_eq!((scene.next_use().await).sent, 5);
    let mut refused = scene.forwarded(1).await;
    assert_eq!(refused.stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
    assert!(!scene.next_use().await.allowed);
}
