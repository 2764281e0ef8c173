//! The tool that fetches text, over servers on loopback.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use daemon_egress::EgressList;
use daemon_fakes::Reply;
use serde_json::json;

use crate::kit::Bench;

/// Starts a server that answers each path with bytes, and returns its port. It ends with the process.
fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else {
                continue;
            };
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let path = first.split(' ').nth(1).unwrap().to_owned();
            // A client that has read enough hangs up.
            stream.write_all(&answer(&path)).unwrap_or_default();
        }
    });
    port
}

fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Fetches URLs one after the other in a run that may reach a list of hosts, and returns the results.
async fn fetched(egress: &[String], urls: &[String]) -> Vec<String> {
    let calls = urls
        .iter()
        .map(|url| Reply::call("web_fetch", json!({"url": url})));
    let bench = Bench::new(calls.chain([Reply::text("Read.")]));
    let mut config = bench.config("openai");
    config.egress = EgressList::parse(egress).unwrap();
    let mut request = bench.request();
    request.limits.max_turns = None;
    bench.story(config, request).await;
    bench.results()
}

/// Starts a server of pages, one of which redirects to another server.
fn serve_pages(other: u16) -> u16 {
    serve(move |path| match path {
        "/text" => response(
            "200 OK",
            "Content-Type: text/plain; charset=utf-8\r\n",
            "sch\u{f6}n".as_bytes(),
        ),
        "/moved" => response("302 Found", "Location: /text\r\n", b""),
        "/away" => response(
            "302 Found",
            &format!("Location: http://127.0.0.1:{other}/\r\n"),
            b"",
        ),
        "/file" => response("302 Found", "Location: file:///etc/passwd\r\n", b""),
        "/loop" => response("302 Found", "Location: /loop\r\n", b""),
        "/image" => response("200 OK", "Content-Type: image/png\r\n", b"x"),
        "/bytes" => response("200 OK", "Content-Type: text/plain\r\n", b"a\0b"),
        "/large" => response(
            "200 OK",
            "Content-Type: application/json\r\n",
            &vec![b'1'; 2 << 20],
        ),
        _ => response("404 Not Found", "Content-Type: text/html\r\n", b"none"),
    })
}

#[tokio::test]
async fn text_is_fetched_from_hosts_of_the_list_and_every_redirect_is_checked() {
    let other = serve(|_| response("200 OK", "Content-Type: text/plain\r\n", b"of another"));
    let port = serve_pages(other);
    let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let urls = [
        at("/text"),
        at("/moved"),
        at("/none"),
        at("/away"),
        at("/file"),
        at("/loop"),
        at("/image"),
        at("/bytes"),
        format!("http://127.0.0.1:{other}/"),
        format!("http://me:secret@127.0.0.1:{port}/text"),
        "ftp://127.0.0.1/".to_owned(),
        "nowhere".to_owned(),
    ];
    let results = fetched(&[format!("127.0.0.1:{port}")], &urls).await;
    assert_eq!(
        results,
        [
            format!(
                "200 OK\ntext/plain; charset=utf-8\n{}\n\nsch\u{f6}n",
                at("/text")
            ),
            format!(
                "200 OK\ntext/plain; charset=utf-8\n{}\n\nsch\u{f6}n",
                at("/text")
            ),
            format!("error: 404 Not Found\ntext/html\n{}\n\nnone", at("/none")),
            format!("error: this run may not reach 127.0.0.1:{other}"),
            "error: `file` is not fetched".to_owned(),
            "error: it was redirected more than 5 times".to_owned(),
            "error: `image/png` is not text, and only text is fetched".to_owned(),
            "error: the body is not text, and only text is fetched".to_owned(),
            format!("error: this run may not reach 127.0.0.1:{other}"),
            "error: a URL with a user is not fetched".to_owned(),
            "error: `ftp` is not fetched".to_owned(),
            "error: the URL is invalid: relative URL without a base".to_owned(),
        ]
    );
}

#[tokio::test]
async fn a_long_page_is_cut_after_a_mebibyte() {
    let port = serve_pages(1);
    let url = format!("http://127.0.0.1:{port}/large");
    let results = fetched(&[format!("127.0.0.1:{port}")], &[url]).await;
    let (_, large) = results[0].split_once("\n\n").unwrap();
    let ones = large.strip_suffix("\n...[cut after 1 MiB]").unwrap();
    assert!(ones.len() == 1 << 20 && ones.bytes().all(|byte| byte == b'1'));
}

#[tokio::test]
async fn a_run_that_may_reach_no_host_has_no_such_tool() {
    let results = fetched(&[], &["http://127.0.0.1:1/".to_owned()]).await;
    assert_eq!(results, ["error: tool not registered: `web_fetch`"]);
}
