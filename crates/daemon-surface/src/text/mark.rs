//! The marker and the footer of an output.

use daemon_engine::Output;
use daemon_repo::encode;

use super::closed::closed;
use super::cut;

/// The room for what closes a body that is cut, in characters.
const CLOSING: usize = 300;

/// The ids in the marker of an output, percent-encoded outside of `[A-Za-z0-9_-]`.
#[derive(Clone, Debug)]
pub(crate) struct OutputMark {
    daemon: String,
    activation: String,
    key: String,
}

impl OutputMark {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            daemon: encode(output.daemon.id.as_str()),
            activation: encode(output.activation.as_str()),
            key: encode(output.key.as_str()),
        }
    }

    /// Returns the comment of HTML that a look-up searches for.
    pub(crate) fn marker(&self) -> String {
        let Self {
            daemon,
            activation,
            key,
        } = self;
        format!("<!-- daemon:{daemon} act:{activation} out:{key} -->")
    }

    /// Returns the line for people, without markup.
    pub(crate) fn footer(&self) -> String {
        let (daemon, activation) = (&self.daemon, &self.activation);
        format!("Written by the daemon `{daemon}`, activation `{activation}`.")
    }

    /// Appends marker and footer to a body and cuts the body where both would exceed the limit.
    pub(crate) fn around(&self, text: &str, limit: usize) -> String {
        self.followed(text, &self.tail(), limit)
    }

    /// Appends the footer with the key, for services that hide no marker.
    pub(crate) fn signed(&self, text: &str, limit: usize) -> String {
        let tail = format!("\n\n*{} Output `{}`.*", self.footer(), self.key);
        self.followed(text, &tail, limit)
    }

    /// Appends only the marker.
    pub(crate) fn after(&self, text: &str, limit: usize) -> String {
        self.followed(text, &format!("\n\n{}", self.marker()), limit)
    }

    /// Replaces the text of a body and keeps the marker and the footer that it ends with; a body without them gets these.
    pub(crate) fn replaced(&self, body: &str, text: &str, limit: usize) -> String {
        let known = body.rfind("\n\n<!-- daemon:").map(|at| &body[at..]);
        match known {
            Some(tail) => self.followed(text, tail, limit),
            None => self.around(text, limit),
        }
    }

    fn tail(&self) -> String {
        format!("\n\n{}\n<sub>{}</sub>", self.marker(), self.footer())
    }

    fn followed(&self, text: &str, tail: &str, limit: usize) -> String {
        let room = limit.saturating_sub(tail.chars().count());
        // What closes a body is short; a body that is cut has to leave room for it.
        let text = match closed(text) {
            text if text.chars().count() <= room => text,
            _ => closed(&cut(text.trim_end(), room.saturating_sub(CLOSING))),
        };
        format!("{text}{tail}")
    }
}
