//! The attributes of one event and its data.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{decoded, not_json};
use crate::delivery::{Headers, essence};
use crate::error::Malformed;

/// The member with the data, in structured mode.
const DATA: &str = "data";
/// The member with data that is not text, in structured mode.
const BINARY_DATA: &str = "data_base64";
/// The attribute with the media type of the data.
const MEDIA: &str = "datacontenttype";
/// The attributes of the format, all of which are strings.
const STRINGS: [&str; 8] = [
    "specversion",
    "id",
    "source",
    "type",
    "subject",
    "time",
    MEDIA,
    "dataschema",
];

/// One event: attributes by name, and the data.
pub(super) struct Attributes<'a> {
    values: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    data: Option<&'a RawValue>,
    has_binary_data: bool,
    /// The whole event in structured mode, if it came so.
    whole: Option<&'a str>,
}

impl<'a> Attributes<'a> {
    /// Reads the event of structured mode.
    pub(super) fn structured(event: &'a RawValue) -> Result<Self, Malformed> {
        let mut deserializer = serde_json::Deserializer::from_str(event.get());
        let members = deserializer
            .deserialize_map(MembersVisitor)
            .map_err(|error| not_json(&error))?;
        let mut attributes = Self {
            values: BTreeMap::new(),
            data: None,
            has_binary_data: false,
            whole: Some(event.get()),
        };
        let mut seen = std::collections::BTreeSet::new();
        for (name, value) in members {
            if !seen.insert(name.clone()) {
                return Err(attribute(&name, "it occurs more than once"));
            }
            match (&*name, value.get()) {
                (_, "null") => {}
                (DATA, _) => attributes.data = Some(value),
                (BINARY_DATA, text) => {
                    if !text.starts_with('"') {
                        return Err(attribute(&name, "it is not a text"));
                    }
                    attributes.has_binary_data = true;
                }
                (_, text) => {
                    if let Some(text) = text_of(&name, text)? {
                        attributes.values.insert(name, text);
                    }
                }
            }
        }
        if attributes.data.is_some() && attributes.has_binary_data {
            return Err(attribute(BINARY_DATA, "the event has `data` too"));
        }
        attributes.check_version()?;
        Ok(attributes)
    }

    /// Reads the event of binary mode.
    pub(super) fn binary(
        headers: &'a Headers,
        media: Option<&'a str>,
        data: Option<&'a RawValue>,
    ) -> Result<Self, Malformed> {
        let mut values = BTreeMap::new();
        for (name, value) in headers.with_prefix("ce-") {
            let name = name.to_ascii_lowercase();
            if [DATA, BINARY_DATA, MEDIA].contains(&&*name) {
                return Err(attribute(&name, "it is not a header of binary mode"));
            }
            let value = decoded(value);
            let value = value.ok_or_else(|| attribute(&name, "it is not percent-encoded UTF-8"))?;
            check_characters(&name, &value)?;
            if values.insert(Cow::Owned(name.clone()), value).is_some() {
                return Err(attribute(&name, "it occurs more than once"));
            }
        }
        values.extend(media.map(|media| (Cow::Borrowed(MEDIA), Cow::Borrowed(media))));
        let attributes = Self {
            values,
            data,
            has_binary_data: false,
            whole: None,
        };
        attributes.check_version()?;
        Ok(attributes)
    }

    fn check_version(&self) -> Result<(), Malformed> {
        match self.text("specversion")? {
            "1.0" => Ok(()),
            _ => Err(attribute("specversion", "it is not `1.0`")),
        }
    }

    /// Returns an attribute that every event has.
    pub(super) fn text(&self, name: &'static str) -> Result<&str, Malformed> {
        match self.values.get(name).map(|text| &**text) {
            None => Err(attribute(name, "it is missing")),
            Some("") => Err(attribute(name, "it is empty")),
            Some(text) => Ok(text),
        }
    }

    /// Returns an attribute that every event has, and that has no spaces.
    pub(super) fn word(&self, name: &'static str) -> Result<&str, Malformed> {
        let text = self.text(name)?;
        if text.contains(char::is_whitespace) {
            return Err(attribute(name, "it contains a space"));
        }
        Ok(text)
    }

    /// Returns the time of the event, if it has one.
    pub(super) fn time(&self) -> Result<Option<Timestamp>, Malformed> {
        let Some(text) = self.values.get("time") else {
            return Ok(None);
        };
        let parsed = text.parse().ok();
        let wrong = || attribute("time", "it is not a time of RFC 3339 with an offset");
        parsed.ok_or_else(wrong).map(Some)
    }

    /// Returns the data, which has to be JSON.
    pub(super) fn json_data(&self) -> Result<&'a RawValue, Malformed> {
        if self.has_binary_data {
            return Err(attribute(BINARY_DATA, "the data of this type is JSON"));
        }
        if self.values.get(MEDIA).is_some_and(|media| !is_json(media)) {
            return Err(attribute(MEDIA, "the data of this type is JSON"));
        }
        self.data.ok_or_else(|| attribute(DATA, "it is missing"))
    }

    /// Returns the event in structured mode.
    pub(super) fn whole(&self) -> Cow<'a, str> {
        if let Some(whole) = self.whole {
            return Cow::Borrowed(whole);
        }
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut members: Vec<String> = self
            .values
            .iter()
            .map(|(name, value)| format!("{}:{}", quoted(name), quoted(value)))
            .collect();
        members.extend(self.data.map(|data| format!("\"{DATA}\":{}", data.get())));
        Cow::Owned(format!("{{{}}}", members.join(",")))
    }
}

/// Reports whether a media type is one of JSON.
pub(super) fn is_json(media: &str) -> bool {
    let essence = essence(media.as_bytes()).to_ascii_lowercase();
    essence == b"application/json" || essence == b"text/json" || essence.ends_with(b"+json")
}

/// Creates the error of an attribute; only the beginning of its name is kept.
pub(super) fn attribute(name: &str, reason: &'static str) -> Malformed {
    let place = name.chars().take(80).flat_map(char::escape_default);
    Malformed::Attribute {
        place: place.collect(),
        reason,
    }
}

/// Reads the value of an attribute; `None` for an extension that is a number or a boolean.
fn text_of<'a>(name: &str, value: &'a str) -> Result<Option<Cow<'a, str>>, Malformed> {
    if !value.starts_with('"') {
        let is_string = STRINGS.contains(&name);
        return match value.as_bytes().first() {
            Some(b'{' | b'[') => Err(attribute(name, "an attribute is no object and no list")),
            _ if is_string => Err(attribute(name, "it is not a text")),
            _ => Ok(None),
        };
    }
    let text: serde_json::Result<String> = serde_json::from_str(value);
    // A lone surrogate.
    let text = text.map_err(|error| not_json(&error))?;
    check_characters(name, &text)?;
    Ok(Some(Cow::Owned(text)))
}

fn check_characters(name: &str, text: &str) -> Result<(), Malformed> {
    match text.contains(char::is_control) {
        true => Err(attribute(name, "it contains a control character")),
        false => Ok(()),
    }
}

/// Collects the members of an object, repeated ones included.
struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            members.push((Cow::Owned(name), map.next_value()?));
        }
        Ok(members)
    }
}
