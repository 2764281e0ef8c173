//! What was found, and how it is told.

use std::fmt;

/// One thing that is wrong in one Markdown file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A link whose target is not there.
    Link {
        file: String,
        line: usize,
        written: String,
        verdict: Verdict,
    },
    /// A heading more than one level below the one before it.
    Heading {
        file: String,
        line: usize,
        level: usize,
        after: usize,
    },
}

/// What can be done about a broken link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// One file can be meant; this is the link to it.
    Repairable { link: String },
    /// One file can be meant, but no output may change the file the link stands in.
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

/// More candidates than this are counted, not named.
const MOST_NAMED: usize = 5;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link {
                file,
                line,
                written,
                verdict,
            } => {
                write!(f, "{file}:{line}: `{written}`: ")?;
                match verdict {
                    Verdict::Repairable { link } => write!(f, "`{link}`"),
                    Verdict::Protected { path } => {
                        write!(f, "can only mean {path}, but this file may not be changed")
                    }
                    Verdict::Ambiguous { paths } if paths.len() > MOST_NAMED => {
                        write!(f, "{} files have that name", paths.len())
                    }
                    Verdict::Ambiguous { paths } => write!(f, "can mean {}", paths.join(", ")),
                    Verdict::Vanished => write!(f, "no file has that name"),
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
pub(crate) struct Tally {
    pub(crate) repaired: usize,
    pub(crate) left: usize,
    pub(crate) headings: usize,
}

impl fmt::Display for Tally {
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
