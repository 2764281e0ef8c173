//! Budget, state and outputs, which the host grants.

use daemon_fakes::{Message, Reply, Tokens};
use daemon_provider::{ErrorClass, FailureKind, MicroUsd, Outcome};
use daemon_provider_llm::Price;
use serde_json::json;

use crate::kit::{Bench, BudgetGrants, end, failure};

#[tokio::test]
async fn a_call_is_reserved_before_it_is_made_and_settled_after() {
    let tokens = Tokens {
        input: 1000,
        cached: 0,
        output: 100,
    };
    let bench = Bench::new([Reply::Message(Message::text("ok").with_tokens(tokens))]);
    let purse = BudgetGrants::of(1_000_000);
    let mut request = bench.request();
    request.limits.budget = Some(MicroUsd(1_000_000));
    request.grants = purse.clone();
    let events = bench.story(bench.config("openai"), request).await;
    assert_eq!(end(&events).0, Outcome::Done);
    // 1,000 tokens read at 5 USD a million, 100 written at 25.
    assert_eq!(*purse.left.lock().unwrap(), Some(1_000_000 - 7_500));
}

#[tokio::test]
async fn a_call_that_the_budget_does_not_reach_is_not_made() {
    let bench = Bench::new([Reply::text("late")]);
    let mut request = bench.request();
    request.limits.budget = Some(MicroUsd(1_000));
    request.grants = BudgetGrants::of(1_000);
    let (message, kind, class) = failure(&bench.story(bench.config("openai"), request).await);
    assert!(message.starts_with("over budget: "), "{message}");
    assert_eq!((kind, class), (FailureKind::Budget, ErrorClass::Final));
    assert_eq!(bench.api.received().len(), 0);
}

#[tokio::test]
async fn a_call_that_was_refused_costs_nothing_and_one_that_broke_off_what_it_read() {
    let bench = Bench::new([
        Reply::error(500, "oops"),
        Reply::Truncated(Message::text("half of it")),
        Reply::error(401, "no"),
    ]);
    let purse = BudgetGrants::of(1_000_000);
    let mut request = bench.request();
    request.limits.budget = Some(MicroUsd(1_000_000));
    request.grants = purse.clone();
    bench.story(bench.config("openai"), request).await;
    let spent = 1_000_000 - purse.left.lock().unwrap().unwrap();
    assert!((1..10_000).contains(&spent), "{spent}");
}

#[tokio::test]
async fn a_model_that_costs_nothing_needs_no_money() {
    let bench = Bench::new([Reply::text("ok")]);
    let mut config = bench.config("openai");
    config.price = Price::FREE;
    let mut request = bench.request();
    request.limits.budget = Some(MicroUsd(0));
    request.grants = BudgetGrants::of(0);
    assert_eq!(end(&bench.story(config, request).await).0, Outcome::Done);
}

#[tokio::test]
async fn state_and_outputs_go_through_the_grants() {
    let bench = Bench::new([
        Reply::Message(
            Message::default()
                .and_call("state_get", json!({"key": "seen"}))
                .and_call("state_get", json!({"key": "absent"}))
                .and_call("state_set", json!({"key": "seen", "value": [8]}))
                .and_call(
                    "propose_output",
                    json!({"output": {"v": 1, "verb": "push_branch"}}),
                )
                .and_call(
                    "propose_output",
                    json!({"output": {"v": 1, "verb": "merge"}}),
                ),
        ),
        Reply::text("ok"),
    ]);
    let purse = BudgetGrants::of(0);
    let mut request = bench.request();
    request.context = Some(bench.path("context"));
    request.grants = purse.clone();
    bench.story(bench.config("openai"), request).await;
    assert_eq!(
        bench.results(),
        [
            "7",
            "null",
            "set",
            "accepted: it is delivered if the run ends well",
            "error: refused: no surface merges",
        ]
    );
    assert_eq!(
        purse.asked(),
        [
            "get seen",
            "get absent",
            "set seen [8]",
            r#"propose {"v":1,"verb":"push_branch"}"#,
            r#"propose {"v":1,"verb":"merge"}"#,
        ]
    );
}
