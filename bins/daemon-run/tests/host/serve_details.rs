//! The pages of one daemon, one activation and one event.

use serde_json::Value;

use crate::serve_pages::{BROWSER, missing};
use crate::world::{World, daemon_file, watch};

#[test]
fn a_daemon_an_activation_and_an_event_have_pages_that_link_to_each_other() {
    let world = World::new(&[("pusher", &watch(&["when a commit is pushed to main"]))]);
    let host = world.serve();
    world.commit("wake it");
    let activation = host.settled(1).remove(0);
    let word = |value: &Value| value.as_str().expect("a string").to_owned();
    let event = word(&activation["trigger"]["event_ids"][0]);
    let activation = word(&activation["id"]);
    let to_event = format!("href=\"/events/{event}\"");
    let to_activation = format!("href=\"/activations/{activation}\"");
    let to_daemon = "href=\"/daemons/pusher?repo=o%2Fr\"";
    for (path, texts) in [
        (
            "activations",
            vec![to_event.as_str(), to_activation.as_str(), to_daemon],
        ),
        ("events", vec![to_event.as_str()]),
        (
            &*format!("activations/{activation}"),
            vec![to_event.as_str(), to_daemon, "succeeded"],
        ),
        (
            &*format!("events/{event}"),
            vec![
                to_activation.as_str(),
                "refs/<wbr>heads/<wbr>main",
                "Payload",
                "&#34;ref&#34;",
            ],
        ),
        (
            "daemons/pusher",
            vec![
                "when a commit is pushed to main",
                "href=\"/runs?daemon=pusher\"",
            ],
        ),
    ] {
        let page = host.page(&format!("/{path}"));
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(missing(&page, &texts), [""; 0], "{path}: {}", page.body);
        assert!(!page.body.contains("/api/v1/"), "{path}: {}", page.body);
        assert_eq!(
            host.object(&format!("/{path}")).json(),
            host.get(path),
            "{path}"
        );
    }
    for path in ["/daemons/x", "/activations/x", "/events/x", "/daemons/%ff"] {
        assert_eq!(host.page(path).status, 404, "{path}");
    }
    assert_eq!(host.page("/daemons/pusher?repo=x/y").status, 404);
    let refused = host.open("GET", &format!("/events/{event}"), &[("Accept", BROWSER)]);
    assert_eq!(refused.status, 401);
}

#[test]
fn the_page_of_an_invalid_daemon_has_the_diagnostics_of_its_file() {
    let conditions = watch(&["when a commit is pushed to main"]);
    let world = World::new(&[("sound", &conditions), ("broken", &conditions)]);
    let file = daemon_file("broken", &conditions).replace("purpose:", "purpos:");
    world.write_daemon("broken", &file);
    world.commit("break it");
    let host = world.serve();
    let page = host.page("/daemons/broken");
    let texts = [
        "invalid",
        "Diagnostics",
        "D120",
        "error",
        "`purpose` is missing",
        "write one sentence that names the outcome of the daemon",
        "D100",
        "did you mean `purpose`?",
    ];
    assert_eq!(missing(&page, &texts), [""; 0], "{}", page.body);
    let page = host.page("/daemons/sound");
    let texts = ["The linter finds nothing in its file."];
    assert_eq!(missing(&page, &texts), [""; 0], "{}", page.body);
}

#[test]
fn an_empty_list_says_whether_filters_empty_it() {
    let (_world, host) = World::serving();
    let all = host.page("/events");
    assert_eq!(missing(&all, &["No events. A commit in"]), [""; 0]);
    for (query, texts) in [
        ("?daemon=pusher", &["Nothing matches these filters."][..]),
        (
            "?daemon=nobody&repo=x/y",
            &[
                "Nothing matches these filters.",
                "no daemon `nobody` is registered",
                "no daemon of a repository `x/y` is registered",
            ],
        ),
    ] {
        let page = host.page(&format!("/events{query}"));
        assert_eq!(missing(&page, texts), [""; 0], "{query}: {}", page.body);
        assert!(!page.body.contains("A commit in"), "{query}");
    }
}
