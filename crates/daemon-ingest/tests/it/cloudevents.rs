//! CloudEvents: the modes, the types of the vocabulary, and what is refused.

use daemon_event::{Event, EventId, Source};
use daemon_ingest::{CloudEvents, Headers, SenderTokens, WebhookSource as _, identities};

use crate::{at, delivery};

const HOST: &str = "the-hosts-own-token-of-32-bytes!";
const CI: &str = "ci-token-0123456789-0123456789-01";
const NOON: &str = "2026-11-20T12:00:00Z";
const STRUCTURED: &str = "application/cloudevents+json";
const BATCH: &str = "application/cloudevents-batch+json";
const ISSUE: &str = r#"{"action":"opened","issue":{"number":7,"title":"Drip"},"repository":{"full_name":"acme/pump"},"sender":{"login":"kit"}}"#;

fn source() -> CloudEvents {
    let tokens = SenderTokens::of_host(HOST).with_lines(&format!("\nci:{CI}\n"));
    CloudEvents::new(tokens.unwrap())
}

/// Reads the events of a request of the sender `ci`, or the status and the message of the refusal.
fn read(headers: &[(&str, &str)], body: &str) -> Result<Vec<Event>, (u16, String)> {
    let bearer = format!("Bearer {CI}");
    let own = [("Authorization", bearer.as_str())];
    let headers = Headers::new(own.iter().chain(headers).copied());
    let delivery = delivery(&headers, body.as_bytes(), at(NOON));
    let source = source();
    source.admit(&headers).unwrap();
    source
        .verify(&delivery)
        .map_err(|error| (error.status(), error.to_string()))?;
    source.events(&delivery).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        (
            error.status(),
            format!("{error}{}", cause.unwrap_or_default()),
        )
    })
}

fn structured(body: &str) -> Result<Vec<Event>, (u16, String)> {
    read(&[("Content-Type", STRUCTURED)], body)
}

