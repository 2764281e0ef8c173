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
    /// Derives the key from the identity of the output.
    pub fn derive(activation: &ActivationId, ordinal: u32, surface: &str, target: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [activation.as_str(), &ordinal.to_string(), surface, target] {
            // The length in front keeps `a` + `bc` apart from `ab` + `c`.
            hash.update(
                u64::try_from(part.len())
                    .expect("a length fits")
                    .to_be_bytes(),
            );
            hash.update(part);
        }
        // 26 characters of base32 hold 130 bits, so that 17 bytes are needed. The alphabet fits into branch names and
        // comments.
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

/// The state of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputState {
    /// A validator refused it; it is never sent.
    Refused,
    /// It is to be sent.
    Planned,
    /// A host sends it, or crashed while it did.
    Sending,
    /// It may have been sent; the next step is a look-up.
    Ambiguous,
    /// It is on the surface; its remote id is stored.
    Confirmed,
    /// It may have been sent, and the surface cannot be read back. It is never sent again and is shown to people.
    Unknown,
    /// The surface refused it, or it was retried for a day.
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

    /// Reports whether the output is never sent or looked up again.
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
    /// The idempotency key: a second output with this key is the same output.
    pub key: OutputKey,
    /// Its index among the outputs of its activation, from 0.
    pub ordinal: u32,
    /// The name of the surface, such as `git`.
    pub surface: String,
    /// The place on the surface, such as a branch's full name.
    pub target: String,
    /// Everything the surface needs to deliver it, as JSON that only the surface reads.
    pub content: String,
    /// The name of the content on the surface, such as a commit; `None` if the surface has none.
    pub revision: Option<String>,
    /// [`OutputState::Planned`], or [`OutputState::Refused`] with `error`.
    pub state: OutputState,
    /// The reason of a refusal.
    pub error: Option<String>,
}

/// One effect on a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The idempotency key, which is also in the marks that a surface looks for.
    pub key: OutputKey,
    /// The activation that proposed it.
    pub activation: ActivationId,
    /// The daemon of that activation.
    pub daemon: DaemonKey,
    /// Its index among the outputs of its activation, from 0.
    pub ordinal: u32,
    /// The name of the surface.
    pub surface: String,
    /// The place on the surface.
    pub target: String,
    /// Everything the surface needs to deliver it, as JSON that only the surface reads.
    pub content: String,
    /// The name of the content on the surface, such as a commit, or the check suite of a check once it is confirmed; `None` if the
    /// surface has none.
    pub revision: Option<String>,
    /// The state; [`OutputState::is_settled`] says whether it can still change.
    pub state: OutputState,
    /// The surface's own id for it, once it is confirmed.
    pub remote_id: Option<String>,
    /// A URL for people, if the surface has one.
    pub url: Option<String>,
    /// The number of times it was sent.
    pub attempts: u32,
    /// The earliest time of the next step.
    pub not_before: Timestamp,
    /// When the attempt that proposed it ended.
    pub created_at: Timestamp,
    /// When a look-up or a send confirmed it; `None` before.
    pub delivered_at: Option<Timestamp>,
    /// While it is ambiguous: when its last send ended without saying whether it had an effect. For a host that ended meanwhile,
    /// when the next one began.
    pub in_doubt_since: Option<Timestamp>,
    /// The newest failure, or the reason of a refusal.
    pub error: Option<String>,
}

impl Output {
    /// Makes the row of an output that an attempt of the activation proposed.
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
            in_doubt_since: None,
            error: new.error,
        }
    }

    /// Reports whether the output is, or may be, on the surface.
    pub fn may_be_there(&self) -> bool {
        matches!(
            self.state,
            OutputState::Sending
                | OutputState::Ambiguous
                | OutputState::Confirmed
                | OutputState::Unknown
        )
    }

    /// Reports whether the same output of a later attempt, after a person's retry, replaces it.
    ///
    /// An output that is, or may be, on the surface is never sent a second time.
    pub fn gives_way(&self) -> bool {
        matches!(self.state, OutputState::Refused | OutputState::GaveUp)
    }

    /// Marks it as being sent and increments the number of sends.
    pub fn begin_send(&mut self) {
        self.state = OutputState::Sending;
        self.attempts += 1;
    }

    /// Marks it as in doubt: the host that sent it ended, by `now` at the latest.
    pub fn interrupt(&mut self, now: Timestamp) {
        self.state = OutputState::Ambiguous;
        self.error = None;
        self.not_before = now;
        self.in_doubt_since = Some(now);
    }

    /// Applies the result of a step. An output of a cancelled activation is refused instead of planned again.
    pub fn settle(&mut self, settlement: Settlement, activation: ActivationState) {
        // A look-up that proves nothing leaves the doubt as old as it is.
        if (self.state, settlement.state) == (OutputState::Sending, OutputState::Ambiguous) {
            self.in_doubt_since = Some(settlement.at);
        }
        self.state = settlement.state;
        self.error = settlement.error;
        if let Some(remote) = settlement.remote {
            self.remote_id = Some(remote.id);
            self.url = remote.url;
            self.revision = remote.revision.or(self.revision.take());
        }
        if let Some(not_before) = settlement.not_before {
            self.not_before = not_before;
        }
        if self.state == OutputState::Confirmed {
            self.delivered_at = Some(settlement.at);
        }
        // The activation may have been cancelled while the output was being sent, and planned again means sent again.
        if activation == ActivationState::Cancelled {
            self.withdraw();
        }
    }

    /// Makes an unsettled output due at once, and reports whether that changed anything.
    pub fn hasten(&mut self, now: Timestamp) -> bool {
        let is_early = !self.state.is_settled() && self.not_before > now;
        if is_early {
            self.not_before = now;
        }
        is_early
    }

    /// Refuses it if it is planned; for a cancelled activation.
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
    /// Sets a key to a JSON value.
    Set {
        /// The key.
        key: String,
        /// The value, encoded as JSON.
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
