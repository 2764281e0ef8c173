//! Findings, and their lines in the report.

use std::fmt;

/// A fault in a Markdown file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A link whose target does not exist.
    Link {
        file: String,
        line: usize,
        written: String,
        repair: Repair,
    },
    /// A heading more than one level below the one before it.
    Heading {
        file: String,
        line: usize,
        level: usize,
        after: usize,
    },
}

/// The possible repairs of a broken link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repair {
    /// One file can be meant. This is the link to it.
    Repairable { link: String },
    /// One file can be meant, but no output may change the file that contains the link.
    Protected { path: String },
    /// Several files can be meant.
    Ambiguous { paths: Vec<String> },
    /// No file has that name.
    Vanished,
}

impl Finding {
    pub(crate) fn line(&self) -> usize {
        match self {
            Self::Link { line, .. } | Self::Heading { line, .. } => *line,
        }
    }
}

/// The most candidates that a line names; further ones are only counted.
const MOST_NAMED: usize = 5;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link {
                file,
                line,
                written,
                repair,
            } => {
                write!(f, "{file}:{line}: `{written}`: ")?;
                match repair {
                    Repair::Repairable { link } => write!(f, "`{link}`"),
                    Repair::Protected { path } => {
                        write!(f, "can only mean {path}, but this file may not be changed")
                    }
                    Repair::Ambiguous { paths } if paths.len() > MOST_NAMED => {
                        write!(f, "{} files have that name", paths.len())
                    }
                    Repair::Ambiguous { paths } => write!(f, "can mean {}", paths.join(", ")),
                    Repair::Vanished => write!(f, "no file has that name"),
                }
            }
            Self::Heading {
                file,
                line,
                level,
                after,
            } => {
                write!(
                    f,
                    "{file}:{line}: heading of level {level} after one of level {after}"
                )
            }
        }
    }
}

/// The counts of a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FindingCounts {
    pub(crate) repaired: usize,
    pub(crate) left: usize,
    pub(crate) headings: usize,
}

impl fmt::Display for FindingCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links = |n: usize| if n == 1 { "link" } else { "links" };
        let headings = if self.headings == 1 {
            "heading skips"
        } else {
            "headings skip"
        };
        write!(
            f,
            "{} {} repaired, {} {} left for a human, {} {headings} a level",
            self.repaired,
            links(self.repaired),
            self.left,
            links(self.left),
            self.headings
        )
    }
}
