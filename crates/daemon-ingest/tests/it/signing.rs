//! Signing, as the senders do it.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

pub(crate) fn hex_hmac(secret: &str, bytes: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(bytes);
    mac.finalize()
        .into_bytes()
        .iter()
        .fold(String::new(), |mut acc, byte| {
            write!(acc, "{byte:02x}").unwrap();
            acc
        })
}
