//! The server and the client, each against a peer that exchanges plain JSON lines.

#[cfg(test)]
mod children;
#[cfg(test)]
mod over_http;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod tasks;
