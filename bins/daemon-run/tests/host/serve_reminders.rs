//! Reminders and the dismissal of notices, over the socket and MCP.

use serde_json::{Value, json};

use daemon_fakes::Reply;

use crate::conversing::{api, history, world};
use crate::mcp_client::Client;
use crate::rpc::Rpc;
use crate::world::{Host, World, until};

fn call(host: &Host, method: &str, params: &Value) -> Value {
    Rpc::initialized(host.socket()).call(method, params)
}

/// Returns the notice of a channel.
fn notice(host: &Host, channel: &str) -> Value {
    let listed = call(host, "notice/list", &json!({}));
    let mut notices = listed["result"]["notices"]
        .as_array()
        .expect("a list")
        .iter();
    let found = notices.find(|notice| notice["channel"] == channel);
    found.unwrap_or_else(|| panic!("{listed}")).clone()
}

#[test]
fn a_reminder_is_pushed_when_it_is_due_and_is_kept_until_it_is_dismissed() {
    let (world, host) = World::serving();
    let mut follower = Rpc::initialized(host.socket());
    let far = json!({"at": "2100-01-01T00:00:00Z", "text": "Far away."});
    shows!(call(&host, "notice/remind", &far), {"result.id": 1, "result.at": "2100-01-01T00:00:00Z"});
    let soon =
        json!({"in_seconds": 1, "text": "Look at em-1.", "parent_addr": "mcp:editor#0a1b2c3d"});
    shows!(call(&host, "notice/remind", &soon), {"result.id": 2});
    shows!(follower.answer(), {
        "method": "run/event", "params.source": "cron", "params.ref_id": "2", "params.status": "due",
        "params.parent": "mcp:editor#0a1b2c3d", "params.body": "Look at em-1.", "params.idempotency_key": "reminder:2",
    });
    let kept = notice(&host, "cron");
    shows!(kept, {"header": "2 reminders, 1 due", "priority": "high", "data.reminders.1.is_due": true});
    host.kill();
    let host = world.serve();
    assert_eq!(notice(&host, "cron")["data"], kept["data"]);
    for (params, code) in [
        (json!({"channel": "cron", "id": 9}), "not-found"),
        (json!({"channel": "mail"}), "invalid-params"),
        (json!({"channel": "system", "id": 1}), "invalid-params"),
    ] {
        shows!(call(&host, "notice/dismiss", &params), {"error.data.code": code}, "{params}");
    }
    for params in [
        json!({"text": "x"}),
        json!({"text": "x", "in_seconds": 1, "at": "2100-01-01T00:00:00Z"}),
        json!({"text": "x", "at": "tomorrow"}),
        json!({"text": "", "in_seconds": 1}),
        json!({"text": "x", "in_seconds": 1, "agent": "scout"}),
    ] {
        shows!(call(&host, "notice/remind", &params), {"error.data.code": "invalid-params"}, "{params}");
    }
    shows!(call(&host, "notice/dismiss", &json!({"channel": "cron", "id": 2})), {"result.dismissed": 1});
    shows!(call(&host, "notice/dismiss", &json!({"channel": "cron"})), {"result.dismissed": 1});
    shows!(notice(&host, "cron"), {"header": "0 reminders, 0 due", "data.next_id": 3});
}

#[test]
fn dismissed_ends_of_runs_stay_dismissed_and_their_numbers_go_on() {
    let (world, host) = World::serving();
    let first = world.dispatch(&["one"]).remove(0);
    shows!(world.announced(&first), {"notified_seq": 1});
    shows!(notice(&host, "system"), {"data.last_seq": 1, "data.events.0.run_id": first.as_str()});
    shows!(call(&host, "notice/dismiss", &json!({"channel": "system"})), {"result.dismissed": 1});
    shows!(call(&host, "notice/dismiss", &json!({"channel": "system"})), {"result.dismissed": 0});
    shows!(world.notices(), {"data.events": [], "data.last_seq": 1, "data.dismissed_seq": 1});
    host.kill();
    let host = world.serve();
    shows!(notice(&host, "system"), {"data.events": []});
    let second = world.dispatch(&["two"]).remove(0);
    shows!(world.announced(&second), {"notified_seq": 2});
    shows!(notice(&host, "system"), {"data.first_seq": 2, "data.events.0.run_id": second.as_str()});
    // The run itself is not gone.
    shows!(world.check(&first), {"notified_seq": 1});
}

#[test]
fn a_client_of_mcp_is_reminded_and_no_other() {
    let (world, _host) = World::serving();
    let mut client = Client::over(&mut world.command(&["mcp"]), "editor");
    let mut other = Client::over(&mut world.command(&["mcp"]), "editor");
    let (failed, theirs) = other.call("remind", &json!({"in_seconds": 2, "text": "Theirs."}));
    assert!(!failed, "{theirs}");
    let (failed, mine) = client.call("remind", &json!({"in_seconds": 2, "text": "Mine."}));
    assert!(!failed, "{mine}");
    for (client, text) in [(&mut client, "Mine."), (&mut other, "Theirs.")] {
        let told = client.read();
        shows!(told, {"method": "run/event", "params.body": text});
    }
    let (_, listed) = client.call("notices", &json!({}));
    shows!(listed, {"notices.1.channel": "cron", "notices.1.header": "2 reminders, 2 due"});
    let id = mine["id"].clone();
    let (_, gone) = client.call("dismiss_notice", &json!({"channel": "cron", "id": id}));
    shows!(gone, {"dismissed": 1});
}

#[test]
fn the_reminder_of_an_agent_starts_a_turn_of_its_conversation_also_after_a_kill() {
    let remind = json!({"text": "Look again.", "in_seconds": 2});
    let api = api([
        Reply::call("remind", remind),
        Reply::text("Later."),
        Reply::text("Looked."),
    ]);
    let world = world(&api, "");
    let host = world.serve();
    let said = crate::conversing::call(
        &host,
        "conversation/send",
        &json!({"content": "Remind yourself."}),
    );
    shows!(said, {"result.text": "Later."});
    host.kill();
    let host = world.serve();
    until("the turn has ended", || {
        let lines = history(&host);
        lines.iter().filter(|line| line["type"] == "end").count() == 2
    });
    let lines = history(&host);
    let user = lines
        .iter()
        .rfind(|line| line["type"] == "user")
        .expect("a message");
    let content = user["content"].as_str().expect("a text");
    assert!(
        content.starts_with("Reminder 1 of 20") && content.ends_with(": Look again."),
        "{content}"
    );
    until("the reminder is gone", || {
        notice(&host, "cron")["data"]["reminders"] == json!([])
    });
}