/// Writes an event of the given members after those that every event has.
fn with(members: &str) -> String {
    format!(r#"{{"specversion":"1.0","id":"1","source":"/s","type":"t"{members}}}"#)
}

#[test]
fn a_type_of_the_vocabulary_is_that_event_in_every_mode() {
    let body = format!(
        r#"{{"specversion":"1.0","id":"a b","source":"https://ci.example/é","type":"github.issues.opened","time":"2026-11-19T01:02:03+01:00","data":{ISSUE}}}"#
    );
    let binary = [
        ("Content-Type", "application/json; charset=utf-8"),
        ("ce-specversion", "1.0"),
        ("CE-ID", "a%20b"),
        ("ce-source", "https://ci.example/%C3%A9"),
        ("ce-type", "github.issues.opened"),
        ("ce-time", "2026-11-19T00:02:03Z"),
        ("ce-traceparent", "00-af"),
    ];
    let one = structured(&body).unwrap();
    let batch = read(&[("Content-Type", BATCH)], &format!("[{body}]")).unwrap();
    let mut uncharset = binary;
    uncharset[0].1 = "application/vnd.github+json";
    assert_eq!(one, read(&binary, ISSUE).unwrap());
    assert_eq!(one, read(&uncharset, ISSUE).unwrap());
    assert_eq!(one, batch);
    let [event] = &one[..] else { panic!("{one:?}") };
    assert_eq!(
        (event.source, event.kind.as_str(), event.action.as_deref()),
        (Source::Github, "issues", Some("opened"))
    );
    assert_eq!(&*event.payload, ISSUE.as_bytes());
    assert_eq!(event.time, at("2026-11-19T00:02:03Z"));
    assert_eq!(
        event.delivery.as_str(),
        "cloudevents:ci https://ci.example/é a b"
    );
    assert_eq!(
        identities(event),
        ["id:cloudevents:https://ci.example/é a b"]
    );
}

#[test]
fn any_other_type_is_stored_whole_and_unmapped() {
    let body = with(r#","subject":"build/7","data":[1,{"a":1e400}],"ext":true"#);
    let events = structured(&body).unwrap();
    let [event] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(
        (event.source, event.kind.as_str(), event.action.as_deref()),
        (Source::Cloudevents, "unmapped", None)
    );
    assert_eq!(&*event.payload, body.as_bytes());
    assert_eq!(event.time, at(NOON));
    let subject = event.subject.as_ref().map(ToString::to_string);
    assert_eq!(subject.as_deref(), Some("cloudevents:/s#build/7"));
    let binary = [
        ("ce-specversion", "1.0"),
        ("ce-id", "%22"),
        ("ce-source", "/s"),
        ("ce-type", "com.example.done"),
    ];
    let json = [&binary[..], &[("Content-Type", "application/json")]].concat();
    for (headers, body, payload) in [
        (
            &binary[..],
            "",
            r#"{"id":"\"","source":"/s","specversion":"1.0","type":"com.example.done"}"#,
        ),
        (
            &json,
            " [1] ",
            r#"{"datacontenttype":"application/json","id":"\"","source":"/s","specversion":"1.0","type":"com.example.done","data":[1]}"#,
        ),
    ] {
        let events = read(headers, body).unwrap();
        assert_eq!(String::from_utf8_lossy(&events[0].payload), payload);
        assert_eq!(events[0].delivery.as_str(), "cloudevents:ci /s \"");
    }
    // Types that only look like those of the vocabulary.
    for name in [
        "github.issues.explode",
        "github.issues",
        "GitHub.issues.opened",
        "issues.opened",
        "github..opened",
        "gitlab.issues.opened",
        "cloudevents.unmapped",
    ] {
        let body = with("").replace(r#""t""#, &format!("{name:?}"));
        let events = structured(&body).unwrap();
        assert_eq!(events[0].source, Source::Cloudevents, "{name}");
    }
}

#[test]
fn events_of_a_batch_have_ids_in_their_order_and_are_accepted_together() {
    let item = |n: usize| with("").replace(r#""id":"1""#, &format!(r#""id":"{n}""#));
    let batch = |n: usize| {
        let items: Vec<String> = (0..n).map(item).collect();
        read(
            &[("Content-Type", BATCH)],
            &format!("[{}]", items.join(",")),
        )
    };
    assert_eq!(batch(0), Ok(Vec::new()));
    let ids: Vec<EventId> = batch(100)
        .unwrap()
        .into_iter()
        .map(|event| event.id)
        .collect();
    assert_eq!(ids.len(), 100);
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    let too_many = "the batch has 101 events, at most 100 are accepted";
    assert_eq!(batch(101), Err((400, too_many.to_owned())));
    let spoilt = format!("[{},{}]", item(0), item(1).replace("1.0", "0.3"));
    let refused = read(&[("Content-Type", BATCH)], &spoilt);
    let message = "event 1 of the batch: `specversion`: it is not `1.0`";
    assert_eq!(refused, Err((400, message.to_owned())));
}

/// Attributes that cannot be, each with the message.
fn bad_attributes() -> Vec<(String, &'static str)> {
    let id = |value: &str| with("").replace(r#""id":"1""#, value);
    let zoneless = "`time`: it is not a time of RFC 3339 with an offset";
    let long = format!(r#""id":"{}""#, "i".repeat(600));
    vec![
        (
            with("").replace("1.0", "0.3"),
            "`specversion`: it is not `1.0`",
        ),
        (
            with("").replace(r#""1.0""#, "1.0"),
            "`specversion`: it is not a text",
        ),
        (
            with("").replace(r#""specversion":"1.0","#, ""),
            "`specversion`: it is missing",
        ),
        (with("").replace(r#""id":"1","#, ""), "`id`: it is missing"),
        (id(r#""id":null"#), "`id`: it is missing"),
        (id(r#""id":7"#), "`id`: it is not a text"),
        (id(r#""id":"""#), "`id`: it is empty"),
        (
            id(r#""id":"a\u0000""#),
            "`id`: it contains a control character",
        ),
        (id(&long), "the delivery has no usable id"),
        (with(r#","id":"2""#), "`id`: it occurs more than once"),
        (
            with(r#","ext":1,"ext":2"#),
            "`ext`: it occurs more than once",
        ),
        (with("").replace("\"/s\"", "\"\""), "`source`: it is empty"),
        (
            with("").replace("/s", "/a b"),
            "`source`: it contains a space",
        ),
        (
            with("").replace(r#","source":"/s""#, ""),
            "`source`: it is missing",
        ),
        (
            with("").replace(r#","type":"t""#, ""),
            "`type`: it is missing",
        ),
        (
            with(r#","ext":{"a":1}"#),
            "`ext`: an attribute is no object and no list",
        ),
        (with(r#","time":"2026-11-20T12:00:00""#), zoneless),
        (with(r#","time":"tomorrow""#), zoneless),
        (with(r#","time":1795176000"#), "`time`: it is not a text"),
    ]
}

/// Data that cannot be, each with the message.
fn bad_data() -> Vec<(String, &'static str)> {
    let deep = format!(r#","data":{}1{}"#, "[".repeat(128), "]".repeat(128));
    let mapped = |more: &str| with(more).replace(r#""t""#, r#""github.issues.opened""#);
    let closed = mapped(&format!(r#","data":{}"#, ISSUE.replace("opened", "closed")));
    vec![
        (
            with(r#","data":1,"data_base64":"MQ==""#),
            "`data_base64`: the event has `data` too",
        ),
        (
            with(r#","data_base64":1"#),
            "`data_base64`: it is not a text",
        ),
        (with(&deep), "the body is nested deeper than 128 levels"),
        (mapped(""), "`data`: it is missing"),
        (
            mapped(r#","data_base64":"e30=""#),
            "`data_base64`: the data of this type is JSON",
        ),
        (
            mapped(r#","datacontenttype":"text/xml","data":"<a/>""#),
            "`datacontenttype`: the data of this type is JSON",
        ),
        (
            mapped(r#","data":"a text""#),
            "the body is not the announced event: the body is not one JSON object",
        ),
        (
            mapped(r#","data":{"action":"opened"}"#),
            "the body is not the announced event: the `issues` event has no `issue`",
        ),
        (closed, "`type`: the data has another action"),
    ]
}

#[test]
fn events_with_a_defect_are_refused_with_its_place() {
    for (body, message) in bad_attributes().into_iter().chain(bad_data()) {
        let refused = structured(&body).map(|events| events.len());
        let (status, text) = refused.expect_err(&body);
        assert_eq!(status, 400, "{body}");
        assert!(text.starts_with(message), "{body}: {text}");
    }
    // A subject that is too long for one is left out.
    let long = format!(",\"subject\":\"{}\"", "s".repeat(2_000));
    assert_eq!(structured(&with(&long)).unwrap()[0].subject, None);
    for bad in ["", "null", "[]", "{", "\u{feff}{}", "{}x", "\0"] {
        assert_eq!(structured(bad).unwrap_err().0, 400, "{bad:?}");
        let batch = read(&[("Content-Type", BATCH)], bad);
        let status = batch.map_or_else(|(status, _)| status, |_| 200);
        assert_eq!(status, if bad == "[]" { 200 } else { 400 }, "{bad:?}");
    }
}

#[test]
fn headers_of_binary_mode_are_read_strictly() {
    let base = [
        ("ce-specversion", "1.0"),
        ("ce-id", "1"),
        ("ce-source", "/s"),
        ("ce-type", "t"),
    ];
    let status = |more: &[(&str, &str)], body: &str| {
        let all = [&base[..], more].concat();
        read(&all, body).map_or_else(|(status, _)| status, |_| 200)
    };
    let json = ("Content-Type", "application/json");
    for (more, body, expected) in [
        (&[][..], "", 200),
        (&[json], "{}", 200),
        (&[json, ("ce-ext", "%e2%82%ac")], "{}", 200),
        (&[json, ("ce-ext", "%e2%82")], "{}", 400),
        (&[json, ("ce-ext", "%zz")], "{}", 400),
        (&[json, ("ce-ext", "%0a")], "{}", 400),
        (&[json, ("ce-id", "2")], "{}", 400),
        (&[json, ("ce-data", "2")], "{}", 400),
        (&[json, ("ce-datacontenttype", "text/xml")], "{}", 400),
        (&[json, json], "{}", 400),
        (&[json], "{", 400),
        (&[json], "{}{}", 400),
        (&[("Content-Type", "text/plain")], "hello", 415),
        (&[("Content-Type", "application/cloudevents+avro")], "", 415),
        (
            &[("Content-Type", "multipart/form-data; boundary=x")],
            "",
            415,
        ),
        (&[json, ("Content-Encoding", "gzip")], "{}", 415),
    ] {
        assert_eq!(status(more, body), expected, "{more:?} {body}");
    }
    for missing in 0..base.len() {
        let mut headers = base.to_vec();
        headers.remove(missing);
        assert_eq!(read(&headers, "").unwrap_err().0, 400, "{headers:?}");
    }
    let large = with(&format!(r#","data":"{}""#, "x".repeat(10 << 20)));
    assert_eq!(structured(&large).unwrap_err().0, 413);
}

#[test]
fn only_one_whole_token_in_one_header_admits_a_sender() {
    let source = source();
    let admits = |values: &[&str]| {
        let headers = Headers::new(values.iter().map(|value| ("authorization", *value)));
        source.admit(&headers).map_err(|error| error.status())
    };
    let bearer = |token: &str| format!("Bearer {token}");
    for good in [bearer(HOST), bearer(CI), format!("bEARER  {CI}")] {
        assert_eq!(admits(&[&good]), Ok(()), "{good}");
    }
    for bad in [
        String::new(),
        "Bearer".to_owned(),
        bearer(""),
        bearer(&CI[1..]),
        bearer(&CI[..32]),
        bearer(&format!("{CI}0")),
        bearer(&CI.to_uppercase()),
        bearer(&format!("ci:{CI}")),
        format!("Basic {CI}"),
        CI.to_owned(),
        format!("Bearer{CI}"),
        format!("Bearer {CI}, Bearer {CI}"),
    ] {
        assert_eq!(admits(&[&bad]), Err(401), "{bad:?}");
    }
    assert_eq!(admits(&[]), Err(401));
    let good = bearer(CI);
    assert_eq!(admits(&[&good, &good]), Err(401));
}

#[test]
fn a_file_of_tokens_is_refused_with_the_line_and_without_its_text() {
    let long = "n".repeat(65);
    for (text, message) in [
        (CI.to_owned(), "line 1: it is not `name:token`"),
        (
            format!("\n\n:{CI}"),
            "line 3: a name has 1 to 64 letters, digits, `_`, `-` or `.`",
        ),
        (
            format!("a b:{CI}"),
            "line 1: a name has 1 to 64 letters, digits, `_`, `-` or `.`",
        ),
        (
            format!("{long}:{CI}"),
            "line 1: a name has 1 to 64 letters, digits, `_`, `-` or `.`",
        ),
        (
            format!("Host:{CI}"),
            "line 1: `host` is the name of the host's own token",
        ),
        (
            format!("ci:{}", &CI[..31]),
            "line 1: the token has 31 bytes, at least 32 are needed",
        ),
        (
            format!("ci:{CI} x"),
            "line 1: the token has other characters than visible ASCII",
        ),
        (
            format!("ci:é{CI}"),
            "line 1: the token has other characters than visible ASCII",
        ),
        (
            format!("ci:{CI}\nother:{CI}"),
            "line 2: the token is that of another line, or of the host",
        ),
        (
            format!("ci:{HOST}"),
            "line 1: the token is that of another line, or of the host",
        ),
    ] {
        let refused = SenderTokens::of_host(HOST).with_lines(&text).unwrap_err();
        assert_eq!(refused.to_string(), message);
        assert!(
            !format!("{refused:?}").contains("0123456789"),
            "{refused:?}"
        );
    }
    let kept = SenderTokens::of_host(HOST)
        .with_lines(&format!(" ci:{CI}\r\nci:{CI}2\r\n"))
        .unwrap();
    assert_eq!(
        (kept.n_senders(), format!("{kept:?}")),
        (2, "SenderTokens(3 hidden)".to_owned())
    );
}
