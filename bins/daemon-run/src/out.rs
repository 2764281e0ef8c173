//! The output of a command: data goes to standard output, everything else to standard error.

use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};
use daemon_api::wire::{FailureObject, Versioned};
use daemon_records::clock;
use daemon_validate::{is_unseen, visible, visible_styled};
use daemon_view::columns::TableLayout;
pub(crate) use daemon_view::columns::plain;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::cli::{Color, GlobalArgs};
use crate::failure::CommandFailure;
use daemon_view::Times;

/// Whether results are for people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

/// Writes to the standard streams in the form that the flags chose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    form: Form,
    is_quiet: bool,
    is_utc: bool,
    color: ColorChoice,
}

impl Out {
    /// Reads how to print from the flags.
    pub(crate) fn new(global: &GlobalArgs) -> Self {
        let color = match global.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        Self {
            form: if global.json { Form::Json } else { Form::Text },
            is_quiet: global.quiet,
            is_utc: global.utc,
            color,
        }
    }

    /// Reports whether results are for programs.
    pub(crate) fn is_json(self) -> bool {
        self.form == Form::Json
    }

    /// Returns how instants are written in text.
    pub(crate) fn times(self) -> Times {
        match self.is_utc {
            true => Times::Utc,
            false => Times::Local(clock::now(), TimeZone::system()),
        }
    }

    /// Returns how tables are laid out.
    pub(crate) fn layout(self) -> TableLayout {
        let size = io::stdout()
            .is_terminal()
            .then(|| rustix::termios::tcgetwinsize(io::stdout()));
        // A terminal that does not know its size reports 0.
        let width = size.and_then(Result::ok).map(|size| size.ws_col.into());
        TableLayout {
            times: self.times(),
            width: width.filter(|width| *width > 0),
        }
    }

    /// Prints one envelope: the version, then the members.
    pub(crate) fn envelope(self, members: impl Serialize) -> Result<(), CommandFailure> {
        self.bytes(escaped_json(&Versioned::new(members).to_line()).as_bytes())
    }

    /// Prints an envelope with `--json`, and text without.
    pub(crate) fn either(self, members: impl Serialize, text: &str) -> Result<(), CommandFailure> {
        if self.is_json() {
            return self.envelope(members);
        }
        self.text(text)
    }

    /// Prints text, which may be coloured, and ends it with a line feed. Untrusted text in it must have gone through [`plain`].
    pub(crate) fn text(self, text: &str) -> Result<(), CommandFailure> {
        let text = visible_styled(text);
        let mut stdout = AutoStream::new(io::stdout().lock(), self.choice(&io::stdout()));
        let end = if text.ends_with('\n') || text.is_empty() {
            ""
        } else {
            "\n"
        };
        // The flush reports errors that would be lost when the process exits.
        written(write!(stdout, "{text}{end}").and_then(|()| stdout.flush()))
    }

    /// Prints bytes unchanged.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<(), CommandFailure> {
        let mut stdout = io::stdout().lock();
        written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
    }

    /// Prints a note on standard error; silent with `--json` and `-q`.
    pub(crate) fn note(self, text: &str) {
        if self.is_quiet || self.is_json() {
            return;
        }
        self.warn(text);
    }

    /// Prints a line on standard error, also with `--json` and `-q`.
    pub(crate) fn warn(self, text: &str) {
        let mut stderr = AutoStream::new(io::stderr().lock(), self.choice(&io::stderr()));
        // A closed standard error leaves no stream to report that on.
        writeln!(stderr, "{}", visible(text)).unwrap_or_default();
    }

    /// Prints a prompt on standard error, without a line end.
    pub(crate) fn prompt(self, text: &str) {
        let mut stderr = io::stderr().lock();
        // A closed standard error leaves no stream to report that on.
        write!(stderr, "{text}")
            .and_then(|()| stderr.flush())
            .unwrap_or_default();
    }

    /// Prints a failure: with `--json` as an object on standard output, else as text on standard error.
    pub(crate) fn failure(self, failure: &CommandFailure) {
        if self.is_json() {
            let object =
                FailureObject::new(&failure.code, &failure.message, failure.help.as_deref())
                    .refused(failure.refusal.as_deref());
            // If standard output is closed, the exit code still reports the failure.
            self.bytes(escaped_json(&Versioned::new(object).to_line()).as_bytes())
                .unwrap_or_default();
            return;
        }
        self.warn(&format!("error: {}", failure.message));
        if let Some(help) = &failure.help {
            self.warn(&format!("  help: {help}"));
        }
    }

    fn choice(self, stream: &impl anstream::stream::RawStream) -> ColorChoice {
        match self.color {
            ColorChoice::Auto => AutoStream::choice(stream),
            chosen => chosen,
        }
    }
}

/// Ends the program quietly on a closed pipe, as `head` causes it; any other error becomes a failure.
fn written(result: io::Result<()>) -> Result<(), CommandFailure> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe =>
        {
            #[expect(
                clippy::exit,
                reason = "the reader closed the pipe: no output is possible, and nothing is to be undone"
            )]
            std::process::exit(0)
        }
        Err(error) => Err(CommandFailure::unwritable(
            std::path::Path::new("standard output"),
            &error,
        )),
    }
}

/// Appends formatted text to a string.
macro_rules! put {
    ($text:expr, $($arguments:tt)*) => {{
        use std::fmt::Write as _;
        write!($text, $($arguments)*).expect("writing to a string cannot fail");
    }};
}
pub(crate) use put;

/// Escapes control and invisible characters in JSON, except line feeds. Its strings may contain DEL, C1 controls and direction marks
/// unescaped, which act on a terminal.
pub(crate) fn escaped_json(json: &str) -> String {
    let mut acc = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() && c != '\n' || is_unseen(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                put!(acc, "\\u{unit:04x}");
            }
        } else {
            acc.push(c);
        }
    }
    acc
}
