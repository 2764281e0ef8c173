use daemon_engine::proposal::OutputVerb;
use daemon_engine::{Joining, NewOutput, NewTrigger, Output, OutputKey, OutputState, Trigger};
use daemon_event::{ActivationId, DaemonKey, TriggerKey};
use jiff::Timestamp;
use serde_json::json;

use super::{Activation, Periods, Tallies};

fn at(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

fn activation(n: u64, began: &str, cost_usd: f64) -> Activation {
    let mut activation = Activation::pending(NewTrigger {
        daemon: DaemonKey {
            repo: "o/r".parse().expect("a name"),
            id: "ant".parse().expect("an id"),
        },
        rev: "1".to_owned(),
        subject: None,
        trigger: Trigger {
            key: TriggerKey::Person("p".into()),
            conditions: Vec::new(),
            by: None,
            occasion: None,
            recorded_at: Timestamp::UNIX_EPOCH,
        },
        activation_id: ActivationId::new(n, [0; 10]),
        not_before: Timestamp::UNIX_EPOCH,
        joining: Joining::Coalesce,
        link: None,
    });
    activation.started_at = Some(at(began));
    activation.tokens = Some(10);
    activation.cost_usd = Some(cost_usd);
    activation
}

fn output(of: &Activation, made: &str, state: OutputState) -> Output {
    let new = NewOutput {
        key: OutputKey::derive(&of.id, 0, "github", "github:o/r#1"),
        ordinal: 0,
        surface: "github".to_owned(),
        target: "github:o/r#1".to_owned(),
        content: "{}".to_owned(),
        revision: None,
        state,
        error: None,
    };
    Output::new(new, of, at(made))
}

#[test]
fn a_day_and_a_week_begin_in_the_zone_of_the_daemon() {
    // A Tuesday in Berlin and still a Monday in New York.
    let now = at("2026-11-23T23:30:00Z");
    let begun = |zone: &str| {
        let periods = Periods::of(now, zone);
        (periods.day, periods.week)
    };
    assert_eq!(
        begun("Europe/Berlin"),
        (at("2026-11-23T23:00:00Z"), at("2026-11-22T23:00:00Z"))
    );
    assert_eq!(
        begun("America/New_York"),
        (at("2026-11-23T05:00:00Z"), at("2026-11-23T05:00:00Z"))
    );
    assert_eq!(begun("Mars/Base").0, at("2026-11-23T00:00:00Z"));
}

#[test]
fn what_was_done_is_counted_by_verb_for_the_day_and_the_week() {
    let periods = Periods::of(at("2026-11-25T12:00:00Z"), "UTC");
    let [old, monday, today] = [
        activation(1, "2026-11-22T23:59:59Z", 9.0),
        activation(2, "2026-11-23T00:00:00Z", 0.1),
        activation(3, "2026-11-25T08:00:00Z", 0.011),
    ];
    let comment = Some(OutputVerb::Comment);
    let outputs = [
        (
            output(&monday, "2026-11-23T00:01:00Z", OutputState::Confirmed),
            comment,
        ),
        (
            output(&today, "2026-11-25T08:01:00Z", OutputState::Planned),
            comment,
        ),
        (
            output(&today, "2026-11-25T08:01:00Z", OutputState::Refused),
            comment,
        ),
        (
            output(&today, "2026-11-25T08:01:00Z", OutputState::Confirmed),
            Some(OutputVerb::OpenPullRequest),
        ),
    ];
    let tallies = Tallies::count(periods, &[old, monday.clone(), today], &outputs);
    assert_eq!(
        tallies.to_json(),
        json!({
            "today": {"activations": 1, "outputs": {"comment": 1, "open_pull_request": 1}, "tokens": 10, "cost_usd": 0.011},
            "week": {"activations": 2, "outputs": {"comment": 2, "open_pull_request": 1}, "tokens": 20, "cost_usd": 0.111},
        })
    );
    let counters = tallies.counters();
    let shown = |name: &str| {
        counters
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, n)| *n)
    };
    assert_eq!(shown("`comment` proposed this week"), Some(2));
    assert_eq!(shown("cost today in US cents, rounded up"), Some(2));
    assert_eq!(
        tallies.outputs_of(&monday.id),
        ["comment on github:o/r#1 confirmed"]
    );
}
