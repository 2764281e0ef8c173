//! The pages of one daemon, one activation and one event.

use serde_json::Value;

use crate::serve_pages::{BROWSER, missing};
use crate::world::{World, watch};

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
