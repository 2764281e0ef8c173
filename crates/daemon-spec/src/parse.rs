//! The parser: bytes to a file and diagnostics.

use crate::fields::FieldReader;
use crate::file::{Completeness, Fields};
use crate::frame::{Frame, frame_at, is_blank, is_fence, lines, slice};
use crate::limits::{MAX_FILE_BYTES, MAX_FRONT_MATTER_BYTES};
use crate::recover::{key_length, recover};
use crate::yaml::{NodeKind, YamlNoteKind, YamlTree, compose};
use crate::{DaemonFile, Diagnostic, FIELD_NAMES, SourceText, Span, codes};

/// The result of parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parse {
    /// The file, with the fields that could be read.
    pub file: DaemonFile,
    /// The problems found by the parser, ordered by position. Empty for a well-formed file.
    pub diagnostics: Vec<Diagnostic>,
}

/// A parser of daemon files.
///
/// A runtime can implement it for a variant of the format and pass it to code that is generic over
/// the parser.
pub trait Dialect {
    /// Parses the bytes of a file. Parsing never fails: problems are reported as diagnostics.
    fn parse(&self, source: Vec<u8>) -> Parse;
}

/// The [`Dialect`] of the public DAEMON.md format. It calls [`parse`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaemonMd;

impl Dialect for DaemonMd {
    fn parse(&self, source: Vec<u8>) -> Parse {
        parse(source)
    }
}

/// Parses a daemon file. Parsing never fails, and the result contains every byte of the input.
///
/// The diagnostics have the codes `D001` to `D016`: problems of encoding, fences and YAML. The values
/// of the fields are checked by `daemon-validate`.
///
/// # Examples
///
/// ```
/// use daemon_spec::{Completeness, parse};
///
/// let parsed = parse(b"id: no-fence\n".to_vec());
/// assert_eq!(parsed.file.completeness(), Completeness::Nothing);
/// assert_eq!(parsed.diagnostics[0].code.to_string(), "D003");
/// assert_eq!(parsed.file.into_source().into_bytes(), b"id: no-fence\n");
/// ```
#[must_use]
pub fn parse(source: Vec<u8>) -> Parse {
    let mut reader = Reader {
        source: SourceText::new(source),
        acc: Vec::new(),
    };
    let outcome = reader.read();
    let Reader {
        source,
        acc: mut diagnostics,
    } = reader;
    // The passes report in their own order: first encoding, then the tree, then the fields.
    diagnostics.sort_by_key(|found| (found.span.start, found.code));
    let file = DaemonFile {
        source,
        completeness: outcome.completeness,
        front_matter: outcome.frame.map(|frame| frame.yaml),
        is_flow: outcome.is_flow,
        body: outcome.frame.map_or(Span::at(0), |frame| frame.body),
        fields: outcome.fields,
    };
    Parse { file, diagnostics }
}

struct Reader {
    source: SourceText,
    acc: Vec<Diagnostic>,
}

#[derive(Default)]
struct Outcome {
    frame: Option<Frame>,
    completeness: Completeness,
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
        // A NUL in the body is reported, but does not keep the front matter from being read.
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

/// Finds the front matter. Reports a missing one, and one that does not begin on line 1.
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
        // After text, `---` is usually a horizontal rule. It is a fence only if a known field follows.
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
        outcome.completeness = Completeness::Parts;
        recover(text, frame.yaml, error, &mut outcome.fields, acc);
        return outcome;
    }
    acc.extend(
        tree.notes
            .iter()
            .map(|note| codes::note(*note, slice(text, note.span))),
    );
    let is_cut = tree.notes.iter().any(|note| {
        matches!(
            note.kind,
            YamlNoteKind::TooDeep | YamlNoteKind::TooManyNodes
        )
    });
    outcome.completeness = if is_cut {
        Completeness::Parts
    } else {
        Completeness::Whole
    };
    read_tree(text, &tree, &mut outcome, acc);
    outcome
}

fn read_tree(text: &str, tree: &YamlTree<'_>, outcome: &mut Outcome, acc: &mut Vec<Diagnostic>) {
    let Some(root) = tree.root else {
        acc.extend(outcome.frame.map(|frame| codes::not_a_mapping(frame.open)));
        return;
    };
    outcome.is_flow = matches!(
        tree.node(root).kind,
        NodeKind::Mapping { is_flow: true, .. }
    );
    FieldReader {
        text,
        tree,
        fields: &mut outcome.fields,
        acc,
    }
    .read(root);
}

/// Reads the probable front matter of a file without a closing fence.
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
    // The end of the block is a guess, so a syntax error can come from the guess and is not reported.
    if tree.error.is_none() && tree.root.is_some() {
        outcome.completeness = Completeness::Parts;
        read_tree(text, &tree, &mut outcome, acc);
    }
    outcome
}

/// Returns the start of the first line that looks neither like a field nor like part of one.
fn probable_end(text: &str, yaml: Span) -> usize {
    let mut is_after_blank = false;
    for line in lines(text, yaml.start, yaml.end) {
        let words = slice(text, line.text);
        // After a blank line `#` is more likely a heading of the body than a comment.
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
