//! `Idempotency-Key`: an equal request is performed once, and a key belongs to one request.

use crate::ops::Operation;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use daemon_records::error::{OpError, OpErrorKind};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The maximum number of remembered keys; the oldest are dropped first.
const KEPT: usize = 1_024;
/// The maximum length of a key, in bytes.
const LONGEST: usize = 256;

/// The keys of requests since the start of the host.
#[derive(Debug, Default)]
pub struct Repeats {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    requests: HashMap<String, Arc<Asked>>,
    order: VecDeque<String>,
}

/// A request with a key.
#[derive(Debug)]
pub(super) struct Asked {
    fingerprint: [u8; 32],
    /// The result of the request; locked while it is being performed.
    pub(super) answer: tokio::sync::Mutex<Option<Map<String, Value>>>,
}

/// The reason why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadKey {
    /// The key is not a short printable string, or there are two.
    Malformed,
    /// A different request had this key.
    Reused,
}

impl From<BadKey> for OpError {
    fn from(bad: BadKey) -> Self {
        let (kind, code, message) = match bad {
            BadKey::Malformed => (
                OpErrorKind::InvalidParams,
                "invalid-argument",
                "`Idempotency-Key` is one printable string of at most 256 bytes",
            ),
            BadKey::Reused => (
                OpErrorKind::Conflict,
                "idempotency-key-reused",
                "another request came with this `Idempotency-Key`",
            ),
        };
        Self::new(kind, code, message)
    }
}

/// Returns the key of a request.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<&str>, BadKey> {
    let mut keys = headers.get_all("idempotency-key").iter();
    let key = match (keys.next(), keys.next()) {
        (None, _) => return Ok(None),
        (Some(key), None) => key,
        (Some(_), Some(_)) => return Err(BadKey::Malformed),
    };
    let text = key.to_str().ok().map(str::trim);
    text.filter(|text| (1..=LONGEST).contains(&text.len()))
        .map(Some)
        .ok_or(BadKey::Malformed)
}

/// Returns a hash of everything that a request contains.
pub(super) fn fingerprint(operation: Operation, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in std::iter::once(operation.method().as_bytes()).chain(parts.iter().copied()) {
        // Without the lengths, `ab` and `c` would have the same hash as `a` and `bc`.
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Returns the key of a request that has none of its own.
pub(super) fn key_of(fingerprint: [u8; 32]) -> String {
    fingerprint
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl Repeats {
    /// Returns the request of a key, which is this one or an equal earlier one.
    pub(super) fn find(&self, key: &str, fingerprint: [u8; 32]) -> Result<Arc<Asked>, BadKey> {
        let mut known = self.known.lock().expect("no holder panics");
        if let Some(asked) = known.requests.get(key) {
            return if asked.fingerprint == fingerprint {
                Ok(Arc::clone(asked))
            } else {
                Err(BadKey::Reused)
            };
        }
        // Clients choose the keys, so their number has to be limited.
        if known.order.len() >= KEPT
            && let Some(oldest) = known.order.pop_front()
        {
            known.requests.remove(&oldest);
        }
        let asked = Arc::new(Asked {
            fingerprint,
            answer: tokio::sync::Mutex::new(None),
        });
        known.order.push_back(key.to_owned());
        known.requests.insert(key.to_owned(), Arc::clone(&asked));
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::{BadKey, KEPT, Repeats, fingerprint, key};
    use crate::ops::Operation;

    #[test]
    fn a_key_belongs_to_one_request_until_it_is_forgotten() {
        let repeats = Repeats::default();
        let one = fingerprint(Operation::DaemonFire, &[b"x", b""]);
        let other = fingerprint(Operation::DaemonFire, &[b"", b"x"]);
        repeats.find("k", one).expect("it is new");
        repeats.find("k", one).expect("it is the same");
        assert_eq!(repeats.find("k", other).err(), Some(BadKey::Reused));
        for n in 0..KEPT {
            repeats.find(&format!("k-{n}"), one).expect("it is new");
        }
        repeats.find("k", other).expect("the key was forgotten");
    }

    #[test]
    fn a_key_is_one_short_printable_string() {
        let with = |values: &[&'static [u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                let value = HeaderValue::from_bytes(value).expect("a value");
                headers.append("Idempotency-Key", value);
            }
            key(&headers).map(|key| key.map(str::to_owned))
        };
        assert_eq!(with(&[]), Ok(None));
        assert_eq!(with(&[b" a-1 "]), Ok(Some("a-1".to_owned())));
        for bad in [
            &[b"a".as_slice(), b"a"][..],
            &[b""],
            &[b"\xff"],
            &[&[b'x'; 257]],
        ] {
            assert_eq!(with(bad), Err(BadKey::Malformed), "{bad:?}");
        }
    }
}
