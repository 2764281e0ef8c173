//! Pages about the daemons that the host starts: their permissions, their charters, and the page that starts one.

use std::fs;

use serde_json::json;

use crate::fields::Shown as _;
use crate::serve_actions::{Form, Session};
use crate::serve_pages::missing;
use crate::serve_roster::rows;
use crate::serve_standing::world;
use crate::world::until;

#[test]
fn permissions_that_drift_are_a_banner_on_the_roster_until_they_are_restored() {
    let world = world("");
    let host = world.serve();
    let banner = "o/r: the permissions that its settings file gives to agents differ from `roster.allowlist`";
    let is_shown = || missing(&host.page("/roster"), &[banner]).is_empty();
    assert!(!is_shown());
    for (allowed, is_drift) in [
        ("[\"mcp__daemon\", \"Bash\"]", true),
        ("[\"mcp__daemon\"]", false),
    ] {
        let text = format!("{{\"permissions\": {{\"allow\": {allowed}}}}}");
        world.write(".claude/settings.json", &text);
        world.commit("settings");
        until("the banner is as it should be", || is_shown() == is_drift);
        let (_, listed) = world.json(&["roster", "list"]);
        let kinds: Vec<_> = listed["warnings"]
            .as_array()
            .expect("a list")
            .iter()
            .collect();
        let kinds: Vec<_> = kinds
            .iter()
            .map(|it| (it.text("kind"), it.text("project")))
            .collect();
        let expected = is_drift.then(|| ("drift".to_owned(), "o/r".to_owned()));
        assert_eq!(kinds, Vec::from_iter(expected));
        let filtered = host.page("/roster?project=other");
        assert_eq!(missing(&filtered, &[banner]), [banner]);
    }
    host.stop();
}

#[test]
fn a_row_has_the_version_of_the_charter_that_it_was_started_with() {
    let world = world("");
    let host = world.serve();
    let row = world.spawn("o/r", "orchestrator");
    let (_, listed) = world.json(&["roster", "charters"]);
    let charters = listed["charters"].as_array().expect("a list").iter();
    let mut own = charters.filter(|charter| charter["role"] == "orchestrator");
    let version = own.next().expect("the charter").text("version");
    let of_row = || world.json(&["roster", "show", &row]).1;
    shows!(of_row(), {
        "row.charter_version": version, "charter.version": version, "charter.current": version,
        "charter.role": "orchestrator",
    });
    let path = world.home.join("charters/orchestrator.md");
    let edited = fs::read_to_string(&path).expect("the charter") + "\nBe brief.\n";
    fs::write(&path, edited).expect("it is written");
    let shown = of_row();
    assert_eq!(
        shown.text("row.charter_version"),
        version,
        "it reads what it was started with"
    );
    assert_ne!(shown.text("charter.current"), version);
    let page = host.page(&format!("/roster/{row}"));
    assert_eq!(missing(&page, &["Charter of a new one", &version]), [""; 0]);
    host.stop();
}

const SPAWN: &str = "/roster/spawn";
const CONFIRM: &str = "/roster/spawn/confirm";

#[test]
fn the_page_of_a_plan_shows_why_a_check_blocks_and_starts_nothing() {
    let world = world("");
    let host = world.serve();
    let session = Session::open(&host);
    let choices = host.object(SPAWN).json();
    shows!(choices, {"projects": ["o/r"], "roles": ["orchestrator", "ops", "refine"]});
    let page = session.get("/roster");
    assert_eq!(missing(&page, &["href=\"/roster/spawn\""]), [""; 0]);
    let form = session.form(SPAWN);
    let blocked = session.send(SPAWN, &form, "&project=o%2Fr&role=ops&harness=builtin");
    let words = "no such provider resumes sessions and uses MCP servers";
    let shown = [
        "✕</span> block",
        words,
        "A check blocks this plan",
        "value=\"builtin\"",
    ];
    assert_eq!(missing(&blocked, &shown), [""; 0]);
    assert!(!blocked.body.contains(CONFIRM));
    let empty = session.send(SPAWN, &form, "&project=o%2Fr&role=ops&harness=");
    assert_eq!(
        (empty.status, missing(&empty, &["`harness` is missing"])),
        (400, vec![])
    );
    assert_eq!(rows(&world, "standing"), [json!(null); 0]);
    assert_eq!(host.page(SPAWN).status, 200, "a token reads the page");
    host.stop();
}

#[test]
fn a_person_sees_what_a_daemon_will_read_and_starts_it_once() {
    let world = world("");
    let host = world.serve();
    let session = Session::open(&host);
    let planned = session.send(
        SPAWN,
        &session.form(SPAWN),
        "&project=o%2Fr&role=ops&harness=claude",
    );
    let shown = ["What it reads first", "You are `o/r-ops`", "Start it"];
    assert_eq!(missing(&planned, &shown), [""; 0]);
    let form = Form::in_page(&planned, Some(CONFIRM));
    let plan = Form::value(&planned, "plan");
    let fields = |packet: &str| format!("&plan={plan}&packet_sha256={packet}");
    let right = fields(&Form::value(&planned, "packet_sha256"));
    let refused = session.send(CONFIRM, &form, &fields(&"0".repeat(64)));
    assert_eq!(
        (refused.status, missing(&refused, &["role=\"alert\""])),
        (409, vec![])
    );
    let forged = Form {
        token: "0".to_owned(),
        request: "r1".to_owned(),
    };
    assert_eq!(session.send(CONFIRM, &forged, &right).status, 403);
    assert_eq!(rows(&world, "standing"), [json!(null); 0]);
    let [first, second] = [(), ()].map(|()| session.send(CONFIRM, &form, &right));
    let to = first.header("location").expect("a row");
    assert_eq!((second.status, second.header("location")), (303, Some(to)));
    let shown = session.get(to);
    assert_eq!(missing(&shown, &["It is being started, on hold."]), [""; 0]);
    until("it checked in", || {
        rows(&world, "standing")[0]["liveness"] == "live"
    });
    assert_eq!(rows(&world, "standing").len(), 1);
    host.stop();
}
