//! A response, written to a connection that is then closed.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::listener::Closing;

const JSON: &str = "application/json; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
// Pages have one inline style and nothing else: what an author wrote cannot run or load anything.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A status, headers and a body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl HttpResponse {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let response = Self {
            status,
            body: body.to_string().into_bytes(),
            ..Self::default()
        };
        response.with_header("Content-Type", JSON)
    }

    pub(crate) fn html(status: u16, body: String) -> Self {
        let response = Self {
            status,
            body: body.into_bytes(),
            ..Self::default()
        };
        response
            .with_header("Content-Type", HTML)
            .with_header("Content-Security-Policy", PAGE_POLICY)
    }

    /// Returns a page for a person, or 404 without one.
    pub(crate) fn page(page: Option<String>) -> Self {
        let missing = || "<!doctype html><title>Not found</title><h1>Not found</h1>".to_owned();
        let status = if page.is_some() { 200 } else { 404 };
        Self::html(status, page.unwrap_or_else(missing))
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    #[must_use]
    pub(crate) fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Returns what precedes the body on the wire.
    fn head(&self) -> String {
        let mut acc = format!("HTTP/1.1 {} Fake\r\nConnection: close\r\n", self.status);
        // A response with these statuses has no body, and clients wait for none.
        if !matches!(self.status, 204 | 304) {
            write!(acc, "Content-Length: {}\r\n", self.body.len())
                .expect("writing to a string cannot fail");
        }
        for (name, value) in &self.headers {
            write!(acc, "{name}: {value}\r\n").expect("writing to a string cannot fail");
        }
        acc + "\r\n"
    }
}

/// Writes a whole response.
pub(crate) fn write(writer: &mut TcpStream, response: &HttpResponse) -> io::Result<()> {
    writer.write_all(response.head().as_bytes())?;
    writer.write_all(&response.body)
}

/// Writes the head, with the length of the whole body, and half of the body.
pub(crate) fn write_half(writer: &mut TcpStream, response: &HttpResponse) -> io::Result<()> {
    writer.write_all(response.head().as_bytes())?;
    writer.write_all(&response.body[..response.body.len() / 2])
}

/// Writes the body byte by byte with a pause after each, until the server is closed.
pub(crate) fn write_slowly(
    writer: &mut TcpStream,
    response: &HttpResponse,
    pause: Duration,
    closing: &Closing,
) -> io::Result<()> {
    writer.write_all(response.head().as_bytes())?;
    for byte in &response.body {
        writer.write_all(&[*byte])?;
        writer.flush()?;
        if closing.wait(pause) {
            return Ok(());
        }
    }
    Ok(())
}
