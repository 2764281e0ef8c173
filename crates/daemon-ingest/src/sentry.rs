//! Sentry's integration webhooks.

use daemon_event::Event;

use crate::delivery::{self, Delivery, WebhookSource};
use crate::error::{Malformed, Rejected};
use crate::json;
use crate::secret::Secrets;

/// The largest accepted body, in bytes.
const MAX_BODY: usize = 1 << 20;

/// Deliveries of a Sentry integration, signed with its client secret in `Sentry-Hook-Signature`.
#[derive(Clone, Debug)]
pub struct Sentry {
    secrets: Secrets,
}

impl Sentry {
    /// Creates the source with the client secrets of the integration.
    pub const fn new(secrets: Secrets) -> Self {
        Self { secrets }
    }
}

impl WebhookSource for Sentry {
    fn max_body(&self) -> usize {
        MAX_BODY
    }

    fn verify(&self, delivery: &Delivery<'_>) -> Result<(), Rejected> {
        delivery::check_limits(delivery, "sentry", MAX_BODY)?;
        let signature = self
            .secrets
            .signature(delivery, "Sentry-Hook-Signature", "")?;
        self.secrets.check(&[delivery.body], &signature)
    }

    fn events(&self, delivery: &Delivery<'_>) -> Result<Vec<Event>, Malformed> {
        delivery::json_media(delivery)?;
        let kind = delivery::kind(delivery, "Sentry-Hook-Resource")?;
        let id = delivery::delivery_id(delivery, "Request-ID")?;
        let source = daemon_event::Source::Sentry;
        json::event(delivery, source, kind, id, delivery.body).map(|event| vec![event])
    }
}
