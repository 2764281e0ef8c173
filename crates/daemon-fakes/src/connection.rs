//! One connection: reads a request, writes a response and closes the connection.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::dialect::{ApiDialect, StreamEvent};
use crate::model_api::{Received, Shared};
use crate::reply::{Message, Reply};

/// How often a silent stream checks whether the client or the API has closed.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
// No test sends a longer body. Without a limit, a wrong `Content-Length` would allocate all memory.
const MAX_BODY: usize = 64 << 20;

/// Serves one request. A client that disconnects early is not an error: tests stop programs in the middle.
pub(crate) fn serve(stream: TcpStream, shared: &Shared) {
    let Ok(mut writer) = stream.try_clone() else {
        return;
    };
    if let Ok(Some(request)) = read(BufReader::new(stream)) {
        // A write fails if the client has disconnected, so there is no recipient for the error.
        respond(&mut writer, request, shared).unwrap_or_default();
    }
}

struct Request {
    path: String,
    key: Option<String>,
    body: Vec<u8>,
}

fn read(mut reader: BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let Some(path) = line.split(' ').nth(1).map(str::to_owned) else {
        return Ok(None);
    };
    let (mut length, mut key, mut is_chunked) = (0, None, false);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "transfer-encoding" => is_chunked = value.eq_ignore_ascii_case("chunked"),
            // Anthropic uses the first header, OpenAI the second.
            "x-api-key" => key = Some(value.to_owned()),
            "authorization" => key = Some(value.trim_start_matches("Bearer ").to_owned()),
            _ => {}
        }
    }
    let body = if is_chunked {
        chunks(&mut reader)?
    } else {
        let mut body = vec![0; length.min(MAX_BODY)];
        reader.read_exact(&mut body)?;
        body
    };
    Ok(Some(Request { path, key, body }))
}

fn chunks(reader: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut acc = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim_end(), 16).unwrap_or(0);
        if length == 0 || acc.len() + length > MAX_BODY {
            return Ok(acc);
        }
        let begin = acc.len();
        acc.resize(begin + length, 0);
        reader.read_exact(&mut acc[begin..])?;
        reader.read_line(&mut line)?;
    }
}

fn respond(writer: &mut TcpStream, request: Request, shared: &Shared) -> io::Result<()> {
    let dialect = ApiDialect::of(&request.path);
    let body: Option<Value> = serde_json::from_slice(&request.body).ok();
    let (Some(dialect), Some(body)) = (dialect, body) else {
        let body = format!(r#"{{"error":{{"message":"nothing at {}"}}}}"#, request.path);
        return whole(writer, 404, &[], body.as_bytes());
    };
    let is_stream = body["stream"] == true;
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    let key = request.key;
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
            until_left(writer, shared)
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
    let mut head = format!(
        "HTTP/1.1 {code} Fake\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").expect("writing to a string cannot fail");
    }
    writer.write_all(format!("{head}\r\n").as_bytes())?;
    writer.write_all(body)
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
fn until_left(stream: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(POLL_INTERVAL))?;
    let mut byte = [0];
    while !shared.is_closed() {
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
