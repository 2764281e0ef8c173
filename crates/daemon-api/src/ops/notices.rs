//! Operations on notices: the ends of runs, and reminders.

use daemon_agent::{Dismissed, NewReminder, Recipient};
use daemon_records::error::OpError;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::{Operations, Params, conversations, object};

/// The channel of the ends of runs.
const SYSTEM: &str = "system";
/// The channel of reminders.
const CRON: &str = "cron";

impl Operations {
    pub(super) async fn notice_list(&self, params: Params) -> Result<Map<String, Value>, OpError> {
        params.finish()?;
        let system = self.live.notices().await?;
        let cron = self.conversations()?.reminder_notice().await?;
        let mut notices = Vec::new();
        for (channel, notice) in [(SYSTEM, system), (CRON, cron)] {
            let mut members = Map::from_iter([("channel".to_owned(), json!(channel))]);
            members.extend(object(notice)?);
            notices.push(Value::Object(members));
        }
        Ok(Map::from_iter([("notices".to_owned(), notices.into())]))
    }

    pub(super) async fn notice_remind(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let at = due(&mut params, self.live.now())?;
        let text = params.required("text")?;
        let recipient = recipient(&mut params)?;
        params.finish()?;
        let new = NewReminder {
            at,
            text,
            recipient,
        };
        let id = self.conversations()?.remind(new).await?;
        let id = ("id".to_owned(), json!(id));
        Ok(Map::from_iter([
            id,
            ("at".to_owned(), json!(at.to_string())),
        ]))
    }

    pub(super) async fn notice_dismiss(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let channel = params.required("channel")?;
        let id = params.number("id")?;
        params.finish()?;
        let n_dismissed = match (channel.as_str(), id) {
            (SYSTEM, None) => self.live.dismiss_notices().await?,
            (SYSTEM, Some(_)) => return Err(OpError::invalid("`id` is for reminders")),
            (CRON, id) => {
                let which = id.map_or(Dismissed::All, Dismissed::One);
                let n_dismissed = self.conversations()?.dismiss_reminders(which).await?;
                match id {
                    Some(id) if n_dismissed == 0 => {
                        return Err(OpError::not_found("reminder", &id.to_string()));
                    }
                    _ => n_dismissed,
                }
            }
            _ => {
                let message = format!("`channel` must be `{SYSTEM}` or `{CRON}`");
                return Err(OpError::invalid(message));
            }
        };
        Ok(Map::from_iter([(
            "dismissed".to_owned(),
            json!(n_dismissed),
        )]))
    }
}

/// Takes when a reminder is due: an instant, or a number of seconds from now.
fn due(params: &mut Params, now: Timestamp) -> Result<Timestamp, OpError> {
    let (at, seconds) = (params.text("at")?, params.number("in_seconds")?);
    let invalid = |what: &str| OpError::invalid(what.to_owned());
    match (at, seconds) {
        (Some(at), None) => {
            let at = at.parse();
            at.or(Err(invalid("`at` must be an instant in RFC 3339")))
        }
        (None, Some(seconds)) => {
            let seconds = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
            let at = now.checked_add(seconds);
            at.or(Err(invalid("`in_seconds` is too large")))
        }
        _ => Err(invalid("give `at` or `in_seconds`")),
    }
}

/// Takes who is reminded: a conversation, or the client of an address, which is that of the owner by default.
fn recipient(params: &mut Params) -> Result<Recipient, OpError> {
    if params.has("agent") || params.has("sender") {
        return Ok(Recipient::conversation(&conversations::pair(params)?));
    }
    let parent = params.text("parent_addr")?;
    let own = || format!("cli:{}", rustix::process::geteuid().as_raw());
    Ok(Recipient::Parent(parent.unwrap_or_else(own)))
}
