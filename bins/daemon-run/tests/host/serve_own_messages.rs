//! Every verb of Linear and Slack and every event that the services send for it, by webhook and by comparison: it never wakes its own
//! daemon, and another daemon one level deeper.

use std::time::{Duration, SystemTime};

use daemon_fakes::{
    FakeClock, LinearApi, LinearWebhook, SlackApi, SlackChannel, SlackMessage, SlackUser,
};
use serde_json::{Value, json};

use crate::http::hmac_hex;
use crate::serve_own_outputs::{ASKED, Woken, ask, deeper, roots, woken};
use crate::serve_sources::slack_at;
use crate::world::{Host, SECRET, World, check, until, watch};

const WATCHED: &[&str] = &[
    "when a Linear comment is created",
    "when a Linear comment is edited",
    "when a Linear issue is updated",
    "when a message is posted in Slack",
    "when a reply is posted in a Slack thread",
    "when a Slack message is edited",
    "when a reaction is added to a Slack message",
];
const POLICY: &str = "[limits]\nrate_subject = 1000\nrate_daemon = 1000\n\n[policy.daemon.maker]\ncapability = \"write\"\n\
     targets = [\"linear:ENG-*\", \"slack:C1\"]\n\n";

fn now() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("the clock is right")
}

fn second() -> i64 {
    i64::try_from(now().as_secs()).expect("a time of this millennium")
}

fn world() -> World {
    let asked: Vec<&str> = [ASKED].iter().chain(WATCHED).copied().collect();
    World::new(&[("maker", &watch(&asked)), ("other", &watch(WATCHED))])
}

/// Asks for proposals one after another; `OUTPUT` is the key of the output before.
fn ask_all(world: &World, host: &Host, runs: &[&str]) {
    for (n, lines) in (1..).zip(runs) {
        ask_next(world, host, (lines, n));
    }
}

fn ask_next(world: &World, host: &Host, (lines, n): (&str, usize)) {
    let head = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let key = host.list("outputs").pop();
    let key = key.and_then(|output| output["key"].as_str().map(str::to_owned));
    let lines = lines.replace("OUTPUT", &key.unwrap_or_default());
    ask(world, host, (&lines, n), &head);
}

