//! Sections of a manual page that clap does not know.

use std::fmt::Write as _;

/// A program with what its documents are made from.
#[derive(Clone, Debug)]
pub struct DocumentedProgram {
    /// The name of the program.
    pub name: &'static str,
    /// Its command line.
    pub command: clap::Command,
    /// The sections of its manual pages that the command line does not have.
    pub reference: Reference,
}

/// Sections such as the exit codes and the files, each a list of terms with their meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    sections: Vec<ReferenceSection>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ReferenceSection {
    title: String,
    terms: Vec<(String, String)>,
}

impl Reference {
    /// Parses sections: a line that is not indented is a title, and an indented one is a term and its meaning, with two spaces
    /// between them.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut sections: Vec<ReferenceSection> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match (line.strip_prefix("  "), sections.last_mut()) {
                (Some(entry), Some(section)) => {
                    let (term, meaning) = entry.split_once("  ").unwrap_or((entry, ""));
                    let entry = (term.to_owned(), meaning.trim().to_owned());
                    section.terms.push(entry);
                }
                _ => sections.push(ReferenceSection {
                    title: line.to_owned(),
                    terms: Vec::new(),
                }),
            }
        }
        Self { sections }
    }

    /// Returns the sections in roff.
    pub(crate) fn roff(&self) -> String {
        let mut acc = String::new();
        for section in &self.sections {
            writeln!(acc, ".SH \"{}\"", escaped(&section.title)).expect("a string can be written");
            for (term, meaning) in &section.terms {
                let (term, meaning) = (escaped(term), escaped(meaning));
                write!(acc, ".TP\n\\fB{term}\\fR\n\\&{meaning}\n")
                    .expect("a string can be written");
            }
        }
        acc
    }
}

/// Escapes the characters that roff interprets inside a line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e")
        .replace('"', "\\(dq")
        .replace('-', "\\-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_escaped_and_no_line_of_them_is_a_request() {
        let reference = Reference::parse("FILES\n  C:\\a-b  .TH is \"text\"\n\n  only a term\n");
        assert_eq!(
            reference.roff(),
            ".SH \"FILES\"\n.TP\n\\fBC:\\ea\\-b\\fR\n\\&.TH is \\(dqtext\\(dq\n.TP\n\\fBonly a term\\fR\n\\&\n"
        );
    }

    #[test]
    fn a_text_without_a_title_begins_with_its_first_line() {
        assert_eq!(Reference::parse(""), Reference::default());
        assert_eq!(
            Reference::parse("  0  Done.").roff(),
            ".SH \"  0  Done.\"\n"
        );
    }
}
