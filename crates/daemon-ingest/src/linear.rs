//! Linear webhooks.

use std::time::Duration;

use daemon_event::Event;
use jiff::Timestamp;
use serde::Deserialize;

use crate::delivery::{self, Delivery, WebhookSource};
use crate::error::{Malformed, Rejected};
use crate::json;
use crate::secret::Secrets;

/// The largest accepted body, in bytes.
const MAX_BODY: usize = 1 << 20;

/// The maximum difference between the signed time and the time of receipt.
const FRESH: Duration = Duration::from_secs(60);

/// Deliveries of a Linear webhook, signed in `Linear-Signature`.
///
/// The signed body contains the time of sending, which must be within a minute of the time of receipt.
#[derive(Clone, Debug)]
pub struct Linear {
    secrets: Secrets,
    late: Duration,
}

impl Linear {
    /// Creates the source with the secrets of its webhooks.
    pub const fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            late: FRESH,
        }
    }

    /// Accepts deliveries up to `late` after they were sent: Linear retries for up to six hours and keeps the
    /// first time of sending.
    ///
    /// This is safe as long as the store keeps delivery ids for longer than `late`.
    #[must_use]
    pub fn accepting_late(self, late: Duration) -> Self {
        Self { late, ..self }
    }
}

/// The only field that is read before the event.
#[derive(Deserialize)]
struct SendTime {
    #[serde(rename = "webhookTimestamp")]
    millisecond: i64,
}

impl WebhookSource for Linear {
    fn max_body(&self) -> usize {
        MAX_BODY
    }

    fn verify(&self, delivery: &Delivery<'_>) -> Result<(), Rejected> {
        delivery::check_limits(delivery, "linear", MAX_BODY)?;
        let signature = self.secrets.signature(delivery, "Linear-Signature", "")?;
        self.secrets.check(&[delivery.body], &signature)?;
        let sent = serde_json::from_slice::<SendTime>(delivery.body).ok();
        let sent = sent.and_then(|sent| Timestamp::from_millisecond(sent.millisecond).ok());
        self.secrets.check_age(
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
