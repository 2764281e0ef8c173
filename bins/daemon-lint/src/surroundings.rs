//! What the program is given by the world, so that the library asks it for nothing.

use std::io::{Read, Write};
use std::path::PathBuf;

use jiff::Timestamp;

use crate::Color;

/// The state of the world at the start.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The working directory, absolute.
    pub directory: PathBuf,
    /// The present instant; schedules are counted from here.
    pub now: Timestamp,
    /// Whether and how colour is wanted.
    pub colour_wish: ColourWish,
}

/// What terminal and environment say about colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourWish {
    /// No terminal, or `NO_COLOR` is set.
    #[default]
    Plain,
    /// A terminal, or `CLICOLOR_FORCE` is set.
    Coloured,
}

impl Surroundings {
    pub(crate) fn is_coloured(&self, color: Color) -> bool {
        match color {
            Color::Auto => self.colour_wish == ColourWish::Coloured,
            Color::Always => true,
            Color::Never => false,
        }
    }
}

/// The standard streams.
pub struct Streams<'a> {
    /// Standard input.
    pub input: &'a mut dyn Read,
    /// Standard output: the report, or the fixed text.
    pub output: &'a mut dyn Write,
    /// Standard error: notes and errors.
    pub notes: &'a mut dyn Write,
}
