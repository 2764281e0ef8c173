//! GitHub webhooks.

use std::borrow::Cow;

use daemon_event::Event;

use crate::delivery::{self, Delivery, Media, WebhookSource};
use crate::error::{Malformed, Rejected};
use crate::json;
use crate::secret::Secrets;

/// GitHub's documented limit of a payload, 25 MiB.
const MAX_BODY: usize = 25 << 20;

/// Deliveries of a GitHub webhook or app, signed in `X-Hub-Signature-256`.
///
/// The older SHA-1 header is ignored. For a form, the signature covers the encoded form.
#[derive(Clone, Debug)]
pub struct Github {
    secrets: Secrets,
}

impl Github {
    /// Creates the source with the secrets of its webhooks.
    pub const fn new(secrets: Secrets) -> Self {
        Self { secrets }
    }
}

impl WebhookSource for Github {
    fn max_body(&self) -> usize {
        MAX_BODY
    }

    fn verify(&self, delivery: &Delivery<'_>) -> Result<(), Rejected> {
        delivery::check_limits(delivery, "github", MAX_BODY)?;
        let signature = self
            .secrets
            .signature(delivery, "X-Hub-Signature-256", "sha256=")?;
        self.secrets.check(&[delivery.body], &signature)
    }

    fn events(&self, delivery: &Delivery<'_>) -> Result<Vec<Event>, Malformed> {
        let payload = match delivery::media(delivery)? {
            // The kind is read from a header, which the signature does not cover; `daemon_event::read` checks that the
            // body has the shape of the kind.
            Media::Json => Cow::Borrowed(delivery.body),
            Media::Form => Cow::Owned(form_payload(delivery.body).ok_or(Malformed::Form)?),
        };
        let kind = delivery::kind(delivery, "X-GitHub-Event")?;
        let id = delivery::delivery_id(delivery, "X-GitHub-Delivery")?;
        json::event(delivery, daemon_event::Source::Github, kind, id, &payload)
            .map(|event| vec![event])
    }
}

/// Decodes the `payload` field of a form.
fn form_payload(form: &[u8]) -> Option<Vec<u8>> {
    let field = form
        .split(|byte| *byte == b'&')
        .find_map(|field| field.strip_prefix(b"payload="))?;
    let mut acc = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(byte) = bytes.next() {
        acc.push(match byte {
            b'+' => b' ',
            b'%' => {
                delivery::hex_digit(*bytes.next()?)? << 4 | delivery::hex_digit(*bytes.next()?)?
            }
            byte => *byte,
        });
    }
    Some(acc)
}
