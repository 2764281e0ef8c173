//! Webhooks in process: verified, read, matched.

use std::hint::black_box;

use anyhow::{Result, ensure};
use daemon_event::{Event, EventId};
use daemon_ingest::{Delivery, Github, Headers, Secrets, WebhookSource as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;

use super::watch::Scene;
use crate::kit::{Contender, measure as measure_all};
use crate::report::{Row, times};
use crate::webhook::{SECRET, signature};

/// The fields of a user, a repository and a pull request that GitHub fills with addresses.
const USER: [&str; 12] = [
    "avatar",
    "events",
    "followers",
    "following",
    "gists",
    "gravatar",
    "html",
    "organizations",
    "received_events",
    "repos",
    "starred",
    "subscriptions",
];
const REPOSITORY: [&str; 32] = [
    "archive",
    "assignees",
    "blobs",
    "branches",
    "clone",
    "collaborators",
    "comments",
    "commits",
    "compare",
    "contents",
    "contributors",
    "deployments",
    "downloads",
    "events",
    "forks",
    "git_commits",
    "git_refs",
    "git_tags",
    "git",
    "hooks",
    "html",
    "issue_comment",
    "issue_events",
    "issues",
    "keys",
    "labels",
    "languages",
    "merges",
    "milestones",
    "mirror",
    "notifications",
    "pulls",
];
const PULL: [&str; 9] = [
    "comments",
    "commits",
    "diff",
    "html",
    "issue",
    "patch",
    "review_comment",
    "review_comments",
    "statuses",
];
const MOST_OVER_HMAC: f64 = 2.5;
const MUST_BEAT: f64 = 3.0;
const MOST_MATCHED: f64 = 1e9 / 30_000.0;

/// One signed webhook.
struct Signed {
    body: Vec<u8>,
    headers: Headers,
}

impl Signed {
    /// Makes the webhook of an opened pull request, with a description of some length.
    fn new(repo: &str, description: usize) -> Result<Self> {
        let body = serde_json::to_vec(&pull_request(repo, description))?;
        let headers = Headers::new([
            ("X-GitHub-Event", "pull_request".to_owned()),
            (
                "X-GitHub-Delivery",
                "72d3162e-cc78-11e3-81ab-4c9367dc0958".to_owned(),
            ),
            ("X-Hub-Signature-256", signature(&body)?),
            ("Content-Type", "application/json".to_owned()),
        ]);
        Ok(Self { body, headers })
    }

    fn accept(&self, github: &Github, at: Timestamp) -> Result<Vec<Event>> {
        let delivery = Delivery {
            headers: &self.headers,
            body: &self.body,
            received_at: at,
            event_id: EventId::new(1, [7; 10]),
        };
        github.admit(&self.headers)?;
        github.verify(&delivery)?;
        Ok(github.events(&delivery)?)
    }
}

/// Accepts one webhook, compared with reading it into a tree and with its HMAC alone.
pub(super) fn measure() -> Result<Row> {
    let (github, at) = (Github::new(Secrets::new([SECRET])?), Timestamp::UNIX_EPOCH);
    let signed = Signed::new("acme/kettle-10", 400)?;
    ensure!(signed.accept(&github, at)?.len() == 1, "it is one event");
    let samples = measure_all(vec![
        Contender::new("daemon-ingest", 1, || {
            black_box(signed.accept(&github, at).is_ok());
        }),
        Contender::new("serde_json::Value", 1, || {
            black_box(serde_json::from_slice::<Value>(black_box(&signed.body)).is_ok());
        }),
        Contender::new("HMAC-SHA256 of the body", 1, || {
            let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes());
            let mac = mac.map(|mac| mac.chain_update(black_box(&signed.body)).finalize());
            black_box(mac.is_ok());
        }),
    ]);
    let [ours, tree, mac] = &samples[..] else {
        unreachable!("three contenders went in")
    };
    let over = ours.median / mac.median;
    Ok(Row::new("accept", "verify and read one signed webhook of GitHub, in process", ours)
        .compared_with(ours, tree)
        .limited_by(ours, mac)
        .must_beat(ours, tree, MUST_BEAT)
        .must(
            format!("≤ {MOST_OVER_HMAC} × {}", mac.name),
            times(over),
            over <= MOST_OVER_HMAC,
        )
        .note(format!(
            "An opened pull request, {} bytes, with the addresses that GitHub sends. The tree is of an unverified body.",
            signed.body.len()
        )))
}

