//! An output that its host was about to send for so long that another host may have sent it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use daemon_fakes::{Applied, FaultPlan, ServiceFault};
use jiff::Timestamp;
use serde_json::json;

use crate::http::{repository, sender};
use crate::serve_github::world_with;

const COMMENTS: &str = "cat > /dev/null\necho '{\"v\":1,\"verb\":\"comment\",\"body\":\"Read.\"}' >> \"$DAEMON_OUTPUTS\"\n\
     echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"done\"}'\n";

#[test]
fn an_output_that_was_not_sent_for_long_is_looked_up_before_it_is_sent() {
    let (world, api) = world_with("when an issue is opened", COMMENTS, "");
    let is_sending = Arc::new(AtomicBool::new(false));
    let sending = Arc::clone(&is_sending);
    // The account is asked for before the first output is sent: three seconds, thirty of this clock.
    let plan = FaultPlan::new(move |_, _, path| match path {
        "/user" if sending.load(Ordering::Relaxed) => {
            ServiceFault::LateReply(Duration::from_secs(3))
        }
        "/user" => ServiceFault::Status(502, Applied::No),
        _ => ServiceFault::None,
    });
    api.server().set_faults(plan);
    let clock = format!("10:{}", Timestamp::now().as_second());
    let host = world.serve_with(&[], &[("DAEMON_TEST_CLOCK", &clock)]);
    is_sending.store(true, Ordering::Relaxed);
    let opened = json!({
        "action": "opened",
        "issue": {"number": 1, "title": "A question", "state": "open", "user": sender(), "labels": []},
        "repository": repository("o/r"), "sender": sender(),
    });
    assert_eq!(host.hook("issues", "d-1", &opened).status, 200);
    shows!(host.settled(1)[0], {"state": "succeeded"});
    shows!(host.list("outputs")[0], {"surface": "github", "state": "confirmed", "attempts": 2});
    assert_eq!(api.comments("o/r").len(), 1);
}
