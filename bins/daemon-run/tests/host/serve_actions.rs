//! Actions of pages: who can perform them, what they do, and that a form takes effect once.

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::http::{self, Answer};
use crate::serve_pages::{BROWSER, missing};
use crate::serve_roster::{Agent, rows};
use crate::world::{Host, World, until};

/// A browser that is logged in, request by request.
pub(crate) struct Session<'h> {
    host: &'h Host,
    cookie: String,
    origin: String,
}

/// Headers and a body that are refused, and the status.
type Forged<'t> = (&'t [(&'t str, &'t str)], &'t str, u16);

/// The fields that identify a form.
pub(crate) struct Form {
    pub(crate) token: String,
    pub(crate) request: String,
}

impl Form {
    /// Returns the identity of the form on a page that is sent to a path, or of the first one.
    pub(crate) fn in_page(page: &Answer, path: Option<&str>) -> Self {
        let rest = match path {
            None => page.body.as_str(),
            Some(path) => {
                let found = page.body.split_once(&format!("action=\"{path}\""));
                found.unwrap_or_else(|| panic!("no form: {page:?}")).1
            }
        };
        let rest = Answer {
            body: rest.to_owned(),
            head: String::new(),
            status: page.status,
        };
        Self {
            token: Self::value(&rest, "form"),
            request: Self::value(&rest, "request"),
        }
    }

    /// Returns the first value of a hidden field.
    pub(crate) fn value(page: &Answer, name: &str) -> String {
        let mark = format!("name=\"{name}\" value=\"");
        let rest = page.body.split_once(&mark).map(|(_, rest)| rest);
        let value = rest.and_then(|rest| rest.split('"').next());
        value
            .unwrap_or_else(|| panic!("no form: {page:?}"))
            .to_owned()
    }
}

