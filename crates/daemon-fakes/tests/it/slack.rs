//! The fake Slack through its Web API.

use daemon_fakes::{
    Applied, FakeClock, FaultPlan, ServiceFault, SlackApi, SlackChannel, SlackUser,
};
use serde_json::{Value, json};

use crate::kit::{Answer, send};

const JSON: &str = "Content-Type: application/json; charset=utf-8";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

struct Slack {
    api: SlackApi,
}

impl Slack {
    fn start() -> Self {
        let api = SlackApi::start(0, FakeClock::default()).unwrap();
        let user = |id: &str, name: &str, bot: Option<&str>| SlackUser {
            id: id.to_owned(),
            name: name.to_owned(),
            bot: bot.map(str::to_owned),
        };
        api.add_user(user("U1", "alice", None));
        api.add_user(user("U2", "helper", Some("B2")));
        api.add_token("xoxb-helper", "U2");
        let slack = Self { api };
        slack.channel("C1", |_| {});
        slack.channel("C2", |channel| channel.is_member = false);
        slack.channel("C3", |channel| channel.is_archived = true);
        slack
    }

    fn channel(&self, id: &str, change: impl FnOnce(&mut SlackChannel)) {
        let mut channel = SlackChannel {
            id: id.to_owned(),
            name: format!("name-of-{id}"),
            is_member: true,
            is_archived: false,
        };
        change(&mut channel);
        self.api.set_channel(channel);
    }

    fn raw(&self, method: &str, headers: &[&str], body: &str) -> Answer {
        let line = format!("POST /api/{method} HTTP/1.1");
        let head = [&[line.as_str()], headers].concat();
        send(self.api.server().address(), &head, body)
    }

    fn call(&self, method: &str, body: &Value) -> Value {
        let answer = self.raw(
            method,
            &[JSON, "Authorization: Bearer xoxb-helper"],
            &body.to_string(),
        );
        assert_eq!(answer.status, 200);
        answer.json()
    }

    fn post(&self, text: &str, more: Value) -> String {
        let mut body = json!({"channel": "C1", "text": text});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let answer = self.call("chat.postMessage", &body);
        assert_eq!(answer["ok"], true, "{answer}");
        answer["ts"].as_str().unwrap().to_owned()
    }

