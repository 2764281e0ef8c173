//! Parameters of operations, from a query string, a JSON body or a control request.

use std::collections::{BTreeMap, BTreeSet};

use daemon_event::RepoName;
use daemon_records::error::OpError;
use daemon_store::Query;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::Period;

/// The default number of rows of a page.
const DEFAULT_LIMIT: u32 = 50;
/// The maximum number of rows of a page.
pub(crate) const MAX_LIMIT: u32 = 500;
/// The maximum length of a request id, in bytes; as that of an `Idempotency-Key`, which becomes one.
const MAX_REQUEST_ID: usize = 256;

/// The parameters of one call. Each getter removes a parameter, and [`Params::finish`] rejects the remaining ones.
#[derive(Clone, Debug, Default)]
pub struct Params {
    map: Map<String, Value>,
    /// The names of those from a URL: text there may be a number or a flag, which it may not be in JSON.
    of_url: BTreeSet<String>,
}

impl Params {
    /// Creates parameters from the members of a JSON object.
    pub fn new(map: Map<String, Value>) -> Self {
        Self {
            map,
            of_url: BTreeSet::new(),
        }
    }

    /// Adds the parameters of a URL: of its query, or in its path.
    ///
    /// # Errors
    /// Names the first parameter that is given twice.
    pub fn with_url(
        mut self,
        parameters: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, OpError> {
        for (name, value) in parameters {
            if self.map.contains_key(&name) {
                let name = shown(&name);
                return Err(OpError::invalid(format!("`{name}` is given twice")));
            }
            self.map.insert(name.clone(), Value::String(value));
            self.of_url.insert(name);
        }
        Ok(self)
    }

    /// Sets a parameter.
    pub fn set(&mut self, name: &str, value: String) {
        self.map.insert(name.to_owned(), Value::String(value));
    }

    /// Removes and returns a string.
    ///
    /// # Errors
    /// If the parameter is not a string.
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

    /// Removes and returns a required string.
    ///
    /// # Errors
    /// If the parameter is missing or not a string.
    pub fn required(&mut self, name: &str) -> Result<String, OpError> {
        self.text(name)?
            .ok_or_else(|| OpError::invalid(format!("`{name}` is missing")))
    }

    /// Removes and returns the id of a request, by which a repetition is recognised.
    ///
    /// # Errors
    /// If the parameter is empty, too long, or has control characters.
    pub fn request_id(&mut self) -> Result<Option<String>, OpError> {
        // It becomes a part of a stored key, which could not be read back if it were empty.
        let is_valid = |id: &String| {
            (1..=MAX_REQUEST_ID).contains(&id.len()) && !id.chars().any(char::is_control)
        };
        match self.text("request_id")? {
            Some(id) if !is_valid(&id) => Err(OpError::invalid(format!(
                "`request_id` must be 1 to {MAX_REQUEST_ID} bytes without control characters"
            ))),
            id => Ok(id),
        }
    }

    /// Removes and returns a whole number, which is text in a URL.
    ///
    /// # Errors
    /// If the parameter is not a whole number.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>, OpError> {
        let refused = |value: &Value| {
            let found = shown(&value.to_string());
            OpError::invalid(format!("`{name}` must be a whole number, found {found}"))
        };
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => number
                .as_u64()
                .map(Some)
                .ok_or_else(|| refused(&Value::Number(number))),
            Some(Value::String(text)) if self.of_url.contains(name) => text
                .parse()
                .map(Some)
                .or(Err(refused(&Value::String(text)))),
            Some(other) => Err(refused(&other)),
        }
    }

    /// Removes and returns the number of rows of a page.
    ///
    /// # Errors
    /// If the parameter is not a number from 1 to 500.
    pub(super) fn limit(&mut self) -> Result<u32, OpError> {
        match self.number("limit")? {
            None => Ok(DEFAULT_LIMIT),
            Some(limit) => u32::try_from(limit)
                .ok()
                .filter(|limit| (1..=MAX_LIMIT).contains(limit))
                .ok_or_else(|| {
                    OpError::invalid(format!("`limit` must be 1 to {MAX_LIMIT}, found {limit}"))
                }),
        }
    }

    /// Returns the parameters by their names.
    pub(super) fn sorted(&self) -> BTreeMap<&str, &Value> {
        let all = self.map.iter();
        all.map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// Removes and returns a flag, which is text in a URL; a missing flag is `false`.
    ///
    /// # Errors
    /// If the parameter is neither `true` nor `false`.
    pub fn flag(&mut self, name: &str) -> Result<bool, OpError> {
        let is_of_url = self.of_url.contains(name);
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(Value::String(text)) if is_of_url && text == "true" => Ok(true),
            Some(Value::String(text)) if is_of_url && text == "false" => Ok(false),
            Some(other) => Err(OpError::invalid(format!(
                "`{name}` must be true or false, found {}",
                kind(&other)
            ))),
        }
    }

    /// Reports whether a parameter was given, and is not null.
    pub fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|value| !value.is_null())
    }

    /// Removes and returns any JSON value; null counts as missing.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// Removes and returns an instant: RFC 3339, or a span before `now`.
    ///
    /// # Errors
    /// If the parameter is neither.
    pub fn instant(&mut self, name: &str, now: Timestamp) -> Result<Option<Timestamp>, OpError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        parse_instant(&text, now).map(Some).ok_or_else(|| {
            let found: String = text.chars().take(40).collect();
            OpError::invalid(format!(
                "`{name}` must be an instant in RFC 3339, or a span such as `2h`, found `{found}`"
            ))
        })
    }

    /// Removes and returns the name of a repository.
    ///
    /// # Errors
    /// If the parameter is not a valid name.
    pub fn repo(&mut self) -> Result<Option<RepoName>, OpError> {
        match self.text("repo")? {
            None => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|error| OpError::invalid(format!("`repo`: {error}"))),
        }
    }

    /// Removes and returns the filters and the page of a listing.
    ///
    /// # Errors
    /// Names the first invalid parameter.
    pub fn query(&mut self, now: Timestamp) -> Result<Query, OpError> {
        Ok(Query {
            limit: self.limit()?,
            after: self.text("after")?,
            daemon: self.text("daemon")?,
            repo: self.repo()?,
            state: self.text("state")?,
            since: self.instant("since", now)?,
            until: self.instant("until", now)?,
        })
    }

    /// Returns the remaining parameters.
    pub fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// Checks that no parameter remains.
    ///
    /// # Errors
    /// Names the first remaining parameter.
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

impl From<Map<String, Value>> for Params {
    fn from(map: Map<String, Value>) -> Self {
        Self::new(map)
    }
}

/// Parses an instant in RFC 3339, or a span before `now`.
pub fn parse_instant(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let back: SignedDuration = text.parse::<Period>().ok()?.signed();
    now.checked_sub(back).ok()
}

/// Returns the start of a string from a caller, to be quoted in an error.
pub(super) fn shown(text: &str) -> String {
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
