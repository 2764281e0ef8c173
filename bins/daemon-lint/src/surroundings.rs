//! The state that a program passes to the library, which reads none itself.

use std::io::{Read, Write};
use std::path::PathBuf;

use jiff::Timestamp;

use crate::ColorChoice;

/// The working directory, the time and the terminal of a run.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The absolute working directory.
    pub directory: PathBuf,
    /// The current time, from which the next ticks are computed.
    pub now: Timestamp,
    /// The colour of the output if the arguments select `auto`.
    pub auto_colour: AutoColour,
}

/// The colour of the output with `--color auto`, from the terminal and the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoColour {
    /// The output is not a terminal, or `NO_COLOR` is set.
    #[default]
    Plain,
    /// The output is a terminal, or `CLICOLOR_FORCE` is set.
    Coloured,
}

impl Surroundings {
    pub(crate) fn is_coloured(&self, color: ColorChoice) -> bool {
        match color {
            ColorChoice::Auto => self.auto_colour == AutoColour::Coloured,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        }
    }
}

/// The standard streams.
pub struct StandardStreams<'a> {
    /// Standard input.
    pub input: &'a mut dyn Read,
    /// Standard output: the report, or the fixed file with `--stdin --fix`.
    pub output: &'a mut dyn Write,
    /// Standard error: notes and errors.
    pub notes: &'a mut dyn Write,
}
