//! A request, read from a connection.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::TcpStream;

use serde_json::Value;

use super::query;

// No test sends a longer body. Without a limit, a wrong `Content-Length` would allocate all memory.
const MAX_BODY: usize = 64 << 20;
// The demonstration is open to every local program, so the head is limited as well.
const MAX_HEAD: u64 = 256 << 10;

/// A request that a fake received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: String,
    /// The path as it was sent, without the query.
    pub path: String,
    /// The query, decoded.
    pub query: Vec<(String, String)>,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Returns the value of the first header with this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the value of a parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(parameter, _)| parameter == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the token of `Authorization`, without `Bearer` or `token`.
    pub fn token(&self) -> Option<&str> {
        let header = self.header("authorization")?;
        let (scheme, token) = header.split_once(' ').unwrap_or(("", header));
        let is_known = ["bearer", "token", ""].contains(&scheme.to_ascii_lowercase().as_str());
        is_known.then_some(token.trim())
    }

    /// Returns whether the body is JSON.
    pub fn is_json(&self) -> bool {
        serde_json::from_slice::<Value>(&self.body).is_ok()
    }

    /// Returns the body as JSON; `Null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Reads one request. `None` means that the client closed the connection without one.
pub(crate) fn read(mut reader: BufReader<TcpStream>) -> io::Result<Option<HttpRequest>> {
    let mut head = reader.by_ref().take(MAX_HEAD);
    let mut line = String::new();
    head.read_line(&mut line)?;
    let mut words = line.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (path, parameters) = target.split_once('?').unwrap_or((target, ""));
    let mut request = HttpRequest {
        method: method.to_ascii_uppercase(),
        path: path.to_owned(),
        query: query::pairs(parameters),
        ..HttpRequest::default()
    };
    loop {
        let mut line = String::new();
        head.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let value = value.trim().to_owned();
        request.headers.push((name.to_ascii_lowercase(), value));
    }
    let is_chunked = request
        .header("transfer-encoding")
        .is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    request.body = if is_chunked {
        chunks(&mut reader)?
    } else {
        let length = request.header("content-length").unwrap_or("0");
        let mut body = vec![0; length.parse().unwrap_or(0).min(MAX_BODY)];
        reader.read_exact(&mut body)?;
        body
    };
    Ok(Some(request))
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
