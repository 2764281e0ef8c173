//! Secrets, and the verification of signatures.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
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
            Ok(Self { keyed })
        }
    }

    /// Checks the signature over the concatenation of `parts`.
    pub(crate) fn check(&self, parts: &[&[u8]], signature: &[u8; 32]) -> Result<(), Rejected> {
        // No early exit: the time must not reveal which secret matched, or how far a comparison went.
        let mut is_good = Choice::from(0);
        for keyed in &self.keyed {
            let mut mac = keyed.clone();
            parts.iter().for_each(|part| mac.update(part));
            is_good |= mac.finalize().into_bytes().as_slice().ct_eq(signature);
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

/// Reads the signature header: a prefix and exactly 64 lower-case hexadecimal digits.
pub(crate) fn signature(
    delivery: &Delivery<'_>,
    name: &'static str,
    prefix: &str,
) -> Result<[u8; 32], Rejected> {
    let value = signing_header(delivery, name)?;
    let refused = || Rejected::NotASignature(name);
    let digits = value.strip_prefix(prefix.as_bytes()).ok_or_else(refused)?;
    let digits: &[u8; 64] = digits.try_into().ok().ok_or_else(refused)?;
    let mut acc = [0; 32];
    for (byte, pair) in acc.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            // Upper case is rejected: no service sends it, and one signature has one spelling.
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(refused()),
        };
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Ok(acc)
}
