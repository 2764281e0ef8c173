//! Signed webhooks of GitHub, sent over a socket.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context as _, Result};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The secret of the signatures.
pub(crate) const SECRET: &str = "a secret of the bench";
/// The section of the configuration that accepts the webhooks; the secret is in a file of the home.
pub(crate) const SOURCES: &str = "[sources.github]\nsecret_file = \"hook-secret\"\n";

/// Returns the header that signs a body.
pub(crate) fn signature(body: &[u8]) -> Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes())?;
    mac.update(body);
    let digest = mac.finalize().into_bytes();
    let digest: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256={}", digest.concat()))
}

/// One webhook, ready to be sent.
pub(crate) struct Webhook {
    head: String,
    body: Vec<u8>,
}

impl Webhook {
    /// Creates a webhook with a signed body.
    pub(crate) fn new(kind: &str, delivery: &str, body: Vec<u8>) -> Result<Self> {
        let signature = signature(&body)?;
        let head = format!(
            "POST /webhooks/github HTTP/1.1\r\nHost: bench\r\nConnection: close\r\nContent-Type: application/json\r\n\
             X-GitHub-Event: {kind}\r\nX-GitHub-Delivery: {delivery}\r\nX-Hub-Signature-256: {signature}\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        Ok(Self { head, body })
    }

    /// Sends the webhook and returns the status of the response.
    pub(crate) fn send(&self, address: &str) -> Result<u16> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(self.head.as_bytes())?;
        stream.write_all(&self.body)?;
        let mut answer = [0; "HTTP/1.1 200".len()];
        stream.read_exact(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let status = answer
            .rsplit(' ')
            .next()
            .context("an answer has a status")?;
        Ok(status.parse()?)
    }
}
