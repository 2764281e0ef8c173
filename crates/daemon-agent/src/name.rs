//! The names of agents and senders, and the pair that identifies a conversation.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// The longest name of an agent, in bytes.
const MAX_NAME: usize = 64;
/// The longest name of a sender, in bytes.
const MAX_SENDER: usize = 256;
/// The characters of a sender that its file name shows.
const SLUG_CHARS: usize = 32;

/// A string that is no name of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPairPart {
    /// The name of an agent.
    #[error(
        "an agent is named by 1 to {MAX_NAME} small letters, digits and hyphens, and begins with no hyphen"
    )]
    AgentDefinition,
    /// The name of a sender.
    #[error("a sender is named by 1 to {MAX_SENDER} bytes without control characters")]
    Sender,
}

/// The name of an agent: `[a-z0-9][a-z0-9-]{0,63}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentName(String);

impl AgentName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentName {
    type Err = InvalidPairPart;

    fn from_str(text: &str) -> Result<Self, InvalidPairPart> {
        if is_plain_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidPairPart::AgentDefinition)
        }
    }
}

/// Reports whether a string is `[a-z0-9][a-z0-9-]{0,63}`, so that a file can have it as its name.
pub fn is_plain_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut bytes = text.bytes();
    text.len() <= MAX_NAME
        && bytes.next().is_some_and(is_plain)
        && bytes.all(|byte| is_plain(byte) || byte == b'-')
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name as text in a stored row.
pub(crate) mod as_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::AgentName;

    pub(crate) fn serialize<S: Serializer>(name: &AgentName, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<AgentName, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// A string that is no name of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a skill is named by 1 to {MAX_NAME} small letters, digits and hyphens, and begins with no hyphen"
)]
pub struct InvalidSkillName;

/// The name of a skill: `[a-z0-9][a-z0-9-]{0,63}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SkillName(String);

impl SkillName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SkillName {
    type Err = InvalidSkillName;

    fn from_str(text: &str) -> Result<Self, InvalidSkillName> {
        if is_plain_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSkillName)
        }
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who talks to an agent, by the exact bytes that a client gave.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sender(String);

impl Sender {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Sender {
    type Err = InvalidPairPart;

    fn from_str(text: &str) -> Result<Self, InvalidPairPart> {
        if (1..=MAX_SENDER).contains(&text.len()) && !text.chars().any(char::is_control) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidPairPart::Sender)
        }
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What identifies a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The agent.
    pub agent: AgentName,
    /// The sender.
    pub sender: Sender,
}

impl Pair {
    /// Returns the name of the files of the conversation, without an extension: the agent, a readable part of the sender, and a
    /// hash by which names of senders that look alike differ.
    pub fn file_stem(&self) -> String {
        let hash = self.hash();
        match slug(self.sender.as_str()) {
            slug if slug.is_empty() => format!("{}.{hash}", self.agent),
            slug => format!("{}.{slug}.{hash}", self.agent),
        }
    }

    /// Returns 16 digits of the hash of the pair.
    pub fn hash(&self) -> String {
        // No name contains the byte between them, so two pairs never have one text.
        let text = format!("{}\0{}", self.agent, self.sender);
        let digest = Sha256::digest(text.as_bytes());
        digest
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

fn slug(sender: &str) -> String {
    let mut acc = String::new();
    for c in sender.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => acc.push(c),
            _ if !acc.is_empty() && !acc.ends_with('-') => acc.push('-'),
            _ => {}
        }
        if acc.len() >= SLUG_CHARS {
            break;
        }
    }
    acc.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(sender: &str) -> Pair {
        Pair {
            agent: "scout".parse().unwrap(),
            sender: sender.parse().unwrap(),
        }
    }

    #[test]
    fn senders_that_look_alike_have_files_of_their_own() {
        let stems = ["im:1", "im.1", "IM:1"].map(|sender| pair(sender).file_stem());
        assert_eq!(
            stems,
            [
                "scout.im-1.5553fccd792dd848",
                "scout.im-1.913f118ae6266209",
                "scout.im-1.18c4c5e3345c8185"
            ]
        );
    }

    #[test]
    fn no_name_can_leave_the_directory_of_the_files() {
        for text in ["", "../x", "/x", "a/b", "A", "-a", "a\0", &"a".repeat(65)] {
            assert_eq!(
                text.parse::<AgentName>(),
                Err(InvalidPairPart::AgentDefinition),
                "{text}"
            );
        }
        for text in ["", "a\0", "a\nb", &"a".repeat(257)] {
            assert_eq!(
                text.parse::<Sender>(),
                Err(InvalidPairPart::Sender),
                "{text}"
            );
        }
        assert!(pair("../../etc").file_stem().starts_with("scout.etc."));
        assert!(pair("…").file_stem().starts_with("scout."));
    }
}
