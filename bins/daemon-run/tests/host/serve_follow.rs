//! Following over HTTP: the log of a run, and rows as they change.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{Host, World, until};

/// An event of a stream.
#[derive(Debug, PartialEq)]
struct Event {
    name: String,
    id: String,
    data: Value,
}

/// A stream of events that is read.
struct Stream {
    lines: BufReader<TcpStream>,
    head: String,
}

impl Host {
    /// Begins to follow a path of the API.
    fn follow(&self, path: &str, headers: &str) -> Stream {
        self.follow_at(&format!("/api/v1/{path}"), headers)
    }

    fn follow_at(&self, path: &str, headers: &str) -> Stream {
        let mut stream = TcpStream::connect(self.address()).expect("the host listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a timeout can be set");
        // A client of the old protocol is sent the body as it is, to its end.
        let request = format!(
            "GET {path} HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{headers}\r\n",
            self.address(),
            self.token()
        );
        stream.write_all(request.as_bytes()).expect("it is sent");
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(
                lines.read_line(&mut head).expect("the host answers"),
                0,
                "{head}"
            );
        }
        Stream { lines, head }
    }

    /// Returns how many sockets it holds.
    fn sockets(&self) -> usize {
        let open = fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("it lives");
        let targets = open
            .flatten()
            .filter_map(|fd| fs::read_link(fd.path()).ok());
        targets
            .filter(|target| target.to_string_lossy().starts_with("socket:"))
            .count()
    }
}

impl Iterator for Stream {
    type Item = Event;

    /// Reads the next event; `None` at the end.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event {
            name: "message".to_owned(),
            id: String::new(),
            data: Value::Null,
        };
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("id", id)) => id.clone_into(&mut event.id),
                Some(("data", data)) => {
                    event.data = serde_json::from_str(data).expect("it is JSON");
                }
                None if line == "\n" && !event.data.is_null() => return Some(event),
                _ => {}
            }
        }
    }
}

/// Returns the timeline rows in a stream of events.
fn lines(events: &[Event]) -> Vec<Value> {
    let lines = events.iter().filter(|event| event.name == "message");
    let without = |event: &Event| {
        let mut line = event.data.clone();
        let version = line
            .as_object_mut()
            .and_then(|line| line.remove("schema_version"));
        assert_eq!(version, Some(json!(1)));
        line
    };
    lines.map(without).collect()
}

/// Makes a world whose runs print a line, and continue when the test creates a file.
fn waiting() -> World {
    let world = World::pushed();
    let gate = world.beside("gate");
    world.script(&format!(
        "cat > /dev/null\necho first\nwhile ! [ -e {} ]; do sleep 0.05; done\necho last\n",
        gate.display()
    ));
    world.unconfined();
    world
}

#[test]
fn the_log_of_a_run_is_followed_to_its_end() {
    let world = waiting();
    let host = world.serve();
    let id = world.dispatch(&["look"])[0].clone();
    let mut follow = host.follow(&format!("runs/{id}/log?follow=true"), "");
    assert!(
        follow.head.contains("content-type: text/event-stream\r\n"),
        "{}",
        follow.head
    );
    let mut events = Vec::new();
    for event in follow.by_ref() {
        let is_first = event.data["detail"]
            .as_str()
            .is_some_and(|text| text.contains("text=first"));
        events.push(event);
        if is_first {
            break;
        }
    }
    fs::write(world.beside("gate"), "").expect("it goes on");
    events.extend(follow);
    let timeline = host.get(&format!("runs/{id}"))["timeline"].take();
    assert_eq!(json!(lines(&events)), timeline);
    let runs: Vec<&Value> = events
        .iter()
        .filter(|event| event.name == "run")
        .map(|event| &event.data["state"])
        .collect();
    assert_eq!(
        (runs.first(), runs.last()),
        (Some(&&json!("running")), Some(&&json!("done")))
    );
    let end = events.last().expect("it ended");
    assert_eq!(end.name, "end");
    assert_eq!(
        end.data,
        json!({"schema_version": 1, "id": id, "state": "done"})
    );

    // A client that lost the connection continues after the last id; a run that has ended sends its remaining rows.
    let place = events
        .iter()
        .find(|event| !event.id.is_empty())
        .expect("an id");
    let n_before = events
        .iter()
        .position(|event| event == place)
        .expect("it is there")
        + 1;
    let again: Vec<Event> = host
        .follow(
            &format!("runs/{id}/log?follow=true"),
            &format!("Last-Event-ID: {}\r\n", place.id),
        )
        .collect();
    assert_eq!(lines(&again), lines(&events[n_before..]));
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let (_world, host) = World::serving();
    let status = |path: &str| {
        host.ask("GET", &format!("/api/v1/{path}"), &Value::Null)
            .status
    };
    for (path, expected) in [
        ("runs/em-1-nobody/log?follow=true", 404),
        ("runs/em-1-nobody/log?follow=maybe", 400),
        ("runs/x/log?follow=true&after=x", 400),
        ("runs/x/log?follow=true&output_after=9.9", 400),
        ("runs?follow=true&limit=0", 400),
        ("runs?follow=false", 200),
        ("daemons?follow=true", 400),
        ("stream?bogus=1", 400),
        ("stream?daemon=x&daemon=y", 400),
    ] {
        assert_eq!(status(path), expected, "{path}");
    }
    assert_eq!(host.open("GET", "/api/v1/stream", &[]).status, 401);
}

