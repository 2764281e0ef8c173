//! Outputs: effects on surfaces, each sent once.

use std::fmt;
use std::str::FromStr;

use daemon_event::{ActivationId, DaemonKey, InvalidId};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::activation::{Activation, ActivationState};
use crate::delivery::Settlement;

/// The idempotency key of one output: 26 base32 characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutputKey(Box<str>);

impl OutputKey {
    /// Derives the key from what identifies the output.
    pub fn derive(activation: &ActivationId, ordinal: u32, surface: &str, target: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [activation.as_str(), &ordinal.to_string(), surface, target] {
            hash.update(
                u64::try_from(part.len())
                    .expect("a length fits")
                    .to_be_bytes(),
            );
            hash.update(part);
        }
        Self(base32(&hash.finalize()[..17])[..26].into())
    }

    /// Returns the 26 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let (mut text, mut wide, mut bits) = (String::new(), 0_u32, 0_u32);
    for byte in bytes {
        wide = (wide << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            let place = usize::try_from((wide >> bits) & 31).expect("five bits fit");
            text.push(char::from(ALPHABET[place]));
        }
        wide &= (1 << bits) - 1;
    }
    text
}

impl FromStr for OutputKey {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let shaped = text.len() == 26
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b));
        if shaped {
            Ok(Self(text.into()))
        } else {
            Err(InvalidId::new(text, "an output key"))
        }
    }
}

impl fmt::Display for OutputKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where an output stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputState {
    /// A validator said no; nothing is sent.
    Refused,
    /// To be sent.
    Planned,
    /// Being sent.
    Sending,
    /// Sent or not, nobody knows: look it up before anything else.
    Ambiguous,
    /// On the surface; its remote id is stored.
    Confirmed,
    /// Nothing can be read back: never sent again, shown to a person.
    Unknown,
    /// The surface refused it, or a day of retries went by.
    GaveUp,
}

impl OutputState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Refused,
        Self::Planned,
        Self::Sending,
        Self::Ambiguous,
        Self::Confirmed,
        Self::Unknown,
        Self::GaveUp,
    ];

    /// Returns the word used in rows and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Planned => "planned",
            Self::Sending => "sending",
            Self::Ambiguous => "ambiguous",
            Self::Confirmed => "confirmed",
            Self::Unknown => "unknown",
            Self::GaveUp => "gave_up",
        }
    }

    /// Reports whether nothing more is sent.
    pub fn is_settled(self) -> bool {
        matches!(
            self,
            Self::Refused | Self::Confirmed | Self::Unknown | Self::GaveUp
        )
    }
}

impl FromStr for OutputState {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| InvalidId::new(text, "an output state"))
    }
}

/// An output before it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewOutput {
    /// Its key.
    pub key: OutputKey,
    /// Its place among the outputs of its activation, from 0.
    pub ordinal: u32,
    /// The surface: `git`.
    pub surface: String,
    /// Where on the surface: a branch's full name.
    pub target: String,
    /// What the surface needs to deliver it, as JSON text that only the surface reads.
    pub content: String,
    /// What it puts there, where the surface has a name for that: a commit.
    pub revision: Option<String>,
    /// [`OutputState::Planned`], or [`OutputState::Refused`] with `error`.
    pub state: OutputState,
    /// Why it was refused.
    pub error: Option<String>,
}

/// One effect on a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its key.
    pub key: OutputKey,
    /// The activation that proposed it.
    pub activation: ActivationId,
    /// The daemon of that activation.
    pub daemon: DaemonKey,
    /// Its place among the outputs of its activation, from 0.
    pub ordinal: u32,
    /// The surface.
    pub surface: String,
    /// Where on the surface.
    pub target: String,
    /// What the surface needs to deliver it.
    pub content: String,
    /// What it puts there, where the surface has a name for that.
    pub revision: Option<String>,
    /// Where it stands.
    pub state: OutputState,
    /// The surface's own id for it.
    pub remote_id: Option<String>,
    /// Where a person can look at it.
    pub url: Option<String>,
    /// How often it was sent.
    pub attempts: u32,
    /// The earliest next try.
    pub not_before: Timestamp,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it was confirmed.
    pub delivered_at: Option<Timestamp>,
    /// The newest trouble.
    pub error: Option<String>,
}

impl Output {
    /// Makes the stored form of an output that an attempt of this activation proposed.
    pub fn new(new: NewOutput, activation: &Activation, at: Timestamp) -> Self {
        Self {
            key: new.key,
            activation: activation.id.clone(),
            daemon: activation.daemon.clone(),
            ordinal: new.ordinal,
            surface: new.surface,
            target: new.target,
            content: new.content,
            revision: new.revision,
            state: new.state,
            remote_id: None,
            url: None,
            attempts: 0,
            not_before: at,
            created_at: at,
            delivered_at: None,
            error: new.error,
        }
    }

    /// Reports whether it is on the surface, or may be.
    pub fn may_be_there(&self) -> bool {
        matches!(
            self.state,
            OutputState::Sending
                | OutputState::Ambiguous
                | OutputState::Confirmed
                | OutputState::Unknown
        )
    }

    /// Reports whether a later attempt that proposes it anew, after a person's retry, replaces it.
    ///
    /// What is on the surface, or may be, is never sent a second time.
    pub fn gives_way(&self) -> bool {
        matches!(self.state, OutputState::Refused | OutputState::GaveUp)
    }

    /// Marks it as being sent and counts the try.
    pub fn begin_send(&mut self) {
        self.state = OutputState::Sending;
        self.attempts += 1;
    }

    /// Takes what became of it; of a cancelled activation nothing is planned any more.
    pub fn settle(&mut self, settlement: Settlement, activation: ActivationState) {
        self.state = settlement.state;
        self.error = settlement.error;
        if let Some(remote) = settlement.remote {
            self.remote_id = Some(remote.id);
            self.url = remote.url;
        }
        if let Some(not_before) = settlement.not_before {
            self.not_before = not_before;
        }
        if self.state == OutputState::Confirmed {
            self.delivered_at = Some(settlement.at);
        }
        if activation == ActivationState::Cancelled {
            self.withdraw();
        }
    }

    /// Refuses it if it was not sent yet, because its activation was cancelled.
    pub fn withdraw(&mut self) {
        if self.state == OutputState::Planned {
            self.state = OutputState::Refused;
            self.error = Some("the activation was cancelled".to_owned());
        }
    }
}

/// A change to a daemon's state values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// Sets a key to a JSON text.
    Set {
        /// The key.
        key: String,
        /// The value, as JSON text.
        json: String,
    },
    /// Removes a key.
    Remove {
        /// The key.
        key: String,
    },
}

#[cfg(test)]
mod tests;
