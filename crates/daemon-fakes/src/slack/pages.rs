//! Pages of channels.

use std::time::Duration;

use serde_json::Value;

use super::state::{SlackChannel, SlackMessage, SlackState};
use crate::clock::to_seconds_text;
use crate::html::{document, entry, escape, markdown};
use crate::http::decode;

/// Returns the page at a path; `None` if the path names nothing.
pub(crate) fn page(state: &SlackState, path: &str) -> Option<String> {
    match path.strip_prefix("/slack") {
        None if path == "/" => Some(list(state)),
        None => None,
        Some("" | "/") => Some(list(state)),
        Some(rest) => Some(channel(
            state,
            state.channel(&decode(rest.strip_prefix('/')?))?,
        )),
    }
}

fn list(state: &SlackState) -> String {
    let row = |channel: &SlackChannel| {
        let (id, name) = (escape(&channel.id), escape(&channel.name));
        format!("<li><a href=\"/slack/{id}\"># {name}</a></li>")
    };
    let rows: String = state.channels.iter().map(row).collect();
    document(
        "slack",
        "Channels",
        &format!("<h1>Channels</h1><ul>{rows}</ul>"),
    )
}

fn channel(state: &SlackState, channel: &SlackChannel) -> String {
    let name = format!("# {}", channel.name);
    let mut acc = format!(
        "<p class=quiet><a href=\"/slack\">Channels</a></p><h1><b>{}</b></h1>",
        escape(&name)
    );
    let of_channel = || state.messages.iter().filter(|it| it.channel == channel.id);
    for first in of_channel().filter(|it| !it.is_reply()) {
        acc.push_str(&shown(state, first));
        let replies =
            of_channel().filter(|it| it.is_reply() && it.thread_ts.as_ref() == Some(&first.ts));
        let replies: String = replies.map(|reply| shown(state, reply)).collect();
        if !replies.is_empty() {
            acc.push_str("<div class=thread>");
            acc.push_str(&replies);
            acc.push_str("</div>");
        }
    }
    document("slack", &name, &acc)
}

fn shown(state: &SlackState, message: &SlackMessage) -> String {
    let author = state.user(&message.user);
    let author = author.map_or(message.user.as_str(), |user| user.name.as_str());
    let seconds = message.ts.split('.').next().and_then(|it| it.parse().ok());
    let time = to_seconds_text(Duration::from_secs(seconds.unwrap_or_default())).replace('T', " ");
    let what = if message.is_edited { "(edited)" } else { "" };
    let text = match block_texts(&message.blocks) {
        texts if texts.is_empty() => message.text.clone(),
        texts => texts.join("\n"),
    };
    entry(author, what, &time, &markdown(&text))
}

/// Returns what sections and contexts say.
fn block_texts(blocks: &Value) -> Vec<String> {
    let blocks = blocks.as_array().into_iter().flatten();
    let texts = blocks.flat_map(|block| {
        let elements = block["elements"].as_array().into_iter().flatten();
        std::iter::once(&block["text"]["text"]).chain(elements.map(|element| &element["text"]))
    });
    texts
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}
