//! The roster on pages, over MCP and over HTTP.

use serde_json::json;

use crate::serve_mcp_http::{called, connect, runtime};
use crate::serve_pages::missing;
use crate::serve_roster::{Agent, rows, token};
use crate::world::{World, until};

#[test]
fn pages_show_the_roster_and_a_row_and_escape_what_agents_say() {
    let (world, host) = World::serving();
    let name = "<script>alert(1)</script>";
    let (_agent, row) = Agent::register(&host, 1, name);
    until("the daemon checked in", || {
        rows(&world, "repository").len() == 1
    });
    let page = host.page("/roster");
    assert_eq!(page.status, 200);
    // A line may end after a slash.
    let escaped = "&#60;script&#62;alert(1)&#60;/";
    let link = format!("href=\"/roster/{row}\"");
    let shown = [
        "<h1>Roster</h1>",
        escaped,
        &link,
        "pusher",
        "standing",
        "repository",
        "Batons",
        "hold",
    ];
    assert_eq!(missing(&page, &shown), [""; 0], "{}", page.body);
    assert!(!page.body.contains(name));
    let filtered = host.page("/roster?kind=repository&liveness=live");
    assert_eq!(
        missing(&filtered, &["pusher", "value=\"live\" selected"]),
        [""; 0]
    );
    assert!(!filtered.body.contains(escaped));
    let detail = host.page(&format!("/roster/{row}"));
    let shown = [
        escaped,
        "Check-ins",
        "Signals",
        "Live until",
        "Incarnation",
        "start",
    ];
    assert_eq!(missing(&detail, &shown), [""; 0], "{}", detail.body);
    assert_eq!(host.page("/roster/none").status, 404);
    let (_, shown) = world.json(&["roster", "show", &row]);
    assert_eq!(
        host.object(&format!("/roster/{row}")).json()["row"]["id"],
        shown["row"]["id"]
    );
    assert_eq!(host.open("GET", "/roster", &[]).status, 401);
    host.stop();
}

#[test]
fn an_agent_over_http_has_the_tools_of_the_roster_and_is_itself() {
    let (world, host) = World::serving();
    let (_agent, row) = Agent::register(&host, 1, "digger");
    runtime().block_on(async {
        let client = connect(&host, &token(1)).await.expect("it connects");
        let has = |tool: &str| client.tools().iter().any(|known| known.name == tool);
        assert!(has("daemon_checkin") && has("recall_roster") && has("list"));
        assert!(!has("fire"), "an agent reads what is outside of the roster");
        let answer = called(&client, "daemon_checkin", json!({"wake": "tick"})).await;
        shows!(answer.structured.expect("an object"), {"daemon": row, "incarnation": 1});
        let go = json!({"daemon": "digger", "reason": "I want to"});
        let refused = called(&client, "daemon_go", go).await;
        let refused = refused.structured.expect("an object");
        shows!(refused, {"ok": false, "error.code": "forbidden"});
        client.close().await;
        // A token that no agent has is refused, also if it looks like one.
        connect(&host, &token(9)).await.expect_err("it is unknown");
        // Who has the token of the host is the operator.
        let client = connect(&host, host.token()).await.expect("it connects");
        let go = json!({"daemon": "digger", "reason": "ready"});
        let answer = called(&client, "daemon_go", go).await.structured;
        shows!(answer.expect("an object"), {"gate": "go"});
        client.close().await;
    });
    let key = [("Idempotency-Key", "k-1")];
    let hold = |headers: &[(&str, &str)]| {
        let bearer = format!("Bearer {}", host.token());
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend(headers);
        let path = format!("/api/v1/roster/{row}/hold");
        host.post(&path, &all, "{\"reason\": \"a test\"}").json()
    };
    for _ in 0..2 {
        shows!(hold(&key), {"gate": "hold"});
    }
    shows!(hold(&[]), {"ok": false, "error.code": "illegal-transition"});
    assert_eq!(
        world.json(&["roster", "show", "digger"]).1["row"]["gate"],
        "hold"
    );
    host.stop();
}