    fn texts(&self, method: &str, body: Value) -> Vec<String> {
        let answer = self.call(method, &body);
        let messages = answer["messages"].as_array().unwrap().iter();
        messages
            .map(|it| it["text"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn a_token_is_an_account_in_the_header_or_in_a_form() {
    let slack = Slack::start();
    let who = slack.call("auth.test", &json!({}));
    assert_eq!(
        json!([who["user"], who["user_id"], who["bot_id"]]),
        json!(["helper", "U2", "B2"])
    );
    let form = slack.raw("auth.test", &[FORM], "token=xoxb-helper");
    assert_eq!(form.json()["user_id"], "U2");
    let error = |headers: &[&str], body: &str| {
        slack.raw("auth.test", headers, body).json()["error"].clone()
    };
    assert_eq!(error(&[FORM], ""), "not_authed");
    assert_eq!(
        error(&[FORM, "Authorization: Bearer xoxb-no"], ""),
        "invalid_auth"
    );
    assert_eq!(error(&[JSON], "{"), "invalid_json");
    assert_eq!(error(&[JSON], "[]"), "json_not_object");
    assert_eq!(
        error(&["Content-Type: text/plain"], "x"),
        "invalid_post_type"
    );
    assert_eq!(
        slack.call("chat.delete", &json!({}))["error"],
        "unknown_method"
    );
}

#[test]
fn a_message_is_posted_with_metadata_and_edited_by_its_author() {
    let slack = Slack::start();
    let metadata = json!({"event_type": "daemon_output", "event_payload": {"key": "k"}});
    let blocks = json!([{"type": "section", "text": {"type": "mrkdwn", "text": "Hi"}}]);
    let ts = slack.post("Hi", json!({"metadata": metadata, "blocks": blocks}));
    let edited = slack.call(
        "chat.update",
        &json!({"channel": "C1", "ts": ts, "text": "Hello"}),
    );
    assert_eq!(
        json!([edited["ok"], edited["ts"], edited["text"]]),
        json!([true, ts, "Hello"])
    );
    let history = |all: bool| {
        slack.call(
            "conversations.history",
            &json!({"channel": "C1", "include_all_metadata": all}),
        )
    };
    let message = history(true)["messages"][0].clone();
    assert_eq!(
        json!([
            message["text"],
            message["user"],
            message["bot_id"],
            message["metadata"]
        ]),
        json!(["Hello", "U2", "B2", metadata])
    );
    assert_eq!(history(false)["messages"][0]["metadata"], Value::Null);
    let stored = slack.api.messages();
    assert_eq!(
        (stored.len(), &stored[0].metadata, stored[0].is_edited),
        (1, &metadata, true)
    );
    let other = slack.api.post("C1", "U1", "Mine");
    let refused = |ts: &str| {
        slack.call(
            "chat.update",
            &json!({"channel": "C1", "ts": ts, "text": "x"}),
        )["error"]
            .clone()
    };
    assert_eq!(
        (refused(&other), refused("1.000000")),
        (json!("cant_update_message"), json!("message_not_found"))
    );
}

#[test]
fn a_form_has_blocks_and_metadata_as_json() {
    let slack = Slack::start();
    let body = "channel=C1&text=two+words&metadata=%7B%22event_type%22%3A%22a%22%2C%22event_payload%22%3A%7B%7D%7D";
    let posted = slack
        .raw(
            "chat.postMessage",
            &[FORM, "Authorization: Bearer xoxb-helper"],
            body,
        )
        .json();
    assert_eq!(posted["ok"], true, "{posted}");
    let message = &slack.api.messages()[0];
    assert_eq!(
        (message.text.as_str(), &message.metadata["event_type"]),
        ("two words", &json!("a"))
    );
}

#[test]
fn a_message_that_cannot_be_is_refused_with_status_200() {
    let slack = Slack::start();
    let rows = [
        (json!({"channel": "C9", "text": "x"}), "channel_not_found"),
        (json!({"text": "x"}), "channel_not_found"),
        (json!({"channel": "C2", "text": "x"}), "not_in_channel"),
        (json!({"channel": "C3", "text": "x"}), "is_archived"),
        (json!({"channel": "C1"}), "no_text"),
        (
            json!({"channel": "C1", "text": "x".repeat(40_001)}),
            "msg_too_long",
        ),
        (
            json!({"channel": "C1", "text": "x", "thread_ts": "1.000000"}),
            "thread_not_found",
        ),
        (
            json!({"channel": "C1", "blocks": [{"text": "x"}]}),
            "invalid_blocks",
        ),
        (
            json!({"channel": "C1", "blocks": "["}),
            "invalid_blocks_format",
        ),
        (
            json!({"channel": "C1", "text": "x", "metadata": {"event_type": "a"}}),
            "invalid_metadata_format",
        ),
    ];
    for (body, error) in rows {
        assert_eq!(
            slack.call("chat.postMessage", &body),
            json!({"ok": false, "error": error})
        );
    }
    assert_eq!(slack.api.messages(), []);
}

#[test]
fn history_has_the_newest_first_and_threads_the_oldest() {
    let slack = Slack::start();
    let first = slack.post("first", json!({}));
    let second = slack.post("second", json!({}));
    let reply = slack.post("reply", json!({"thread_ts": first}));
    slack.post("another", json!({"thread_ts": first}));
    let channel = |more: Value| {
        let mut body = json!({"channel": "C1"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let history = |more: Value| slack.texts("conversations.history", channel(more));
    let replies = |more: Value| slack.texts("conversations.replies", channel(more));
    assert_eq!(history(json!({})), ["second", "first"]);
    assert_eq!(history(json!({"oldest": first})), ["second"]);
    assert_eq!(
        history(json!({"oldest": first, "inclusive": true})),
        ["second", "first"]
    );
    assert_eq!(history(json!({"latest": second})), ["first"]);
    assert_eq!(replies(json!({"ts": first})), ["first", "reply", "another"]);
    assert_eq!(replies(json!({"ts": reply})), ["first", "reply", "another"]);
    assert_eq!(
        replies(json!({"ts": first, "oldest": reply})),
        ["first", "another"]
    );
    assert_eq!(replies(json!({"ts": second})), ["second"]);
    let missing = slack.call("conversations.replies", &channel(json!({"ts": "1.0"})));
    assert_eq!(missing["error"], "thread_not_found");
    let parent = slack.call("conversations.history", &channel(json!({"latest": second})));
    assert_eq!(parent["messages"][0]["reply_count"], 2);
}

#[test]
fn lists_are_divided_into_pages_by_cursor() {
    let slack = Slack::start();
    for text in ["1", "2", "3"] {
        slack.post(text, json!({}));
    }
    let first = slack.call(
        "conversations.history",
        &json!({"channel": "C1", "limit": 2}),
    );
    assert_eq!(
        (
            &first["has_more"],
            first["messages"].as_array().unwrap().len()
        ),
        (&json!(true), 2)
    );
    let cursor = &first["response_metadata"]["next_cursor"];
    let rest = slack.call(
        "conversations.history",
        &json!({"channel": "C1", "limit": 2, "cursor": cursor}),
    );
    assert_eq!(
        json!([
            rest["has_more"],
            rest["messages"][0]["text"],
            rest["response_metadata"]
        ]),
        json!([false, "1", null])
    );
    let forged = slack.call(
        "conversations.history",
        &json!({"channel": "C1", "cursor": "x"}),
    );
    assert_eq!(forged["error"], "invalid_cursor");
}

#[test]
fn channels_and_users_are_found() {
    let slack = Slack::start();
    let channel = slack.call("conversations.info", &json!({"channel": "C2"}));
    assert_eq!(
        json!([channel["channel"]["name"], channel["channel"]["is_member"]]),
        json!(["name-of-C2", false])
    );
    let user = slack.call("users.info", &json!({"user": "U1"}));
    assert_eq!(
        json!([user["user"]["name"], user["user"]["is_bot"]]),
        json!(["alice", false])
    );
    assert_eq!(
        slack.call("users.info", &json!({"user": "U9"}))["error"],
        "user_not_found"
    );
}

#[test]
fn faults_have_the_form_of_slack() {
    let slack = Slack::start();
    let faults = [
        (
            "POST",
            "postMessage",
            ServiceFault::RateLimited(3, Applied::No),
        ),
        ("POST", "postMessage", ServiceFault::LostReply),
        (
            "POST",
            "postMessage",
            ServiceFault::Status(200, Applied::No),
        ),
    ];
    slack.api.server().set_faults(FaultPlan::each_once(faults));
    let post = || {
        slack.raw(
            "chat.postMessage",
            &[JSON, "Authorization: Bearer xoxb-helper"],
            r#"{"channel":"C1","text":"x"}"#,
        )
    };
    let limited = post();
    assert_eq!(
        (
            limited.status,
            limited.header("Retry-After"),
            &limited.json()["error"]
        ),
        (429, Some("3"), &json!("ratelimited"))
    );
    assert_eq!(
        (
            slack.api.messages().len(),
            post(),
            slack.api.messages().len()
        ),
        (0, Answer::default(), 1)
    );
    let failed = post();
    assert_eq!(
        (failed.status, failed.json(), slack.api.messages().len()),
        (200, json!({"ok": false, "error": "internal_error"}), 1)
    );
}
