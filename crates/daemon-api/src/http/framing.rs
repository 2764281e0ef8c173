//! Finds requests whose end is ambiguous, in the raw bytes of a connection.
//!
//! A request with both `Content-Length` and `Transfer-Encoding` ends at different bytes for different readers, which lets
//! a second request hide in it. hyper drops the length before the service sees the request, so this module parses the
//! bytes as they are read.

use std::sync::atomic::{AtomicBool, Ordering};

/// The kept part of a header line, in bytes; the two headers need less.
const LINE: usize = 128;

/// The findings about a connection.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Two readers may disagree where a request ends.
    is_ambiguous: AtomicBool,
    /// The end of a request is not in its head; the bytes after its head are not parsed.
    is_last: AtomicBool,
    /// The current response is a stream without end.
    is_stream: AtomicBool,
}

impl Findings {
    /// Records whether the response that begins is a stream without end.
    pub(super) fn answers_with_stream(&self, is_stream: bool) {
        self.is_stream.store(is_stream, Ordering::Relaxed);
    }

    /// Reports whether the current response is a stream without end.
    pub(super) fn is_stream(&self) -> bool {
        self.is_stream.load(Ordering::Relaxed)
    }

    pub(super) fn is_ambiguous(&self) -> bool {
        self.is_ambiguous.load(Ordering::Relaxed)
    }

    /// Reports whether the connection must be closed after the request.
    pub(super) fn is_last(&self) -> bool {
        self.is_last.load(Ordering::Relaxed)
    }
}

/// A parser of the request heads of one connection.
#[derive(Debug, Default)]
pub(super) struct Framing {
    state: State,
    /// The beginning of the current line.
    line: Vec<u8>,
    /// The line is longer than [`LINE`].
    is_cut: bool,
    has_request_line: bool,
    length: Option<u64>,
    is_encoded: bool,
    /// hyper may read one of the two headers differently.
    is_unclear: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    /// The number of bytes of the body that have not arrived.
    Body(u64),
    /// No more bytes are parsed.
    Over,
}

impl Framing {
    /// Parses the next bytes.
    pub(super) fn see(&mut self, mut bytes: &[u8], findings: &Findings) {
        while !bytes.is_empty() {
            match self.state {
                State::Over => return,
                State::Body(left) => {
                    let n = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = &bytes[n..];
                    let left = left - n as u64;
                    self.state = if left == 0 {
                        State::Head
                    } else {
                        State::Body(left)
                    };
                }
                State::Head => bytes = self.see_head(bytes, findings),
            }
        }
    }

    /// Consumes one line, or the part that has arrived, and returns the rest.
    fn see_head<'a>(&mut self, bytes: &'a [u8], findings: &Findings) -> &'a [u8] {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let room = LINE.saturating_sub(self.line.len()).min(part.len());
        self.line.extend_from_slice(&part[..room]);
        self.is_cut |= room < part.len();
        let Some(end) = end else { return &[] };
        let line = std::mem::take(&mut self.line);
        self.end_line(line.strip_suffix(b"\r").unwrap_or(&line), findings);
        self.is_cut = false;
        &bytes[end + 1..]
    }

    fn end_line(&mut self, line: &[u8], findings: &Findings) {
        if !self.has_request_line {
            // HTTP allows empty lines before a request.
            self.has_request_line = !line.is_empty();
        } else if line.is_empty() {
            self.end_head(findings);
        } else if let Some(colon) = line.iter().position(|byte| *byte == b':') {
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"transfer-encoding") {
                self.is_encoded = true;
                self.is_unclear |= self.is_cut;
            } else if name.eq_ignore_ascii_case(b"content-length") {
                let text = std::str::from_utf8(value).ok();
                // `parse` also accepts a sign.
                let digits = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                let length = digits.and_then(|digits| digits.parse().ok());
                self.is_unclear |= self.is_cut || length.is_none();
                self.length = Some(length.unwrap_or(0));
            }
        }
    }

    fn end_head(&mut self, findings: &Findings) {
        let Self {
            length,
            is_encoded,
            is_unclear,
            ..
        } = std::mem::take(self);
        self.state = match (length, is_encoded) {
            (length, is_encoded) if is_unclear || (is_encoded && length.is_some()) => {
                findings.is_ambiguous.store(true, Ordering::Relaxed);
                State::Over
            }
            // Only hyper knows the end of a chunked body, so the heads after it cannot be checked.
            (_, true) => {
                findings.is_last.store(true, Ordering::Relaxed);
                State::Over
            }
            (None | Some(0), false) => State::Head,
            (Some(length), false) => State::Body(length),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Findings, Framing};

    /// Reports what is found in some requests, however their bytes are divided.
    fn check(text: &str, expected: &str) {
        for piece in [1, 3, text.len()] {
            let (mut framing, findings) = (Framing::default(), Findings::default());
            for bytes in text.as_bytes().chunks(piece) {
                framing.see(bytes, &findings);
            }
            let found = match (findings.is_ambiguous(), findings.is_last()) {
                (true, _) => "ambiguous",
                (false, true) => "last",
                (false, false) => "",
            };
            assert_eq!(found, expected, "{text:?} by {piece}");
        }
    }

    #[test]
    fn two_ends_are_found_in_every_request_of_a_connection() {
        let both = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n";
        check(both, "ambiguous");
        check(
            "POST / HTTP/1.1\ncontent-length:3\ntransfer-encoding:x\n\n",
            "ambiguous",
        );
        let plain = "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab\r\n\n";
        check(plain, "");
        check(&format!("{plain}\r\n{plain}{both}"), "ambiguous");
        check(
            &format!("GET / HTTP/1.1\r\nHost: x\r\n\r\n{both}"),
            "ambiguous",
        );
        let long = format!("x: {}\r\nContent-Length: 1", "y".repeat(70_000));
        check(
            &format!("POST / HTTP/1.1\r\n{long}\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "ambiguous",
        );
    }

    #[test]
    fn lengths_that_two_readers_may_read_differently_are_ambiguous() {
        for pad in [" ".repeat(120), "0".repeat(120), " ".repeat(70_000)] {
            check(
                &format!("POST / HTTP/1.1\r\nContent-Length: {pad}5\r\n\r\nabcde"),
                "ambiguous",
            );
        }
        let pad = " ".repeat(120);
        check(
            &format!("POST / HTTP/1.1\r\nTransfer-Encoding: {pad}chunked\r\n\r\n"),
            "ambiguous",
        );
        for length in ["", "+5", "-5", "5, 5", "0x5", "99999999999999999999"] {
            check(
                &format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n"),
                "ambiguous",
            );
        }
        // A long line before it does not make a plain one ambiguous.
        check(
            &format!("POST / HTTP/1.1\r\nx: {pad}y\r\nContent-Length:  005 \r\n\r\nabcde"),
            "",
        );
    }

    #[test]
    fn bytes_of_a_body_are_not_parsed_as_a_head() {
        let inner = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n";
        let length = inner.len();
        check(
            &format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{inner}"),
            "",
        );
        check(
            &format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{inner}"),
            "last",
        );
    }
}
