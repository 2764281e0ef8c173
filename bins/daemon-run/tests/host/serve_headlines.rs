//! Pages that say what happened in words, and those of the schedule, the search, the usage and the home.

use daemon_fakes::Reply;
use serde_json::{Value, json};

use crate::conversing::{api, call, history, world};
use crate::fields::Shown as _;
use crate::http::pull_request_opened;
use crate::serve_pages::missing;
use crate::world::{Host, World, until, watch};

/// Makes a host that received an opened pull request, which woke one of two daemons.
fn opened() -> (World, Host, Value) {
    let world = World::new(&[
        ("pusher", &watch(&["when a pull request is opened"])),
        ("closer", &watch(&["when a pull request is closed"])),
    ]);
    let host = world.serve();
    let body = pull_request_opened(8);
    assert_eq!(host.hook("pull_request", "d-1", &body).status, 200);
    host.settled(1);
    until("its output is delivered", || {
        let outputs = host.list("outputs");
        outputs.first().is_some_and(|it| it["state"] == "confirmed")
    });
    let mut events = host.list("events").into_iter();
    let event = events.find(|event| event["source"] == "github");
    (world, host, event.expect("the event"))
}

#[test]
fn what_happened_is_said_in_words_on_every_page_about_it() {
    let (_world, host, _event) = opened();
    let activation = host.list("activations")[0].text("id");
    let run = host.list("runs")[0].text("id");
    let headline = "pusher on r#<wbr>8: pull request opened by ann";
    for path in ["/", "/activations", "/runs", "/search?q=pusher"] {
        let page = host.page(path);
        assert_eq!(missing(&page, &[headline]), [""; 0], "{path}: {page:?}");
    }
    let heading = format!("<h1>{}</h1>", headline.replace("<wbr>", ""));
    let page = host.page(&format!("/runs/{run}"));
    assert_eq!(missing(&page, &[&heading, "noted"]), [""; 0], "{page:?}");
    let page = host.page(&format!("/activations/{activation}"));
    let link = format!("href=\"/runs/{run}\"");
    let shown = [heading.as_str(), "noted", &link, "pusher: branch daemon/"];
    assert_eq!(missing(&page, &shown), [""; 0], "{page:?}");
}

#[test]
fn an_event_says_why_each_daemon_woke_or_did_not() {
    let (_world, host, event) = opened();
    let id = event.text("id");
    let page = host.page(&format!("/events/{id}"));
    let shown = [
        "<h1>r#8: pull request opened by ann</h1>",
        "A title",
        "watch[0] is met",
        "no condition names github pull_request.opened",
        "✓</span> woken",
        "■</span> not met",
        "<a href=\"https://github.com/o/r/pull/8\"",
    ];
    assert_eq!(missing(&page, &shown), [""; 0], "{page:?}");
    let short = format!("title=\"{id}\">{}…{}</span>", &id[..5], &id[id.len() - 6..]);
    assert_eq!(missing(&host.page("/events"), &[short.as_str()]), [""; 0]);
}

#[test]
fn an_output_has_a_page_and_an_object() {
    let (world, host) = World::serving();
    assert_eq!(world.json(&["fire", "pusher"]).0, 0);
    until("it is delivered", || {
        host.list("outputs")[0]["state"] == "confirmed"
    });
    let output = host.list("outputs").remove(0);
    let path = format!("/outputs/{}", output.text("key"));
    let object = host.object(&path).json();
    shows!(object, {"key": output.text("key"), "state": "confirmed", "target": output.text("target")});
    let page = host.page(&path);
    let shown = [
        "<h1>pusher: branch daemon/",
        "✓</span> confirmed",
        "fired by",
        "Made there",
    ];
    assert_eq!(missing(&page, &shown), [""; 0], "{}", page.body);
    for unknown in ["/outputs/x", "/outputs/aaaaaaaaaaaaaaaaaaaaaaaaaa"] {
        assert_eq!(
            (host.page(unknown).status, host.object(unknown).status),
            (404, 404)
        );
    }
}

