//! Messages and replies: written with metadata, by which a look-up finds them.

use daemon_engine::proposal::OutputVerb;
use daemon_engine::{Found, RemoteId};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Account, Job, call};
use crate::api::{ApiError, ApiErrorKind};
use crate::text::cut;

/// The type of the metadata.
const EVENT_TYPE: &str = "daemon_output";
/// How many pages of a channel or thread a look-up reads.
const MAX_PAGES: usize = 10;
/// How far the clocks of this host and of Slack may differ.
const SKEW: SignedDuration = SignedDuration::from_hours(24);
/// The longest text of one block, and how many of them a message gets.
const BLOCK: usize = 3_000;
const MAX_BLOCKS: usize = 12;

#[derive(Debug, Deserialize)]
struct Posted {
    ts: String,
}

#[derive(Debug, Deserialize)]
struct History {
    #[serde(default)]
    messages: Vec<MessageRow>,
    #[serde(default)]
    response_metadata: Option<Cursor>,
}

#[derive(Debug, Default, Deserialize)]
struct Cursor {
    #[serde(default)]
    next_cursor: String,
}

#[derive(Debug, Deserialize)]
struct MessageRow {
    ts: String,
    user: Option<String>,
    bot_id: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    event_payload: Value,
}

impl MessageRow {
    /// Reports whether it was written before a second of Unix time.
    fn is_before(&self, second: i64) -> bool {
        let written = self
            .ts
            .split('.')
            .next()
            .and_then(|text| text.parse::<i64>().ok());
        written.is_some_and(|written| written < second)
    }

    /// Reports whether it carries this output's key and was written by us.
    fn is_ours(&self, key: &str, account: &Account) -> bool {
        let metadata = self.metadata.as_ref();
        let is_marked = metadata.is_some_and(|metadata| metadata.event_payload["output"] == key);
        let is_user = self.user.as_deref() == Some(account.user_id.as_str());
        let is_bot = self.bot_id.is_some() && self.bot_id == account.bot_id;
        is_marked && (is_user || is_bot)
    }
}

pub(super) async fn find(job: &Job<'_>) -> Result<Found, ApiError> {
    let found = search(job).await;
    match found {
        Err(error) if is_closed(&error) => Ok(Found::Unreadable),
        found => found,
    }
}

/// Reports whether the token has no right to read the channel.
fn is_closed(error: &ApiError) -> bool {
    matches!(error.kind, ApiErrorKind::Refused(_)) && error.says("missing_scope")
}

async fn search(job: &Job<'_>) -> Result<Found, ApiError> {
    let (account, key) = (job.surface.account().await?, job.output.key.as_str());
    if let Some(ts) = edited(job) {
        let only = [("oldest", ts), ("latest", ts), ("inclusive", "true")];
        let history = page(job, &only).await?;
        match history.messages.iter().find(|row| row.ts == ts) {
            Some(row) if row.is_ours(key, &account) => {
                return Ok(Found::At(remote(job, &account, ts)));
            }
            Some(_) => return Ok(Found::Absent),
            // It was deleted, and a new one may have been written.
            None => {}
        }
    }
    let oldest = (job.output.created_at - SKEW).as_second();
    let mut cursor = String::new();
    for _ in 0..MAX_PAGES {
        let history = page(job, &[("cursor", &cursor)]).await?;
        let ours = history
            .messages
            .iter()
            .find(|row| row.is_ours(key, &account));
        if let Some(row) = ours {
            return Ok(Found::At(remote(job, &account, &row.ts)));
        }
        cursor = history.response_metadata.unwrap_or_default().next_cursor;
        // A channel begins with the newest message, a thread with the oldest.
        let last = history.messages.last().filter(|_| job.thread.is_none());
        if cursor.is_empty() || last.is_some_and(|row| row.is_before(oldest)) {
            return Ok(Found::Absent);
        }
    }
    Ok(Found::Unreadable)
}

/// Gets messages of the channel or of the thread.
async fn page(job: &Job<'_>, more: &[(&str, &str)]) -> Result<History, ApiError> {
    let (method, thread) = match job.thread {
        Some(thread) => ("conversations.replies", thread),
        None => ("conversations.history", ""),
    };
    let own = [
        ("channel", job.channel),
        ("ts", thread),
        ("limit", "200"),
        ("include_all_metadata", "true"),
    ];
    let all = own.iter().chain(more).copied();
    let query: Vec<(&str, &str)> = all.filter(|(_, value)| !value.is_empty()).collect();
    call::get(job.api, method, &query).await
}

/// Writes a message, or replaces the one in the slot; one that was deleted is written again.
pub(super) async fn deliver(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let account = job.surface.account().await?;
    let mut body = message(job);
    if let Some(ts) = edited(job) {
        body["ts"] = ts.into();
        match call::write::<Posted>(job.api, "chat.update", &body).await {
            Ok(posted) => return Ok(remote(job, &account, &posted.ts)),
            Err(error) if error.is_absent() => body = message(job),
            Err(error) => return Err(error),
        }
    }
    if let Some(thread) = job.thread.filter(|_| job.act.verb == OutputVerb::Reply) {
        body["thread_ts"] = thread.into();
    }
    let posted: Posted = call::write(job.api, "chat.postMessage", &body).await?;
    Ok(remote(job, &account, &posted.ts))
}

fn message(job: &Job<'_>) -> Value {
    let text = job.act.fields.text("body").unwrap_or_default();
    let text = cut(text.trim_end(), BLOCK * MAX_BLOCKS);
    let chars: Vec<char> = text.chars().collect();
    let mut blocks: Vec<Value> = chars
        .chunks(BLOCK)
        .map(|part| {
            let part: String = part.iter().collect();
            json!({"type": "section", "text": {"type": "mrkdwn", "text": part, "verbatim": true}})
        })
        .collect();
    let footer = json!({"type": "mrkdwn", "text": job.mark.footer(), "verbatim": true});
    blocks.push(json!({"type": "context", "elements": [footer]}));
    json!({
        "channel": job.channel,
        "text": text,
        "blocks": blocks,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
        "metadata": {
            "event_type": EVENT_TYPE,
            "event_payload": {
                "daemon": job.output.daemon.id.as_str(),
                "activation": job.output.activation.as_str(),
                "output": job.output.key.as_str(),
            },
        },
    })
}

/// Returns the time stamp of the message in the slot.
fn edited<'j>(job: &'j Job<'_>) -> Option<&'j str> {
    let (channel, ts) = job
        .content
        .edits
        .as_deref()?
        .strip_prefix("message:")?
        .split_once('/')?;
    let is_stamp = ts.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (channel == job.channel && is_stamp).then_some(ts)
}

fn remote(job: &Job<'_>, account: &Account, ts: &str) -> RemoteId {
    let channel = job.channel;
    let url = account.url.as_deref().map(|workspace| {
        let workspace = workspace.trim_end_matches('/');
        format!("{workspace}/archives/{channel}/p{}", ts.replace('.', ""))
    });
    RemoteId {
        id: format!("message:{channel}/{ts}"),
        url,
        revision: None,
    }
}
