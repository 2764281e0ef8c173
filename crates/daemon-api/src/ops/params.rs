//! Parameters of operations, from a query string, a JSON body or a control request alike.

use daemon_event::RepoName;
use daemon_store::Query;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::Period;
use daemon_runner::error::OpError;

/// The rows of a listing where nothing else is asked.
const DEFAULT_LIMIT: u32 = 50;
/// The most rows of one page.
const MAX_LIMIT: u32 = 500;

/// The parameters of one call; whatever is not taken out is refused by [`Params::finish`].
#[derive(Debug)]
pub struct Params {
    map: Map<String, Value>,
}

impl Params {
    /// Takes the members of a JSON object.
    pub fn new(map: Map<String, Value>) -> Self {
        Self { map }
    }

    /// Takes out a text.
    ///
    /// # Errors
    /// If it is there and is not a text.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, OpError> {
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(OpError::invalid(format!(
                "`{name}` must be text, found {}",
                kind(&other)
            ))),
        }
    }

    /// Takes out a text that must be there.
    ///
    /// # Errors
    /// If it is missing or is not a text.
    pub fn required(&mut self, name: &str) -> Result<String, OpError> {
        self.text(name)?
            .ok_or_else(|| OpError::invalid(format!("`{name}` is missing")))
    }

    /// Takes out a whole number, which a query string writes as text.
    ///
    /// # Errors
    /// If it is there and is not a whole number.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>, OpError> {
        let refused = |value: &Value| {
            OpError::invalid(format!("`{name}` must be a whole number, found {value}"))
        };
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => number
                .as_u64()
                .map(Some)
                .ok_or_else(|| refused(&Value::Number(number))),
            Some(Value::String(text)) => text
                .parse()
                .map(Some)
                .or(Err(refused(&Value::String(text)))),
            Some(other) => Err(refused(&other)),
        }
    }

    /// Takes out a flag, which a query string writes as text; one that is not there is not set.
    ///
    /// # Errors
    /// If it is there and is neither `true` nor `false`.
    pub fn flag(&mut self, name: &str) -> Result<bool, OpError> {
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(OpError::invalid(format!(
                "`{name}` must be true or false, found {}",
                kind(&other)
            ))),
        }
    }

    /// Takes out any JSON value.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// Takes out an instant: RFC 3339, or a span that counts back from `now`.
    ///
    /// # Errors
    /// If it is there and is neither.
    pub fn instant(&mut self, name: &str, now: Timestamp) -> Result<Option<Timestamp>, OpError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        parse_instant(&text, now).map(Some).ok_or_else(|| {
            OpError::invalid(format!(
                "`{name}` must be an instant in RFC 3339, or a span such as `2h`"
            ))
        })
    }

    /// Takes out a repository's name.
    ///
    /// # Errors
    /// If it is there and no repository can have that name.
    pub fn repo(&mut self) -> Result<Option<RepoName>, OpError> {
        match self.text("repo")? {
            None => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|error| OpError::invalid(format!("`repo`: {error}"))),
        }
    }

    /// Takes out what restricts a listing.
    ///
    /// # Errors
    /// Names the first that makes no sense.
    pub fn query(&mut self, now: Timestamp) -> Result<Query, OpError> {
        let limit = match self.number("limit")? {
            None => DEFAULT_LIMIT,
            Some(limit) => u32::try_from(limit)
                .ok()
                .filter(|limit| (1..=MAX_LIMIT).contains(limit))
                .ok_or_else(|| {
                    OpError::invalid(format!("`limit` must be 1 to {MAX_LIMIT}, found {limit}"))
                })?,
        };
        Ok(Query {
            limit,
            after: self.text("after")?,
            daemon: self.text("daemon")?,
            repo: self.repo()?,
            state: self.text("state")?,
            since: self.instant("since", now)?,
            until: self.instant("until", now)?,
        })
    }

    /// Returns what was not taken out.
    pub fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// Refuses what no operation took.
    ///
    /// # Errors
    /// Names the first parameter that is not known.
    pub fn finish(self) -> Result<(), OpError> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(name) => Err(OpError::invalid(format!(
                "`{}` is not a parameter here",
                shown(name)
            ))),
        }
    }
}

/// Reads an instant in RFC 3339, or a span that counts back from `now`.
pub fn parse_instant(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let back: SignedDuration = text.parse::<Period>().ok()?.signed();
    now.checked_sub(back).ok()
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