/// Accepts and matches one webhook.
pub(super) fn matched() -> Result<Row> {
    let (github, at) = (Github::new(Secrets::new([SECRET])?), Timestamp::UNIX_EPOCH);
    let index = Scene::new(1_000)?.index();
    let signed = Signed::new("acme/kettle-10", 1_400)?;
    let mut acc = Vec::new();
    let samples = measure_all(vec![Contender::new(
        "daemon-ingest, daemon-watch",
        1,
        || {
            acc.clear();
            for event in signed.accept(&github, at).unwrap_or_default() {
                index.matches(&event, &mut acc);
            }
            black_box(&acc);
        },
    )]);
    ensure!(!acc.is_empty(), "the webhook wakes nothing");
    let [ours] = &samples[..] else {
        unreachable!("one contender went in")
    };
    Ok(Row::new(
        "accept-match",
        "verify, read and match one signed webhook, 10,000 daemons × 3 conditions over 1,000 repositories",
        ours,
    )
    .must_take_at_most(ours, MOST_MATCHED)
    .note(format!("An opened pull request, {} bytes.", signed.body.len())))
}

fn pull_request(repo: &str, description: usize) -> Value {
    let side = |label: &str, sha: &str| json!({"label": format!("acme:{label}"), "ref": label, "sha": sha, "user": user("acme"), "repo": repository(repo)});
    let mut pull = with_addresses(&format!("repos/{repo}/pulls/7"), &PULL);
    pull["number"] = json!(7);
    pull["state"] = json!("open");
    pull["title"] = json!("Warm the lid before it opens");
    pull["body"] = json!("Warm \"lid\" \\ first.\n".repeat(description / 20));
    pull["user"] = user("ann");
    pull["labels"] = json!([{"id": 1, "name": "area-10", "color": "ededed"}]);
    pull["draft"] = json!(false);
    pull["merged"] = json!(false);
    pull["created_at"] = json!("2026-11-20T08:00:00Z");
    pull["updated_at"] = json!("2026-11-20T08:00:00Z");
    pull["head"] = side("topic", "4be1c07d3f0f3a9a5c0d4c1f6d1c6c5f3a2b1c0d");
    pull["base"] = side("main", "9a5c0d4c1f6d1c6c5f3a2b1c0d4be1c07d3f0f3a");
    json!({
        "action": "opened", "number": 7, "pull_request": pull, "repository": repository(repo), "sender": user("ann"),
    })
}

fn user(login: &str) -> Value {
    let mut user = with_addresses(&format!("users/{login}"), &USER);
    user["login"] = json!(login);
    user["id"] = json!(1_024_025);
    user["type"] = json!("User");
    user["site_admin"] = json!(false);
    user
}

fn repository(name: &str) -> Value {
    let mut repository = with_addresses(&format!("repos/{name}"), &REPOSITORY);
    repository["id"] = json!(35_129_377);
    repository["full_name"] = json!(name);
    repository["name"] = json!(name.rsplit('/').next());
    repository["private"] = json!(false);
    repository["default_branch"] = json!("main");
    repository["owner"] = user("acme");
    repository
}

fn with_addresses(path: &str, fields: &[&str]) -> Value {
    let fields = fields.iter().map(|field| {
        let address = format!("https://api.github.example/{path}/{field}");
        (format!("{field}_url"), Value::String(address))
    });
    Value::Object(fields.collect())
}
