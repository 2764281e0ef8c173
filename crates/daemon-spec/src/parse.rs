//! From bytes to a file and its diagnostics.

use crate::fields::FieldReader;
use crate::file::{Fields, Reading};
use crate::frame::{Frame, frame_at, is_blank, is_fence, lines, slice};
use crate::limits::{MAX_FILE_BYTES, MAX_FRONT_MATTER_BYTES};
use crate::recover::{key_length, recover};
use crate::yaml::{Kind, NoteKind, Tree, compose};
use crate::{DaemonFile, Diagnostic, FIELD_NAMES, Source, Span, codes};

/// What reading gave: the file as far as it could be read, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parse {
    /// The file.
    pub file: DaemonFile,
    /// The findings of reading, in the order of their places.
    pub diagnostics: Vec<Diagnostic>,
}

/// A way to read daemon files.
pub trait Dialect {
    /// Reads `source`; never fails.
    fn parse(&self, source: Vec<u8>) -> Parse;
}

/// The dialect of the public DAEMON.md format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaemonMd;

impl Dialect for DaemonMd {
    fn parse(&self, source: Vec<u8>) -> Parse {
        parse(source)
    }
}

/// Reads a daemon file; never fails and keeps every byte.
///
/// Reports only what keeps the file from being read as its author means it, codes `D001` to
/// `D016`; the rules about the fields' values are another crate's.
#[must_use]
pub fn parse(source: Vec<u8>) -> Parse {
    let mut reader = Reader {
        source: Source::new(source),
        acc: Vec::new(),
    };
    let outcome = reader.read();
    let Reader {
        source,
        acc: mut diagnostics,
    } = reader;
    diagnostics.sort_by_key(|found| (found.span.start, found.code));
    let file = DaemonFile {
        source,
        reading: outcome.reading,
        front_matter: outcome.frame.map(|frame| frame.yaml),
        is_flow: outcome.is_flow,
        body: outcome.frame.map_or(Span::at(0), |frame| frame.body),
        fields: outcome.fields,
    };
    Parse { file, diagnostics }
}

struct Reader {
    source: Source,
    acc: Vec<Diagnostic>,
}

#[derive(Default)]
struct Outcome {
    frame: Option<Frame>,
    reading: Reading,
    is_flow: bool,
    fields: Fields,
}

impl Reader {
    fn read(&mut self) -> Outcome {
        let Self { source, acc } = self;
        if source.len() > MAX_FILE_BYTES {
            acc.push(codes::file_too_large());
            return Outcome::default();
        }
        let Some(text) = source.text() else {
            acc.push(codes::not_utf8(first_bad_byte(source.as_bytes())));
            return Outcome::default();
        };
        let nul = text.as_bytes().iter().position(|&byte| byte == 0);
        acc.extend(nul.map(codes::holds_nul));
        let start = if text.starts_with('\u{FEFF}') {
            acc.push(codes::byte_order_mark());
            '\u{FEFF}'.len_utf8()
        } else {
            0
        };
        let Some(frame) = find_frame(text, start, acc) else {
            return Outcome::default();
        };
        if nul.is_some_and(|at| at < frame.yaml.end) {
            return Outcome {
                frame: Some(frame),
                ..Outcome::default()
            };
        }
        if frame.close.is_none() {
            return read_unclosed(text, frame, acc);
        }
        if frame.yaml.end - frame.yaml.start > MAX_FRONT_MATTER_BYTES {
            acc.push(codes::front_matter_too_large(frame.open));
            return Outcome {
                frame: Some(frame),
                ..Outcome::default()
            };
        }
        read_yaml(text, frame, acc)
    }
}

fn first_bad_byte(bytes: &[u8]) -> usize {
    std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| 0)
}

