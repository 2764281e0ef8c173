//! The fences of a file: the byte ranges of the front matter and the body.

use crate::Span;

/// The byte ranges of a file with an opening fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The opening fence without its line break.
    pub(crate) open: Span,
    /// The text between the fences.
    pub(crate) yaml: Span,
    /// The closing fence without its line break. `None` if the front matter is never closed.
    pub(crate) close: Option<Span>,
    /// Everything after the closing fence's line break.
    pub(crate) body: Span,
}

/// A line: its text without the line break, and the offset of the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub(crate) text: Span,
    pub(crate) next: usize,
}

/// Returns the lines of `text` from `at` up to `end`. LF, CRLF and a single CR end a line.
pub(crate) fn lines(text: &str, at: usize, end: usize) -> impl Iterator<Item = SourceLine> + '_ {
    let bytes = text.as_bytes().get(..end).unwrap_or_default();
    let mut at = at;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let start = at;
        let Some(length) = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
            at = bytes.len();
            return Some(SourceLine {
                text: Span::new(start, at),
                next: at,
            });
        };
        let stop = start + length;
        let is_crlf = rest.get(length..length + 2) == Some(b"\r\n");
        at = stop + if is_crlf { 2 } else { 1 };
        Some(SourceLine {
            text: Span::new(start, stop),
            next: at,
        })
    })
}

/// Returns `true` if a line is `---`, with or without trailing blanks.
pub(crate) fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(is_blank)
}

/// Returns `true` if a line contains only spaces and tabs.
pub(crate) fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ' || byte == b'\t')
}

/// Returns the frame whose opening fence is the line at `at`, or `None` if that line is not a fence.
pub(crate) fn frame_at(text: &str, at: usize) -> Option<Frame> {
    let mut rest = lines(text, at, text.len());
    let first = rest
        .next()
        .filter(|line| is_fence(slice(text, line.text)))?;
    let open = Span::new(at, at + 3);
    let mut frame = Frame {
        open,
        yaml: Span::new(first.next, text.len()),
        close: None,
        body: Span::at(text.len()),
    };
    for line in rest {
        if is_fence(slice(text, line.text)) {
            frame.yaml.end = line.text.start;
            frame.close = Some(Span::new(line.text.start, line.text.start + 3));
            frame.body = Span::new(line.next, text.len());
            return Some(frame);
        }
    }
    Some(frame)
}

pub(crate) fn slice(text: &str, span: Span) -> &str {
    text.get(span.range()).unwrap_or_default()
}
