//! What a person types.

use std::io::IsTerminal as _;

use tokio::io::{AsyncBufReadExt as _, BufReader, Stdin};

use crate::failure::{CommandFailure, ExitKind};
use crate::out::Out;

/// One input.
pub(super) enum Input {
    /// A message, or a command.
    Text(String),
    /// Ctrl-C at the prompt.
    Interrupt,
    /// Ctrl-C at the prompt, again.
    InterruptTwice,
    /// The end of the input.
    End,
}

/// Reads lines.
pub(super) struct Lines {
    reading: Option<tokio::io::Lines<BufReader<Stdin>>>,
    was_interrupted: bool,
    pub(super) has_prompt: bool,
}

impl Lines {
    /// Reads standard input, with a prompt where it is a terminal.
    pub(super) fn of_stdin() -> Self {
        Self {
            reading: Some(BufReader::new(tokio::io::stdin()).lines()),
            was_interrupted: false,
            has_prompt: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
        }
    }

    /// Reads nothing.
    pub(super) fn none() -> Self {
        Self {
            reading: None,
            was_interrupted: false,
            has_prompt: false,
        }
    }

    /// Waits for a message, which continues after a line that ends in a backslash.
    ///
    /// # Errors
    /// The input cannot be read, or is not UTF-8.
    pub(super) async fn next(&mut self, out: Out) -> Result<Input, CommandFailure> {
        let Some(reading) = &mut self.reading else {
            return Ok(Input::End);
        };
        let mut text = String::new();
        loop {
            if self.has_prompt {
                out.prompt(if text.is_empty() { "> " } else { ". " });
            }
            let line = tokio::select! {
                line = reading.next_line() => line,
                () = interrupted() => {
                    let was = std::mem::replace(&mut self.was_interrupted, true);
                    return Ok(if was { Input::InterruptTwice } else { Input::Interrupt });
                }
            };
            self.was_interrupted = false;
            let line = line.map_err(|error| {
                let message = format!("standard input cannot be read: {error}");
                CommandFailure::new(ExitKind::Invalid, "invalid-input", message)
            })?;
            let Some(line) = line else {
                let is_begun = !text.is_empty();
                return Ok(if is_begun {
                    Input::Text(text)
                } else {
                    Input::End
                });
            };
            match line.strip_suffix('\\') {
                Some(begun) => {
                    text.push_str(begun);
                    text.push('\n');
                }
                None => {
                    text.push_str(&line);
                    return Ok(Input::Text(text));
                }
            }
        }
    }
}

/// Waits for ctrl-C.
pub(super) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