#[test]
fn the_schedule_has_the_week_ahead_and_what_was_missed() {
    let world = World::new(&[
        ("nightly", "schedule: \"0 3 * * *\""),
        ("often", "schedule: \"*/5 * * * *\""),
        ("pusher", &watch(&["when a commit is pushed to main"])),
    ]);
    let host = world.serve();
    let object = host.object("/schedule").json();
    let schedules = object["schedules"].as_array().expect("a list");
    let ids: Vec<_> = schedules.iter().map(|one| one.text("id")).collect();
    assert_eq!(ids, ["often", "nightly"], "what comes first is first");
    shows!(schedules[1], {
        "kind": "daemon", "expression": "0 3 * * *", "zone": "UTC", "reading": "at 03:00 every day", "gate": "open",
        "days.6.more": false,
    });
    let days = schedules[1]["days"].as_array().expect("a list");
    let later = days
        .iter()
        .skip(1)
        .map(|day| day["times"].as_array().map(Vec::len));
    assert_eq!(later.collect::<Vec<_>>(), [Some(1); 6]);
    shows!(schedules[0], {"days.1.more": true});
    assert_eq!(object["missed"], json!([]));
    let page = host.page("/schedule");
    let shown = [
        "at 03:00 every day",
        "288 times",
        "Nothing was missed.",
        "aria-current=\"page\">Schedule",
    ];
    assert_eq!(missing(&page, &shown), [""; 0], "{}", page.body);
    assert_eq!(host.page("/schedule?x=1").status, 400);
}

#[test]
fn the_search_finds_ids_by_their_beginning_and_words() {
    let (world, host) = World::serving();
    world.commit("wake it");
    let activation = host.settled(1).remove(0).text("id");
    let ids = |text: &str, plural: &str| -> Vec<String> {
        let found = host.object(&format!("/search?q={text}")).json();
        let rows = found[plural].as_array().cloned().unwrap_or_default();
        rows.iter().map(|row| row.text("id")).collect()
    };
    for text in [&activation, &activation[..20], &activation.to_lowercase()] {
        assert_eq!(
            ids(text, "activations"),
            std::slice::from_ref(&activation),
            "{text}"
        );
    }
    assert_eq!(ids("pusher", "daemons"), ["pusher"]);
    assert_eq!(ids("heads%2Fmain+push", "events").len(), 1);
    assert_eq!(ids("noted", "activations"), [activation], "by its result");
    let page = host.page("/search?q=%3Cscript%3E");
    assert_eq!(
        missing(
            &page,
            &["Search for “&#60;script&#62;”", "Nothing is found"]
        ),
        [""; 0]
    );
    assert_eq!(host.page("/search").status, 200);
}

#[test]
fn the_page_of_a_conversation_shows_its_messages_and_the_calls_of_tools() {
    let api = api([
        Reply::call("list", json!({"path": "<b>"})),
        Reply::text("<script>alert(1)</script> is \u{202e}here."),
    ]);
    let world = world(&api, "");
    let host = world.serve();
    call(
        &host,
        "conversation/send",
        &json!({"content": "What is\nhere?"}),
    );
    let path = "/conversation?agent=scout&sender=t";
    let page = host.page(path);
    let shown = [
        "<h1>What is</h1>",
        "What is\nhere?",
        "scout · m",
        "list {&#34;path&#34;:&#34;&#60;b&#62;&#34;}",
        "&#60;script&#62;alert(1)&#60;/script&#62; is ⟨U+202E⟩here.",
    ];
    assert_eq!(missing(&page, &shown), [""; 0], "{}", page.body);
    assert_eq!(host.object(path).json()["lines"], json!(history(&host)));
    let listed = host.page("/conversations");
    let link = "href=\"/conversation?agent=scout&#38;sender=t\"";
    assert_eq!(missing(&listed, &[link]), [""; 0], "{}", listed.body);
    let unknown = host.page("/conversation?agent=scout&sender=nobody");
    assert_eq!(unknown.status, 404, "{}", unknown.body);
    assert_eq!(host.page("/conversation?agent=scout").status, 400);
}

#[test]
fn pages_of_the_home_say_the_next_step_and_usage_counts_activations() {
    let (world, host) = World::serving();
    for (path, step) in [
        ("/agents", "daemon-run agent new NAME"),
        ("/conversations", "daemon-run chat AGENT"),
        ("/crons", "daemon-run call cron/create"),
        ("/subscriptions", "subscribe_event"),
        ("/mcp-servers", "[mcp.NAME]"),
        ("/usage", "No activations in these days"),
    ] {
        let page = host.page(path);
        assert_eq!(missing(&page, &[step]), [""; 0], "{path}: {}", page.body);
    }
    assert_eq!(host.object("/agents").json()["agents"], json!([]));
    assert_eq!(world.json(&["fire", "pusher"]).0, 0);
    let usage = host.object("/usage").json();
    shows!(usage, {"daemons.0.daemon_id": "pusher", "daemons.0.days.6.activations": 1, "is_whole": true});
    let page = host.page("/daemons/pusher");
    let shown = [
        "The last 24 hours",
        "Waits and durations",
        "<title>pusher · daemon-run</title>",
    ];
    assert_eq!(missing(&page, &shown), [""; 0], "{}", page.body);
}