impl<'h> Session<'h> {
    pub(crate) fn open(host: &'h Host) -> Self {
        let body = format!("token={}", host.token());
        let kind = [("Content-Type", "application/x-www-form-urlencoded")];
        let entered = http::ask(host.address(), "POST", "/login", &kind, body.as_bytes());
        let cookie = entered.header("set-cookie").expect("a cookie");
        let cookie = cookie.split(';').next().expect("it has a value").to_owned();
        let origin = format!("http://{}", host.address());
        Self {
            host,
            cookie,
            origin,
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let headers = [("Cookie", self.cookie.as_str()), ("Accept", BROWSER)];
        self.host.open("GET", path, &headers)
    }

    /// Returns the identity of the form on a page.
    pub(crate) fn form(&self, path: &str) -> Form {
        Form::in_page(&self.get(path), None)
    }

    /// Sends a form as a browser does.
    pub(crate) fn send(&self, path: &str, form: &Form, rest: &str) -> Answer {
        let body = format!("form={}&request={}{rest}", form.token, form.request);
        let headers = [
            ("Cookie", self.cookie.as_str()),
            ("Origin", &self.origin),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        self.post(path, &headers, &body)
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let kind = [("Content-Type", "application/x-www-form-urlencoded")];
        let has_kind = headers.iter().any(|(name, _)| *name == "Content-Type");
        let kind = if has_kind { &kind[..0] } else { &kind };
        self.host.post(path, &[kind, headers].concat(), body)
    }

    /// Confirms an action on its page, and returns the path that the browser is sent to.
    #[track_caller]
    fn confirm(&self, path: &str, rest: &str) -> String {
        let sent = self.send(path, &self.form(path), rest);
        assert_eq!(sent.status, 303, "{sent:?}");
        sent.header("location").expect("a path").to_owned()
    }
}

/// Returns who changed the gate of a row and why, the oldest first.
fn gate_changes(world: &World, row: &str) -> Vec<String> {
    let (_, listed) = world.json(&["roster", "audit", "--daemon", row]);
    let entries = listed["audit"].as_array().expect("a list").iter().rev();
    let entries = entries.filter(|entry| entry["kind"] == "gate");
    let shown = entries.map(|entry| {
        let parts = ["actor", "from", "to", "reason"].map(|name| entry.text(name));
        parts.join(" ")
    });
    shown.collect()
}

#[test]
fn an_action_is_taken_from_a_form_of_the_hosts_own_page_alone() {
    let (world, host) = World::serving();
    let (_agent, row) = Agent::register(&host, 1, "digger");
    assert_eq!(world.json(&["roster", "go", &row]).0, 0);
    let gate = || world.json(&["roster", "show", &row]).1.text("row.gate");
    let before = gate_changes(&world, &row);
    let (session, other) = (Session::open(&host), Session::open(&host));
    let path = format!("/roster/{row}/hold");
    let form = session.form(&path);
    let body = format!("form={}&request=r1&reason=x", form.token);
    let cookie = ("Cookie", session.cookie.as_str());
    let origin = ("Origin", session.origin.as_str());
    let bearer = format!("Bearer {}", host.token());
    let forged = format!("form={}&request=r1&reason=x", other.form(&path).token);
    let elsewhere = ("Origin", "http://127.0.0.1:1");
    let cross = ("Sec-Fetch-Site", "cross-site");
    let json = ("Content-Type", "application/json");
    let refused: [Forged<'_>; 11] = [
        (&[origin], &body, 401),
        (&[("Authorization", &bearer), origin], &body, 401),
        (&[("Cookie", "daemon_session=0"), origin], &body, 401),
        (&[cookie, origin], "request=r1&reason=x", 403),
        (&[cookie, origin], "form=0&request=r1&reason=x", 403),
        (&[cookie, origin], &forged, 403),
        (&[cookie], &body, 403),
        (&[cookie, elsewhere], &body, 403),
        (&[cookie, ("Origin", "null")], &body, 403),
        (&[cookie, origin, cross], &body, 403),
        (&[cookie, origin, json], "{}", 415),
    ];
    for (headers, body, status) in refused {
        let answer = session.post(&path, headers, body);
        assert_eq!(answer.status, status, "{headers:?} {body}");
    }
    let got = session.get(&format!("{path}?form={}&request=r1&reason=x", form.token));
    assert_eq!((got.status, gate().as_str()), (400, "go"));
    assert_eq!(gate_changes(&world, &row), before);
    // Seven were forged, and the repetitions within a minute make one entry.
    let (_, listed) = world.json(&["roster", "audit"]);
    let entries = listed["audit"].as_array().expect("a list").iter();
    let forged: Vec<_> = entries.filter(|entry| entry["kind"] == "form").collect();
    assert_eq!(forged.len(), 1, "{listed}");
    shows!(forged[0], {
        "actor": "unregistered", "rule": "foreign-form", "count": 1, "from": null, "to": null,
        "reason": format!("forbidden by the rule `foreign-form`: {path}"),
    });
    host.stop();
}

#[test]
fn a_form_takes_effect_once_and_its_result_is_shown_once() {
    let (world, host) = World::serving();
    let (_agent, row) = Agent::register(&host, 1, "digger");
    assert_eq!(world.json(&["roster", "go", &row]).0, 0);
    let (session, other) = (Session::open(&host), Session::open(&host));
    let path = format!("/roster/{row}/hold");
    let form = session.form(&path);
    let before = gate_changes(&world, &row);
    let empty = session.send(&path, &form, "&reason=+");
    assert_eq!(
        (
            empty.status,
            missing(&empty, &["`reason` is missing", "role=\"alert\""])
        ),
        (400, vec![])
    );
    let sent = session.send(&path, &form, "&reason=too+loud&daemon=other&kind=x");
    assert_eq!(
        (sent.status, sent.header("location")),
        (303, Some(format!("/roster/{row}").as_str()))
    );
    let notice = "<p class=\"notice good\" role=\"status\"><span aria-hidden=\"true\">✓</span> Its gate is on hold.";
    assert_eq!(
        missing(&other.get(&format!("/roster/{row}")), &[notice]),
        [notice]
    );
    assert_eq!(
        missing(&session.get(&format!("/roster/{row}")), &[notice]),
        [""; 0]
    );
    assert_eq!(
        missing(&session.get(&format!("/roster/{row}")), &[notice]),
        [notice]
    );
    // The button was pressed twice.
    assert_eq!(session.send(&path, &form, "&reason=too+loud").status, 303);
    // The page was left open, and another form did it before.
    let late = session.send(&path, &form, "&reason=once+more");
    assert_eq!(
        (
            late.status,
            missing(&late, &["The gate is `hold`", "value=\"once more\""])
        ),
        (409, vec![])
    );
    let changes = gate_changes(&world, &row);
    assert_eq!(changes[before.len()..], ["operator go hold too loud"]);
    host.stop();
}

#[test]
fn a_row_offers_what_its_state_allows_and_a_reader_without_a_session_nothing() {
    let (_world, host) = World::serving();
    let name = "<script>alert(1)</script>";
    let (_agent, row) = Agent::register(&host, 1, name);
    let session = Session::open(&host);
    let page = format!("/roster/{row}");
    let link = |verb: &str| format!("href=\"{page}/{verb}\"");
    let verbs = [
        "go",
        "reset",
        "interject",
        "winddown",
        "retire",
        "hold",
        "cancel",
        "start",
    ];
    let shown = session.get(&page);
    let offered: Vec<_> = verbs
        .iter()
        .filter(|it| shown.body.contains(&link(it)))
        .collect();
    assert_eq!(
        offered,
        [&"go", &"reset", &"interject", &"winddown", &"retire"]
    );
    assert!(session.get("/roster").body.contains(&link("go")));
    for reader in [host.page(&page), host.page("/roster")] {
        assert!(!reader.body.contains("method=\"post\"") && !reader.body.contains(&link("go")));
    }
    assert_eq!(host.page(&format!("{page}/go")).status, 403);
    let asked = session.get(&format!("{page}/retire"));
    assert_eq!(
        missing(
            &asked,
            &[
                "&#60;script&#62;",
                "cannot be taken back",
                "class=\"danger\""
            ]
        ),
        [""; 0]
    );
    assert!(!asked.body.contains(name));
    host.stop();
}

#[test]
fn a_row_is_poked_compacted_wound_down_and_retired_from_its_page() {
    let (world, host) = World::serving();
    let (_agent, row) = Agent::register(&host, 1, "digger");
    let session = Session::open(&host);
    let page = format!("/roster/{row}");
    // What is on the page itself is sent from there.
    assert_eq!(
        session.confirm(&format!("{page}/poke"), "&line=look+here"),
        page
    );
    assert_eq!(session.confirm(&format!("{page}/compact"), ""), page);
    let (_, shown) = world.json(&["roster", "show", &row]);
    shows!(shown, {"row.needs_compaction": true, "signals.0.kind": "poke", "signals.0.payload": "look here"});
    assert_eq!(
        session.confirm(&format!("{page}/winddown"), "&reason=done"),
        page
    );
    assert_eq!(
        session.confirm(&format!("{page}/cancel"), "&reason=not+yet"),
        page
    );
    assert_eq!(
        session.confirm(&format!("{page}/retire"), "&reason=done"),
        page
    );
    let (_, shown) = world.json(&["roster", "show", &row]);
    assert!(shown["row"]["retired_at"].is_string(), "{shown}");
    let shown = session.get(&page);
    let link = format!("href=\"{page}/");
    assert!(!shown.body.contains(&link), "{}", shown.body);
    let gone = session.send(
        &format!("{page}/go"),
        &session.form(&format!("{page}/go")),
        "&reason=x",
    );
    assert_eq!(gone.status, 409, "{}", gone.body);
    assert_eq!(session.get("/roster/none/go").status, 404);
    host.stop();
}

#[test]
fn a_person_fires_cancels_and_retries_from_pages() {
    let (world, host) = World::serving();
    let session = Session::open(&host);
    let daemon = "/daemons/pusher?repo=o%2Fr";
    assert!(
        session
            .get(daemon)
            .body
            .contains("href=\"/daemons/pusher/fire?repo=o%2Fr\"")
    );
    world.script("cat > /dev/null\nexec sleep 1000\n");
    let activation = session.confirm("/daemons/pusher/fire?repo=o%2Fr", "");
    assert!(activation.starts_with("/activations/"), "{activation}");
    let state = || host.object(&activation).json().text("state");
    until("it runs", || state() == "running");
    shows!(host.object(&activation).json(), {"trigger.kind": "person", "trigger.by": "page"});
    let cancel = format!("{activation}/cancel");
    assert!(
        session
            .get(&activation)
            .body
            .contains(&format!("href=\"{cancel}\""))
    );
    assert!(
        session
            .get("/activations")
            .body
            .contains(&format!("href=\"{cancel}\""))
    );
    assert_eq!(session.confirm(&cancel, "&reason=not+today"), activation);
    shows!(host.object(&activation).json(), {"state": "cancelled", "reason": "not today"});
    let form = session.form(&cancel);
    let late = session.send(&cancel, &form, "");
    assert_eq!(late.status, 409, "{}", late.body);
    world.script("cat > /dev/null\n");
    assert_eq!(
        session.confirm(&format!("{activation}/retry"), ""),
        activation
    );
    until("it succeeded", || state() == "succeeded");
    host.stop();
}

#[test]
fn a_person_holds_a_daemon_and_replays_an_event_from_pages() {
    let (world, host) = World::serving();
    let session = Session::open(&host);
    let daemon = "/daemons/pusher?repo=o%2Fr";
    assert_eq!(
        session.confirm("/daemons/pusher/hold?repo=o%2Fr", ""),
        daemon
    );
    until("the gate is closed", || {
        host.get("daemons/pusher")["daemon"]["gate"] == "held"
    });
    assert_eq!(session.confirm("/daemons/pusher/go?repo=o%2Fr", ""), daemon);
    world.commit("wake it");
    until("it woke", || host.list("activations").len() == 1);
    let events = host.list("events");
    let pushed = events.iter().find(|event| event["verdicts"] != json!([]));
    let event = format!("/events/{}", pushed.expect("the commit").text("id"));
    let again = session.confirm(&format!("{event}/replay"), "");
    assert!(again.starts_with("/events/") && again != event, "{again}");
    until("it woke again", || host.list("activations").len() == 2);
    for path in [
        "/activations/none/cancel",
        "/events/none/replay",
        "/daemons/none/fire",
    ] {
        assert_eq!(session.get(path).status, 404, "{path}");
    }
    host.stop();
}

#[test]
fn a_host_that_is_read_only_has_no_forms_and_refuses_those_of_before() {
    let world = World::pushed();
    let host = world.serve();
    let (_agent, row) = Agent::register(&host, 1, "digger");
    let session = Session::open(&host);
    let (go, fire) = (
        format!("/roster/{row}/go"),
        "/daemons/pusher/fire?repo=o%2Fr",
    );
    let (form, other) = (session.form(&go), session.form(fire));
    world.configure("[roster]\nread_only = true\n");
    assert_eq!(world.json(&["reload"]).0, 0);
    for path in [
        &format!("/roster/{row}"),
        "/roster",
        "/daemons/pusher",
        "/activations",
    ] {
        let page = session.get(path);
        assert_eq!(page.status, 200);
        for absent in ["method=\"post\"", "/go\"", "/fire"] {
            assert!(!page.body.contains(absent), "{path}: {absent}");
        }
    }
    for path in [go.as_str(), fire] {
        assert_eq!(session.get(path).status, 403, "{path}");
    }
    assert_eq!(session.send(&go, &form, "&reason=x").status, 403);
    assert_eq!(session.send(fire, &other, "").status, 403);
    assert_eq!(host.list("activations"), Vec::<Value>::new());
    shows!(world.json(&["roster", "audit", "--daemon", &row]).1, {
        "audit.0.actor": "operator", "audit.0.kind": "daemon_go", "audit.0.rule": "read-only",
    });
    assert_eq!(rows(&world, "standing")[0]["gate"], "hold");
    host.stop();
}
