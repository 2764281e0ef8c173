//! The server and the client, each against somebody that speaks the protocol in plain bytes.

#[cfg(test)]
mod children;
#[cfg(test)]
mod over_http;
#[cfg(test)]
mod serving;
