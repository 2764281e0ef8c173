//! The messages of an editor over a pair of streams.
//!
//! `lsp_server::Connection::stdio` allocates as many bytes as the header of a message announces. Here the length is bounded.

use std::io::{self, BufRead, Read as _, Write as _};
use std::thread::{self, JoinHandle};

use lsp_server::{Connection, Message, Notification};

use crate::server::LspError;

/// The longest message that is read: more than any file that is checked, with every character escaped.
const MAX_MESSAGE: usize = 16 << 20;
/// The longest line of a header.
const MAX_HEADER_LINE: u64 = 4 << 10;

/// The threads that read and write the messages of a connection.
pub(crate) struct EditorStreams {
    reader: JoinHandle<Result<(), LspError>>,
    writer: JoinHandle<io::Result<()>>,
}

impl EditorStreams {
    /// Connects standard input and output.
    pub(crate) fn stdio() -> io::Result<(Connection, Self)> {
        let (server, editor) = Connection::memory();
        let Connection { sender, receiver } = editor;
        let reader = thread::Builder::new()
            .name("lsp-reader".to_owned())
            .spawn(move || {
                let mut input = io::stdin().lock();
                while let Some(message) = read(&mut input)? {
                    let is_last =
                        matches!(&message, Message::Notification(Notification { method, .. }) if method == "exit");
                    if sender.send(message).is_err() || is_last {
                        break;
                    }
                }
                Ok(())
            })?;
        let writer = thread::Builder::new()
            .name("lsp-writer".to_owned())
            .spawn(move || {
                let mut output = io::stdout().lock();
                for message in receiver {
                    message.write(&mut output)?;
                }
                output.flush()
            })?;
        Ok((server, Self { reader, writer }))
    }

    /// Waits for the threads after the server's side of the connection was dropped, and returns what ended the session.
    pub(crate) fn join(self, served: Result<(), LspError>) -> Result<(), LspError> {
        self.writer.join().expect("the writer does not panic")?;
        // After a message that the protocol does not allow here, the reader may wait for the next one.
        if matches!(served, Ok(()) | Err(LspError::Closed)) {
            self.reader.join().expect("the reader does not panic")?;
        }
        served
    }
}

/// Reads a message; returns `None` at the end of the input.
fn read(input: &mut impl BufRead) -> Result<Option<Message>, LspError> {
    let Some(length) = content_length(input)? else {
        return Ok(None);
    };
    if length > MAX_MESSAGE {
        return Err(LspError::Message(format!(
            "{length} bytes are announced, and at most {MAX_MESSAGE} are read"
        )));
    }
    let mut body = vec![0; length];
    if let Err(error) = input.read_exact(&mut body) {
        return Err(match error.kind() {
            io::ErrorKind::UnexpectedEof => LspError::Closed,
            _ => LspError::Stream(error),
        });
    }
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|error| LspError::Message(error.to_string()))
}

/// Reads a header with the empty line that ends it; returns `None` at the end of the input.
fn content_length(input: &mut impl BufRead) -> Result<Option<usize>, LspError> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let n_read = input.take(MAX_HEADER_LINE).read_until(b'\n', &mut line)?;
        if n_read == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let broken = || LspError::Message(format!("`{}` is no line of a header", line.trim_end()));
        let line = line.strip_suffix("\r\n").ok_or_else(broken)?;
        if line.is_empty() {
            let missing = || LspError::Message("a header has no `Content-Length`".to_owned());
            return length.ok_or_else(missing).map(Some);
        }
        let (name, value) = line.split_once(':').ok_or_else(broken)?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse().map_err(|_not_a_number| broken())?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(input: &str) -> String {
        read(&mut input.as_bytes())
            .expect_err("it is refused")
            .to_string()
    }

    #[test]
    fn a_message_is_read_after_a_header_with_further_fields() {
        let input = "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n\
                     content-length: 33\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}";
        let message = read(&mut input.as_bytes()).expect("it is a message");
        assert!(
            matches!(&message, Some(Message::Notification(note)) if note.method == "exit"),
            "{message:?}"
        );
    }

    #[test]
    fn broken_and_oversized_messages_are_refused_with_the_reason() {
        assert_eq!(
            error("Content-Length: 99999999999\r\n\r\n"),
            "a message of the editor cannot be read: 99999999999 bytes are announced, and at most 16777216 are read"
        );
        assert_eq!(
            error("hello\r\n"),
            "a message of the editor cannot be read: `hello` is no line of a header"
        );
        assert_eq!(
            error("X: 1\r\n\r\n"),
            "a message of the editor cannot be read: a header has no `Content-Length`"
        );
        assert_eq!(
            error("Content-Length: 5\r\n\r\nhello"),
            "a message of the editor cannot be read: expected value at line 1 column 1"
        );
        assert_eq!(
            error("Content-Length: 5\r\n\r\n{}"),
            "the editor has closed the connection"
        );
    }
}
