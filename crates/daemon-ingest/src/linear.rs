//! Linear webhooks.

use std::time::Duration;

use daemon_event::Event;
use jiff::Timestamp;
use serde::Deserialize;

use crate::delivery::{self, Delivery, Source};
use crate::error::{Malformed, Rejected};
use crate::json;
use crate::secret::{Secrets, signature};

const MAX_BODY: usize = 1 << 20;

/// How far the signed time may lie from now.
const FRESH: Duration = Duration::from_secs(60);

/// Deliveries of a Linear webhook, signed in `Linear-Signature`.
///
/// The signed body carries its time of sending, which must be within a minute of now.
#[derive(Clone, Debug)]
pub struct Linear {
    secrets: Secrets,
    late: Duration,
}

impl Linear {
    /// Takes the webhook's secrets.
    pub const fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            late: FRESH,
        }
    }

    /// Admits deliveries that come up to `late` after they were sent, as Linear's retries do.
    ///
    /// That is safe as long as delivery ids are kept longer.
    #[must_use]
    pub fn accepting_late(self, late: Duration) -> Self {
        Self { late, ..self }
    }
}

/// The one field read before the event.
#[derive(Deserialize)]
struct Sent {
    #[serde(rename = "webhookTimestamp")]
    millisecond: i64,
}

impl Source for Linear {
    fn max_body(&self) -> usize {
        MAX_BODY
    }

    fn verify(&self, delivery: &Delivery<'_>) -> Result<(), Rejected> {
        delivery::check_limits(delivery, "linear", MAX_BODY)?;
        let signature = signature(delivery, "Linear-Signature", "")?;
        self.secrets.check(&[delivery.body], &signature)?;
        let sent = serde_json::from_slice::<Sent>(delivery.body).ok();
        let sent = sent.and_then(|sent| Timestamp::from_millisecond(sent.millisecond).ok());
        fresh(
            delivery.received_at,
            sent.ok_or(Rejected::Undated)?,
            self.late.max(FRESH),
            FRESH,
        )
    }

    fn events(&self, delivery: &Delivery<'_>) -> Result<Vec<Event>, Malformed> {
        delivery::json_media(delivery)?;
        let kind = delivery::kind(delivery, "Linear-Event")?;
        let id = delivery::delivery_id(delivery, "Linear-Delivery")?;
        let source = daemon_event::Source::Linear;
        json::event(delivery, source, kind, id, delivery.body).map(|event| vec![event])
    }
}

/// Checks that a time of sending lies at most `late` before and `early` after now.
pub(crate) fn fresh(
    now: Timestamp,
    sent: Timestamp,
    late: Duration,
    early: Duration,
) -> Result<(), Rejected> {
    let age = now.duration_since(sent);
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
