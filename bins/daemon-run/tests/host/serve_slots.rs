//! Slots: the outputs of several activations in one slot are one object, also if the service is slow.

use std::time::Duration;

use daemon_fakes::{FaultPlan, ServiceFault};
use serde_json::{Value, json};

use crate::http::{repository, sender};
use crate::serve_github::world_with;

/// Comments in a slot of an issue that is not the subject.
const BOARD: &str = r#"cat > /dev/null
echo "{\"daemon\":\"output\",\"output\":{\"v\":1,\"verb\":\"comment\",\"target\":\"github:o/r#1\",\"slot\":\"board\",\"body\":\"Seen: $DAEMON_RUN_ID\"}}"
echo '{"daemon":"result","ok":true,"text":"done"}'
"#;

fn opened(number: u32) -> Value {
    json!({
        "action": "opened",
        "issue": {"number": number, "title": "Another", "state": "open", "user": sender(), "labels": []},
        "repository": repository("o/r"), "sender": sender(),
    })
}

#[test]
fn outputs_that_are_planned_before_the_first_is_delivered_replace_its_comment() {
    let policy = "[policy.daemon.helper]\ntargets = [\"github:o/r\"]\n";
    let (world, api) = world_with("when an issue is opened", BOARD, policy);
    let host = world.serve();
    let slow = ServiceFault::LateReply(Duration::from_secs(3));
    let plan = FaultPlan::each_once([("POST", "/issues/1/comments", slow)]);
    api.server().set_faults(plan);
    for number in [11, 12, 13] {
        host.hook("issues", &format!("d-{number}"), &opened(number));
    }
    let activations = host.settled(3);
    assert!(
        activations.iter().all(|one| one["state"] == "succeeded"),
        "{activations:?}"
    );
    let outputs = host.list("outputs");
    let ids: Vec<&Value> = outputs.iter().map(|output| &output["remote_id"]).collect();
    assert_eq!(ids, [ids[0]; 3], "{outputs:?}");
    let comments = api.comments("o/r");
    assert_eq!(comments.len(), 1, "{comments:?}");
    // The newest output is the last one.
    let newest = outputs[0]["activation_id"].as_str().expect("an id");
    assert!(comments[0].body.contains(newest), "{comments:?}");
}
