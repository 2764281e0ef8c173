//! Secrets, and the verification of signatures.

use std::fmt;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

use crate::delivery::Delivery;
use crate::error::Rejected;

/// The secrets of one source. A signature made with any of them is accepted, so that a secret can be replaced without
/// rejecting deliveries.
#[derive(Clone)]
pub struct Secrets {
    // Keyed once, at configuration, and cloned for each delivery.
    keyed: Vec<Hmac<Sha256>>,
    #[cfg(feature = "internal-testing")]
    lengths: Lengths,
    /// Whether a delivery may be of any age: the fault that a test plants.
    #[cfg(feature = "internal-testing")]
    is_ageless: bool,
}

/// Which signatures are compared.
#[cfg(feature = "internal-testing")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    Whole,
    /// Any, as far as they go: the fault that a test plants.
    Any,
}

/// The bytes of a signature.
pub(crate) struct Signature {
    bytes: [u8; 32],
    #[cfg(feature = "internal-testing")]
    length: usize,
}

/// The error of configuring a missing or empty secret, with which anyone could sign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a webhook secret is empty or missing")]
pub struct EmptySecret;

impl Secrets {
    /// Creates the set from secrets that are used byte for byte.
    ///
    /// # Errors
    /// Returns [`EmptySecret`] if there is no secret, or if one is empty or blank.
    pub fn new<S: AsRef<[u8]>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, EmptySecret> {
        let mut keyed = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref();
            if secret.trim_ascii().is_empty() {
                return Err(EmptySecret);
            }
            keyed.push(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"));
        }
        if keyed.is_empty() {
            Err(EmptySecret)
        } else {
            Ok(Self {
                keyed,
                #[cfg(feature = "internal-testing")]
                lengths: Lengths::Whole,
                #[cfg(feature = "internal-testing")]
                is_ageless: false,
            })
        }
    }

    /// Signs a body with the first secret, as GitHub does: the value of `X-Hub-Signature-256`.
    pub fn github_signature(&self, body: &[u8]) -> String {
        let mut mac = self.keyed.first().expect("there is a secret").clone();
        mac.update(body);
        let digest = mac.finalize().into_bytes();
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={digits}")
    }

    /// Plants the fault of comparing a signature of any length as far as it goes.
    #[cfg(feature = "internal-testing")]
    #[must_use]
    pub fn comparing_any_length(self) -> Self {
        Self {
            lengths: Lengths::Any,
            ..self
        }
    }

    /// Plants the fault of accepting deliveries of any age.
    #[cfg(feature = "internal-testing")]
    #[must_use]
    pub fn accepting_any_age(self) -> Self {
        Self {
            is_ageless: true,
            ..self
        }
    }

    /// Checks that the time of sending is at most `late` before and `early` after the time of receipt.
    pub(crate) fn check_age(
        &self,
        now: Timestamp,
        sent: Timestamp,
        late: Duration,
        early: Duration,
    ) -> Result<(), Rejected> {
        #[cfg(feature = "internal-testing")]
        if self.is_ageless {
            return Ok(());
        }
        let age = now.duration_since(sent);
        // A sender's clock may be ahead, but a time far in the future would make a replay acceptable for that long.
        let is_fresh = if age.is_negative() {
            age.unsigned_abs() <= early
        } else {
            age.unsigned_abs() <= late
        };
        if is_fresh {
            Ok(())
        } else {
            Err(Rejected::Stale {
                seconds: age.as_secs(),
            })
        }
    }

    /// Reads the signature header: a prefix and exactly 64 lower-case hexadecimal digits.
    pub(crate) fn signature(
        &self,
        delivery: &Delivery<'_>,
        name: &'static str,
        prefix: &str,
    ) -> Result<Signature, Rejected> {
        let value = signing_header(delivery, name)?;
        let refused = || Rejected::NotASignature(name);
        let digits = value.strip_prefix(prefix.as_bytes()).ok_or_else(refused)?;
        #[cfg(feature = "internal-testing")]
        if self.lengths == Lengths::Any {
            let length = digits.len() / 2;
            let mut acc = digits.to_vec();
            acc.resize(64, b'0');
            let digits = acc.first_chunk().ok_or_else(refused)?;
            let bytes = decoded(digits).ok_or_else(refused)?;
            return Ok(Signature { bytes, length });
        }
        let digits: &[u8; 64] = digits.try_into().ok().ok_or_else(refused)?;
        Ok(Signature {
            bytes: decoded(digits).ok_or_else(refused)?,
            #[cfg(feature = "internal-testing")]
            length: 32,
        })
    }

    /// Checks the signature over the concatenation of `parts`.
    pub(crate) fn check(&self, parts: &[&[u8]], signature: &Signature) -> Result<(), Rejected> {
        // No early exit: the time must not reveal which secret matched, or how far a comparison went.
        let mut is_good = Choice::from(0);
        for keyed in &self.keyed {
            let mut mac = keyed.clone();
            parts.iter().for_each(|part| mac.update(part));
            let own = mac.finalize().into_bytes();
            #[cfg(feature = "internal-testing")]
            if self.lengths == Lengths::Any {
                let length = signature.length.min(own.len());
                is_good |= own[..length].ct_eq(&signature.bytes[..length]);
                continue;
            }
            is_good |= own.as_slice().ct_eq(&signature.bytes);
        }
        if bool::from(is_good) {
            Ok(())
        } else {
            Err(Rejected::WrongSignature)
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} hidden)", self.keyed.len())
    }
}

/// Returns the value of a header that the signature needs.
pub(crate) fn signing_header<'a>(
    delivery: &Delivery<'a>,
    name: &'static str,
) -> Result<&'a [u8], Rejected> {
    delivery.headers.only(name).map_err(|count| match count {
        0 => Rejected::Unsigned(name),
        count => Rejected::Repeated { name, count },
    })
}

/// Decodes lower-case hexadecimal digits; `None` if one of them is something else.
fn decoded(digits: &[u8; 64]) -> Option<[u8; 32]> {
    let mut acc = [0; 32];
    for (byte, pair) in acc.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            // Upper case is rejected: no service sends it, and one signature has one spelling.
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(acc)
}