/// Finds the front matter, and reports when it does not stand where it must.
fn find_frame(text: &str, start: usize, acc: &mut Vec<Diagnostic>) -> Option<Frame> {
    if let Some(frame) = frame_at(text, start) {
        return Some(frame);
    }
    let mut rest = lines(text, start, text.len()).peekable();
    let mut is_blank_before = true;
    while let Some(line) = rest.next() {
        let words = slice(text, line.text);
        if !is_fence(words) {
            is_blank_before &= is_blank(words);
            continue;
        }
        // After text, `---` is usually a rule of the body: only a known key makes it a fence.
        let is_field = rest.peek().is_some_and(|next| {
            let words = slice(text, next.text);
            key_length(words).is_some_and(|length| FIELD_NAMES.contains(&&words[..length]))
        });
        if !is_blank_before && !is_field {
            continue;
        }
        let frame = frame_at(text, line.text.start)?;
        if is_blank_before || frame.close.is_some() {
            acc.push(codes::fence_position(
                Span::new(start, line.text.start),
                is_blank_before,
            ));
            return Some(frame);
        }
        break;
    }
    acc.push(codes::no_front_matter());
    None
}

fn read_yaml(text: &str, frame: Frame, acc: &mut Vec<Diagnostic>) -> Outcome {
    let tree = compose(slice(text, frame.yaml), frame.yaml.start);
    let mut outcome = Outcome {
        frame: Some(frame),
        ..Outcome::default()
    };
    if let Some(error) = &tree.error {
        outcome.reading = Reading::Parts;
        recover(text, frame.yaml, error, &mut outcome.fields, acc);
        return outcome;
    }
    acc.extend(
        tree.notes
            .iter()
            .map(|note| codes::note(*note, slice(text, note.span))),
    );
    let is_cut = tree
        .notes
        .iter()
        .any(|note| matches!(note.kind, NoteKind::TooDeep | NoteKind::TooManyNodes));
    outcome.reading = if is_cut {
        Reading::Parts
    } else {
        Reading::Whole
    };
    read_tree(text, &tree, &mut outcome, acc);
    outcome
}

fn read_tree(text: &str, tree: &Tree<'_>, outcome: &mut Outcome, acc: &mut Vec<Diagnostic>) {
    let Some(root) = tree.root else {
        acc.extend(outcome.frame.map(|frame| codes::not_a_mapping(frame.open)));
        return;
    };
    outcome.is_flow = matches!(tree.node(root).kind, Kind::Mapping { is_flow: true, .. });
    FieldReader {
        text,
        tree,
        fields: &mut outcome.fields,
        acc,
    }
    .read(root);
}

/// Reads what probably is the front matter of a file that never closes it.
fn read_unclosed(text: &str, frame: Frame, acc: &mut Vec<Diagnostic>) -> Outcome {
    acc.push(codes::unclosed(frame.open));
    let yaml = Span::new(frame.yaml.start, probable_end(text, frame.yaml));
    let frame = Frame { yaml, ..frame };
    let mut outcome = Outcome {
        frame: Some(frame),
        ..Outcome::default()
    };
    if yaml.end - yaml.start > MAX_FRONT_MATTER_BYTES {
        return outcome;
    }
    let tree = compose(slice(text, yaml), yaml.start);
    // Where the block ends is a guess, so an error in it may be the guess's.
    if tree.error.is_none() && tree.root.is_some() {
        outcome.reading = Reading::Parts;
        read_tree(text, &tree, &mut outcome, acc);
    }
    outcome
}

/// The first line that looks like neither a field nor part of one.
fn probable_end(text: &str, yaml: Span) -> usize {
    let mut is_after_blank = false;
    for line in lines(text, yaml.start, yaml.end) {
        let words = slice(text, line.text);
        let is_comment = words.starts_with('#') && !is_after_blank;
        let is_yaml = is_blank(words)
            || is_comment
            || words.starts_with([' ', '-'])
            || key_length(words).is_some();
        if !is_yaml {
            return line.text.start;
        }
        is_after_blank = is_blank(words);
    }
    yaml.end
}
