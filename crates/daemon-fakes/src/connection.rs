//! Answers of the model API: a request, and a response or a stream of events.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::dialect::{ApiDialect, StreamEvent};
use crate::http::{self, Closing, HttpRequest, HttpResponse};
use crate::model_api::{Received, Shared};
use crate::reply::{Message, Reply};

/// How often a silent stream checks whether the client or the API has closed.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Answers one request as the script says.
pub(crate) fn respond(
    writer: &mut TcpStream,
    request: &HttpRequest,
    shared: &Shared,
    closing: &Closing,
) -> io::Result<()> {
    let dialect = ApiDialect::of(&request.path);
    let body: Option<Value> = serde_json::from_slice(&request.body).ok();
    let (Some(dialect), Some(body)) = (dialect, body) else {
        let body = format!(r#"{{"error":{{"message":"nothing at {}"}}}}"#, request.path);
        return whole(writer, 404, &[], body.as_bytes());
    };
    let is_stream = body["stream"] == true;
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    // Anthropic uses the first header, OpenAI the second.
    let key = request.header("x-api-key").or_else(|| request.token());
    let key = key.map(str::to_owned);
    let (n, reply) = shared.answer(Received { dialect, key, body });
    let events = |message: &Message| dialect.stream(message, &model, n);
    match reply {
        Reply::Message(message) if is_stream => stream(writer, &events(&message), Duration::ZERO),
        Reply::Message(message) => {
            let json = [("Content-Type".to_owned(), "application/json".to_owned())];
            whole(
                writer,
                200,
                &json,
                dialect.whole(&message, &model, n).to_string().as_bytes(),
            )
        }
        Reply::Status {
            code,
            headers,
            body,
        } => whole(writer, code, &headers, body.as_bytes()),
        Reply::Bytes {
            code,
            headers,
            body,
        } => whole(writer, code, &headers, &body),
        Reply::Truncated(message) => {
            let events = events(&message);
            stream(writer, &events[..events.len() / 2], Duration::ZERO)
        }
        Reply::Silence(message) => {
            let events = events(&message);
            stream(writer, &events[..events.len() / 2], Duration::ZERO)?;
            until_left(writer, closing)
        }
        Reply::Drip(message, pause) => stream(writer, &events(&message), pause),
    }
}

fn whole(
    writer: &mut TcpStream,
    code: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> io::Result<()> {
    let response = HttpResponse {
        status: code,
        headers: headers.to_vec(),
        body: body.to_vec(),
    };
    http::write(writer, &response)
}

fn stream(writer: &mut TcpStream, events: &[StreamEvent], pause: Duration) -> io::Result<()> {
    writer.write_all(
        b"HTTP/1.1 200 Fake\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n",
    )?;
    for event in events {
        writer.write_all(event.to_text().as_bytes())?;
        writer.flush()?;
        if !pause.is_zero() {
            thread::sleep(pause);
        }
    }
    Ok(())
}

/// Waits until the client closes the connection, or the API does.
fn until_left(stream: &mut TcpStream, closing: &Closing) -> io::Result<()> {
    stream.set_read_timeout(Some(POLL_INTERVAL))?;
    let mut byte = [0];
    while !closing.is_closed() {
        match stream.read(&mut byte) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
