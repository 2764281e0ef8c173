//! What goes to the two streams: data to one, everything else to the other.

use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};
use daemon_host::wire::{Envelope, FailureObject};
use daemon_validate::{visible, visible_styled};
use serde::Serialize;

use crate::cli::{Color, Global};
use crate::failure::Failure;

/// Whether results are for people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

/// The two streams of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    form: Form,
    is_quiet: bool,
    color: ColorChoice,
}

impl Out {
    /// Reads how to print from the flags.
    pub(crate) fn new(global: &Global) -> Self {
        let color = match global.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        Self {
            form: if global.json { Form::Json } else { Form::Text },
            is_quiet: global.quiet,
            color,
        }
    }

    /// Reports whether results are for programs.
    pub(crate) fn is_json(self) -> bool {
        self.form == Form::Json
    }

    /// Prints one envelope: the version, then the members.
    pub(crate) fn envelope(self, members: impl Serialize) -> Result<(), Failure> {
        self.bytes(Envelope::new(members).to_line().as_bytes())
    }

    /// Prints text, which may be coloured, with a line end if it lacks one; words of strangers in it went through [`plain`].
    pub(crate) fn text(self, text: &str) -> Result<(), Failure> {
        let text = visible_styled(text);
        let mut stdout = AutoStream::new(io::stdout().lock(), self.choice(&io::stdout()));
        let end = if text.ends_with('\n') || text.is_empty() {
            ""
        } else {
            "\n"
        };
        written(write!(stdout, "{text}{end}").and_then(|()| stdout.flush()))
    }

    /// Prints bytes as they are.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
    }

    /// Tells a person something on the other stream; silent for programs and under `-q`.
    pub(crate) fn note(self, text: &str) {
        if self.is_quiet || self.is_json() {
            return;
        }
        self.tell(text);
    }

    /// Tells a person something on the other stream, whatever was asked.
    pub(crate) fn tell(self, text: &str) {
        let mut stderr = AutoStream::new(io::stderr().lock(), self.choice(&io::stderr()));
        // Nobody is left to be told that the stream is closed.
        writeln!(stderr, "{}", visible(text)).unwrap_or_default();
    }

    /// Tells a failure: to a person on one stream, to a program on the other.
    pub(crate) fn failure(self, failure: &Failure) {
        if self.is_json() {
            let told = FailureObject::new(&failure.code, &failure.message, failure.help.as_deref());
            // The exit code tells the failure even if nobody reads the stream.
            self.bytes(Envelope::new(told).to_line().as_bytes())
                .unwrap_or_default();
            return;
        }
        self.tell(&format!("error: {}", failure.message));
        if let Some(help) = &failure.help {
            self.tell(&format!("  help: {help}"));
        }
    }

    fn choice(self, stream: &impl anstream::stream::RawStream) -> ColorChoice {
        match self.color {
            ColorChoice::Auto => AutoStream::choice(stream),
            chosen => chosen,
        }
    }
}

/// A closed pipe ends the program quietly; any other failure is told.
fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe =>
        {
            #[expect(
                clippy::exit,
                reason = "the reader left: there is nobody to tell, and nothing to undo"
            )]
            std::process::exit(0)
        }
        Err(error) => Err(Failure::unwritable(
            std::path::Path::new("standard output"),
            &error,
        )),
    }
}

/// Makes somebody's words fit for one line of a terminal: nothing in them steers it, and what would not be seen is shown.
pub(crate) fn plain(text: &str) -> String {
    let spaced = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    visible(&spaced.collect::<String>())
}

/// Appends formatted text to a string.
macro_rules! put {
    ($text:expr, $($arguments:tt)*) => {{
        use std::fmt::Write as _;
        write!($text, $($arguments)*).expect("writing to a string cannot fail");
    }};
}
pub(crate) use put;