#[test]
fn the_stream_sends_rows_as_they_are_made_and_changed() {
    let world = waiting();
    let host = world.serve();
    let mut stream = host.follow("stream?daemon=pusher", "");
    world.commit("wake it");
    let mut told = Vec::new();
    for event in stream.by_ref() {
        let row = (event.name.clone(), event.data["state"].clone());
        if row == ("run".to_owned(), json!("running")) {
            fs::write(world.beside("gate"), "").expect("it goes on");
        }
        let is_last = row == ("output".to_owned(), json!("confirmed")) || row.1 == "succeeded";
        told.push(row);
        if is_last {
            break;
        }
    }
    for row in [("event", Value::Null), ("run", json!("running"))] {
        assert!(told.contains(&(row.0.to_owned(), row.1)), "{told:?}");
    }
    assert!(
        told.iter().any(|(name, _)| name == "activation"),
        "{told:?}"
    );
    let first: Vec<Event> = {
        let stream = host.follow("runs?follow=true&limit=1", "");
        stream.take(1).collect()
    };
    assert_eq!(
        (first[0].name.as_str(), &first[0].data["daemon_id"]),
        ("run", &json!("pusher"))
    );

    let before = host.sockets();
    assert!(before > 0);
    assert_eq!(host.stop().0, Some(0), "no stream holds the host up");
    assert_eq!(stream.by_ref().find(|event| event.name == "end"), None);
}

#[test]
fn a_reader_that_never_reads_is_dropped_and_blocks_no_other() {
    let world = World::pushed();
    world.script("cat > /dev/null\nseq -f 'a line of a flood that is long enough to fill what lies between, %.0f' 1 150000\n");
    let host = world.serve();
    let quiet = host.sockets();
    let id = world.dispatch(&["flood"])[0].clone();
    let path = format!("runs/{id}/log?follow=true");
    let mut idle: Vec<Stream> = (0..3).map(|_| host.follow(&path, "")).collect();
    let read: Vec<Event> = host.follow(&path, "").collect();
    let last = lines(&read)
        .into_iter()
        .rev()
        .find(|line| line["kind"] == "cli_output");
    let last = last.expect("it printed something");
    assert!(
        last["detail"]
            .as_str()
            .is_some_and(|text| text.contains(", 150000")),
        "{last}"
    );
    assert_eq!(world.check(&id)["status"], "done");
    until("the host has let those go that read nothing", || {
        host.sockets() <= quiet
    });
    for stream in &mut idle {
        let mut rest = Vec::new();
        // What was on its way may still be read; the connection is over.
        let ended = stream.lines.read_to_end(&mut rest);
        let text = String::from_utf8_lossy(&rest);
        assert!(
            ended.is_err() || !text.contains("event: end"),
            "it was served to its end"
        );
    }
}

#[test]
fn a_list_is_followed_by_its_rows_as_the_page_has_them() {
    let (world, host) = World::serving();
    until("the daemon checked in", || {
        let page = host.page("/roster?kind=repository");
        page.body.contains("data-row=")
    });
    let accept = "Accept: text/event-stream\r\n";
    let refused = host.follow_at("/roster?kind=moon", accept);
    assert!(
        refused.head.starts_with("HTTP/1.0 400 "),
        "{}",
        refused.head
    );
    let mut roster = host.follow_at("/roster?kind=repository", accept);
    let mut activations = host.follow_at("/activations?daemon=pusher", accept);
    let first = roster.next().expect("the rows");
    let key = first.data.text("tables.0.order.0");
    assert_eq!(
        (
            first.name.as_str(),
            first.data.text("tables.0.table").as_str()
        ),
        ("rows", "Roster")
    );
    let row = first.data["tables"][0]["rows"][&key]
        .as_str()
        .expect("a row");
    assert!(
        host.page("/roster?kind=repository")
            .body
            .contains(row.trim())
            && row.contains("pusher")
    );
    assert_eq!(world.json(&["roster", "hold", "pusher"]).0, 0);
    // Check-ins of the host are changes, too.
    let held = roster.find(|event| {
        let row = &event.data["tables"][0]["rows"][&key];
        row.as_str()
            .is_some_and(|row| row.contains("</span> hold<"))
    });
    assert!(held.is_some(), "the row of `{key}` did not change to hold");
    assert_eq!(world.json(&["roster", "go", "pusher"]).0, 0);
    world.script("cat > /dev/null\n");
    let (_, fired) = world.json(&["fire", "pusher"]);
    let id = fired.text("activation.id");
    let found = activations.find(|event| event.data["tables"][0]["rows"][&id].is_string());
    assert!(found.is_some(), "the activation `{id}` was not added");
    assert_eq!(host.stop().0, Some(0));
    assert!(
        roster.all(|event| event.name == "rows"),
        "it ended with the host"
    );
}
