//! Faults: whether the effect exists, and what the client sees.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use daemon_fakes::{Applied, FaultPlan, ServiceFault};
use serde_json::{Value, json};

use crate::kit::{AGENT, Answer, Github, REPO};

const COMMENTS: &str = "/repos/acme/site/issues/1/comments";

/// Comments once under a fault. Returns the answer and the number of comments that exist.
fn comment_under(fault: ServiceFault) -> (Answer, usize) {
    let github = Github::start();
    github.issue();
    let plan = FaultPlan::each_once([("POST", "/comments", fault)]);
    github.api.server().set_faults(plan);
    let answer = github.post(COMMENTS, &json!({"body": "Seen."}));
    let n_comments = github.api.comments(REPO).len();
    // The fault happens once.
    assert_eq!(
        github.post(COMMENTS, &json!({"body": "Again."})).status,
        201
    );
    (answer, n_comments)
}

#[test]
fn connections_are_closed_before_and_after_the_effect() {
    assert_eq!(
        comment_under(ServiceFault::LostReply),
        (Answer::default(), 1)
    );
    assert_eq!(comment_under(ServiceFault::Closed), (Answer::default(), 0));
}

#[test]
fn statuses_come_with_and_without_the_effect() {
    for status in [401, 403, 404, 409, 422, 429, 500, 502, 503] {
        for (applied, expected) in [(Applied::Yes, 1), (Applied::No, 0)] {
            let (answer, n_comments) = comment_under(ServiceFault::Status(status, applied));
            assert_eq!((answer.status, n_comments), (status, expected));
            assert!(answer.json()["message"].is_string());
        }
    }
}

#[test]
fn a_secondary_limit_says_when_to_come_back() {
    let (answer, n_comments) = comment_under(ServiceFault::RateLimited(7, Applied::No));
    assert_eq!((answer.status, n_comments), (403, 0));
    assert_eq!(answer.header("Retry-After"), Some("7"));
    assert!(
        answer.json()["message"]
            .as_str()
            .unwrap()
            .contains("secondary rate limit")
    );
}

#[test]
fn bodies_are_broken_after_the_effect() {
    let (html, n_comments) = comment_under(ServiceFault::Html(502, Applied::Yes));
    assert_eq!((html.status, n_comments), (502, 1));
    assert!(html.body.starts_with("<!doctype html>"));
    let (truncated, n_comments) = comment_under(ServiceFault::Truncated);
    assert_eq!((truncated.status, n_comments), (201, 1));
    let length = truncated.body.len().to_string();
    assert_eq!(truncated.header("Content-Length"), Some(length.as_str()));
    assert!(serde_json::from_str::<Value>(&truncated.body).is_err());
    let (cut, n_comments) = comment_under(ServiceFault::Cut);
    assert_eq!((cut.status, n_comments), (201, 1));
    let announced: usize = cut.header("Content-Length").unwrap().parse().unwrap();
    assert_eq!(cut.body.len(), announced / 2);
}

#[test]
fn slow_replies_arrive_whole() {
    let short = Duration::from_micros(1);
    for fault in [
        ServiceFault::Drip(short),
        ServiceFault::LateReply(short),
        ServiceFault::LateEffect(short),
    ] {
        let (answer, n_comments) = comment_under(fault);
        assert_eq!((answer.status, n_comments), (201, 1));
        assert_eq!(answer.json()["body"], "Seen.");
    }
}

#[test]
fn a_late_effect_is_not_there_while_the_client_waits_and_ends_with_the_service() {
    let github = Github::start();
    github.issue();
    let hour = ServiceFault::LateEffect(Duration::from_secs(3600));
    github
        .api
        .server()
        .set_faults(FaultPlan::each_once([("POST", "/comments", hour)]));
    let address = github.api.server().address();
    let waiting = std::thread::spawn(move || {
        let line = format!("POST {COMMENTS} HTTP/1.1");
        crate::kit::send(
            address,
            &[&line, AGENT, "Authorization: Bearer ghp_alice"],
            r#"{"body": "Late."}"#,
        )
    });
    while github.api.server().received().len() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(github.api.comments(REPO), []);
    drop(github);
    assert_eq!(waiting.join().unwrap(), Answer::default());
}

#[test]
fn a_dripping_reply_ends_with_the_service() {
    let github = Github::start();
    let hour = ServiceFault::Drip(Duration::from_secs(3600));
    github
        .api
        .server()
        .set_faults(FaultPlan::each_once([("GET", "/user", hour)]));
    let mut stream = std::net::TcpStream::connect(github.api.server().address()).unwrap();
    let request =
        format!("GET /user HTTP/1.1\r\n{AGENT}\r\nAuthorization: Bearer ghp_alice\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut received = Vec::new();
    // The first byte of the body arrives at once.
    while !received.ends_with(b"\r\n\r\n{") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        received.extend(byte);
    }
    drop(github);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(String::from_utf8(rest).unwrap(), "");
}

#[test]
fn a_plan_decides_from_number_method_and_path() {
    let github = Github::start();
    let plan = FaultPlan::new(|number, method, path| match (number, method, path) {
        (2, "GET", "/user") => ServiceFault::Status(500, Applied::No),
        _ => ServiceFault::None,
    });
    github.api.server().set_faults(plan);
    let statuses: Vec<u16> = (0..3).map(|_| github.get("/user").status).collect();
    assert_eq!(statuses, [200, 500, 200]);
    let received = github.api.server().received();
    let tokens: Vec<_> = received.iter().map(|request| request.token()).collect();
    assert_eq!(tokens, [Some("ghp_alice"); 3]);
}