/// What a daemon does on Linear, and the events of it.
const ON_LINEAR: [(&[&str], &[&str]); 4] = [
    (
        &[r#"{"v":1,"verb":"comment","target":"linear:ENG-1","body":"Seen."}"#],
        &["Comment.create"],
    ),
    (
        &[
            r#"{"v":1,"verb":"comment","target":"linear:ENG-1","body":"Seen."}"#,
            r#"{"v":1,"verb":"edit_comment","target":"linear:ENG-1","output":"OUTPUT","body":"Seen twice."}"#,
        ],
        &["Comment.create", "Comment.update"],
    ),
    (
        &[
            r#"{"v":1,"verb":"comment","target":"linear:ENG-1","slot":"s","body":"Seen."}"#,
            r#"{"v":1,"verb":"comment","target":"linear:ENG-1","slot":"s","body":"Seen twice."}"#,
        ],
        &["Comment.create", "Comment.update"],
    ),
    (
        &[r#"{"v":1,"verb":"edit_issue","target":"linear:ENG-1","priority":2,"append":"More."}"#],
        &["Issue.update"],
    ),
];

struct Linear {
    world: World,
    api: LinearApi,
    ann: String,
    bot: String,
}

impl Linear {
    fn new(more: &str) -> Self {
        let world = world();
        let api = LinearApi::start(0, "ENG", FakeClock::new(now)).expect("a port");
        let ann = api.add_user("Ann", "ann@example.com");
        let bot = api.add_user("Librarian", "bot@example.com");
        api.add_token("lin_api_x", &bot);
        api.add_issue(&ann, "A lamp flickers", "");
        std::fs::write(world.home.join("linear-token"), "lin_api_x\n").expect("the token");
        let base = api.server().base_url();
        world.configure(&format!(
            "{POLICY}{more}[sources.linear]\nsecret_file = \"hook-secret\"\naccept_late = \"6h\"\n\n\
             [surfaces.linear]\ntoken_file = \"linear-token\"\napi_base = {base:?}\n"
        ));
        Self {
            world,
            api,
            ann,
            bot,
        }
    }
}

fn deliver(host: &Host, hook: &LinearWebhook) {
    let signature = hmac_hex(SECRET, hook.body.as_bytes());
    let headers = [
        ("Content-Type", "application/json"),
        ("Linear-Event", hook.event.as_str()),
        ("Linear-Delivery", hook.delivery.as_str()),
        ("Linear-Signature", signature.as_str()),
    ];
    let answer = host.post("/webhooks/linear", &headers, &hook.body);
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// Returns the name of an event, such as `Comment.create`.
fn name(event: &Value) -> String {
    let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    format!("{}.{}", word("kind"), word("action"))
}

/// Returns name and delivery of the events of a source, in the order of their arrival.
fn events(host: &Host, source: &str) -> Vec<(String, String)> {
    let mut events = host.list("events");
    events.retain(|event| event["source"] == source);
    events.reverse();
    let delivery = |event: &Value| event["delivery_id"].as_str().expect("an id").to_owned();
    let rows = events.iter().map(|event| (name(event), delivery(event)));
    rows.collect()
}

/// Checks that the events of a source are those, and that they woke only another daemon.
#[track_caller]
fn woke_others_alone(host: &Host, source: &str, expected: &[&str]) {
    let events = events(host, source);
    let mut names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    // A comparison makes an event of each change of an issue.
    names.dedup();
    assert_eq!(names, expected);
    let woken: Vec<Option<Vec<Woken>>> = events.iter().map(|(_, id)| woken(host, id)).collect();
    let only_other = vec![Some(vec![deeper("other")]); events.len()];
    assert_eq!(woken, only_other, "{expected:?}");
}

#[test]
fn no_output_on_linear_wakes_its_own_daemon() {
    for (runs, expected) in ON_LINEAR {
        let linear = Linear::new("[sources]\nreconcile = \"1h\"\n\n");
        let host = linear.world.serve();
        ask_all(&linear.world, &host, runs);
        let hooks = linear.api.webhooks();
        let hooks = hooks.iter().filter(|hook| hook.body.contains(&linear.bot));
        let hooks: Vec<&LinearWebhook> = hooks.collect();
        for hook in &hooks {
            deliver(&host, hook);
        }
        host.settled(runs.len() + 1);
        woke_others_alone(&host, "linear", expected);
        for hook in hooks {
            let mut copy = hook.clone();
            copy.delivery.push('0');
            copy.body = copy.body.replace(&linear.bot, &linear.ann);
            let mut body: Value = serde_json::from_str(&copy.body).expect("JSON");
            // A person cannot edit what another account wrote.
            if hook.event == "Comment" {
                body["data"]["id"] = json!("00000000-0000-4000-8000-000000000001");
            }
            copy.body = body.to_string();
            deliver(&host, &copy);
            host.settled(runs.len() + 1);
            assert_eq!(woken(&host, &copy.delivery), Some(roots()), "{copy:?}");
        }
    }
}

#[test]
fn no_output_on_linear_that_a_comparison_finds_wakes_its_own_daemon() {
    for (runs, expected) in ON_LINEAR {
        let linear = Linear::new("[sources]\nreconcile = \"1s\"\n\n");
        let host = linear.world.serve();
        until("Linear is compared", || {
            let found = check(&host.get("doctor"), "linear comparison");
            let detail = found["detail"].as_str().expect("a text");
            detail.starts_with("compared at")
        });
        for (n, lines) in (1..).zip(runs) {
            ask_next(&linear.world, &host, (lines, n));
            until("the comparison finds it", || {
                events(&host, "linear").len() >= n
            });
        }
        host.settled(runs.len() + 1);
        woke_others_alone(&host, "linear", expected);
    }
}

/// What a daemon does on Slack; `THREAD` is a message of a person.
const ON_SLACK: [&[&str]; 4] = [
    &[r#"{"v":1,"verb":"message","target":"slack:C1","body":"Seen."}"#],
    &[r#"{"v":1,"verb":"reply","target":"slack:C1/THREAD","body":"Seen."}"#],
    &[
        r#"{"v":1,"verb":"message","target":"slack:C1","slot":"s","body":"Seen."}"#,
        r#"{"v":1,"verb":"message","target":"slack:C1","slot":"s","body":"Seen twice."}"#,
    ],
    &[
        r#"{"v":1,"verb":"reply","target":"slack:C1/THREAD","slot":"s","body":"Seen."}"#,
        r#"{"v":1,"verb":"reply","target":"slack:C1/THREAD","slot":"s","body":"Seen twice."}"#,
    ],
];

fn slack(world: &World) -> SlackApi {
    let api = SlackApi::start(0, FakeClock::new(now)).expect("a port");
    for (id, name, bot) in [("U1", "helper", Some("B1")), ("U2", "ann", None)] {
        api.add_user(SlackUser {
            id: id.to_owned(),
            name: name.to_owned(),
            bot: bot.map(str::to_owned),
        });
    }
    api.add_token("xoxb-1", "U1");
    api.set_channel(SlackChannel {
        id: "C1".to_owned(),
        name: "digests".to_owned(),
        is_member: true,
        is_archived: false,
    });
    std::fs::write(world.home.join("slack-token"), "xoxb-1\n").expect("the token");
    let base = format!("{}/api", api.server().base_url());
    world.configure(&format!(
        "{POLICY}[sources.slack]\nsecret_file = \"hook-secret\"\n\n\
         [surfaces.slack]\ntoken_file = \"slack-token\"\napi_base = {base:?}\n"
    ));
    api
}

/// Writes the event of a message, as its author posted it.
fn posted(message: &SlackMessage) -> Value {
    let mut event = json!({
        "type": "message", "channel": message.channel, "channel_type": "channel", "user": message.user,
        "bot_id": "B1", "text": message.text, "blocks": message.blocks, "ts": message.ts,
    });
    if let Some(thread) = &message.thread_ts {
        event["thread_ts"] = json!(thread);
    }
    event
}

/// Writes the event of an edit.
fn edited(message: &SlackMessage) -> Value {
    let ts = format!("{}.000900", now().as_secs());
    json!({
        "type": "message", "subtype": "message_changed", "channel": message.channel, "channel_type": "channel",
        "message": posted(message), "ts": ts, "event_ts": ts, "hidden": true,
    })
}

/// Sends an event, and returns what it woke.
fn told(host: &Host, id: &str, event: &Value) -> Vec<Woken> {
    let body = json!({
        "token": "t", "team_id": "T1", "api_app_id": "A1", "type": "event_callback", "event_id": id,
        "event_time": second(), "event": event,
    });
    assert_eq!(slack_at(host, second(), &body).status, 200);
    host.settled(1);
    woken(host, id).expect("it is an event")
}

#[test]
fn no_output_on_slack_wakes_its_own_daemon() {
    for runs in ON_SLACK {
        let world = world();
        let api = slack(&world);
        let thread = api.post("C1", "U2", "Well?");
        let host = world.serve();
        let runs: Vec<String> = runs
            .iter()
            .map(|run| run.replace("THREAD", &thread))
            .collect();
        let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
        ask_all(&world, &host, &runs);
        let own = api.messages().pop().expect("it was written");
        let only_other = vec![deeper("other")];
        assert_eq!(told(&host, "Ev1", &posted(&own)), only_other, "{runs:?}");
        if runs.len() > 1 {
            assert_eq!(told(&host, "Ev2", &edited(&own)), only_other, "{runs:?}");
        }
        // A person copies the message, and reacts to it.
        let mut copy = posted(&own);
        copy["user"] = json!("U2");
        copy["ts"] = json!(format!("{}.000901", second()));
        assert_eq!(told(&host, "Ev3", &copy), roots(), "{runs:?}");
        let item = json!({"type": "message", "channel": "C1", "ts": own.ts});
        let reaction = json!({"type": "reaction_added", "user": "U2", "reaction": "eyes", "item": item, "item_user": "U1"});
        assert_eq!(told(&host, "Ev4", &reaction), roots(), "{runs:?}");
    }
}
